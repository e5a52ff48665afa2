//! Division and square root. Each round of a loop computes one bit.

use super::parts::{Pair, Parts, any, both, either, normalized, not, rounded, shift, signed, signed_infinity, unless_nan, with_sign};
use crate::own::words::long;
use crate::own::words::ops::{Operand, Ops, Test, WordOp};
use crate::support::Format;
use modelc_kernel::{BinaryOp, CompareOp, UnaryOp};

fn doubled<O: Ops>(ops: &mut O, a: Pair<O>) -> Pair<O> {
    ops.long_sum(false, a, a)
}

/// Computes one bit of a quotient. Returns the rest, from which the divisor is subtracted if it fits, and the bit.
fn subtracted<O: Ops>(ops: &mut O, left: Pair<O>, divisor: Pair<O>) -> (Pair<O>, O::Word) {
    let less = ops.long_less(false, left, divisor);
    let rest = ops.long_sum(true, left, divisor);
    let left = long::choose(ops, less, left, rest);
    (left, not(ops, less))
}

/// Computes the quotient of words; 0 for a divisor of 0.
pub fn words<O: Ops>(ops: &mut O, is_signed: bool, a: O::Word, b: O::Word) -> O::Word {
    let magnitude = |ops: &mut O, word| {
        let sign = ops.shift(WordOp::RightSigned, word, 31);
        let flipped = ops.two(WordOp::Xor, word, Operand::Word(sign));
        ops.two(WordOp::Sub, flipped, Operand::Word(sign))
    };
    let [dividend, divisor] = if is_signed { [magnitude(ops, a), magnitude(ops, b)] } else { [a, b] };
    let zero = ops.word(0);
    // The dividend is shifted out at the top, and the quotient is shifted in at the bottom.
    let [quotient, _] = ops.repeat(32, [dividend, zero], |ops, [quotient, left]| {
        let out = ops.shift(WordOp::Right, quotient, 31);
        let carry = ops.shift(WordOp::Right, left, 31);
        let left = ops.shift(WordOp::Left, left, 1);
        let left = ops.two(WordOp::Or, left, Operand::Word(out));
        // If a bit is shifted out of the rest, the rest is larger than any divisor.
        let fits = ops.truth(Test::words(CompareOp::UnsignedLessEqual, divisor, Operand::Word(left)));
        let fits = ops.two(WordOp::Or, fits, Operand::Word(carry));
        let less = ops.two(WordOp::Sub, left, Operand::Word(divisor));
        let left = ops.choose(Test::not_zero(fits), less, left);
        let quotient = ops.shift(WordOp::Left, quotient, 1);
        [ops.two(WordOp::Or, quotient, Operand::Word(fits)), left]
    });
    let quotient = if is_signed {
        let signs = ops.two(WordOp::Xor, a, Operand::Word(b));
        let sign = ops.shift(WordOp::RightSigned, signs, 31);
        let flipped = ops.two(WordOp::Xor, quotient, Operand::Word(sign));
        ops.two(WordOp::Sub, flipped, Operand::Word(sign))
    } else {
        quotient
    };
    let zero = ops.word(0);
    ops.choose(Test::not_zero(b), quotient, zero)
}

/// Computes the quotient or the remainder of 64-bit integers; 0 for a divisor of 0.
pub(super) fn integers<O: Ops>(ops: &mut O, is_signed: bool, remainder: bool, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    let magnitude = |ops: &mut O, x| if is_signed { long::unary(ops, UnaryOp::Abs, x).unwrap_or(x) } else { x };
    let (dividend, divisor) = (magnitude(ops, a), magnitude(ops, b));
    let zero = ops.word(0);
    // The dividend is shifted out at the top, and the quotient is shifted in at the bottom.
    let [low, high, left_low, left_high] =
        ops.repeat(64, [dividend[0], dividend[1], zero, zero], |ops, [low, high, left_low, left_high]| {
            let out = ops.shift(WordOp::Right, high, 31);
            let [low, high] = doubled(ops, [low, high]);
            let carry = ops.shift(WordOp::Right, left_high, 31);
            let [left_low, left_high] = doubled(ops, [left_low, left_high]);
            let left = [ops.two(WordOp::Or, left_low, Operand::Word(out)), left_high];
            let (rest, bit) = subtracted(ops, left, divisor);
            // If a bit is shifted out of the rest, the rest is larger than any divisor.
            let over = ops.long_sum(true, left, divisor);
            let left = long::choose(ops, carry, over, rest);
            let bit = either(ops, bit, carry);
            [ops.two(WordOp::Or, low, Operand::Word(bit)), high, left[0], left[1]]
        });
    let (found, sign) =
        if remainder { ([left_low, left_high], a[1]) } else { ([low, high], ops.two(WordOp::Xor, a[1], Operand::Word(b[1]))) };
    let found = if is_signed { signed(ops, found, sign) } else { found };
    let divides = any(ops, b);
    long::choose(ops, divides, found, [zero; 2])
}

