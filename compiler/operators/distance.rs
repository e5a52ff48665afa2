//! Distances of points.

use super::reduction::{Axes, reduce};
use super::{Error, Graph};
use crate::ir::{Comparison, Extent, Reduction, Scalar, ScalarOp, Value};

/// Pairs whose positions are stored as constants.
const MOST_PAIRS: u64 = 1 << 22;

/// The p-norm of the differences of vectors, the last dimension of tensors of floats that broadcast against each other.
///
/// # Errors
/// When they do not, or elements are no floats.
pub fn distance(g: &mut Graph<'_>, a: Value, b: Value, p: f64) -> Result<Value, Error> {
    let element = g.element(a);
    let terms = g.compute::<Error>(&[a, b], |terms, x| {
        let difference = terms.sub(x[0], x[1])?;
        let size = terms.op(ScalarOp::Abs, &[difference])?;
        Ok(if p == 0.0 {
            let zero = terms.constant(Scalar::float(element, 0.0));
            let differs = terms.compare(Comparison::NotEqual, size, zero)?;
            terms.convert(differs, element)
        } else if p == 1.0 || p == f64::INFINITY {
            size
        } else if p == 2.0 {
            terms.mul(difference, difference)?
        } else {
            let exponent = terms.constant(Scalar::float(element, p));
            terms.op(ScalarOp::Pow, &[size, exponent])?
        })
    })?;
    let last = g.rank(terms).checked_sub(1).ok_or(Error::NoMatrix { rank: 0 })?;
    let kind = if p == f64::INFINITY { Reduction::Max } else { Reduction::Sum };
    let total = reduce(g, terms, kind, &[last], Axes::Dropped)?;
    if p == 0.0 || p == 1.0 || p == f64::INFINITY {
        return Ok(total);
    }
    g.compute(&[total], |terms, x| {
        if p == 2.0 {
            return Ok(terms.op(ScalarOp::Sqrt, &[x[0]])?);
        }
        let exponent = terms.constant(Scalar::float(element, 1.0 / p));
        Ok(terms.op(ScalarOp::Pow, &[x[0], exponent])?)
    })
}

/// The distances of all rows of `[… P, M]` from all of `[… R, M]`: `[… P, R]`.
///
/// # Errors
/// When they do not fit each other.
pub fn between_all(g: &mut Graph<'_>, a: Value, b: Value, p: f64) -> Result<Value, Error> {
    let mut sides = Vec::new();
    for (tensor, added) in [(a, 1), (b, 2)] {
        let mut shape = g.extents(tensor);
        let place = shape.len().checked_sub(added).filter(|_| shape.len() >= 2).ok_or(Error::NoMatrix { rank: shape.len() })?;
        shape.insert(place, Extent::Static(1));
        sides.push(g.reshape(tensor, &shape)?);
    }
    distance(g, sides[0], sides[1], p)
}

/// The distances of all pairs of rows of a matrix, those of the first row first.
///
/// # Errors
/// [`Error::DynamicExtent`], and where there are too many.
pub fn between_pairs(g: &mut Graph<'_>, matrix: Value, p: f64) -> Result<Value, Error> {
    let shape = g.extents(matrix);
    let [rows, _] = shape[..] else { return Err(Error::NoMatrix { rank: shape.len() }) };
    let rows = rows.as_static().ok_or(Error::DynamicExtent)?;
    let count = rows.saturating_mul(rows.saturating_sub(1)) / 2;
    if count > MOST_PAIRS {
        return Err(Error::TooManyWindows { most: MOST_PAIRS });
    }
    let pairs: Vec<(i32, i32)> = (0..rows as i32).flat_map(|i| (i + 1..rows as i32).map(move |j| (i, j))).collect();
    let mut sides = Vec::new();
    for list in [pairs.iter().map(|pair| pair.0).collect::<Vec<i32>>(), pairs.iter().map(|pair| pair.1).collect()] {
        let positions = g.constant_i32(&[count], &list)?;
        sides.push(g.gather(matrix, positions, 0)?);
    }
    distance(g, sides[0], sides[1], p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn distances_are_norms_of_differences() {
        let (a, b) = (Floats::new(&[2, 2], vec![0.0, 0.0, 3.0, 4.0]), Floats::new(&[1, 2], vec![3.0, 4.0]));
        for (p, expected) in [(0.0, 2.0), (1.0, 7.0), (2.0, 5.0), (3.0, 91f32.cbrt()), (f64::INFINITY, 4.0)] {
            for open in [&[][..], &[(0, 0)]] {
                let found = run_with(&[&a, &b], open, &|g, v| between_all(g, v[0], v[1], p));
                assert_eq!(found.shape, [2, 1]);
                assert!((found.numbers[0] - expected).abs() < 1e-5 && found.numbers[1] == 0.0, "{p}: {found:?}");
            }
        }
    }

    #[test]
    fn pairs_come_row_by_row() {
        let x = Floats::new(&[3, 1], vec![0.0, 1.0, 5.0]);
        assert_eq!(run(&[&x], &|g, v| between_pairs(g, v[0], 2.0)), Floats::new(&[3], vec![1.0, 5.0, 4.0]));
    }
}
