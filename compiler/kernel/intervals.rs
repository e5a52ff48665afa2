//! Interval analysis: the range of each integer. Intervals are of signed numbers.

use super::types::signed;
use super::*;
use std::collections::BTreeMap;

/// All integers from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The smallest number.
    pub low: i64,
    /// The largest number.
    pub high: i64,
}

impl Interval {
    /// Makes the interval of one number.
    pub fn number(number: i64) -> Self {
        Self { low: number, high: number }
    }

    /// Returns the number, if the interval contains only one.
    pub fn as_number(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    /// Returns the range of a type's lanes. Lanes that are not integers get the range of 64-bit integers.
    pub fn of_type(ty: Type) -> Self {
        if ty.lane.is_integer() { Self::of_lane(ty.lane) } else { Self::of_lane(Lane::I64) }
    }

    /// Returns the range of an integer lane.
    fn of_lane(lane: Lane) -> Self {
        let unused = 64 - 8 * lane.bytes();
        Self { low: i64::MIN >> unused, high: i64::MAX >> unused }
    }

    /// Returns the smallest interval that contains both.
    pub fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Tests whether a lane can hold all numbers of the interval.
    pub fn fits(self, lane: Lane) -> bool {
        let all = Self::of_lane(lane);
        all.low <= self.low && self.high <= all.high
    }

    /// Tests whether no number is negative.
    pub fn is_natural(self) -> bool {
        self.low >= 0
    }

    fn map(self, change: impl Fn(i64) -> i64) -> Self {
        Self { low: change(self.low), high: change(self.high) }
    }

    /// Returns the range of an operation that is monotonic in each operand, from its corners. Returns `None` if the range does not fit a lane.
    fn corners(self, other: Self, lane: Lane, op: impl Fn(i128, i128) -> i128) -> Option<Self> {
        let ends = |interval: Self| [i128::from(interval.low), i128::from(interval.high)];
        let corners = ends(self).map(|a| ends(other).map(|b| op(a, b)));
        let corners = corners.as_flattened();
        let low = (*corners.iter().min()?).try_into().ok()?;
        let high = (*corners.iter().max()?).try_into().ok()?;
        Some(Self { low, high }).filter(|interval| interval.fits(lane))
    }
}

/// Facts about a kernel's arguments that its callers guarantee.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assumed {
    /// Ranges of the integer parameters. A missing parameter may be any number.
    pub parameters: Vec<Interval>,
    /// Ranges of the integers in some buffers, by the number of the buffer.
    pub elements: BTreeMap<usize, Interval>,
}

impl Assumed {
    /// Returns the facts that hold for two calls.
    #[must_use]
    pub fn of_both(&self, other: &Self) -> Self {
        let parameters = self.parameters.iter().zip(&other.parameters).map(|(a, b)| a.union(*b)).collect();
        let both = |(buffer, a): (&usize, &Interval)| Some((*buffer, a.union(*other.elements.get(buffer)?)));
        Self { parameters, elements: self.elements.iter().filter_map(both).collect() }
    }
}

/// Returns the range of the scalar integer result of an instruction without regions. `interval` gives the ranges of its operands.
pub fn of_result(inst: &Inst, lane: Lane, interval: impl Fn(Value) -> Interval) -> Interval {
    let all = Interval::of_lane(lane);
    match *inst {
        Inst::Constant { bits } => Interval::number(signed(lane, bits)),
        Inst::Binary { op, a, b } => of_binary(op, lane, interval(a), interval(b)).unwrap_or(all),
        Inst::ShiftConstant { op, a, count } => of_binary(op, lane, interval(a), Interval::number(count.into())).unwrap_or(all),
        Inst::Select { a, b, .. } => interval(a).union(interval(b)),
        Inst::Convert { op, a } => of_conversion(op, lane, interval(a)).unwrap_or(all),
        Inst::Unary { op: UnaryOp::CountLeadingZeros, .. } => Interval { low: 0, high: i64::from(8 * lane.bytes()) },
        _ => all,
    }
}

fn of_binary(op: BinaryOp, lane: Lane, a: Interval, b: Interval) -> Option<Interval> {
    let naturals = a.is_natural() && b.is_natural();
    match op {
        BinaryOp::Add | BinaryOp::SignedAddInRange => a.corners(b, lane, |a, b| a + b),
        BinaryOp::Sub => a.corners(b, lane, |a, b| a - b),
        BinaryOp::Mul => a.corners(b, lane, |a, b| a * b),
        BinaryOp::ShiftLeft if b.is_natural() && b.high < 64 => a.corners(b, lane, |a, b| a << b),
        BinaryOp::ShiftRightSigned if b.is_natural() && b.high < 64 => a.corners(b, lane, |a, b| a >> b),
        BinaryOp::ShiftRightUnsigned if naturals && b.high < 64 => a.corners(b, lane, |a, b| a >> b),
        BinaryOp::SignedDiv if b.low > 0 => a.corners(b, lane, |a, b| a / b),
        BinaryOp::UnsignedDiv if naturals && b.low > 0 => a.corners(b, lane, |a, b| a / b),
        // A remainder by 0 is 0.
        BinaryOp::UnsignedRem if naturals => Some(Interval { low: 0, high: a.high.min((b.high - 1).max(0)) }),
        BinaryOp::SignedRem if naturals => Some(Interval { low: 0, high: a.high.min((b.high - 1).max(0)) }),
        BinaryOp::SignedRem if b.low > 0 => Some(Interval { low: (1 - b.high).max(a.low.min(0)), high: (b.high - 1).min(a.high.max(0)) }),
        // This mask rounds down to a multiple of a power of two.
        BinaryOp::And if b.as_number().is_some_and(|mask| mask < 0 && mask.unsigned_abs().is_power_of_two()) => Some(a.map(|n| n & b.low)),
        BinaryOp::And if a.is_natural() || b.is_natural() => {
            let high = |interval: Interval| if interval.is_natural() { interval.high } else { i64::MAX };
            Some(Interval { low: 0, high: high(a).min(high(b)) })
        }
        BinaryOp::SignedMin => Some(Interval { low: a.low.min(b.low), high: a.high.min(b.high) }),
        BinaryOp::SignedMax => Some(Interval { low: a.low.max(b.low), high: a.high.max(b.high) }),
        BinaryOp::UnsignedMin if naturals => Some(Interval { low: a.low.min(b.low), high: a.high.min(b.high) }),
        BinaryOp::UnsignedMax if naturals => Some(Interval { low: a.low.max(b.low), high: a.high.max(b.high) }),
        _ => None,
    }
}