/// Makes a mantissa of the computed bits. Its lowest bit is set if there is a rest.
fn with_rest<O: Ops>(ops: &mut O, found: Pair<O>, bits: u32, left: Pair<O>) -> Pair<O> {
    let [low, high] = shift(ops, BinaryOp::ShiftLeft, found, 64 - bits);
    let sticky = any(ops, left);
    [ops.two(WordOp::Or, low, Operand::Word(sticky)), high]
}

/// Computes the quotient of two floats.
pub(super) fn quotient<O: Ops>(ops: &mut O, format: Format, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    let (one, other) = (Parts::of(ops, format, a), Parts::of(ops, format, b));
    let sign = ops.two(WordOp::Xor, one.sign, Operand::Word(other.sign));
    let exponent = ops.two(WordOp::Sub, one.exponent, Operand::Word(other.exponent));
    let exponent = ops.two(WordOp::Add, exponent, Operand::Number(format.bias()));
    let dividend = shift(ops, BinaryOp::ShiftRightUnsigned, one.mantissa, 1);
    let divisor = shift(ops, BinaryOp::ShiftRightUnsigned, other.mantissa, 1);
    let zero = ops.word(0);
    let bits = format.fraction() + 4;
    let state = [zero, zero, dividend[0], dividend[1]];
    let [low, high, left_low, left_high] = ops.repeat(bits as i32, state, |ops, [low, high, left_low, left_high]| {
        let [low, high] = doubled(ops, [low, high]);
        let (left, bit) = subtracted(ops, [left_low, left_high], divisor);
        let left = doubled(ops, left);
        [ops.two(WordOp::Or, low, Operand::Word(bit)), high, left[0], left[1]]
    });
    let mantissa = with_rest(ops, [low, high], bits, [left_low, left_high]);
    let (exponent, mantissa) = normalized(ops, exponent, mantissa);
    let found = rounded(ops, format, sign, exponent, mantissa);
    let (infinite_a, infinite_b) = (one.is_infinite(ops, format), other.is_infinite(ops, format));
    let (zero_a, zero_b) = (one.is_zero(ops), other.is_zero(ops));
    let nothing = either(ops, zero_a, infinite_b);
    let everything = either(ops, infinite_a, zero_b);
    let empty = with_sign(ops, format, [zero; 2], sign);
    let found = long::choose(ops, nothing, empty, found);
    let most = signed_infinity(ops, format, sign);
    let found = long::choose(ops, everything, most, found);
    let is_nan = one.is_either_nan(ops, format, &other);
    let zeros = both(ops, zero_a, zero_b);
    let infinities = both(ops, infinite_a, infinite_b);
    let is_nan = either(ops, is_nan, zeros);
    let is_nan = either(ops, is_nan, infinities);
    unless_nan(ops, format, is_nan, found)
}

/// Computes the square root of a float.
pub(super) fn square_root<O: Ops>(ops: &mut O, format: Format, a: Pair<O>) -> Pair<O> {
    let parts = Parts::of(ops, format, a);
    let power = ops.two(WordOp::Sub, parts.exponent, Operand::Number(format.bias()));
    let odd = ops.two(WordOp::And, power, Operand::Number(1));
    let exponent = ops.shift(WordOp::RightSigned, power, 1);
    let exponent = ops.two(WordOp::Add, exponent, Operand::Number(format.bias()));
    // The radicand has two bits before the point, so that the exponent is even.
    let even = shift(ops, BinaryOp::ShiftRightUnsigned, parts.mantissa, 1);
    let [low, high] = long::choose(ops, odd, parts.mantissa, even);
    let zero = ops.word(0);
    let bits = format.fraction() + 3;
    let state = [low, high, zero, zero, zero, zero];
    let [_, _, left_low, left_high, low, high] =
        ops.repeat(bits as i32, state, |ops, [low, high, left_low, left_high, root_low, root_high]| {
            let next = ops.shift(WordOp::Right, high, 30);
            let radicand = shift(ops, BinaryOp::ShiftLeft, [low, high], 2);
            let left = shift(ops, BinaryOp::ShiftLeft, [left_low, left_high], 2);
            let left = [ops.two(WordOp::Or, left[0], Operand::Word(next)), left[1]];
            let tried = shift(ops, BinaryOp::ShiftLeft, [root_low, root_high], 2);
            let tried = [ops.two(WordOp::Or, tried[0], Operand::Number(1)), tried[1]];
            let (left, bit) = subtracted(ops, left, tried);
            let root = doubled(ops, [root_low, root_high]);
            [radicand[0], radicand[1], left[0], left[1], ops.two(WordOp::Or, root[0], Operand::Word(bit)), root[1]]
        });
    let mantissa = with_rest(ops, [low, high], bits, [left_low, left_high]);
    let found = rounded(ops, format, zero, exponent, mantissa);
    let (is_infinite, is_zero) = (parts.is_infinite(ops, format), parts.is_zero(ops));
    let stays = either(ops, is_infinite, is_zero);
    let found = long::choose(ops, stays, a, found);
    let is_negative = ops.truth(Test::not_zero(parts.sign));
    let is_number = not(ops, is_zero);
    let none = both(ops, is_negative, is_number);
    let is_nan = parts.is_nan(ops, format);
    let is_nan = either(ops, is_nan, none);
    unless_nan(ops, format, is_nan, found)
}
