//! Fixed-point arithmetic of 32-bit lanes: 64-bit products and their rounded high parts.

use super::held::Held;
use super::lower::Lowering;
use crate::CodegenError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::Value;

impl Lowering<'_> {
    /// Computes signed 64-bit products of four lanes, in two registers.
    fn wide_products(&mut self, x: ir::Value, y: ir::Value) -> (ir::Value, ir::Value) {
        // These two forms become `pmuldq` and `smull`, `smull2`.
        let (x_low, y_low) = (self.builder.ins().swiden_low(x), self.builder.ins().swiden_low(y));
        let low = self.builder.ins().imul(x_low, y_low);
        let (x_high, y_high) = (self.builder.ins().swiden_high(x), self.builder.ins().swiden_high(y));
        (low, self.builder.ins().imul(x_high, y_high))
    }

    /// Computes the signed 64-bit product of two scalars.
    fn wide_product(&mut self, x: ir::Value, y: ir::Value) -> ir::Value {
        let (x, y) = (self.builder.ins().sextend(types::I64, x), self.builder.ins().sextend(types::I64, y));
        self.builder.ins().imul(x, y)
    }

    /// Computes the high 32 bits of signed or unsigned products.
    pub fn multiply_high(&mut self, signed: bool, a: &Held, b: &Held) -> Held {
        self.map2(a, b, |l, x, y| {
            if a.scalar {
                return l.scalar_high(signed, x, y);
            }
            if l.features.riscv_vectors() {
                return if signed { l.builder.ins().smulhi(x, y) } else { l.builder.ins().umulhi(x, y) };
            }
            if signed {
                let (low, high) = l.wide_products(x, y);
                return l.high_halves(low, high);
            }
            // These two forms become `pmuludq` and `umull`, `umull2`.
            let (x_low, y_low) = (l.builder.ins().uwiden_low(x), l.builder.ins().uwiden_low(y));
            let low = l.builder.ins().imul(x_low, y_low);
            let (x_high, y_high) = (l.builder.ins().uwiden_high(x), l.builder.ins().uwiden_high(y));
            let high = l.builder.ins().imul(x_high, y_high);
            l.high_halves(low, high)
        })
    }

    /// Computes the high 32 bits of the product of two scalars.
    fn scalar_high(&mut self, signed: bool, x: ir::Value, y: ir::Value) -> ir::Value {
        let high = if signed {
            let product = self.wide_product(x, y);
            self.builder.ins().sshr_imm_u(product, 32)
        } else {
            let [x, y] = [x, y].map(|v| self.builder.ins().uextend(types::I64, v));
            let product = self.builder.ins().imul(x, y);
            self.builder.ins().ushr_imm_u(product, 32)
        };
        self.builder.ins().ireduce(types::I32, high)
    }

    /// Computes `(a·b + 2³⁰) >> 31`, saturated. Only INT_MIN · INT_MIN overflows, and wraps to INT_MIN. No other product rounds to INT_MIN, so
    /// INT_MIN is replaced by INT_MAX.
    pub fn doubling_high_multiply(&mut self, a: &Held, b: &Held, saturates: bool) -> Held {
        self.map2(a, b, |l, x, y| {
            if a.scalar {
                let product = l.wide_product(x, y);
                let rounded = l.builder.ins().iadd_imm_s(product, 1 << 30);
                let shifted = l.builder.ins().sshr_imm_u(rounded, 31);
                let result = l.builder.ins().ireduce(types::I32, shifted);
                if !saturates {
                    return result;
                }
                let wrapped = l.builder.ins().icmp_imm_s(IntCC::Equal, shifted, 1 << 31);
                let largest = l.builder.ins().iconst(types::I32, i64::from(i32::MAX));
                return l.builder.ins().select(wrapped, largest, result);
            }
            // `vsmul` rounds in this way in the mode that kernels set (`codegen/riscv64.rs`).
            if l.features.riscv_vectors() {
                return l.builder.ins().sqmul_round_sat(x, y);
            }
            let half = l.number(types::I64, false, 1 << 30);
            let (low, high) = l.wide_products(x, y);
            let (low, high) = (l.builder.ins().iadd(low, half), l.builder.ins().iadd(high, half));
            let (low, high) = (l.builder.ins().ushr_imm_u(low, 31), l.builder.ins().ushr_imm_u(high, 31));
            let result = l.low_halves(low, high);
            if !saturates {
                return result;
            }
            let smallest = l.number(types::I32, false, i32::MIN as u64);
            let wrapped = l.builder.ins().icmp(IntCC::Equal, result, smallest);
            l.builder.ins().bxor(result, wrapped)
        })
    }

    /// Divides by 2ᵇ with rounding; one constant exponent for all lanes has its own code.
    pub fn rounding_divide_values(&mut self, a: Value, b: Value) -> Result<Held, CodegenError> {
        let constant = self.constants.get(&b).copied();
        let (a, b) = (self.get(a)?, self.get(b)?);
        Ok(match constant {
            Some(exponent) if self.features.riscv_vectors() && !a.scalar => self.map(&a, |l, x| match exponent & 31 {
                0 => x,
                n => {
                    let factor = l.number(types::I32, false, 1 << (31 - n));
                    l.rounding_product(x, factor)
                }
            }),
            Some(exponent) => self.rounding_divide_constant(&a, exponent as u32 & 31),
            None if a.scalar => self.map2(&a, &b, |l, x, n| l.rounding_divide_scalar(x, n)),
            None => self.map2(&a, &b, |l, x, n| l.rounding_divide_lanes(x, n)),
        })
    }

    /// Computes `(x >> n) + (remainder > threshold)`. The threshold is half of the divisor's mask, plus one for negative numbers.
    fn rounding_divide_constant(&mut self, a: &Held, n: u32) -> Held {
        if n == 0 {
            return a.clone();
        }
        let mask = self.number(types::I32, a.scalar, (1 << n) - 1);
        let half = self.number(types::I32, a.scalar, ((1u64 << n) - 1) >> 1);
        self.map(a, |l, x| {
            let quotient = l.builder.ins().sshr_imm_u(x, i64::from(n));
            let remainder = l.builder.ins().band(x, mask);
            let sign = l.builder.ins().sshr_imm_u(x, 31);
            let threshold = l.builder.ins().isub(half, sign);
            let up = l.builder.ins().icmp(IntCC::SignedGreaterThan, remainder, threshold);
            if a.scalar {
                let up = l.builder.ins().uextend(types::I32, up);
                l.builder.ins().iadd(quotient, up)
            } else {
                l.builder.ins().isub(quotient, up)
            }
        })
    }

    /// Divides scalars by 2ⁿ for any n, in 64 bits: `(x + ⌊2ⁿ/2⌋ − (x < 0 and n > 0)) >> n`.
    fn rounding_divide_scalar(&mut self, x: ir::Value, n: ir::Value) -> ir::Value {
        let x = self.builder.ins().sextend(types::I64, x);
        let one = self.builder.ins().iconst(types::I64, 1);
        let power = self.builder.ins().ishl(one, n);
        let half = self.builder.ins().ushr_imm_u(power, 1);
        let sign = self.builder.ins().sshr_imm_u(x, 63);
        // With n = 0 there is nothing to round and half is 0; otherwise half − 1 ≥ 0.
        let some = self.builder.ins().icmp_imm_s(IntCC::NotEqual, half, 0);
        let zero = self.builder.ins().iconst(types::I64, 0);
        let correction = self.builder.ins().select(some, sign, zero);
        let sum = self.builder.ins().iadd(x, half);
        let sum = self.builder.ins().iadd(sum, correction);
        let shifted = self.builder.ins().sshr(sum, n);
        self.builder.ins().ireduce(types::I32, shifted)
    }

    /// Computes `x / 2ⁿ`, to nearest, ties away from zero; `factor` is 2³¹⁻ⁿ, and n > 0. The formula is `(y·2³¹⁻ⁿ + 2³⁰) >> 31`, where y = x, or x −
    /// 1 for negative x. Negative ties are then below the middle. The subtraction saturates: −2³¹ has no tie.
    fn rounding_product(&mut self, x: ir::Value, factor: ir::Value) -> ir::Value {
        let sign = self.builder.ins().sshr_imm_u(x, 31);
        let lowered = self.builder.ins().sadd_sat(x, sign);
        self.builder.ins().sqmul_round_sat(lowered, factor)
    }

    /// Divides each lane by its own power of two: `(x·2³¹⁻ⁿ + 2³⁰ − (x < 0)) >> 31` in 64 bits. The product is a multiple of 2³¹⁻ⁿ, so the
    /// subtraction of 1 matters only at a tie, which negative numbers then round down. The factor is negated, so that 2³¹ fits. For n = 0 the formula
    /// gives x.
    fn rounding_divide_lanes(&mut self, x: ir::Value, n: ir::Value) -> ir::Value {
        if self.features.riscv_vectors() {
            let top = self.number(types::I32, false, 31);
            let complement = self.builder.ins().isub(top, n);
            let factor = self.power_of_two(complement);
            let quotient = self.rounding_product(x, factor);
            let zero = self.number(types::I32, false, 0);
            let whole = self.builder.ins().icmp(IntCC::Equal, n, zero);
            return self.blend(whole, x, quotient);
        }
        // −2³¹⁻ⁿ from the bits of a float: sign 1, exponent 127 + 31 − n.
        let top = self.number(types::I32, false, 256 + 127 + 31);
        let exponent = self.builder.ins().isub(top, n);
        let bits = self.builder.ins().ishl_imm_u(exponent, 23);
        let float = self.bits_as(types::F32X4, bits);
        let factor = if self.features.x86() {
            self.builder.ins().x86_cvtt2dq(types::I32X4, float)
        } else {
            self.builder.ins().fcvt_to_sint_sat(types::I32X4, float)
        };
        let half = self.number(types::I32, false, 1 << 30);
        let sign = self.builder.ins().sshr_imm_u(x, 31);
        let rounding = self.builder.ins().iadd(half, sign);
        let (low, high) = self.wide_products(x, factor);
        let rounding_low = self.builder.ins().swiden_low(rounding);
        let rounding_high = self.builder.ins().swiden_high(rounding);
        let low = self.builder.ins().isub(rounding_low, low);
        let high = self.builder.ins().isub(rounding_high, high);
        let (low, high) = (self.builder.ins().ushr_imm_u(low, 31), self.builder.ins().ushr_imm_u(high, 31));
        self.low_halves(low, high)
    }
}