fn of_conversion(op: ConvertOp, to: Lane, a: Interval) -> Option<Interval> {
    match op {
        ConvertOp::SignExtend => Some(a),
        ConvertOp::ZeroExtend if a.is_natural() => Some(a),
        ConvertOp::Wrap if a.fits(to) => Some(a),
        ConvertOp::NarrowSigned => {
            let all = Interval::of_lane(to);
            Some(a.map(|end| end.clamp(all.low, all.high)))
        }
        ConvertOp::MaskToInteger => Some(Interval { low: 0, high: 1 }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::interpret;
    use crate::{KernelBuilder, interpret::InterpretError};

    const OPERATIONS: [BinaryOp; 16] = {
        use BinaryOp::*;
        [
            Add,
            Sub,
            Mul,
            ShiftLeft,
            ShiftRightSigned,
            ShiftRightUnsigned,
            SignedDiv,
            UnsignedDiv,
            SignedRem,
            UnsignedRem,
            And,
            Or,
            SignedMin,
            SignedMax,
            UnsignedMin,
            UnsignedMax,
        ]
    };

    fn computed(op: BinaryOp, a: i64, b: i64) -> Result<i64, InterpretError> {
        let mut builder = KernelBuilder::new("k");
        let output = builder.buffer("output", BufferKind::Output, Lane::I8, 1, 1);
        let ty = Type::scalar(Lane::I8);
        let (a, b, zero) = (builder.int(ty, a), builder.int(ty, b), builder.index(0));
        let result = builder.binary(op, a, b);
        builder.store(output, zero, 0, result);
        let mut buffers = [vec![0u8]];
        interpret(&builder.finish(), &mut buffers, &[])?;
        Ok(i64::from(buffers[0][0] as i8))
    }

    /// All bytes in several intervals, under all operations.
    #[test]
    fn intervals_hold_what_is_computed() {
        let ends = [-128, -127, -5, -1, 0, 1, 3, 7, 100, 127];
        for op in OPERATIONS {
            for (i, &low) in ends.iter().enumerate() {
                for &high in ends[i..].iter().step_by(3) {
                    for (c, d) in [(-3, 2), (0, 5), (1, 7), (3, 3), (-128, 127), (0, 0)] {
                        let (a, b) = (Interval { low, high }, Interval { low: c, high: d });
                        let Some(found) = of_binary(op, Lane::I8, a, b) else { continue };
                        for (x, y) in [(low, c), (low, d), (high, c), (high, d), (low.midpoint(high), d), (high, c.midpoint(d))] {
                            let Ok(result) = computed(op, x, y) else { continue };
                            assert!(
                                (found.low..=found.high).contains(&result),
                                "{op:?} of {x} in {a:?} and {y} in {b:?}: {result}, {found:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn two_calls_keep_what_both_keep() {
        let interval = |low, high| Interval { low, high };
        let one = Assumed { parameters: vec![interval(0, 4), interval(2, 2)], elements: [(0, interval(1, 8)), (3, interval(0, 1))].into() };
        let other = Assumed { parameters: vec![interval(3, 9)], elements: [(0, interval(4, 16))].into() };
        assert_eq!(one.of_both(&other), Assumed { parameters: vec![interval(0, 9)], elements: [(0, interval(1, 16))].into() });
    }

    #[test]
    fn intervals_are_tight_where_it_matters() {
        let interval = |low, high| Interval { low, high };
        assert_eq!(of_binary(BinaryOp::UnsignedRem, Lane::I64, interval(0, 1000), Interval::number(7)), Some(interval(0, 6)));
        assert_eq!(of_binary(BinaryOp::SignedDiv, Lane::I64, interval(-9, 1000), Interval::number(10)), Some(interval(0, 100)));
        assert_eq!(of_binary(BinaryOp::And, Lane::I64, Interval::of_lane(Lane::I64), Interval::number(15)), Some(interval(0, 15)));
        assert_eq!(of_binary(BinaryOp::And, Lane::I64, interval(-9, 1002), Interval::number(-4)), Some(interval(-12, 1000)));
        assert_eq!(of_binary(BinaryOp::Add, Lane::I64, interval(0, i64::MAX), Interval::number(1)), None);
        assert_eq!(of_conversion(ConvertOp::SignExtend, Lane::I64, Interval::of_lane(Lane::I8)), Some(interval(-128, 127)));
    }
}
