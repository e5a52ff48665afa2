//! Comparisons of floats.

use super::parts::{Pair, Parts, either};
use crate::codegen::own::words::long;
use crate::codegen::own::words::ops::{Operand, Ops, WordOp};
use crate::codegen::support::{FloatOp, Format};
use crate::kernel::CompareOp;

/// A signed number in the order of the floats; both zeros are 0.
fn place<O: Ops>(ops: &mut O, parts: &Parts<O>) -> Pair<O> {
    // Magnitudes are below 2⁶⁴ by one bit, which is the sign's.
    let magnitude = long::shift(ops, crate::kernel::BinaryOp::ShiftRightUnsigned, parts.magnitude, 1);
    let sign = ops.shift(WordOp::RightSigned, parts.sign, 31);
    let flipped = [0, 1].map(|half| ops.two(WordOp::Xor, magnitude[half], Operand::Word(sign)));
    ops.long_sum(true, flipped, [sign; 2])
}

/// 1 if a comparison of numbers holds, else 0.
pub(super) fn holds<O: Ops>(ops: &mut O, format: Format, op: FloatOp, a: Pair<O>, b: Pair<O>) -> O::Word {
    let (one, other) = (Parts::of(ops, format, a), Parts::of(ops, format, b));
    let op = match op {
        FloatOp::Equal => CompareOp::Equal,
        FloatOp::Less => CompareOp::Less,
        _ => CompareOp::LessEqual,
    };
    let (first, second) = (place(ops, &one), place(ops, &other));
    let holds = long::compare(ops, op, first, second);
    let (nan_a, nan_b) = (one.is_nan(ops, format), other.is_nan(ops, format));
    let is_nan = either(ops, nan_a, nan_b);
    let are_numbers = ops.two(WordOp::Xor, is_nan, Operand::Number(1));
    ops.two(WordOp::And, holds, Operand::Word(are_numbers))
}
