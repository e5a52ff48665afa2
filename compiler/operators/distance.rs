//! Distances of points.

use super::reduction::{Axes, reduce};
use super::terms::Terms;
use super::{Error, Graph};
use crate::ir::scalar::ExpressionError;
use crate::ir::{Comparison, ElementType, Extent, Node, Reduction, Scalar, ScalarOp, Value};
use ElementType::{F64, I64};

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

/// The distances of all pairs of rows of a matrix, the pairs of the first row first.
///
/// # Errors
/// [`Error::TooManyWindows`] if static rows have too many pairs.
pub fn between_pairs(g: &mut Graph<'_>, matrix: Value, p: f64) -> Result<Value, Error> {
    let shape = g.extents(matrix);
    let [rows, _] = shape[..] else { return Err(Error::NoMatrix { rank: shape.len() }) };
    let pairs = match rows.as_static() {
        Some(rows) => known_pairs(g, rows)?,
        None => measured_pairs(g, rows)?,
    };
    let mut sides = Vec::with_capacity(2);
    for positions in pairs {
        sides.push(g.gather(matrix, positions, 0)?);
    }
    distance(g, sides[0], sides[1], p)
}

/// The first and the second row of each pair.
fn known_pairs(g: &mut Graph<'_>, rows: u64) -> Result<[Value; 2], Error> {
    let count = rows.saturating_mul(rows.saturating_sub(1)) / 2;
    if count > MOST_PAIRS {
        return Err(Error::TooManyWindows { most: MOST_PAIRS });
    }
    let pairs = || (0..rows as i32).flat_map(|i| (i + 1..rows as i32).map(move |j| (i, j)));
    let (first, second): (Vec<i32>, Vec<i32>) = pairs().unzip();
    Ok([g.constant_i32(&[count], &first)?, g.constant_i32(&[count], &second)?])
}

/// The first and the second row of each pair, for a run-time number n of rows. The pairs of row i begin at i·(2n − 1 − i) ÷ 2. The row of a pair
/// solves this for i. If the root was rounded, it is one less or more.
fn measured_pairs(g: &mut Graph<'_>, rows: Extent) -> Result<[Value; 2], Error> {
    let others = g.sub(rows, Extent::Static(1))?;
    let twice = g.mul(rows, others)?;
    let count = g.floor_div(twice, Extent::Static(2))?;
    let (pairs, rows) = (g.iota(count, I64)?, g.extent_tensor(rows, I64)?);
    let operands = [pairs, rows];
    let mut terms = Terms::new(&[I64; 2]);
    let (pair, rows, one, two) = (terms.input(0), terms.input(1), terms.i64(1), terms.i64(2));
    let doubled = terms.mul(rows, two)?;
    let width = terms.sub(doubled, one)?;
    let begin = |terms: &mut Terms, row| -> Result<Node, ExpressionError> {
        let left = terms.sub(width, row)?;
        let product = terms.mul(row, left)?;
        terms.div(product, two)
    };
    // The smaller root of i² − (2n − 1)·i + 2·pair.
    let (eight, half, square) = (terms.i64(8), terms.f64(0.5), terms.mul(width, width)?);
    let eightfold = terms.mul(pair, eight)?;
    let under = terms.sub(square, eightfold)?;
    let (under, wide) = (terms.convert(under, F64), terms.convert(width, F64));
    let root = terms.op(ScalarOp::Sqrt, &[under])?;
    let difference = terms.sub(wide, root)?;
    let exact = terms.mul(difference, half)?;
    let row = terms.convert(exact, I64);
    let start = begin(&mut terms, row)?;
    let too_far = terms.compare(Comparison::Greater, start, pair)?;
    let before = terms.sub(row, one)?;
    let row = terms.select(too_far, before, row)?;
    let after = terms.add(row, one)?;
    let next = begin(&mut terms, after)?;
    let is_next = terms.compare(Comparison::LessEqual, next, pair)?;
    let row = terms.select(is_next, after, row)?;
    let start = begin(&mut terms, row)?;
    let within = terms.sub(pair, start)?;
    let second = terms.add(row, within)?;
    let second = terms.add(second, one)?;
    let results = g.map_many(&operands, terms.finish_many(vec![row, second]))?;
    Ok([results[0], results[1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn distances_are_norms_of_differences() {
        let (a, b) = (Floats::new(&[2, 2], vec![0.0, 0.0, 3.0, 4.0]), Floats::new(&[1, 2], vec![3.0, 4.0]));
        for (p, expected) in [(0.0, 2.0), (1.0, 7.0), (2.0, 5.0), (3.0, 91f32.cbrt()), (f64::INFINITY, 4.0)] {
            for open in [&[][..], &[[0, 0]]] {
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

    #[test]
    fn pairs_of_an_open_number_of_rows_are_those_of_a_known_one() {
        for rows in [1, 2, 3, 17, 60] {
            let x = Floats::varied(&[rows, 2]);
            let known = run(&[&x], &|g, v| between_pairs(g, v[0], 1.0));
            assert_eq!(run_with(&[&x], &[[0, 0]], &|g, v| between_pairs(g, v[0], 1.0)), known, "{rows}");
        }
    }
}
