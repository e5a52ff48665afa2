//! PyTorch's antialiased interpolation. Each pixel of a resized image is a mean of all pixels that it covers, weighted by a triangle or a cubic.

mod filter;
mod measured;

pub use filter::Filter;

use super::{Error, Graph, along};
use crate::ir::{Extent, Scalar, Value};

/// The maximum number of elements of a matrix of weights. Real models have smaller ones.
const MOST_WEIGHTS: u64 = 1 << 24;

/// One dimension.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Along {
    /// The dimension.
    pub dimension: usize,
    /// Elements of the result.
    pub to: Extent,
    /// Elements of the image for one element of the result; the ratio of the extents if `None`.
    pub step: Option<f64>,
}

/// Resizes an image of floats, one dimension after the other.
///
/// # Errors
/// [`Error::TooManyWindows`] if a matrix of weights would be too large.
pub fn resized(g: &mut Graph<'_>, input: Value, sides: &[Along], filter: Filter, aligned: bool) -> Result<Value, Error> {
    let mut x = input;
    for side in sides {
        let from = g.extents(x)[side.dimension];
        if g.bound(from).saturating_mul(g.bound(side.to)) > MOST_WEIGHTS {
            return Err(Error::TooManyWindows { most: MOST_WEIGHTS });
        }
        let element = g.element(x);
        let matrix = match (from.as_static(), side.to.as_static()) {
            (Some(from), Some(to)) => {
                let weights = weights(filter, from, to, step(from, to, side.step, aligned));
                let numbers: Vec<Scalar> = weights.into_iter().map(|weight| Scalar::float(element, weight)).collect();
                g.numbers(element, &[to, from], &numbers)?
            }
            _ => measured::weights(g, filter, [from, side.to], side.step, aligned, element)?,
        };
        x = along::weighted(g, x, side.dimension, matrix)?;
    }
    Ok(x)
}

/// Elements of the image an element of the result.
fn step(from: u64, to: u64, named: Option<f64>, aligned: bool) -> f64 {
    match (aligned, named) {
        (true, _) if to > 1 => (from as f64 - 1.0) / (to as f64 - 1.0),
        (true, _) => 0.0,
        (false, Some(step)) => step,
        (false, None) => from as f64 / to as f64,
    }
}

/// The weights of `from` pixels in each of `to` others: a filter about the centre of the pixel. The filter is stretched to the pixels that it covers
/// if there are several. It is cut at the border of the image and divided by its sum.
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
    use crate::operators::testing::{Floats, run, run_with};

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
        let sides = [Along { dimension: 2, to: Extent::Static(3), step: None }, Along { dimension: 3, to: Extent::Static(4), step: None }];
        assert_eq!(run(&[&x], &|g, v| resized(g, v[0], &sides, Filter::Triangle, false)), x);
    }

    #[test]
    fn open_sides_are_resized_as_known_ones_are() {
        let x = Floats::varied(&[1, 2, 7, 5]);
        let reference = Floats::varied(&[4, 9]);
        for filter in [Filter::Triangle, Filter::Cubic] {
            for (aligned, step) in [(false, None), (true, None), (false, Some(1.7)), (false, Some(0.6))] {
                let resize = |g: &mut Graph<'_>, v: &[Value]| {
                    let to = g.extents(v[1]);
                    let sides = [0, 1].map(|d| Along { dimension: d + 2, to: to[d], step });
                    resized(g, v[0], &sides, filter, aligned)
                };
                let known = run(&[&x, &reference], &resize);
                for open in [&[[0, 2], [0, 3]][..], &[[1, 0], [1, 1]], &[[0, 3], [1, 0]], &[[0, 2], [0, 3], [1, 0], [1, 1]]] {
                    assert_eq!(run_with(&[&x, &reference], open, &resize), known, "{filter:?} {aligned} {step:?} {open:?}");
                }
            }
        }
    }

    #[test]
    fn rows_and_columns_are_resized() {
        let x = Floats::new(&[1, 1, 1, 4], vec![7.0, 14.0, 21.0, 28.0]);
        let sides = [Along { dimension: 2, to: Extent::Static(1), step: None }, Along { dimension: 3, to: Extent::Static(2), step: None }];
        let found = run(&[&x], &|g, v| resized(g, v[0], &sides, Filter::Triangle, false));
        for (found, expected) in found.numbers.iter().zip([12.0, 23.0]) {
            assert!((found - expected).abs() < 1e-5, "{found}");
        }
    }
}
