//! Interval arithmetic: the range of a result, from the ranges of the operands. A row names one [`IntervalRule`]. The rule serves integers of any
//! size, whose ends are exact, and reals, whose caller allows for rounding.

use super::rules::Comparison;
use crate::types::{ElementType, Interval};

/// An interval of integers of any type.
pub type Range = Interval<i128>;

/// The known properties of an operation's operands, and its type.
pub struct Operands<'a, N = i128> {
    /// The type of the result.
    pub ty: ElementType,
    /// Types of the operands.
    pub types: &'a [ElementType],
    /// Intervals of the operands.
    pub ranges: &'a [Interval<N>],
}

/// The range of an exact result, before it is rounded or wrapped to its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntervalRule {
    /// a + b.
    Sum,
    /// a − b.
    Difference,
    /// a × b.
    Product,
    /// a ÷ b, truncated to an integer type; known for divisors above 0.
    Quotient,
    /// The remainder of truncating division; known for divisors above 0.
    Remainder,
    /// a ÷ 2ᵇ, towards −∞; known for one number b of at most 31.
    Halved,
    /// −a.
    Negative,
    /// The smaller.
    Smaller,
    /// The larger.
    Larger,
    /// c ? a : b.
    Chosen,
    /// A conversion that keeps the number. Nothing is known if an integer type cannot hold it.
    Kept,
    /// The nearest number that an integer type holds.
    Clamped,
    /// A count of the type's bits.
    Bits,
    /// Rounding towards −∞.
    Floor,
    /// Rounding towards +∞.
    Ceil,
    /// Rounding towards zero.
    Trunc,
    /// Rounding to a neighbouring integer.
    Nearest,
    /// The truth of a comparison, 0 or 1. No operand is NaN.
    Compared(Comparison),
    /// Both of two truth values.
    Both,
    /// At least one of two truth values.
    OneOf,
    /// The negation of a truth value.
    Opposite,
}

/// The number type of an interval's ends.
pub trait End: Copy + PartialOrd {
    /// The sum. `None` if integers exceed 128 bits.
    fn plus(self, other: Self) -> Option<Self>;
    /// The difference. `None` if integers exceed 128 bits.
    fn minus(self, other: Self) -> Option<Self>;
    /// The product. `None` if integers exceed 128 bits.
    fn times(self, other: Self) -> Option<Self>;
    /// The quotient by a number above 0, truncated for integers.
    fn over(self, other: Self) -> Option<Self>;
    /// The end rounded towards −∞.
    fn floor(self) -> Self;
    /// The end rounded towards +∞.
    fn ceil(self) -> Self;
    /// The end for an integer.
    fn of(integer: i128) -> Self;
    /// Tests whether such ends can bound numbers of a type.
    fn can_bound(ty: ElementType) -> bool;
}

impl End for i128 {
    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }

    fn minus(self, other: Self) -> Option<Self> {
        self.checked_sub(other)
    }

    fn times(self, other: Self) -> Option<Self> {
        self.checked_mul(other)
    }

    fn over(self, other: Self) -> Option<Self> {
        self.checked_div(other)
    }

    fn floor(self) -> Self {
        self
    }

    fn ceil(self) -> Self {
        self
    }

    fn of(integer: i128) -> Self {
        integer
    }

    fn can_bound(ty: ElementType) -> bool {
        ty.is_integer()
    }
}

impl End for f64 {
    fn plus(self, other: Self) -> Option<Self> {
        Some(self + other)
    }

    fn minus(self, other: Self) -> Option<Self> {
        Some(self - other)
    }

    fn times(self, other: Self) -> Option<Self> {
        Some(self * other)
    }

    fn over(self, other: Self) -> Option<Self> {
        Some(self / other)
    }

    fn floor(self) -> Self {
        libm::floor(self)
    }

    fn ceil(self) -> Self {
        libm::ceil(self)
    }

    fn of(integer: i128) -> Self {
        integer as f64
    }

    fn can_bound(_: ElementType) -> bool {
        true
    }
}

