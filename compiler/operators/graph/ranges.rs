//! Ranges of elements that scalar operations compute, by the rules of their rows.

use crate::ir::scalar::interval::Operands;
use crate::ir::{ElementType, Interval, Scalar, ScalarOp};

/// The largest magnitude that is tracked. Integers up to this are exact in binary64.
const LARGEST: f64 = (1u64 << 52) as f64;
/// The relative error of rounding to binary32, with a margin.
const ROUNDING: f64 = 1.0 / (1u64 << 22) as f64;

/// Numbers from `low` to `high`, both finite.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// A truth value that holds.
    pub const TRUE: Self = Self { low: 1.0, high: 1.0 };

    /// A range, unless it reaches too far.
    fn new(low: f64, high: f64) -> Option<Self> {
        (low >= -LARGEST && high <= LARGEST).then_some(Self { low, high })
    }

    /// One number.
    pub fn exactly(number: Scalar) -> Option<Self> {
        let number = if number.element().is_float() { number.as_f64() } else { number.as_i64() as f64 };
        Self::new(number, number)
    }

    /// The smallest range that contains both.
    pub fn with(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The range of an index.
    pub fn of(interval: Interval) -> Option<Self> {
        Self::new(interval.low as f64, interval.high as f64)
    }

    /// The range after conversion to a type. `None` if integers may wrap; floats are rounded.
    pub fn held(self, ty: ElementType) -> Option<Self> {
        match (ty.integer_range(), ty) {
            (Some((least, most)), _) => (self.low >= least as f64 && self.high <= most as f64).then_some(self),
            (None, ElementType::F64) => Some(self),
            (None, ElementType::F32) => Self::new(self.low - self.low.abs() * ROUNDING, self.high + self.high.abs() * ROUNDING),
            _ => None,
        }
    }
}

/// The range of an operation's result, from types and ranges of its operands.
pub(super) fn apply(op: ScalarOp, ty: ElementType, types: &[ElementType], operands: &[Range]) -> Option<Range> {
    let ranges: Vec<Interval<f64>> = operands.iter().map(|range| Interval::new(range.low, range.high)).collect();
    let found = op.row().interval.and_then(|rule| rule.apply(&Operands { ty, types, ranges: &ranges }));
    if ty == ElementType::Bool {
        let Interval { low, high } = found.unwrap_or(Interval::new(0.0, 1.0));
        return Some(Range { low, high });
    }
    let Interval { low, high } = found?;
    Range::new(low, high)?.held(ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Comparison;
    use ElementType::{F32, I8, I32};

    fn range(low: f64, high: f64) -> Range {
        Range { low, high }
    }

    #[test]
    fn results_stay_within_their_range() {
        let (x, y) = (range(-7.0, 12.0), range(2.0, 5.0));
        for op in [ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Div, ScalarOp::Rem] {
            let found = apply(op, I32, &[I32; 2], &[x, y]).expect("small numbers have a range");
            for a in -7..=12 {
                for b in 2..=5 {
                    let result = match op {
                        ScalarOp::Add => a + b,
                        ScalarOp::Sub => a - b,
                        ScalarOp::Mul => a * b,
                        ScalarOp::Div => a / b,
                        _ => a % b,
                    };
                    assert!(
                        found.low <= f64::from(result) && f64::from(result) <= found.high,
                        "{op:?} of {a} and {b}: {result}, {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn nothing_is_known_of_what_wraps_and_of_quotients_by_zero() {
        assert_eq!(apply(ScalarOp::Add, I8, &[I8; 2], &[range(0.0, 100.0), range(0.0, 28.0)]), None);
        assert_eq!(apply(ScalarOp::Div, F32, &[F32; 2], &[range(1.0, 2.0), range(0.0, 2.0)]), None);
        assert_eq!(apply(ScalarOp::Convert, I8, &[F32], &[range(0.0, 128.5)]), None);
    }

    #[test]
    fn what_is_decided_chooses() {
        let (x, small, large) = (range(0.0, 9.0), range(0.0, 0.0), range(10.0, 10.0));
        for (comparison, other, truth) in
            [(Comparison::Less, large, 1.0), (Comparison::GreaterEqual, large, 0.0), (Comparison::NotEqual, large, 1.0)]
        {
            let condition =
                apply(ScalarOp::Compare(comparison), ElementType::Bool, &[I32; 2], &[x, other]).expect("truth values have a range");
            assert_eq!(condition, range(truth, truth), "{comparison:?}");
            let chosen = apply(ScalarOp::Select, I32, &[ElementType::Bool, I32, I32], &[condition, small, large]);
            assert_eq!(chosen, Some(if truth == 1.0 { small } else { large }));
        }
        let open = apply(ScalarOp::Compare(Comparison::LessEqual), ElementType::Bool, &[I32; 2], &[x, range(5.0, 5.0)]);
        assert_eq!(open, Some(range(0.0, 1.0)));
    }

    #[test]
    fn rounding_in_binary32_is_allowed_for() {
        let third = f64::from(1.0f32 / 3.0);
        let found = apply(ScalarOp::Mul, F32, &[F32; 2], &[range(3.0, 3.0), range(third, third)]).expect("small numbers have a range");
        assert!(found.high >= f64::from(3.0f32 * (1.0f32 / 3.0)) && found.high < 1.001);
    }
}
