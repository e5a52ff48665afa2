//! Images under another size whose pixels are means over all pixels that they cover, weighted by a triangle or a
//! cubic: PyTorch's antialiased interpolation.

use super::{Error, Graph, along};
use crate::ir::{Scalar, Value};

/// Matrices with more elements are no real model's.
const MOST_WEIGHTS: u64 = 1 << 24;

/// One dimension of a known extent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Along {
    /// The dimension.
    pub dimension: usize,
    /// Elements of the result.
    pub to: u64,
    /// Elements of the image an element of the result; what the extents say if it is missing.
    pub step: Option<f64>,
}

/// How pixels are weighted by their distance from the centre.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// Proportionally.
    Triangle,
    /// By Keys' cubic with a = −½.
    Cubic,
}

impl Filter {
    /// How far it reaches, in pixels that a result's covers.
    fn reach(self) -> f64 {
        match self {
            Self::Triangle => 1.0,
            Self::Cubic => 2.0,
        }
    }

    /// The weight at a distance.
    fn weight(self, distance: f64) -> f64 {
        const A: f64 = -0.5;
        let x = distance.abs();
        match self {
            Self::Triangle => (1.0 - x).max(0.0),
            Self::Cubic if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
            Self::Cubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
            Self::Cubic => 0.0,
        }
    }
}

/// Floats under another size, one dimension after the other.
///
/// # Errors
/// [`Error::DynamicExtent`], and where there are too many elements.
pub fn resized(g: &mut Graph<'_>, input: Value, sides: &[Along], filter: Filter, aligned: bool) -> Result<Value, Error> {
    let mut x = input;
    for side in sides {
        let from = g.extents(x)[side.dimension].as_static().ok_or(Error::DynamicExtent)?;
        if from.saturating_mul(side.to) > MOST_WEIGHTS {
            return Err(Error::TooManyWindows { most: MOST_WEIGHTS });
        }
        let element = g.element(x);
        let weights = weights(filter, from, side.to, step(from, side, aligned));
        let matrix: Vec<Scalar> = weights.into_iter().map(|weight| Scalar::float(element, weight)).collect();
        x = along::weighted(g, x, side.dimension, side.to, &matrix)?;
    }
    Ok(x)
}

/// Elements of the image an element of the result.
fn step(from: u64, side: &Along, aligned: bool) -> f64 {
    match (aligned, side.step) {
        (true, _) if side.to > 1 => (from as f64 - 1.0) / (side.to as f64 - 1.0),
        (true, _) => 0.0,
        (false, Some(step)) => step,
        (false, None) => from as f64 / side.to as f64,
    }
}

/// The weights of `from` pixels in each of `to` others: a filter about the centre of the pixel, stretched to the pixels that it covers unless these are
/// less than one, cut at the border of the image and divided by its sum.
fn weights(filter: Filter, from: u64, to: u64, step: f64) -> Vec<f64> {
    let (extent, stretch) = (from as usize, step.max(1.0));
    let reach = filter.reach() * stretch;
    let mut matrix = vec![0.0; extent * to as usize];
    for (i, row) in matrix.chunks_exact_mut(extent.max(1)).enumerate() {
        let centre = step * (i as f64 + 0.5);
        let start = ((centre - reach + 0.5) as usize).min(extent);
        let end = ((centre + reach + 0.5) as usize).min(extent);
        let mut total = 0.0;
        for (j, weight) in row.iter_mut().enumerate().take(end).skip(start) {
            *weight = filter.weight((j as f64 - centre + 0.5) / stretch);
            total += *weight;
        }
        if total != 0.0 {
            row.iter_mut().for_each(|weight| *weight /= total);
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run};

    #[test]
    fn half_the_pixels_are_weighted_means_of_four() {
        // The triangle about 1 reaches from −1 to 3: weights ½·(¾, ¾, ¼) of pixels 0 to 2, divided by their sum.
        assert_eq!(weights(Filter::Triangle, 4, 2, 2.0)[..4], [3.0 / 7.0, 3.0 / 7.0, 1.0 / 7.0, 0.0]);
    }

    #[test]
    fn a_cubic_sharpens() {
        // Distances from the centre of the first pixel of two: ¼, ¼, ¾ and 1¼ of the stretched cubic.
        let cubic = [0.8671875, 0.8671875, 0.2265625, -0.0703125];
        let total: f64 = cubic.iter().sum();
        assert_eq!(weights(Filter::Cubic, 4, 2, 2.0)[..4], cubic.map(|weight| weight / total));
    }

    #[test]
    fn one_size_is_the_image_itself() {
        let x = Floats::varied(&[1, 1, 3, 4]);
        let sides = [Along { dimension: 2, to: 3, step: None }, Along { dimension: 3, to: 4, step: None }];
        assert_eq!(run(&[&x], &|g, v| resized(g, v[0], &sides, Filter::Triangle, false)), x);
    }

    #[test]
    fn rows_and_columns_are_resized() {
        let x = Floats::new(&[1, 1, 1, 4], vec![7.0, 14.0, 21.0, 28.0]);
        let sides = [Along { dimension: 2, to: 1, step: None }, Along { dimension: 3, to: 2, step: None }];
        let found = run(&[&x], &|g, v| resized(g, v[0], &sides, Filter::Triangle, false));
        for (found, expected) in found.numbers.iter().zip([12.0, 23.0]) {
            assert!((found - expected).abs() < 1e-5, "{found}");
        }
    }
}