impl IntervalRule {
    /// The interval of the exact result.
    pub fn apply<N: End>(self, x: &Operands<'_, N>) -> Option<Interval<N>> {
        let zero = N::of(0);
        match (self, x.ranges) {
            (Self::Sum, &[a, b]) => Some(Interval::new(a.low.plus(b.low)?, a.high.plus(b.high)?)),
            (Self::Difference, &[a, b]) => Some(Interval::new(a.low.minus(b.high)?, a.high.minus(b.low)?)),
            (Self::Product, &[a, b]) => corners(a, b, N::times),
            (Self::Quotient, &[a, b]) if b.low > zero => {
                let exact = corners(a, b, N::over)?;
                Some(if x.ty.is_integer() { Interval::new(towards_zero(exact.low), towards_zero(exact.high)) } else { exact })
            }
            (Self::Remainder, &[a, b]) if b.low > zero => {
                Some(if a.low >= zero { Interval::new(zero, smaller(a.high, b.high)) } else { Interval::new(zero.minus(b.high)?, b.high) })
            }
            (Self::Halved, &[a, b]) => {
                let count = (0..32).find(|&count| within(b, Interval::exactly(N::of(count))))?;
                let divisor = 1i128 << count;
                let below = |n: N| if n < zero { n.minus(N::of(divisor - 1)) } else { Some(n) };
                let halved = |n: N| Some(towards_zero(below(n)?.over(N::of(divisor))?));
                Some(Interval::new(halved(a.low)?, halved(a.high)?))
            }
            (Self::Negative, &[a]) => Some(Interval::new(zero.minus(a.high)?, zero.minus(a.low)?)),
            (Self::Smaller, &[a, b]) => Some(Interval::new(smaller(a.low, b.low), smaller(a.high, b.high))),
            (Self::Larger, &[a, b]) => Some(Interval::new(larger(a.low, b.low), larger(a.high, b.high))),
            (Self::Chosen, &[condition, a, b]) => Some(match decided(condition) {
                Some(true) => a,
                Some(false) => b,
                None => Interval::new(smaller(a.low, b.low), larger(a.high, b.high)),
            }),
            (Self::Kept | Self::Clamped, &[a]) => converted(self, x, a),
            (Self::Bits, _) => Some(Interval::new(zero, N::of(i128::from(x.ty.bits())))),
            (Self::Floor, &[a]) => Some(Interval::new(a.low.floor(), a.high.floor())),
            (Self::Ceil, &[a]) => Some(Interval::new(a.low.ceil(), a.high.ceil())),
            (Self::Trunc, &[a]) => Some(Interval::new(towards_zero(a.low), towards_zero(a.high))),
            (Self::Nearest, &[a]) => Some(Interval::new(a.low.floor(), a.high.ceil())),
            (Self::Compared(comparison), &[a, b]) => Some(compared(comparison, a, b)),
            (Self::Both, &[a, b]) if x.ty == ElementType::Bool => Some(Interval::new(smaller(a.low, b.low), smaller(a.high, b.high))),
            (Self::OneOf, &[a, b]) if x.ty == ElementType::Bool => Some(Interval::new(larger(a.low, b.low), larger(a.high, b.high))),
            (Self::Opposite, &[a]) if x.ty == ElementType::Bool => Some(opposite(a)),
            _ => None,
        }
    }
}

/// All numbers of an integer type; of other types, more than any integer.
pub fn type_range(ty: ElementType) -> Range {
    ty.integer_range().map_or(Interval::new(i128::MIN / 4, i128::MAX / 4), |(low, high)| Interval::new(low, high))
}

/// Tests whether one interval lies within another.
pub fn within<N: PartialOrd>(inner: Interval<N>, outer: Interval<N>) -> bool {
    inner.low >= outer.low && inner.high <= outer.high
}

fn smaller<N: PartialOrd>(a: N, b: N) -> N {
    if b < a { b } else { a }
}

fn larger<N: PartialOrd>(a: N, b: N) -> N {
    if b > a { b } else { a }
}

fn towards_zero<N: End>(n: N) -> N {
    if n < N::of(0) { n.ceil() } else { n.floor() }
}

/// The interval of a function that is monotone in each of two operands.
fn corners<N: End>(a: Interval<N>, b: Interval<N>, function: impl Fn(N, N) -> Option<N>) -> Option<Interval<N>> {
    let first = function(a.low, b.low)?;
    let others = [function(a.low, b.high)?, function(a.high, b.low)?, function(a.high, b.high)?];
    Some(others.into_iter().fold(Interval::exactly(first), |found, n| Interval::new(smaller(found.low, n), larger(found.high, n))))
}

fn converted<N: End>(rule: IntervalRule, x: &Operands<'_, N>, a: Interval<N>) -> Option<Interval<N>> {
    if !N::can_bound(x.types[0]) || x.ty == ElementType::Bool {
        return None;
    }
    if !x.ty.is_integer() {
        return Some(a);
    }
    let full = type_range(x.ty);
    let full = Interval::new(N::of(full.low), N::of(full.high));
    let whole = Interval::new(towards_zero(a.low), towards_zero(a.high));
    let clamp = |n: N| smaller(larger(n, full.low), full.high);
    match rule {
        IntervalRule::Clamped => Some(Interval::new(clamp(whole.low), clamp(whole.high))),
        _ => within(whole, full).then_some(whole),
    }
}

/// The value of a truth value that is constant.
fn decided<N: End>(truth: Interval<N>) -> Option<bool> {
    match truth {
        Interval { low, high } if low == N::of(1) && high == N::of(1) => Some(true),
        Interval { low, high } if low == N::of(0) && high == N::of(0) => Some(false),
        _ => None,
    }
}

fn truth<N: End>(always: bool, never: bool) -> Interval<N> {
    Interval::new(N::of(i128::from(always)), N::of(i128::from(!never)))
}

fn opposite<N: End>(a: Interval<N>) -> Interval<N> {
    let no = |n: N| if n == N::of(0) { N::of(1) } else { N::of(0) };
    Interval::new(no(a.high), no(a.low))
}

