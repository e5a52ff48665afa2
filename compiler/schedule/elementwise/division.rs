//! Quotients of vectors of integers. Processors divide vectors of floats, but not vectors of integers.

use super::ranges::Range;
use crate::kernel::{BinaryOp, ConvertOp, KernelBuilder, Lane, Value};
use crate::machine::Requantize;
use crate::schedule::context::Context;
use crate::schedule::technique::Technique;

/// A way to compute quotients of integers without a division in each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quotients {
    /// Quotients of binary32, correctly rounded, then truncated.
    Floats,
    /// Products of integers, for known divisors.
    Products,
    /// No such way: each lane is divided.
    Divided,
}

impl Quotients {
    /// Returns the way of a context's machine.
    pub fn of(cx: &Context<'_>) -> Self {
        match cx.machine.requantize {
            _ if !cx.machine.rounds_floats || !cx.uses(Technique::Quotients) => Self::Divided,
            Requantize::Products => Self::Products,
            Requantize::ByRule | Requantize::Fitted => Self::Floats,
        }
    }
}

/// Bound of integers that binary32 represents exactly.
const EXACT: i128 = 1 << 24;

/// Returns the quotient `x / d` of 32-bit integers, truncated. `None` if only a division in each lane is exact. `of_x` and `of_d` are the ranges of
/// `x` and `d`.
pub(super) fn quotient(b: &mut KernelBuilder, way: Quotients, [x, d]: [Value; 2], [of_x, of_d]: [Range; 2]) -> Option<Value> {
    let single = b.ty(x).lanes == 1 && way == Quotients::Floats || b.ty(x).lane != Lane::I32;
    if single || way == Quotients::Divided || of_d.low <= 0 {
        return None;
    }
    if of_d.low == of_d.high && of_d.low.count_ones() == 1 {
        return Some(by_power_of_two(b, x, of_d.low.trailing_zeros() as u8));
    }
    if way == Quotients::Products {
        let known = of_d.low == of_d.high && of_x.high < 1 << 31;
        return known.then(|| by_product(b, x, of_d.low, of_x.low.abs().max(of_x.high))).flatten();
    }
    let largest = of_x.low.abs().max(of_x.high).max(of_d.high);
    (largest < EXACT).then(|| by_floats(b, x, d))
}

/// Computes `x / 2^exponent` by a shift, after an addition of `2^exponent - 1` to negative numbers.
fn by_power_of_two(b: &mut KernelBuilder, x: Value, exponent: u8) -> Value {
    if exponent == 0 {
        return x;
    }
    let sign = b.shift(BinaryOp::ShiftRightSigned, x, 31);
    let below = b.shift(BinaryOp::ShiftRightUnsigned, sign, 32 - exponent);
    let sum = b.add(x, below);
    b.shift(BinaryOp::ShiftRightSigned, sum, exponent)
}

/// Computes `x / d` for a constant `d` that is no power of two, and `|x| <= most`. The result is `x · m >> s`, plus one if `x` is negative, with `m`
/// just above `2ˢ / d`. The error of `m` changes `most · m` by less than one unit of the quotient. The product has 32 bits if possible; otherwise its
/// high half is taken. `None` if no `m` is exact.
fn by_product(b: &mut KernelBuilder, x: Value, d: i128, most: i128) -> Option<Value> {
    let multiplier = |shift: u32| ((1 << shift) / d) + 1;
    let exact = |shift: u32| (multiplier(shift) * d - (1 << shift)) * most < 1 << shift;
    let low = (0..31).find(|&shift| exact(shift) && multiplier(shift) * most < 1 << 31);
    let high = || (32..62).find(|&shift| exact(shift) && multiplier(shift) < 1 << 31);
    let shift = low.or_else(high)?;
    let ty = b.ty(x);
    let factor = b.int(ty, multiplier(shift) as i64);
    let (product, shift) = if shift < 32 { (b.mul(x, factor), shift) } else { (b.mul_high(true, x, factor), shift - 32) };
    let below = if shift == 0 { product } else { b.shift(BinaryOp::ShiftRightSigned, product, shift as u8) };
    let sign = b.shift(BinaryOp::ShiftRightUnsigned, x, 31);
    Some(b.add(below, sign))
}

