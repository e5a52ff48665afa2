//! Operations of machines without flags, saturation and counts of zeros: a few of the others each.

use super::ops::{Operand, Ops, Test, WordOp};
use modelc_kernel::CompareOp;

/// Two halves of 64 bits.
type Pair<O> = [<O as Ops>::Word; 2];

fn below<O: Ops>(ops: &mut O, op: CompareOp, a: O::Word, b: O::Word) -> O::Word {
    ops.truth(Test::words(op, a, Operand::Word(b)))
}

/// The number of leading zeros, a binary digit of it at a time.
pub fn leading_zeros<O: Ops>(ops: &mut O, a: O::Word) -> O::Word {
    let mut zeros = None;
    let mut rest = a;
    for digit in (0..5).rev() {
        let limit = ops.word((1u32 << (32 - (1 << digit))) as i32);
        let has = below(ops, CompareOp::UnsignedLess, rest, limit);
        let count = ops.shift(WordOp::Left, has, digit);
        rest = ops.two(WordOp::Left, rest, Operand::Word(count));
        zeros = Some(match zeros {
            None => count,
            Some(zeros) => ops.two(WordOp::Add, zeros, Operand::Word(count)),
        });
    }
    let none = ops.truth(Test::words(CompareOp::Equal, rest, Operand::Number(0)));
    zeros.map_or(none, |zeros| ops.two(WordOp::Add, zeros, Operand::Word(none)))
}

/// The sum or the difference of numbers of 64 bits. A sum that is less than an addend has a carry.
pub fn long_sum<O: Ops>(ops: &mut O, subtract: bool, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    let op = if subtract { WordOp::Sub } else { WordOp::Add };
    let low = ops.two(op, a[0], Operand::Word(b[0]));
    let carry = below(ops, CompareOp::UnsignedLess, if subtract { a[0] } else { low }, b[0]);
    let high = ops.two(op, a[1], Operand::Word(b[1]));
    [low, ops.two(op, high, Operand::Word(carry))]
}

/// 1 if a number of 64 bits is less than another one, else 0: by the low halves where the high ones are equal.
pub fn long_less<O: Ops>(ops: &mut O, signed: bool, a: Pair<O>, b: Pair<O>) -> O::Word {
    let high = below(ops, if signed { CompareOp::Less } else { CompareOp::UnsignedLess }, a[1], b[1]);
    let equal = below(ops, CompareOp::Equal, a[1], b[1]);
    let low = below(ops, CompareOp::UnsignedLess, a[0], b[0]);
    let low = ops.two(WordOp::And, low, Operand::Word(equal));
    ops.two(WordOp::Or, high, Operand::Word(low))
}

/// All 64 bits of a product, of the products of the factors' halves. No sum of these overflows.
pub fn long_product<O: Ops>(ops: &mut O, signed: bool, a: O::Word, b: O::Word) -> Pair<O> {
    let right = if signed { WordOp::RightSigned } else { WordOp::Right };
    let product = |ops: &mut O, a, b| ops.two(WordOp::Mul, a, Operand::Word(b));
    let sum = |ops: &mut O, a, b| ops.two(WordOp::Add, a, Operand::Word(b));
    let [a_low, b_low] = [a, b].map(|factor| ops.extend(factor, 16, false));
    let [a_high, b_high] = [a, b].map(|factor| ops.shift(right, factor, 16));
    let lowest = product(ops, a_low, b_low);
    let carried = ops.shift(WordOp::Right, lowest, 16);
    let middle = product(ops, a_high, b_low);
    let middle = sum(ops, middle, carried);
    let carried = ops.extend(middle, 16, false);
    let other = product(ops, a_low, b_high);
    let other = sum(ops, other, carried);
    let high = product(ops, a_high, b_high);
    let [middle, other] = [middle, other].map(|part| ops.shift(right, part, 16));
    let high = sum(ops, high, middle);
    [product(ops, a, b), sum(ops, high, other)]
}

/// Returns the factor and the shift whose high product gives signed quotients by a divisor of 2 or more.
fn reciprocal(divisor: i32) -> (i32, u32) {
    let divisor = divisor.unsigned_abs() as u64;
    // The largest dividend with the remainder of a divisor less 1.
    let limit = (1u64 << 31) - 1 - (1u64 << 31) % divisor;
    let is_exact = |bits: &u32| 1u64 << bits > limit * (divisor - (1u64 << bits) % divisor);
    let bits = (32..63).find(is_exact).unwrap_or(62);
    let factor = ((1u64 << bits) + divisor - (1u64 << bits) % divisor) / divisor;
    (factor as u32 as i32, bits - 32)
}

/// Divides a signed number by a constant of 2 or more, and rounds towards zero, by a high product.
pub fn divide_by_number<O: Ops>(ops: &mut O, a: O::Word, divisor: i32) -> O::Word {
    let (factor, shift) = reciprocal(divisor);
    let number = ops.word(factor);
    let high = ops.high_product(true, a, number);
    // A factor above the largest signed number is 2³² too small.
    let high = if factor < 0 { ops.two(WordOp::Add, high, Operand::Word(a)) } else { high };
    let floor = ops.shift(WordOp::RightSigned, high, shift);
    let sign = ops.shift(WordOp::Right, a, 31);
    ops.two(WordOp::Add, floor, Operand::Word(sign))
}

/// A signed number in the nearest number of some bits, signed or unsigned.
pub fn clamp<O: Ops>(ops: &mut O, a: O::Word, bits: u32, signed: bool) -> O::Word {
    let (low, high) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let (least, most) = (ops.word(low), ops.word(high));
    let a = ops.choose(Test::words(CompareOp::Less, a, Operand::Number(low)), least, a);
    ops.choose(Test::words(CompareOp::Greater, a, Operand::Number(high)), most, a)
}
