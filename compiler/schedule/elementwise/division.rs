//! Quotients of vectors of integers. Processors divide vectors of floats, but no vectors of integers.

use super::ranges::Range;
use crate::kernel::{BinaryOp, ConvertOp, KernelBuilder, Lane, Value};

/// Integers from here on have no binary32 of their own.
const EXACT: i128 = 1 << 24;

/// The quotient `x / d` of 32-bit integers, towards zero, if a shorter way than a division in each lane is exact. Ranges are those of `x` and `d`.
pub(super) fn quotient(b: &mut KernelBuilder, [x, d]: [Value; 2], [of_x, of_d]: [Range; 2]) -> Option<Value> {
    let single = b.ty(x).lanes == 1 || b.ty(x).lane != Lane::I32;
    if single || of_d.0 <= 0 {
        return None;
    }
    if of_d.0 == of_d.1 && of_d.0.count_ones() == 1 {
        return Some(by_power_of_two(b, x, of_d.0.trailing_zeros() as u8));
    }
    let largest = of_x.0.abs().max(of_x.1).max(of_d.1);
    (largest < EXACT).then(|| by_floats(b, x, d))
}

/// `x / 2^exponent`: a shift, after `2^exponent - 1` is added to what is negative.
fn by_power_of_two(b: &mut KernelBuilder, x: Value, exponent: u8) -> Value {
    if exponent == 0 {
        return x;
    }
    let sign = b.shift(BinaryOp::ShiftRightSigned, x, 31);
    let below = b.shift(BinaryOp::ShiftRightUnsigned, sign, 32 - exponent);
    let sum = b.add(x, below);
    b.shift(BinaryOp::ShiftRightSigned, sum, exponent)
}

/// The rounded quotient of the numbers as binary32, truncated. This is exact below 2^24: a quotient that is no integer is at least `1/d` away from the
/// next one, and rounding moves it by at most `x/d * 2^-24`, which is less.
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

    /// The quotients of vectors of four whose operands are known to lie in these ranges; `None` where a division is needed.
    fn quotients(x: &[i32], d: &[i32], ranges: [Range; 2]) -> Option<Vec<i32>> {
        let mut b = KernelBuilder::new("quotients");
        let count = x.len() as u64;
        let inputs = ["x", "d"].map(|name| b.buffer(name, BufferKind::Input, Lane::I32, count, 4));
        let output = b.buffer("quotients", BufferKind::Output, Lane::I32, count, 4);
        for first in (0..x.len() as i64).step_by(4) {
            let at = b.index(first);
            let operands = inputs.map(|buffer| b.load(buffer, at, 0, 4));
            let quotient = quotient(&mut b, operands, ranges)?;
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
        for divisor in divisors {
            // Numbers beside multiples, where a rounded quotient would reach the next integer.
            let multiples = [1, 2, 3, most / divisor / 2, most / divisor].map(|n| n.min(most / divisor) * divisor);
            let mut x: Vec<i32> = multiples.iter().flat_map(|&n| [n - 1, n, (n + 1).min(most)]).flat_map(|n| [n, -n]).collect();
            x.resize(x.len().next_multiple_of(4), most);
            let d = vec![divisor; x.len()];
            let wanted: Vec<i32> = x.iter().map(|x| x / divisor).collect();
            let found = quotients(&x, &d, [(-i128::from(most), most.into()), (1, most.into())]);
            assert_eq!(found, Some(wanted), "by {divisor}");
        }
    }

    #[test]
    fn quotients_by_powers_of_two_are_shifts() {
        let x = [i32::MIN, i32::MIN + 1, -9, -8, -7, -1, 0, 1, 7, 8, 9, i32::MAX];
        for exponent in [0, 1, 3, 30] {
            let divisor = 1 << exponent;
            let wanted: Vec<i32> = x.iter().map(|x| x / divisor).collect();
            let of_x = (i128::from(i32::MIN), i128::from(i32::MAX));
            assert_eq!(quotients(&x, &[divisor; 12], [of_x, (divisor.into(), divisor.into())]), Some(wanted), "by {divisor}");
        }
    }

    #[test]
    fn large_numbers_and_divisors_that_may_be_zero_are_divided_as_integers() {
        let (x, d) = ([1 << 24; 4], [3; 4]);
        assert_eq!(quotients(&x, &d, [(0, EXACT), (1, 3)]), None);
        assert_eq!(quotients(&x, &d, [(0, 100), (0, 3)]), None);
    }
}
