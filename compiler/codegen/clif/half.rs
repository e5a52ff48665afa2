//! Conversion between binary16 and binary32, correct for subnormal numbers, infinities and NaNs. The expansion is integer arithmetic and one float
//! addition on normal numbers. It does not depend on a machine's treatment of subnormal operands.

use super::held::Held;
use super::lower::Lowering;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

/// Bits of the smallest normal binary16 number, as a binary32.
const SMALLEST_NORMAL: i64 = 0x3880_0000;

impl Lowering<'_> {
    /// Converts the bits of binary16 numbers, in 16-bit lanes, to binary32.
    pub fn half_to_float(&mut self, a: &Held) -> Held {
        let bits = if a.scalar { self.zero_extended(a) } else { self.widen(a, false) };
        let wide = self.map(&bits, |l, x| {
            let n = |l: &mut Self, bits: i64| l.number(types::I32, a.scalar, bits as u64);
            let (sign_bit, rest_bits) = (n(l, 0x8000), n(l, 0x7FFF));
            let sign = l.builder.ins().band(x, sign_bit);
            let sign = l.builder.ins().ishl_imm_u(sign, 16);
            let rest = l.builder.ins().band(x, rest_bits);
            let rest = l.builder.ins().ishl_imm_u(rest, 13);
            // The exponents' biases differ by 112. An infinity's exponent needs 112 more to reach the largest exponent.
            let shift = n(l, 112 << 23);
            let normal = l.builder.ins().iadd(rest, shift);
            let past_normal = n(l, 0x0F7F_FFFF);
            let not_finite = l.builder.ins().icmp(IntCC::SignedGreaterThan, rest, past_normal);
            let larger = l.builder.ins().iadd(normal, shift);
            let result = l.pick(not_finite, larger, normal);
            // A subnormal number is the difference that its fraction makes to the smallest normal number.
            let (unit, first_normal) = (n(l, SMALLEST_NORMAL), n(l, 0x0080_0000));
            let sum = l.builder.ins().bor(rest, unit);
            let small = l.float_difference(sum, unit);
            let is_small = l.builder.ins().icmp(IntCC::SignedLessThan, rest, first_normal);
            let result = l.pick(is_small, small, result);
            let (infinity, quiet_bit) = (n(l, 0x0F80_0000), n(l, 0x0040_0000));
            let is_nan = l.builder.ins().icmp(IntCC::SignedGreaterThan, rest, infinity);
            let quiet = l.builder.ins().bor(result, quiet_bit);
            let result = l.pick(is_nan, quiet, result);
            l.builder.ins().bor(result, sign)
        });
        self.cast(&wide, types::F32)
    }

    /// Rounds binary32 to binary16, to nearest even. The result is bits in 16-bit lanes.
    pub fn float_to_half(&mut self, a: &Held) -> Held {
        let bits = self.cast(a, types::I32);
        let halves = self.map(&bits, |l, x| {
            let n = |l: &mut Self, bits: i64| l.number(types::I32, a.scalar, bits as u64);
            let magnitude_bits = n(l, 0x7FFF_FFFF);
            let magnitude = l.builder.ins().band(x, magnitude_bits);
            let sign = l.builder.ins().ushr_imm_u(x, 16);
            let sign_bit = n(l, 0x8000);
            let sign = l.builder.ins().band(sign, sign_bit);
            let (one, half_less) = (n(l, 1), n(l, 0x0FFF - (112 << 23)));
            let odd = l.builder.ins().ushr_imm_u(magnitude, 13);
            let odd = l.builder.ins().band(odd, one);
            let rounded = l.builder.ins().iadd(magnitude, half_less);
            let rounded = l.builder.ins().iadd(rounded, odd);
            let normal = l.builder.ins().sshr_imm_u(rounded, 13);
            let infinity = n(l, 0x7C00);
            let overflows = l.builder.ins().icmp(IntCC::SignedGreaterThan, normal, infinity);
            let result = l.pick(overflows, infinity, normal);
            // Adding ½ rounds a small number to a multiple of 2⁻²⁴, the unit of subnormal numbers.
            let (unit, past_small) = (n(l, 0x3F00_0000), n(l, SMALLEST_NORMAL));
            let small = l.float_sum(magnitude, unit);
            let small = l.builder.ins().isub(small, unit);
            let is_small = l.builder.ins().icmp(IntCC::SignedLessThan, magnitude, past_small);
            let result = l.pick(is_small, small, result);
            let (float_infinity, quiet, payload_bits) = (n(l, 0x7F80_0000), n(l, 0x7E00), n(l, 0x03FF));
            let is_nan = l.builder.ins().icmp(IntCC::SignedGreaterThan, magnitude, float_infinity);
            let payload = l.builder.ins().ushr_imm_u(magnitude, 13);
            let payload = l.builder.ins().band(payload, payload_bits);
            let nan = l.builder.ins().bor(payload, quiet);
            let result = l.pick(is_nan, nan, result);
            l.builder.ins().bor(result, sign)
        });
        self.wrap_half(&halves)
    }

    fn zero_extended(&mut self, a: &Held) -> Held {
        let parts = a.parts.iter().map(|&x| self.builder.ins().uextend(types::I32, x)).collect();
        a.with_lane(types::I32, parts)
    }

    /// Selects one of two values by a condition, scalar or lane by lane.
    fn pick(&mut self, condition: ir::Value, yes: ir::Value, no: ir::Value) -> ir::Value {
        let vector = self.builder.func.dfg.value_type(yes).is_vector();
        if vector { self.blend(condition, yes, no) } else { self.builder.ins().select(condition, yes, no) }
    }

    fn float_sum(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.on_floats(a, b, |l, x, y| l.builder.ins().fadd(x, y))
    }

    fn float_difference(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        self.on_floats(a, b, |l, x, y| l.builder.ins().fsub(x, y))
    }

    /// Applies a float operation to the bits of binary32 numbers; the result is bits.
    fn on_floats(&mut self, a: ir::Value, b: ir::Value, operation: impl FnOnce(&mut Self, ir::Value, ir::Value) -> ir::Value) -> ir::Value {
        let integers = self.builder.func.dfg.value_type(a);
        let floats = if integers.is_vector() { types::F32X4 } else { types::F32 };
        let (x, y) = (self.bits_as(floats, a), self.bits_as(floats, b));
        let result = operation(self, x, y);
        self.bits_as(integers, result)
    }
}
