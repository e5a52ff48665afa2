//! The scale and zero point of each row of a tensor, chosen when the program runs.

use super::reduction::{Axes, reduce};
use super::{Error, Graph};
use crate::ir::{Comparison, ElementType, Interval, NanRule, Reduction, Scalar, ScalarOp, Value};
use ElementType::{F32, F64, I64};

/// The least scale that ExecuTorch gives.
const LEAST: f64 = 6.1e-5f32 as f64;
/// The scale of rows of zeros.
const OF_ZEROS: f64 = 0.1;

/// The scale, in binary64, at which each row of binary32, and zero, spans the integers from `low` to `high`, and the zero point, in i64. A row is the
/// last dimension, which keeps extent 1. The formula is ExecuTorch's: the end of the row that is nearer to zero in steps becomes exact.
///
/// # Errors
/// When elements are no binary32.
pub fn spanning_rows(g: &mut Graph<'_>, x: Value, Interval { low, high }: Interval) -> Result<[Value; 2], Error> {
    let axis = g.rank(x).checked_sub(1).ok_or(Error::NoMatrix { rank: 0 })?;
    let smallest = reduce(g, x, Reduction::Min, &[axis], Axes::Kept)?;
    let largest = reduce(g, x, Reduction::Max, &[axis], Axes::Kept)?;
    let exact = g.compute::<Error>(&[smallest, largest], |terms, x| {
        let zero = terms.f64(0.0);
        let (bottom, top) = (terms.convert(x[0], F64), terms.convert(x[1], F64));
        let bottom = terms.op(ScalarOp::Min(NanRule::Propagate), &[bottom, zero])?;
        let top = terms.op(ScalarOp::Max(NanRule::Propagate), &[top, zero])?;
        let (span, steps) = (terms.sub(top, bottom)?, terms.f64(high as f64 - low as f64));
        let scale = terms.div(span, steps)?;
        // Where the inverse would be infinite in binary32 there is nothing to span.
        let single = terms.convert(scale, F32);
        let one = terms.f32(1.0);
        let inverse = terms.div(one, single)?;
        let infinity = terms.constant(Scalar::float(F32, f64::INFINITY));
        let vanishes = terms.compare(Comparison::Equal, inverse, infinity)?;
        let other = terms.f64(OF_ZEROS);
        Ok(terms.select(vanishes, other, scale)?)
    })?;
    let scale = g.compute::<Error>(&[exact], |terms, x| {
        let least = terms.f64(LEAST);
        Ok(terms.op(ScalarOp::Max(NanRule::Propagate), &[x[0], least])?)
    })?;
    let zero_point = g.compute::<Error>(&[smallest, largest, exact], |terms, x| {
        let zero = terms.f64(0.0);
        let (bottom, top) = (terms.convert(x[0], F64), terms.convert(x[1], F64));
        let (bottom, top) = (terms.min(bottom, zero)?, terms.max(top, zero)?);
        let (down, up) = (terms.div(bottom, x[2])?, terms.div(top, x[2])?);
        let (first, last) = (terms.f64(low as f64), terms.f64(high as f64));
        let (from_low, from_high) = (terms.sub(first, down)?, terms.sub(last, up)?);
        let mut errors = Vec::new();
        for (end, steps) in [(low, down), (high, up)] {
            let (size, steps) = (terms.f64((end as f64).abs()), terms.op(ScalarOp::Abs, &[steps])?);
            errors.push(terms.sub(size, steps)?);
        }
        let is_low = terms.compare(Comparison::Less, errors[0], errors[1])?;
        let point = terms.select(is_low, from_low, from_high)?;
        let point = terms.max(point, first)?;
        let point = terms.min(point, last)?;
        let point = terms.op(ScalarOp::RoundEven, &[point])?;
        Ok(terms.convert(point, I64))
    })?;
    Ok([scale, zero_point])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run_with};

    #[test]
    fn rows_span_the_integers() {
        let x = Floats::new(&[3, 2], vec![-1.0, 1.55, 0.0, 0.0, 5.1, 2.0]);
        let rounded = |result: usize| {
            run_with(&[&x], &[[0, 0]], &|g, v| {
                let found = spanning_rows(g, v[0], Interval::new(-128, 127))?;
                g.convert(found[result], F32)
            })
        };
        let scales = rounded(0);
        assert_eq!(scales.shape, [3, 1]);
        for (found, expected) in scales.numbers.iter().zip([0.01, 0.1, 0.02]) {
            assert!((found - expected).abs() < 1e-7, "{found} instead of {expected}");
        }
        assert_eq!(rounded(1).numbers, [-28.0, 127.0, -128.0]);
    }
}