fn compared<N: End>(comparison: Comparison, a: Interval<N>, b: Interval<N>) -> Interval<N> {
    let less = |a: Interval<N>, b: Interval<N>| truth(a.high < b.low, a.low >= b.high);
    let same = || truth(a.low == b.high && a.high == b.low, a.high < b.low || b.high < a.low);
    match comparison {
        Comparison::Less => less(a, b),
        Comparison::Greater => less(b, a),
        Comparison::GreaterEqual => opposite(less(a, b)),
        Comparison::LessEqual => opposite(less(b, a)),
        Comparison::Equal => same(),
        Comparison::NotEqual => opposite(same()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::integer::{Integers, wrap};
    use crate::{Interval, ScalarOp};
    use ElementType::{Bool, F32, I8, I32, U8};

    const SAMPLES: [(i64, i64); 6] = [(-7, 12), (2, 5), (0, 0), (-3, -1), (0, 9), (-128, 127)];

    /// The results of an operation for all pairs of numbers of two intervals.
    fn results(function: fn(ElementType, i64, i64) -> i64, ty: ElementType, a: (i64, i64), b: (i64, i64)) -> impl Iterator<Item = i64> {
        (a.0..=a.1).flat_map(move |x| (b.0..=b.1).map(move |y| function(ty, x, y)))
    }

    #[test]
    fn every_rule_of_two_integers_covers_all_results() {
        let rows = ScalarOp::PLAIN.iter().map(|op| op.row()).filter(|row| row.interval.is_some());
        let functions =
            rows.filter_map(|row| if let Integers::Binary(f) = row.integers { Some((row.name, row.interval?, f)) } else { None });
        let mut count = 0;
        for (name, rule, function) in functions {
            for (a, b) in SAMPLES.into_iter().flat_map(|a| SAMPLES.map(|b| (a, b))) {
                let exact = [a, b].map(|(low, high)| Interval::new(i128::from(low), i128::from(high)));
                let real = exact.map(|range| Interval::new(range.low as f64, range.high as f64));
                let of_integers = rule.apply(&Operands { ty: I32, types: &[I32; 2], ranges: &exact });
                let of_reals = rule.apply(&Operands { ty: I32, types: &[I32; 2], ranges: &real });
                assert_eq!(
                    of_integers.map(|range| Interval::new(range.low as f64, range.high as f64)),
                    of_reals,
                    "{name} of {a:?} and {b:?}"
                );
                let Some(found) = of_integers else { continue };
                let covers = |n: i64| found.low <= n.into() && i128::from(n) <= found.high;
                assert!(results(function, I32, a, b).all(covers), "{name} of {a:?} and {b:?}: {found:?}");
                count += 1;
            }
        }
        assert!(count > 100);
    }

    #[test]
    fn every_rule_of_one_integer_covers_all_results() {
        for op in ScalarOp::PLAIN {
            let row = op.row();
            let (Some(rule), Integers::Unary(function)) = (row.interval, row.integers) else { continue };
            for ty in [I8, Bool].into_iter().filter(|&ty| op.result_type(&[ty]).is_some()) {
                let (low, high) = if ty == Bool { (0, 1) } else { (-128, 127) };
                let Some(found) = rule.apply(&Operands { ty, types: &[ty], ranges: &[Interval::new(low.into(), high.into())] }) else {
                    continue;
                };
                let exact = |n: i64| if row.name == "neg" { -n } else { wrap(ty, function(ty, n)) };
                assert!(
                    (low..=high).map(exact).all(|n| found.low <= n.into() && i128::from(n) <= found.high),
                    "{} on {ty}: {found:?}",
                    row.name
                );
            }
        }
    }

    #[test]
    fn conversions_keep_what_fits_and_clamp_the_rest() {
        let real = |rule: IntervalRule, range: Interval<f64>| rule.apply(&Operands { ty: U8, types: &[F32], ranges: &[range] });
        assert_eq!(real(IntervalRule::Kept, Interval::new(0.5, 255.5)), Some(Interval::new(0.0, 255.0)));
        assert_eq!(real(IntervalRule::Kept, Interval::new(-1.5, 3.0)), None);
        assert_eq!(real(IntervalRule::Clamped, Interval::new(-1.5, 300.0)), Some(Interval::new(0.0, 255.0)));
        // Intervals of integers say nothing of floats.
        assert_eq!(IntervalRule::Clamped.apply(&Operands { ty: U8, types: &[F32], ranges: &[Interval::new(0i128, 9)] }), None);
        assert_eq!(IntervalRule::Kept.apply(&Operands { ty: Bool, types: &[I32], ranges: &[Interval::new(0i128, 9)] }), None);
    }

    #[test]
    fn a_decided_condition_chooses() {
        let chosen = |low, high| {
            let ranges = [(low, high), (1i128, 2), (8, 9)].map(|(low, high)| Interval::new(low, high));
            IntervalRule::Chosen.apply(&Operands { ty: I32, types: &[Bool, I32, I32], ranges: &ranges })
        };
        assert_eq!(chosen(1, 1), Some(Interval::new(1, 2)));
        assert_eq!(chosen(0, 0), Some(Interval::new(8, 9)));
        assert_eq!(chosen(0, 1), Some(Interval::new(1, 9)));
    }
}