/// Computes the rounded quotient in binary32 and truncates it. This is exact below 2^24. A quotient that is no integer is at least `1/d` away from
/// the next integer. Rounding moves it by at most `x/d * 2^-24`, which is less.
fn by_floats(b: &mut KernelBuilder, x: Value, d: Value) -> Value {
    let [x, d] = [x, d].map(|value| b.convert(ConvertOp::SignedToFloat, value, Lane::F32));
    let quotient = b.binary(BinaryOp::FloatDiv, x, d);
    b.convert(ConvertOp::FloatToSignedInRange, quotient, Lane::I32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::interpret::interpret;
    use crate::kernel::{BufferKind, KernelBuilder, Type};

    /// Computes quotients in vectors of four, with operands in these ranges; `None` if lanes must be divided.
    fn quotients(way: Quotients, x: &[i32], d: &[i32], ranges: [Range; 2]) -> Option<Vec<i32>> {
        let mut b = KernelBuilder::new("quotients");
        let count = x.len() as u64;
        let inputs = ["x", "d"].map(|name| b.buffer(name, BufferKind::Input, Lane::I32, count, 4));
        let output = b.buffer("quotients", BufferKind::Output, Lane::I32, count, 4);
        for first in (0..x.len() as i64).step_by(4) {
            let at = b.index(first);
            let operands = inputs.map(|buffer| b.load(buffer, at, 0, 4));
            let quotient = quotient(&mut b, way, operands, ranges)?;
            assert_eq!(b.ty(quotient), Type::vector(Lane::I32, 4));
            b.store(output, at, 0, quotient);
        }
        let bytes = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let mut buffers = vec![bytes(x), bytes(d), vec![0; 4 * x.len()]];
        interpret(&b.finish(), &mut buffers, &[]).expect("the kernel runs");
        Some(buffers[2].as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect())
    }

    #[test]
    fn quotients_of_small_integers_are_exact() {
        let most = (1 << 24) - 1;
        let divisors = [1, 2, 3, 5, 7, 9, 25, 49, 1000, 4095, 65_537, most - 1, most];
        for (divisor, way) in divisors.into_iter().flat_map(|divisor| [(divisor, Quotients::Floats), (divisor, Quotients::Products)]) {
            // Numbers beside multiples, where a rounded quotient would reach the next integer.
            let multiples = [1, 2, 3, most / divisor / 2, most / divisor].map(|n| n.min(most / divisor) * divisor);
            let mut x: Vec<i32> = multiples.iter().flat_map(|&n| [n - 1, n, (n + 1).min(most)]).flat_map(|n| [n, -n]).collect();
            x.resize(x.len().next_multiple_of(4), most);
            let d = vec![divisor; x.len()];
            let wanted: Vec<i32> = x.iter().map(|x| x / divisor).collect();
            let least = if way == Quotients::Products { divisor } else { 1 };
            let most_divisor = if way == Quotients::Products { divisor } else { most };
            let found = quotients(way, &x, &d, [Range::new(-i128::from(most), most.into()), Range::new(least.into(), most_divisor.into())]);
            assert_eq!(found, Some(wanted), "by {divisor}, {way:?}");
        }
    }

    #[test]
    fn quotients_by_products_are_exact_up_to_all_integers() {
        for divisor in [3, 5, 6, 7, 9, 49, 100, 125, 255, 1089, 2025, 65_535, i32::MAX] {
            for most in [255, 16_320, 1_000_000, i32::MAX] {
                let last = most / divisor * divisor;
                let x: Vec<i32> =
                    [0, 1, divisor - 1, divisor, most / 2, last.max(1) - 1, last, most].map(|n| n.min(most)).into_iter().collect();
                let x: Vec<i32> = x.iter().flat_map(|&n| [n, -n]).collect();
                let wanted: Vec<i32> = x.iter().map(|x| x / divisor).collect();
                let ranges = [Range::new(-i128::from(most), most.into()), Range::exactly(divisor.into())];
                let found = quotients(Quotients::Products, &x, &vec![divisor; x.len()], ranges);
                // If x may be any integer, some divisors have no multiplier of 32 bits: these are divided.
                let is_divided = most == i32::MAX && found.is_none();
                assert!(is_divided || found == Some(wanted), "up to {most} by {divisor}: {found:?}");
            }
        }
    }

    #[test]
    fn quotients_by_powers_of_two_are_shifts() {
        let x = [i32::MIN, i32::MIN + 1, -9, -8, -7, -1, 0, 1, 7, 8, 9, i32::MAX];
        for exponent in [0, 1, 3, 30] {
            let divisor = 1 << exponent;
            let wanted: Vec<i32> = x.iter().map(|x| x / divisor).collect();
            let of_x = Range::new(i128::from(i32::MIN), i128::from(i32::MAX));
            let ranges = [of_x, Range::exactly(divisor.into())];
            for way in [Quotients::Floats, Quotients::Products] {
                assert_eq!(quotients(way, &x, &[divisor; 12], ranges), Some(wanted.clone()), "by {divisor}");
            }
        }
    }

    #[test]
    fn large_numbers_and_divisors_that_may_be_zero_are_divided_as_integers() {
        let (x, d) = ([1 << 24; 4], [3; 4]);
        assert_eq!(quotients(Quotients::Floats, &x, &d, [Range::new(0, EXACT), Range::new(1, 3)]), None);
        assert_eq!(quotients(Quotients::Floats, &x, &d, [Range::new(0, 100), Range::new(0, 3)]), None);
        assert_eq!(quotients(Quotients::Products, &x, &d, [Range::new(0, 100), Range::new(2, 3)]), None);
    }
}
