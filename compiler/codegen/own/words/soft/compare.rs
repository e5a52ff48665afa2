//! Comparison of floats.

use super::parts::{Pair, Parts, both, not, shift, signed};
use crate::own::words::long;
use crate::own::words::ops::Ops;
use crate::support::{FloatOp, Format};
use modelc_kernel::{BinaryOp, CompareOp};

/// Maps a float to a signed integer with the same order. Both zeros become 0.
fn place<O: Ops>(ops: &mut O, parts: &Parts<O>) -> Pair<O> {
    // The lowest bit of a magnitude is not used, so it makes room for the sign.
    let magnitude = shift(ops, BinaryOp::ShiftRightUnsigned, parts.magnitude, 1);
    signed(ops, magnitude, parts.sign)
}

/// Returns 1 if a comparison holds, else 0. Comparisons with a NaN do not hold.
pub(super) fn holds<O: Ops>(ops: &mut O, format: Format, op: FloatOp, a: Pair<O>, b: Pair<O>) -> O::Word {
    let (one, other) = (Parts::of(ops, format, a), Parts::of(ops, format, b));
    let op = match op {
        FloatOp::Equal => CompareOp::Equal,
        FloatOp::Less => CompareOp::Less,
        _ => CompareOp::LessEqual,
    };
    let (first, second) = (place(ops, &one), place(ops, &other));
    let holds = long::compare(ops, op, first, second);
    let is_nan = one.is_either_nan(ops, format, &other);
    let are_numbers = not(ops, is_nan);
    both(ops, holds, are_numbers)
}
