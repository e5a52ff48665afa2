//! Packed integers, several in a byte, and their extraction in registers.

use crate::ir::ElementType;
use crate::kernel::{BinaryOp, KernelBuilder, Value};

/// Format of packed integers.
#[derive(Clone, Copy)]
pub struct PackedFormat {
    /// `true` if they are signed.
    pub is_signed: bool,
    /// Bits of an integer in a byte.
    pub bits: u8,
}

impl PackedFormat {
    /// Returns the format of integers of a type.
    pub fn of(element: ElementType) -> Self {
        Self { is_signed: element.is_signed_integer(), bits: element.bits() as u8 }
    }
}

/// Format of packed integers, with the constants that extract them.
#[derive(Clone, Copy)]
pub struct Packed {
    is_signed: bool,
    bits: u8,
    mask: Value,
    sign: Value,
}

impl Packed {
    /// Makes the constants for integers of `bits` bits in byte vectors of the type of `raw`.
    pub fn new(b: &mut KernelBuilder, raw: Value, PackedFormat { is_signed, bits }: PackedFormat) -> Self {
        let ty = b.ty(raw);
        let mask = b.int(ty, (1 << bits) - 1);
        let sign = b.int(ty, 1 << (bits - 1));
        Self { is_signed, bits, mask, sign }
    }

    /// Extracts the bits of all integers of each byte, without a sign. The integers in the lowest bits come first.
    pub fn parts(self, b: &mut KernelBuilder, raw: Value) -> Vec<Value> {
        let Self { bits, mask, .. } = self;
        let part = |first: u8| match first {
            0 => b.binary(BinaryOp::And, raw, mask),
            _ if first + bits == 8 => b.shift(BinaryOp::ShiftRightUnsigned, raw, first),
            _ => {
                let moved = b.shift(BinaryOp::ShiftRightUnsigned, raw, first);
                b.binary(BinaryOp::And, moved, mask)
            }
        };
        (0..8).step_by(bits.into()).map(part).collect()
    }

    /// Converts extracted bits to signed bytes. Unsigned integers of fewer than eight bits fit unchanged.
    pub fn signed(self, b: &mut KernelBuilder, bits: Value) -> Value {
        if !self.is_signed {
            return bits;
        }
        // Bits with the sign bit set stand for negative numbers.
        let turned = b.binary(BinaryOp::Xor, bits, self.sign);
        b.sub(turned, self.sign)
    }
}
