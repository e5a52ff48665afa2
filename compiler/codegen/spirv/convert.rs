//! Conversions. Cases that SPIR-V leaves undefined are written out: numbers out of range, and NaNs.

use super::assembler::{Kind, Register};
use super::lower::{Held, Lowering};
use crate::CodegenError;
use modelc_kernel::{ConvertOp, Lane, Type, Value};
use rspirv::spirv::{Op, Word};

/// Limits of 32-bit integers as floats: 2³¹ and 2³².
const TWO_31: f32 = 2_147_483_648.0;
const TWO_32: f32 = 4_294_967_296.0;

impl Lowering<'_> {
    /// Converts a value to another lane type.
    pub fn convert(&mut self, op: ConvertOp, a: Value, to: Type) -> Result<Held, CodegenError> {
        let register = self.register(to)?;
        let from = self.ty(a);
        self.register(from)?;
        let held = self.get(a);
        Ok(held.into_iter().map(|a| self.converted(op, from.lane, to.lane, register, a)).collect())
    }

    /// Converts a register to another type.
    fn converted(&mut self, op: ConvertOp, from: Lane, to: Lane, register: Register, a: Word) -> Word {
        match op {
            ConvertOp::SignExtend | ConvertOp::Promote | ConvertOp::Demote => a,
            ConvertOp::ZeroExtend => self.without_sign(from, register, a),
            ConvertOp::Wrap => self.with_sign(to, register, a),
            ConvertOp::NarrowSigned => {
                let largest = (1 << (8 * to.bytes() - 1)) - 1;
                self.clamped(register, a, -largest - 1, largest)
            }
            ConvertOp::NarrowUnsigned => {
                let narrow = self.clamped(register, a, 0, (1 << (8 * to.bytes())) - 1);
                self.with_sign(to, register, narrow)
            }
            ConvertOp::SignedToFloat => self.out.op(Op::ConvertSToF, register, &[a]),
            ConvertOp::UnsignedToFloat => {
                let a = self.without_sign(from, register.with(Kind::Int), a);
                self.out.op(Op::ConvertUToF, register, &[a])
            }
            ConvertOp::FloatToSigned => {
                let integer = self.signed_of_float(register, a);
                let largest = i32::MAX >> (32 - 8 * to.bytes());
                if to == Lane::I32 { integer } else { self.clamped(register, integer, -largest - 1, largest) }
            }
            ConvertOp::FloatToUnsigned => self.unsigned_of_float(to, register, a),
            ConvertOp::FloatToSignedInRange => self.out.op(Op::ConvertFToS, register, &[a]),
            ConvertOp::HalfToFloat => self.float_of_half(register, a),
            ConvertOp::FloatToHalf => self.half_of_float(register, a),
            ConvertOp::Bitcast if from.is_float() == to.is_float() => a,
            ConvertOp::Bitcast => self.out.op(Op::Bitcast, register, &[a]),
            ConvertOp::MaskToInteger => {
                let (one, zero) = (self.out.int(register, 1), self.out.int(register, 0));
                self.out.op(Op::Select, register, &[a, one, zero])
            }
        }
    }

    /// Returns a float if it is between two numbers, else 0.
    fn between(&mut self, register: Register, a: Word, low: f32, high: f32) -> Word {
        let truth = register.with(Kind::Bool);
        let (low, high, zero) = (self.out.float(register, low), self.out.float(register, high), self.out.float(register, 0.0));
        let above = self.out.op(Op::FOrdGreaterThan, truth, &[a, low]);
        let below = self.out.op(Op::FOrdLessThan, truth, &[a, high]);
        let inside = self.out.op(Op::LogicalAnd, truth, &[above, below]);
        self.out.op(Op::Select, register.with(Kind::Float), &[inside, a, zero])
    }

    /// Selects `yes` or `no` by a comparison of a float with a number.
    fn beyond(&mut self, op: Op, register: Register, (a, end): (Word, f32), yes: u32, no: Word) -> Word {
        let (end, yes) = (self.out.float(register, end), self.out.int(register, yes));
        let is_beyond = self.out.op(op, register.with(Kind::Bool), &[a, end]);
        self.out.op(Op::Select, register, &[is_beyond, yes, no])
    }

    fn signed_of_float(&mut self, register: Register, a: Word) -> Word {
        let inside = self.between(register, a, -TWO_31, TWO_31);
        let integer = self.out.op(Op::ConvertFToS, register, &[inside]);
        let integer = self.beyond(Op::FOrdGreaterThanEqual, register, (a, TWO_31), i32::MAX as u32, integer);
        self.beyond(Op::FOrdLessThanEqual, register, (a, -TWO_31), i32::MIN as u32, integer)
    }

    fn unsigned_of_float(&mut self, to: Lane, register: Register, a: Word) -> Word {
        let inside = self.between(register, a, 0.0, TWO_32);
        let integer = self.out.op(Op::ConvertFToU, register, &[inside]);
        let integer = self.beyond(Op::FOrdGreaterThanEqual, register, (a, TWO_32), u32::MAX, integer);
        if to == Lane::I32 {
            return integer;
        }
        let largest = self.out.int(register, (1 << (8 * to.bytes())) - 1);
        let least = self.out.extended(super::assembler::Extended::UMin, register, &[integer, largest]);
        self.with_sign(to, register, least)
    }

    /// Converts the bits of a binary16 to binary32, exactly. No intermediate is a subnormal binary32, which a device may flush to 0.
    fn float_of_half(&mut self, register: Register, a: Word) -> Word {
        let integer = register.with(Kind::Int);
        let n = |l: &mut Self, number: u32| l.out.int(integer, number);
        let (sign_bit, rest_bits, high_half, thirteen) = (n(self, 0x8000), n(self, 0x7fff), n(self, 16), n(self, 13));
        let sign = self.out.op(Op::BitwiseAnd, integer, &[a, sign_bit]);
        let sign = self.out.op(Op::ShiftLeftLogical, integer, &[sign, high_half]);
        let rest = self.out.op(Op::BitwiseAnd, integer, &[a, rest_bits]);
        let rest = self.out.op(Op::ShiftLeftLogical, integer, &[rest, thirteen]);
        // The exponents' biases differ by 112. An infinity's exponent needs 112 more to reach the largest exponent.
        let shift = n(self, 112 << 23);
        let normal = self.out.op(Op::IAdd, integer, &[rest, shift]);
        let larger = self.out.op(Op::IAdd, integer, &[normal, shift]);
        let result = self.chosen((Op::UGreaterThan, integer), (rest, 0x0f7f_ffff), larger, normal);
        // A subnormal number is its significand times 2⁻²⁴.
        let units = self.out.op(Op::BitwiseAnd, integer, &[a, rest_bits]);
        let units = self.out.op(Op::ConvertUToF, register, &[units]);
        let unit = self.out.float(register, 1.0 / 16_777_216.0);
        let small = self.exact(Op::FMul, register, units, unit);
        let small = self.out.op(Op::Bitcast, integer, &[small]);
        let result = self.chosen((Op::ULessThan, integer), (rest, 0x0080_0000), small, result);
        let quiet_bit = n(self, 0x0040_0000);
        let quiet = self.out.op(Op::BitwiseOr, integer, &[result, quiet_bit]);
        let result = self.chosen((Op::UGreaterThan, integer), (rest, 0x0f80_0000), quiet, result);
        let result = self.out.op(Op::BitwiseOr, integer, &[result, sign]);
        self.out.op(Op::Bitcast, register, &[result])
    }

    /// Rounds a binary32 to binary16, to nearest even. The result is bits in 16-bit lanes.
    fn half_of_float(&mut self, register: Register, a: Word) -> Word {
        let n = |l: &mut Self, number: u32| l.out.int(register, number);
        let bits = self.out.op(Op::Bitcast, register, &[a]);
        let (magnitude_bits, sign_bit, one, thirteen, sixteen) =
            (n(self, 0x7fff_ffff), n(self, 0x8000), n(self, 1), n(self, 13), n(self, 16));
        let magnitude = self.out.op(Op::BitwiseAnd, register, &[bits, magnitude_bits]);
        let sign = self.out.op(Op::ShiftRightLogical, register, &[bits, sixteen]);
        let sign = self.out.op(Op::BitwiseAnd, register, &[sign, sign_bit]);
        let half_less = n(self, 0x0fff_u32.wrapping_sub(112 << 23));
        let payload = self.out.op(Op::ShiftRightLogical, register, &[magnitude, thirteen]);
        let odd = self.out.op(Op::BitwiseAnd, register, &[payload, one]);
        let rounded = self.out.op(Op::IAdd, register, &[magnitude, half_less]);
        let rounded = self.out.op(Op::IAdd, register, &[rounded, odd]);
        let normal = self.out.op(Op::ShiftRightLogical, register, &[rounded, thirteen]);
        let infinity = n(self, 0x7c00);
        let result = self.chosen((Op::UGreaterThan, register), (normal, 0x7c00), infinity, normal);
        // Adding ½ rounds a small number to a multiple of 2⁻²⁴, the unit of subnormal numbers.
        let float = register.with(Kind::Float);
        let small = self.out.op(Op::Bitcast, float, &[magnitude]);
        let half = self.out.float(register, 0.5);
        let small = self.exact(Op::FAdd, float, small, half);
        let small = self.out.op(Op::Bitcast, register, &[small]);
        let half = n(self, 0x3f00_0000);
        let small = self.out.op(Op::ISub, register, &[small, half]);
        let result = self.chosen((Op::ULessThan, register), (magnitude, 0x3880_0000), small, result);
        let (quiet, payload_bits) = (n(self, 0x7e00), n(self, 0x03ff));
        let payload = self.out.op(Op::BitwiseAnd, register, &[payload, payload_bits]);
        let nan = self.out.op(Op::BitwiseOr, register, &[payload, quiet]);
        let result = self.chosen((Op::UGreaterThan, register), (magnitude, 0x7f80_0000), nan, result);
        let result = self.out.op(Op::BitwiseOr, register, &[result, sign]);
        self.with_sign(Lane::I16, register, result)
    }

    /// Selects `yes` or `no` by a comparison of an integer with a number.
    fn chosen(&mut self, (op, register): (Op, Register), (a, number): (Word, u32), yes: Word, no: Word) -> Word {
        let number = self.out.int(register, number);
        let holds = self.out.op(op, register.with(Kind::Bool), &[a, number]);
        self.out.op(Op::Select, register, &[holds, yes, no])
    }
}
