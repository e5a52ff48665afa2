//! Fixed-point products and divisions of words, as sequences of instructions.

use super::ops::{Operand, Ops, Test, WordOp};
use modelc_kernel::CompareOp;

/// Computes gemmlowp's rounding doubling high product, with or without saturation.
pub fn doubling_high_product<O: Ops>(ops: &mut O, a: O::Word, b: O::Word, saturates: bool) -> O::Word {
    let product = ops.long_product(true, a, b);
    let half = [ops.word(1 << 30), ops.word(0)];
    let [low, high] = ops.long_sum(false, product, half);
    let low = ops.shift(WordOp::Right, low, 31);
    let high = ops.shift(WordOp::Left, high, 1);
    let result = ops.two(WordOp::Or, high, Operand::Word(low));
    if !saturates {
        return result;
    }
    // Only the one product that overflows gives the smallest number.
    let (smallest, largest) = (ops.word(i32::MIN), ops.word(i32::MAX));
    ops.choose(Test::words(CompareOp::Equal, result, Operand::Word(smallest)), largest, result)
}

/// Computes a / 2ᵇ for a constant b, rounded to nearest with ties away from zero.
pub fn rounding_divide<O: Ops>(ops: &mut O, a: O::Word, count: u32) -> O::Word {
    if count == 0 {
        return a;
    }
    let rest = ops.shift(WordOp::Left, a, 32 - count);
    let rest = ops.shift(WordOp::Right, rest, 32 - count);
    let half = ops.word((((1u32 << count) - 1) >> 1) as i32);
    // The threshold is a half, plus one for negative numbers.
    let threshold = ops.with_shifted(WordOp::Sub, half, a, 31);
    let quotient = ops.shift(WordOp::RightSigned, a, count);
    let next = ops.two(WordOp::Add, quotient, Operand::Number(1));
    ops.choose(Test::words(CompareOp::Greater, rest, Operand::Word(threshold)), next, quotient)
}

/// Computes a / 2ᵇ for a word b below 32, rounded to nearest with ties away from zero.
pub fn rounding_divide_by<O: Ops>(ops: &mut O, a: O::Word, count: O::Word) -> O::Word {
    let one = ops.word(1);
    let power = ops.two(WordOp::Left, one, Operand::Word(count));
    let mask = ops.two(WordOp::Sub, power, Operand::Number(1));
    let rest = ops.two(WordOp::And, a, Operand::Word(mask));
    let half = ops.shift(WordOp::Right, mask, 1);
    let threshold = ops.with_shifted(WordOp::Sub, half, a, 31);
    let quotient = ops.two(WordOp::RightSigned, a, Operand::Word(count));
    let next = ops.two(WordOp::Add, quotient, Operand::Number(1));
    ops.choose(Test::words(CompareOp::Greater, rest, Operand::Word(threshold)), next, quotient)
}
