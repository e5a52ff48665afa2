//! Shifts. Cranelift's vector shifts use one count for all lanes. Separate counts become multiplications by powers of two, or steps where selection
//! is cheap.

use super::held::Held;
use super::lower::Lowering;
use crate::CodegenError;
use crate::bug::{Mistake, Route};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::BinaryOp;

impl Lowering<'_> {
    /// Shifts every lane by one constant count.
    pub fn shift_constant(&mut self, op: BinaryOp, a: &Held, count: u8) -> Result<Held, CodegenError> {
        let count = i64::from(count);
        if count == 0 {
            return Ok(a.clone());
        }
        match op {
            BinaryOp::ShiftLeft => Ok(self.map(a, |l, x| l.builder.ins().ishl_imm_u(x, count))),
            BinaryOp::ShiftRightSigned => Ok(self.map(a, |l, x| l.builder.ins().sshr_imm_u(x, count))),
            BinaryOp::ShiftRightUnsigned => Ok(self.map(a, |l, x| l.builder.ins().ushr_imm_u(x, count))),
            _ => self.bug(Mistake::Route(Route::Shift)),
        }
    }

    /// Shifts each lane by its own count.
    pub fn shift_lanes(&mut self, op: BinaryOp, a: &Held, count: &Held) -> Held {
        if self.features.riscv_vectors() && !a.scalar {
            return self.shift_by_steps(op, a, count);
        }
        if a.scalar || a.lane == types::I64 {
            return self.per_lane2(a, count, |l, x, n| match op {
                BinaryOp::ShiftLeft => l.builder.ins().ishl(x, n),
                BinaryOp::ShiftRightSigned => l.builder.ins().sshr(x, n),
                _ => l.builder.ins().ushr(x, n),
            });
        }
        if a.lane != types::I32 {
            let (wide, wide_count) = (self.widen(a, op == BinaryOp::ShiftRightSigned), self.widen(count, false));
            let shifted = self.shift_lanes(op, &wide, &wide_count);
            return self.wrap_half(&shifted);
        }
        match op {
            BinaryOp::ShiftLeft => self.map2(a, count, |l, x, n| {
                let power = l.power_of_two(n);
                l.builder.ins().imul(x, power)
            }),
            BinaryOp::ShiftRightUnsigned => self.map2(a, count, |l, x, n| l.shift_right_32(x, n)),
            // x >> n = s ^ ((x ^ s) >>> n) where s is the sign in every bit.
            _ => self.map2(a, count, |l, x, n| {
                let sign = l.builder.ins().sshr_imm_u(x, 31);
                let magnitude = l.builder.ins().bxor(x, sign);
                let shifted = l.shift_right_32(magnitude, n);
                l.builder.ins().bxor(shifted, sign)
            }),
        }
    }

    /// Shifts once for each bit of the counts, selected where the bit is set.
    fn shift_by_steps(&mut self, op: BinaryOp, a: &Held, count: &Held) -> Held {
        let zero = self.number(a.lane, false, 0);
        let mut result = a.clone();
        let mut step = a.lane.bits() / 2;
        while step > 0 {
            let bit = self.number(a.lane, false, u64::from(step));
            result = self.map2(&result, count, |l, x, n| {
                let ins = l.builder.ins();
                let shifted = match op {
                    BinaryOp::ShiftLeft => ins.ishl_imm_u(x, i64::from(step)),
                    BinaryOp::ShiftRightSigned => ins.sshr_imm_u(x, i64::from(step)),
                    _ => ins.ushr_imm_u(x, i64::from(step)),
                };
                let wanted = l.builder.ins().band(n, bit);
                let wanted = l.builder.ins().icmp(IntCC::NotEqual, wanted, zero);
                l.blend(wanted, shifted, x)
            });
            step /= 2;
        }
        result
    }

    /// Computes 2ⁿ in 32-bit lanes, for n in 0..=31, through the exponent of a float.
    pub fn power_of_two(&mut self, n: ir::Value) -> ir::Value {
        let bias = self.number(types::I32, false, 127);
        let exponent = self.builder.ins().iadd(n, bias);
        let bits = self.builder.ins().ishl_imm_u(exponent, 23);
        let float = self.bits_as(types::F32X4, bits);
        // 2³¹ does not fit i32. x86 then gives exactly its bits; elsewhere the conversion is unsigned.
        if self.features.x86() {
            self.builder.ins().x86_cvtt2dq(types::I32X4, float)
        } else {
            self.builder.ins().fcvt_to_uint_sat(types::I32X4, float)
        }
    }

    /// Shifts 32-bit lanes right with zeros: the 64-bit product with 2³¹⁻ⁿ, shifted right by 31.
    fn shift_right_32(&mut self, x: ir::Value, n: ir::Value) -> ir::Value {
        let top = self.number(types::I32, false, 31);
        let complement = self.builder.ins().isub(top, n);
        let power = self.power_of_two(complement);
        let (x_low, p_low) = (self.builder.ins().uwiden_low(x), self.builder.ins().uwiden_low(power));
        let low = self.builder.ins().imul(x_low, p_low);
        let (x_high, p_high) = (self.builder.ins().uwiden_high(x), self.builder.ins().uwiden_high(power));
        let high = self.builder.ins().imul(x_high, p_high);
        let low = self.builder.ins().ushr_imm_u(low, 31);
        let high = self.builder.ins().ushr_imm_u(high, 31);
        self.low_halves(low, high)
    }
}
