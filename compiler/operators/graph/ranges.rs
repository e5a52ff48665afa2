//! Between which numbers the results of scalar operations are. Where nothing is said of an operation, nothing is known of what it gives.

use crate::ir::{Comparison, ElementType, Interval, Scalar, ScalarOp};

/// Integers up to this are exact in binary64; beyond it nothing is known.
const LARGEST: f64 = (1u64 << 52) as f64;
/// What a rounded result of binary32 can be beyond the exact one, relatively, with room to spare.
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

    /// What an index may be.
    pub fn of(interval: Interval) -> Option<Self> {
        Self::new(interval.low as f64, interval.high as f64)
    }

    /// The range of a function of two numbers that is monotone in each of them.
    fn corners(self, other: Self, function: impl Fn(f64, f64) -> f64) -> Option<Self> {
        let corners = [self.low, self.high].into_iter().flat_map(|x| [other.low, other.high].map(|y| function(x, y)));
        Self::around(corners)
    }

    fn around(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers {
            (low, high) = (low.min(number), high.max(number));
        }
        Self::new(low, high)
    }

    fn each(self, function: impl Fn(f64) -> f64) -> Option<Self> {
        Self::new(function(self.low), function(self.high))
    }

    /// The range as a type holds it: integers that do not fit wrap, of which nothing is known, and floats are rounded.
    pub fn held(self, ty: ElementType) -> Option<Self> {
        match (ty.integer_range(), ty) {
            (Some((least, most)), _) => (self.low >= least as f64 && self.high <= most as f64).then_some(self),
            (None, ElementType::F64) => Some(self),
            (None, ElementType::F32) => Self::new(self.low - self.low.abs() * ROUNDING, self.high + self.high.abs() * ROUNDING),
            _ => None,
        }
    }
}

/// The range of an operation's result of type `ty`.
pub(super) fn apply(op: ScalarOp, ty: ElementType, operands: &[Range]) -> Option<Range> {
    if ty == ElementType::Bool {
        return Some(truth(op, operands));
    }
    let is_integer = ty.is_integer();
    let range = match (op, operands) {
        (ScalarOp::Add, &[x, y]) => Range::new(x.low + y.low, x.high + y.high),
        (ScalarOp::Sub, &[x, y]) => Range::new(x.low - y.high, x.high - y.low),
        (ScalarOp::Mul, &[x, y]) => x.corners(y, |x, y| x * y),
        (ScalarOp::Div, &[x, y]) if y.low > 0.0 => x.corners(y, |x, y| if is_integer { libm::trunc(x / y) } else { x / y }),
        (ScalarOp::Rem, &[x, y]) if y.low > 0.0 && x.low >= 0.0 => Range::new(0.0, x.high.min(y.high)),
        (ScalarOp::Rem, &[_, y]) if y.low > 0.0 => Range::new(-y.high, y.high),
        (ScalarOp::Min(_), &[x, y]) => Range::new(x.low.min(y.low), x.high.min(y.high)),
        (ScalarOp::Max(_), &[x, y]) => Range::new(x.low.max(y.low), x.high.max(y.high)),
        (ScalarOp::Select, &[condition, x, _]) if condition.low == 1.0 => Some(x),
        (ScalarOp::Select, &[condition, _, y]) if condition.high == 0.0 => Some(y),
        (ScalarOp::Select, &[_, x, y]) => Range::new(x.low.min(y.low), x.high.max(y.high)),
        (ScalarOp::Neg, &[x]) => Range::new(-x.high, -x.low),
        (ScalarOp::Floor, &[x]) => x.each(libm::floor),
        (ScalarOp::Ceil, &[x]) => x.each(libm::ceil),
        (ScalarOp::RoundEven | ScalarOp::RoundAway, &[x]) => Range::new(libm::floor(x.low), libm::ceil(x.high)),
        (ScalarOp::Trunc, &[x]) => x.each(libm::trunc),
        (ScalarOp::Convert | ScalarOp::ConvertSaturating, &[x]) if is_integer => x.each(libm::trunc),
        (ScalarOp::Convert, &[x]) => Some(x),
        _ => None,
    };
    range?.held(ty)
}

/// What a truth value may be: 0, 1, or either. No number here is NaN.
fn truth(op: ScalarOp, operands: &[Range]) -> Range {
    let decided = |always: bool, never: bool| Range { low: f64::from(u8::from(always)), high: f64::from(u8::from(!never)) };
    let less = |x: Range, y: Range| decided(x.high < y.low, x.low >= y.high);
    let not = |x: Range| Range { low: 1.0 - x.high, high: 1.0 - x.low };
    let same = |x: Range, y: Range| decided(x.low == y.high && x.high == y.low, x.high < y.low || y.high < x.low);
    match (op, operands) {
        (ScalarOp::Compare(comparison), &[x, y]) => match comparison {
            Comparison::Less => less(x, y),
            Comparison::Greater => less(y, x),
            Comparison::GreaterEqual => not(less(x, y)),
            Comparison::LessEqual => not(less(y, x)),
            Comparison::Equal => same(x, y),
            Comparison::NotEqual => not(same(x, y)),
        },
        (ScalarOp::And, &[x, y]) => Range { low: x.low.min(y.low), high: x.high.min(y.high) },
        (ScalarOp::Or, &[x, y]) => Range { low: x.low.max(y.low), high: x.high.max(y.high) },
        (ScalarOp::Not, &[x]) => not(x),
        _ => Range { low: 0.0, high: 1.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{F32, I8, I32};

    fn range(low: f64, high: f64) -> Range {
        Range { low, high }
    }

    #[test]
    fn results_stay_within_their_range() {
        let (x, y) = (range(-7.0, 12.0), range(2.0, 5.0));
        for op in [ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Div, ScalarOp::Rem] {
            let found = apply(op, I32, &[x, y]).expect("small numbers have a range");
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
        assert_eq!(apply(ScalarOp::Add, I8, &[range(0.0, 100.0), range(0.0, 28.0)]), None);
        assert_eq!(apply(ScalarOp::Div, F32, &[range(1.0, 2.0), range(0.0, 2.0)]), None);
        assert_eq!(apply(ScalarOp::Convert, I8, &[range(0.0, 128.5)]), None);
    }

    #[test]
    fn what_is_decided_chooses() {
        let (x, small, large) = (range(0.0, 9.0), range(0.0, 0.0), range(10.0, 10.0));
        for (comparison, other, truth) in
            [(Comparison::Less, large, 1.0), (Comparison::GreaterEqual, large, 0.0), (Comparison::NotEqual, large, 1.0)]
        {
            let condition = apply(ScalarOp::Compare(comparison), ElementType::Bool, &[x, other]).expect("truth values have a range");
            assert_eq!(condition, range(truth, truth), "{comparison:?}");
            let chosen = apply(ScalarOp::Select, I32, &[condition, small, large]);
            assert_eq!(chosen, Some(if truth == 1.0 { small } else { large }));
        }
        let open = apply(ScalarOp::Compare(Comparison::LessEqual), ElementType::Bool, &[x, range(5.0, 5.0)]);
        assert_eq!(open, Some(range(0.0, 1.0)));
    }

    #[test]
    fn rounding_in_binary32_is_allowed_for() {
        let third = f64::from(1.0f32 / 3.0);
        let found = apply(ScalarOp::Mul, F32, &[range(3.0, 3.0), range(third, third)]).expect("small numbers have a range");
        assert!(found.high >= f64::from(3.0f32 * (1.0f32 / 3.0)) && found.high < 1.001);
    }
}
