//! Integers that share bytes, taken apart in registers.

use crate::kernel::{BinaryOp, KernelBuilder, Value};

/// Packed integers in registers: the bits of each, and what takes them apart.
#[derive(Clone, Copy)]
pub struct Packed {
    is_signed: bool,
    bits: u8,
    mask: Value,
    sign: Value,
}

impl Packed {
    /// Integers of `bits` bits in vectors of bytes as `raw` is one.
    pub fn new(b: &mut KernelBuilder, raw: Value, (is_signed, bits): (bool, u8)) -> Self {
        let ty = b.ty(raw);
        let mask = b.int(ty, (1 << bits) - 1);
        let sign = b.int(ty, 1 << (bits - 1));
        Self { is_signed, bits, mask, sign }
    }

    /// The bits of the integers that share each byte, without a sign: first those that are lowest in it.
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

    /// Bits as signed bytes. Unsigned integers of fewer than eight bits fit those too.
    pub fn signed(self, b: &mut KernelBuilder, bits: Value) -> Value {
        if !self.is_signed {
            return bits;
        }
        // The upper half of what the bits count to stands for negative numbers.
        let turned = b.binary(BinaryOp::Xor, bits, self.sign);
        b.sub(turned, self.sign)
    }
}
