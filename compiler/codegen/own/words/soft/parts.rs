//! Decoding and encoding of floats.

use crate::own::words::long;
use crate::own::words::ops::{Operand, Ops, Test, WordOp};
use crate::support::Format;
use modelc_kernel::{BinaryOp, CompareOp};

/// The halves of a 64-bit number, low half first.
pub(super) type Pair<O> = [<O as Ops>::Word; 2];

/// A decoded float. Its magnitude is mantissa · 2^(exponent − bias − 63).
pub(super) struct Parts<O: Ops> {
    /// The sign in the highest bit; the other bits are 0.
    pub sign: O::Word,
    /// The biased exponent, as it is stored. A subnormal number has a smaller one.
    pub exponent: O::Word,
    /// The mantissa, with the leading one in the highest bit; 0 for zero.
    pub mantissa: Pair<O>,
    /// The stored bits without the sign, shifted to the highest bits.
    pub magnitude: Pair<O>,
}

/// Returns the bits of infinity without the sign, shifted to the highest bits.
pub(super) fn infinity<O: Ops>(ops: &mut O, format: Format) -> Pair<O> {
    let exponent_bits = 32 - (format.most() as u32).leading_zeros();
    [ops.word(0), ops.word(format.most() << (32 - exponent_bits))]
}

/// Shifts by a constant.
pub(super) fn shift<O: Ops>(ops: &mut O, op: BinaryOp, a: Pair<O>, count: u32) -> Pair<O> {
    long::shift(ops, op, a, count)
}

/// Returns 1 if any bit is set, else 0.
pub(super) fn any<O: Ops>(ops: &mut O, [low, high]: Pair<O>) -> O::Word {
    let all = ops.two(WordOp::Or, low, Operand::Word(high));
    ops.truth(Test::not_zero(all))
}

/// Counts the leading zeros of 64 bits; 64 if no bit is set.
pub(super) fn leading_zeros<O: Ops>(ops: &mut O, [low, high]: Pair<O>) -> O::Word {
    let further = ops.leading_zeros(low);
    let further = ops.two(WordOp::Add, further, Operand::Number(32));
    let zeros = ops.leading_zeros(high);
    ops.choose(Test::not_zero(high), zeros, further)
}

/// Shifts by a word below 64.
pub(super) fn shift_by<O: Ops>(ops: &mut O, op: BinaryOp, a: Pair<O>, count: O::Word) -> Pair<O> {
    let zero = ops.word(0);
    long::binary(ops, op, a, [count, zero]).unwrap_or(a)
}

/// Shifts to the right by a word, at most 63. The lowest bit is also set if any bit is shifted out.
pub(super) fn shift_sticky<O: Ops>(ops: &mut O, a: Pair<O>, count: O::Word) -> Pair<O> {
    let most = ops.word(63);
    let count = ops.choose(Test::words(CompareOp::UnsignedLess, count, Operand::Number(63)), count, most);
    let kept = shift_by(ops, BinaryOp::ShiftRightUnsigned, a, count);
    let back = shift_by(ops, BinaryOp::ShiftLeft, kept, count);
    let lost = long::binary(ops, BinaryOp::Xor, a, back).unwrap_or(a);
    let sticky = any(ops, lost);
    [ops.two(WordOp::Or, kept[0], Operand::Word(sticky)), kept[1]]
}

/// Shifts the leading one of a mantissa to the highest bit, and reduces the exponent by the shift.
pub(super) fn normalized<O: Ops>(ops: &mut O, exponent: O::Word, mantissa: Pair<O>) -> (O::Word, Pair<O>) {
    let zeros = leading_zeros(ops, mantissa);
    // The count does not matter for a mantissa of 0, but it must be below 64.
    let count = ops.two(WordOp::And, zeros, Operand::Number(63));
    let mantissa = shift_by(ops, BinaryOp::ShiftLeft, mantissa, count);
    (ops.two(WordOp::Sub, exponent, Operand::Word(zeros)), mantissa)
}

