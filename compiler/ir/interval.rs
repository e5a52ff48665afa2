//! Interval arithmetic of index values. Bounds saturate, so an overflow widens the interval and is never wrong.

use super::types::Interval;

fn floor_divide(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && ((a < 0) != (b < 0)) { quotient - 1 } else { quotient }
}

/// One of [`super::op::INDEX_OPERATIONS`] on two numbers, saturating.
pub fn evaluate(operation: u8, a: i64, b: i64) -> i64 {
    match operation {
        0 => a.saturating_add(b),
        1 => a.saturating_sub(b),
        2 => a.saturating_mul(b),
        3 => floor_divide(a, b),
        4 => floor_divide(a.saturating_neg(), b).saturating_neg(),
        5 if b == 0 => 0,
        5 => a.wrapping_sub(floor_divide(a, b).wrapping_mul(b)),
        6 => a.min(b),
        _ => a.max(b),
    }
}

/// The interval of one of [`super::op::INDEX_OPERATIONS`] on operands in two intervals.
pub fn apply(operation: u8, a: Interval, b: Interval) -> Interval {
    if operation == 5 {
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

    #[test]
    fn every_operation_stays_inside_its_interval() {
        for operation in 0..8 {
            for (al, ah, bl, bh) in [(-3, 4, -2, 3), (0, 5, 1, 4), (-6, -1, -3, -1), (2, 2, 0, 0)] {
                let bound = apply(operation, Interval { low: al, high: ah }, Interval { low: bl, high: bh });
                for a in al..=ah {
                    for b in bl..=bh {
                        let value = evaluate(operation, a, b);
                        assert!((bound.low..=bound.high).contains(&value), "operation {operation} on {a}, {b}: {value} outside {bound:?}");
                    }
                }
            }
        }
    }
}
