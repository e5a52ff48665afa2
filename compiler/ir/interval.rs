//! Interval arithmetic of index values. Bounds saturate, so an overflow widens the interval and is never wrong.

use super::operators::IndexOperation;
use super::types::Interval;

fn floor_divide(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && ((a < 0) != (b < 0)) { quotient - 1 } else { quotient }
}

/// An operation on two numbers, saturating.
pub fn evaluate(operation: IndexOperation, a: i64, b: i64) -> i64 {
    match operation {
        IndexOperation::Add => a.saturating_add(b),
        IndexOperation::Subtract => a.saturating_sub(b),
        IndexOperation::Multiply => a.saturating_mul(b),
        IndexOperation::FloorDivide => floor_divide(a, b),
        IndexOperation::CeilingDivide => floor_divide(a.saturating_neg(), b).saturating_neg(),
        IndexOperation::Remainder if b == 0 => 0,
        IndexOperation::Remainder => a.wrapping_sub(floor_divide(a, b).wrapping_mul(b)),
        IndexOperation::Minimum => a.min(b),
        IndexOperation::Maximum => a.max(b),
    }
}

/// The interval of an operation on operands in two intervals.
pub fn apply(operation: IndexOperation, a: Interval, b: Interval) -> Interval {
    if operation == IndexOperation::Remainder {
        let high = b.high.saturating_sub(1).max(0);
        let low = if b.low < 0 { b.low.saturating_add(1) } else { 0 };
        return Interval { low, high: if a.low >= 0 && b.low > 0 { high.min(a.high) } else { high } };
    }
    // All remaining operations are monotone in each operand, except division where the divisor's interval holds zero.
    let mut divisors = vec![b.low, b.high];
    if b.low <= 0 && b.high >= 0 {
        divisors.extend([-1, 0, 1].into_iter().filter(|&n| (b.low..=b.high).contains(&n)));
    }
    let corners = divisors.iter().flat_map(|&y| [a.low, a.high].map(|x| evaluate(operation, x, y)));
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for corner in corners {
        low = low.min(corner);
        high = high.max(corner);
    }
    Interval { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::Word;

    #[test]
    fn every_operation_stays_inside_its_interval() {
        for &operation in IndexOperation::ALL {
            for (al, ah, bl, bh) in [(-3, 4, -2, 3), (0, 5, 1, 4), (-6, -1, -3, -1), (2, 2, 0, 0)] {
                let bound = apply(operation, Interval { low: al, high: ah }, Interval { low: bl, high: bh });
                for a in al..=ah {
                    for b in bl..=bh {
                        let value = evaluate(operation, a, b);
                        assert!((bound.low..=bound.high).contains(&value), "{operation:?} on {a}, {b}: {value} outside {bound:?}");
                    }
                }
            }
        }
    }
}
