//! Conversions of bfloat16, whose bits are in the low half of i32 lanes, and of binary32.

use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Type, Value};

fn and(b: &mut KernelBuilder, x: Value, mask: i64) -> Value {
    let ty = b.ty(x);
    let mask = b.int(ty, mask);
    b.binary(BinaryOp::And, x, mask)
}

fn plus(b: &mut KernelBuilder, x: Value, n: i64) -> Value {
    let ty = b.ty(x);
    let n = b.int(ty, n);
    b.add(x, n)
}

/// Tests whether the bits of a binary32, without its sign, are a NaN.
fn is_nan(b: &mut KernelBuilder, bits: Value) -> Value {
    let ty = b.ty(bits);
    let infinity = b.int(ty, 0x7f80_0000);
    b.compare(CompareOp::Greater, bits, infinity)
}

/// Shifts `bits` right by `count` and rounds to nearest, ties to even.
fn shift_to_nearest(b: &mut KernelBuilder, bits: Value, count: u8) -> Value {
    let odd = b.shift(BinaryOp::ShiftRightUnsigned, bits, count);
    let odd = and(b, odd, 1);
    let nudged = plus(b, bits, (1 << (count - 1)) - 1);
    let nudged = b.add(nudged, odd);
    b.shift(BinaryOp::ShiftRightUnsigned, nudged, count)
}

/// Converts the bits of bfloat16 numbers to binary32.
pub fn f32_of_bf16(b: &mut KernelBuilder, bits: Value) -> Value {
    let bits = b.shift(BinaryOp::ShiftLeft, bits, 16);
    b.convert(ConvertOp::Bitcast, bits, Lane::F32)
}

/// Converts numbers to the nearest bfloat16, ties to even, as bits in the low half of i32 lanes.
pub fn bf16_of_f32(b: &mut KernelBuilder, x: Value) -> Value {
    let bits = b.convert(ConvertOp::Bitcast, x, Lane::I32);
    let size = and(b, bits, i64::from(i32::MAX));
    let unknown = is_nan(b, size);
    let rounded = shift_to_nearest(b, bits, 16);
    let cut = b.shift(BinaryOp::ShiftRightUnsigned, bits, 16);
    let ty = b.ty(bits);
    let quiet = b.int(ty, 0x40);
    let nan = b.binary(BinaryOp::Or, cut, quiet);
    b.select(unknown, nan, rounded)
}

/// Converts binary64 to binary32 by rounding to odd: towards zero, and the last bit is set if anything was cut. A further conversion to a narrower
/// float then rounds as if from binary64.
pub fn f32_to_odd(b: &mut KernelBuilder, x: Value) -> Value {
    let nearest = b.convert(ConvertOp::Demote, x, Lane::F32);
    let back = b.convert(ConvertOp::Promote, nearest, Lane::F64);
    let size = |b: &mut KernelBuilder, x| b.unary(crate::UnaryOp::Abs, x);
    let (exact, found) = (size(b, x), size(b, back));
    let beyond = b.compare(CompareOp::Greater, found, exact);
    let differs = b.compare(CompareOp::NotEqual, found, exact);
    let bits = b.convert(ConvertOp::Bitcast, nearest, Lane::I32);
    let ty: Type = b.ty(bits);
    let (none, one) = (b.int(ty, 0), b.int(ty, 1));
    let step = b.select(beyond, one, none);
    let towards_zero = b.sub(bits, step);
    let last = b.select(differs, one, none);
    let odd = b.binary(BinaryOp::Or, towards_zero, last);
    b.convert(ConvertOp::Bitcast, odd, Lane::F32)
}
