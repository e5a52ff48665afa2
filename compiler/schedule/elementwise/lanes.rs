//! The forms of elements in memory and in the lanes of registers.

use super::ranges::{Range, type_range, within};
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Value, mathematics};
use crate::schedule::unsupported::Unsupported;

/// Returns the lane type of an element in memory.
///
/// # Errors
/// [`Unsupported`] for elements that no kernel computes with (packed, complex).
pub fn memory_lane(element: ElementType) -> Result<Lane, Unsupported> {
    use ElementType as E;
    Ok(match element {
        E::Bool | E::I8 | E::U8 => Lane::I8,
        E::I16 | E::U16 | E::F16 | E::Bf16 => Lane::I16,
        E::I32 | E::U32 => Lane::I32,
        E::I64 | E::U64 => Lane::I64,
        E::F32 => Lane::F32,
        E::F64 => Lane::F64,
        E::I2 | E::I4 | E::U4 | E::C64 | E::C128 => return Err(Unsupported::Arithmetic(element)),
    })
}

/// Joins vectors to one. Their number is a power of two.
pub fn join(b: &mut KernelBuilder, vectors: &[Value]) -> Value {
    let mut list = vectors.to_vec();
    while list.len() > 1 {
        list = list.chunks(2).map(|pair| b.join(pair[0], pair[1])).collect();
    }
    list[0]
}

/// Repeats a vector. The number of times is a power of two.
pub fn repeat(b: &mut KernelBuilder, vector: Value, times: u64) -> Value {
    join(b, &vec![vector; times as usize])
}

/// Returns the lane type of an element in registers.
pub fn register_lane(element: ElementType) -> Result<Lane, Unsupported> {
    Ok(match (element, memory_lane(element)?) {
        (ElementType::Bool, _) => Lane::Mask,
        (ElementType::F16 | ElementType::Bf16, _) => Lane::F32,
        (_, Lane::I8 | Lane::I16) => Lane::I32,
        (_, lane) => lane,
    })
}

/// Converts a loaded value to the form that expressions compute with.
pub fn widen(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    let ty = b.ty(value);
    match element {
        ElementType::Bool => {
            let zero = b.int(ty, 0);
            b.compare(CompareOp::NotEqual, value, zero)
        }
        ElementType::I8 | ElementType::I16 => b.convert(ConvertOp::SignExtend, value, Lane::I32),
        ElementType::U8 | ElementType::U16 => b.convert(ConvertOp::ZeroExtend, value, Lane::I32),
        ElementType::F16 => b.convert(ConvertOp::HalfToFloat, value, Lane::F32),
        ElementType::Bf16 => {
            let bits = b.convert(ConvertOp::ZeroExtend, value, Lane::I32);
            mathematics::f32_of_bf16(b, bits)
        }
        _ => value,
    }
}

/// Converts a computed value to the stored form. Values that were computed in stored form stay unchanged.
pub fn narrow(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    match element {
        ElementType::I8 | ElementType::U8 if b.ty(value).lane == Lane::I8 => value,
        ElementType::I16 | ElementType::U16 if b.ty(value).lane == Lane::I16 => value,
        ElementType::Bool => b.convert(ConvertOp::MaskToInteger, value, Lane::I8),
        ElementType::I8 | ElementType::I16 | ElementType::U8 | ElementType::U16 => {
            let lane = if element.bits() == 8 { Lane::I8 } else { Lane::I16 };
            // Saturating and wrapping agree on values that fit, and saturating is one instruction.
            let op = if element.is_signed_integer() { ConvertOp::NarrowSigned } else { ConvertOp::NarrowUnsigned };
            b.convert(op, value, lane)
        }
        ElementType::F16 => b.convert(ConvertOp::FloatToHalf, value, Lane::I16),
        ElementType::Bf16 => {
            let bits = mathematics::bf16_of_f32(b, value);
            b.convert(ConvertOp::Wrap, bits, Lane::I16)
        }
        _ => value,
    }
}

/// Converts a result of [`Evaluator::run`] for a reader other than a store: narrow integers get their exact value.
pub fn exact(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    if !element.is_integer() || element.bits() >= 32 {
        return value;
    }
    let stored = narrow(b, value, element);
    widen(b, stored, element)
}

/// Wraps a value computed in 32-bit lanes to its narrow type, unless its range shows that this changes nothing.
pub fn wrap(b: &mut KernelBuilder, value: Value, ty: ElementType, raw: Option<Range>) -> Value {
    if !ty.is_integer() || ty.bits() >= 32 || raw.is_some_and(|r| within(r, type_range(ty))) {
        return value;
    }
    let bits = ty.bits() as u8;
    if ty.is_unsigned_integer() {
        let vector = b.ty(value);
        let mask = b.int(vector, (1 << bits) - 1);
        return b.binary(BinaryOp::And, value, mask);
    }
    let up = b.shift(BinaryOp::ShiftLeft, value, 32 - bits);
    b.shift(BinaryOp::ShiftRightSigned, up, 32 - bits)
}