impl<O: Ops> Parts<O> {
    /// Decodes the bits of a float.
    pub fn of(ops: &mut O, format: Format, bits: Pair<O>) -> Self {
        let width = 32 * format.words() as u32 - if format == Format::Half { 16 } else { 0 };
        let top = shift(ops, BinaryOp::ShiftLeft, bits, 64 - width);
        let sign = ops.two(WordOp::And, top[1], Operand::Number(i32::MIN));
        let magnitude = shift(ops, BinaryOp::ShiftLeft, top, 1);
        let exponent = shift(ops, BinaryOp::ShiftRightUnsigned, magnitude, format.fraction() + 65 - width)[0];
        // The fraction starts below the position of the leading one.
        let fraction = shift(ops, BinaryOp::ShiftLeft, magnitude, width - 1 - format.fraction());
        let fraction = shift(ops, BinaryOp::ShiftRightUnsigned, fraction, 1);
        let is_normal = ops.truth(Test::not_zero(exponent));
        let one = ops.shift(WordOp::Left, is_normal, 31);
        let mantissa = [fraction[0], ops.two(WordOp::Or, fraction[1], Operand::Word(one))];
        // The exponent of subnormal numbers is that of the stored value 1.
        let rest = ops.two(WordOp::Xor, is_normal, Operand::Number(1));
        let exponent = ops.two(WordOp::Add, exponent, Operand::Word(rest));
        let (exponent, mantissa) = normalized(ops, exponent, mantissa);
        Self { sign, exponent, mantissa, magnitude }
    }

    /// Returns 1 for a NaN, else 0.
    pub fn is_nan(&self, ops: &mut O, format: Format) -> O::Word {
        let limit = infinity(ops, format);
        ops.long_less(false, limit, self.magnitude)
    }

    /// Returns 1 if this or another float is a NaN, else 0.
    pub fn is_either_nan(&self, ops: &mut O, format: Format, other: &Self) -> O::Word {
        let (one, second) = (self.is_nan(ops, format), other.is_nan(ops, format));
        either(ops, one, second)
    }

    /// Returns 1 for infinity, else 0.
    pub fn is_infinite(&self, ops: &mut O, format: Format) -> O::Word {
        let limit = infinity(ops, format);
        long::compare(ops, CompareOp::Equal, limit, self.magnitude)
    }

    /// Returns 1 for zero, else 0.
    pub fn is_zero(&self, ops: &mut O) -> O::Word {
        let any = any(ops, self.magnitude);
        not(ops, any)
    }
}

/// Encodes a float, rounded to the nearest even. The lowest bit of the mantissa may be sticky: it stands for any set bits below it.
pub(super) fn rounded<O: Ops>(ops: &mut O, format: Format, sign: O::Word, exponent: O::Word, mantissa: Pair<O>) -> Pair<O> {
    let dropped = 63 - format.fraction();
    // A number below the smallest exponent becomes subnormal: its leading one moves down.
    let one = ops.word(1);
    let below = ops.two(WordOp::Sub, one, Operand::Word(exponent));
    let is_small = Test::words(CompareOp::Less, exponent, Operand::Number(1));
    let zero = ops.word(0);
    let count = ops.choose(is_small, below, zero);
    let mantissa = shift_sticky(ops, mantissa, count);
    let exponent = ops.choose(is_small, one, exponent);
    let kept = shift(ops, BinaryOp::ShiftRightUnsigned, mantissa, dropped);
    // The dropped bits, at the top. Above a half, the number is rounded up; at a half, to even.
    let rest = shift(ops, BinaryOp::ShiftLeft, mantissa, 64 - dropped);
    let half = [zero, ops.word(i32::MIN)];
    let above = ops.long_less(false, half, rest);
    let tie = long::compare(ops, CompareOp::Equal, half, rest);
    let odd = ops.two(WordOp::And, kept[0], Operand::Word(tie));
    let up = ops.two(WordOp::Or, above, Operand::Word(odd));
    // The sum with the leading one adds 1 to the exponent. So does a mantissa that is rounded up to a power of two.
    let stored = ops.two(WordOp::Sub, exponent, Operand::Number(1));
    let stored = shift(ops, BinaryOp::ShiftLeft, [stored, zero], format.fraction());
    let bits = ops.long_sum(false, kept, stored);
    let bits = ops.long_sum(false, bits, [up, zero]);
    let most = infinite(ops, format);
    let overflows = ops.truth(Test::words(CompareOp::GreaterEqual, exponent, Operand::Number(format.most())));
    let too_large = ops.long_less(false, most, bits);
    let overflows = ops.two(WordOp::Or, overflows, Operand::Word(too_large));
    let bits = long::choose(ops, overflows, most, bits);
    let has_bits = any(ops, mantissa);
    let bits = long::choose(ops, has_bits, bits, [zero; 2]);
    with_sign(ops, format, bits, sign)
}

/// Returns the bits of infinity with a sign.
pub(super) fn signed_infinity<O: Ops>(ops: &mut O, format: Format, sign: O::Word) -> Pair<O> {
    let most = infinite(ops, format);
    with_sign(ops, format, most, sign)
}

/// Returns a quiet NaN if `is_nan` is 1, else `found`.
pub(super) fn unless_nan<O: Ops>(ops: &mut O, format: Format, is_nan: O::Word, found: Pair<O>) -> Pair<O> {
    let quiet = nan(ops, format);
    long::choose(ops, is_nan, quiet, found)
}

/// Negates a magnitude if the highest bit of `sign` is set.
pub(super) fn signed<O: Ops>(ops: &mut O, magnitude: Pair<O>, sign: O::Word) -> Pair<O> {
    let ones = ops.shift(WordOp::RightSigned, sign, 31);
    let flipped = [0, 1].map(|half| ops.two(WordOp::Xor, magnitude[half], Operand::Word(ones)));
    ops.long_sum(true, flipped, [ones; 2])
}

/// Returns the bits of infinity.
fn infinite<O: Ops>(ops: &mut O, format: Format) -> Pair<O> {
    let most = format.most();
    match format {
        Format::Double => [ops.word(0), ops.word(most << 20)],
        _ => [ops.word(most << format.fraction()), ops.word(0)],
    }
}

/// Returns the bits of a quiet NaN.
pub(super) fn nan<O: Ops>(ops: &mut O, format: Format) -> Pair<O> {
    let most = format.most() << 1 | 1;
    match format {
        Format::Double => [ops.word(0), ops.word(most << 19)],
        _ => [ops.word(most << (format.fraction() - 1)), ops.word(0)],
    }
}

/// Adds a sign to the bits of a float. `sign` has it in the highest bit.
pub(super) fn with_sign<O: Ops>(ops: &mut O, format: Format, [low, high]: Pair<O>, sign: O::Word) -> Pair<O> {
    match format {
        Format::Double => [low, ops.two(WordOp::Or, high, Operand::Word(sign))],
        Format::Single => [ops.two(WordOp::Or, low, Operand::Word(sign)), high],
        Format::Half => {
            let sign = ops.shift(WordOp::Right, sign, 16);
            [ops.two(WordOp::Or, low, Operand::Word(sign)), high]
        }
    }
}

/// Negates a truth value.
pub(super) fn not<O: Ops>(ops: &mut O, a: O::Word) -> O::Word {
    ops.two(WordOp::Xor, a, Operand::Number(1))
}

/// Returns the or of two truth values.
pub(super) fn either<O: Ops>(ops: &mut O, a: O::Word, b: O::Word) -> O::Word {
    ops.two(WordOp::Or, a, Operand::Word(b))
}

/// Returns the and of two truth values.
pub(super) fn both<O: Ops>(ops: &mut O, a: O::Word, b: O::Word) -> O::Word {
    ops.two(WordOp::And, a, Operand::Word(b))
}
