//! Fused products and dot products.

use super::held::Held;
use super::lower::Lowering;
use crate::{CodegenError, Operation};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::{DotOp, Lane, Rounding, Type};
use modelc_machine::DotProduct;

impl Lowering<'_> {
    /// Computes a × b + c, rounded once.
    pub fn fma(&mut self, a: &Held, b: &Held, c: &Held) -> Result<Held, CodegenError> {
        if self.features.fma {
            let parts = a.parts.iter().zip(b.parts.iter().zip(&c.parts));
            let parts = parts.map(|(&x, (&y, &z))| self.builder.ins().fma(x, y, z)).collect();
            return Ok(c.with_parts(parts));
        }
        if a.lane != types::F32 {
            return self.unsupported(Operation::Fused(Rounding::Nearest), Type::vector(Lane::F64, a.lanes));
        }
        let (x, y, z) = (self.in_register(a), self.in_register(b), self.in_register(c));
        let (x, y, z) = (self.promote(&x), self.promote(&y), self.promote(&z));
        let parts = x.parts.iter().zip(y.parts.iter().zip(&z.parts));
        let parts = parts.map(|(&x, (&y, &z))| self.multiply_add_to_odd(x, y, z)).collect();
        let odd = z.with_parts(parts);
        let result = self.demote(&odd);
        Ok(self.out_of_register(&result, a.scalar))
    }

    /// Computes x × y + z in binary64, rounded to odd, for operands that come from binary32. The product is then exact. A second rounding to binary32
    /// gives the correctly rounded sum (Boldo and Melquiond).
    fn multiply_add_to_odd(&mut self, x: ir::Value, y: ir::Value, z: ir::Value) -> ir::Value {
        let product = self.builder.ins().fmul(x, y);
        let sum = self.builder.ins().fadd(product, z);
        // Knuth's two-sum computes the exact error of the sum.
        let z_part = self.builder.ins().fsub(sum, product);
        let product_part = self.builder.ins().fsub(sum, z_part);
        let z_error = self.builder.ins().fsub(z, z_part);
        let product_error = self.builder.ins().fsub(product, product_part);
        let error = self.builder.ins().fadd(product_error, z_error);
        let zero = self.number(types::F64, false, 0);
        let above = self.builder.ins().fcmp(FloatCC::GreaterThan, error, zero);
        let below = self.builder.ins().fcmp(FloatCC::LessThan, error, zero);
        // Even bits move one step: away from zero for an error with the sum's sign, else towards zero.
        let bits = self.bits_as(types::I64X2, sum);
        let one = self.number(types::I64, false, 1);
        let integer_zero = self.number(types::I64, false, 0);
        let sign = self.builder.ins().icmp(IntCC::SignedLessThan, bits, integer_zero);
        let step = self.builder.ins().bor(sign, one);
        let up = self.builder.ins().band(above, step);
        let down = self.builder.ins().band(below, step);
        let delta = self.builder.ins().isub(up, down);
        let last = self.builder.ins().band(bits, one);
        let even = self.builder.ins().icmp(IntCC::Equal, last, integer_zero);
        let delta = self.builder.ins().band(delta, even);
        let odd = self.builder.ins().iadd(bits, delta);
        self.bits_as(types::F64X2, odd)
    }

    /// Computes dot products of groups of narrow lanes, added to an accumulator.
    pub fn dot(&mut self, op: DotOp, accumulator: &Held, a: &Held, b: &Held) -> Held {
        if accumulator.scalar {
            return self.dot_scalars(op, accumulator, a, b);
        }
        let parts = accumulator.parts.iter().zip(a.parts.iter().zip(&b.parts));
        let parts = parts.map(|(&c, (&x, &y))| self.dot_register(op, c, x, y)).collect();
        accumulator.with_parts(parts)
    }

    fn dot_register(&mut self, op: DotOp, c: ir::Value, x: ir::Value, y: ir::Value) -> ir::Value {
        if op == DotOp::UnsignedSigned8To16 {
            let pairs = self.byte_pair_products(x, y);
            return self.builder.ins().iadd(c, pairs);
        }
        if self.features.riscv_vectors() {
            return self.dot_by_fields(op, c, x, y);
        }
        match (op, self.features.dot8) {
            (DotOp::Signed16, _) => {
                let pairs = self.pair_products(x, y);
                self.builder.ins().iadd(pairs, c)
            }
            (DotOp::UnsignedSigned8, Some(DotProduct::UnsignedSigned8)) | (DotOp::Signed8, Some(DotProduct::Signed8)) => {
                self.quad_products(op, c, x, y)
            }
            // For the other signedness, x with flipped sign bits changes each product by 128·y. A second dot product subtracts that.
            (_, Some(have)) => {
                let other = if have == DotProduct::Signed8 { DotOp::Signed8 } else { DotOp::UnsignedSigned8 };
                let sign = self.number(types::I8, false, 0x80);
                let zero = self.number(types::I32, false, 0);
                let flipped = self.builder.ins().bxor(x, sign);
                let sum = self.quad_products(other, c, flipped, y);
                let surplus = self.quad_products(other, zero, sign, y);
                self.builder.ins().isub(sum, surplus)
            }
            (_, None) if self.features.x86() => self.quad_products_by_pairs(op, c, x, y),
            (_, None) => self.quad_products(op, c, x, y),
        }
    }

    /// Computes sums of two products of signed 16-bit lanes: on x86 `pmaddwd`.
    fn pair_products(&mut self, x: ir::Value, y: ir::Value) -> ir::Value {
        let (x_low, y_low) = (self.builder.ins().swiden_low(x), self.builder.ins().swiden_low(y));
        let low = self.builder.ins().imul(x_low, y_low);
        let (x_high, y_high) = (self.builder.ins().swiden_high(x), self.builder.ins().swiden_high(y));
        let high = self.builder.ins().imul(x_high, y_high);
        self.builder.ins().iadd_pairwise(low, high)
    }

    /// Computes saturated sums of two products of unsigned and signed bytes: on x86 `pmaddubsw`.
    fn byte_pair_products(&mut self, x: ir::Value, y: ir::Value) -> ir::Value {
        if self.features.x86() {
            return self.builder.ins().x86_pmaddubsw(y, x);
        }
        let [x, y] = [x, y].map(|bytes| self.bits_as(types::I16X8, bytes));
        let up = self.builder.ins().ishl_imm_u(x, 8);
        let x_even = self.builder.ins().ushr_imm_u(up, 8);
        let x_odd = self.builder.ins().ushr_imm_u(x, 8);
        let up = self.builder.ins().ishl_imm_u(y, 8);
        let y_even = self.builder.ins().sshr_imm_u(up, 8);
        let y_odd = self.builder.ins().sshr_imm_u(y, 8);
        let even = self.builder.ins().imul(x_even, y_even);
        let odd = self.builder.ins().imul(x_odd, y_odd);
        self.builder.ins().sadd_sat(even, odd)
    }

    /// Computes c plus four products of bytes, as the tree that Cranelift folds into `vpdpbusd` (the signed operand first). Products fit 16 bits for
    /// both kinds.
    fn quad_products(&mut self, op: DotOp, c: ir::Value, x: ir::Value, y: ir::Value) -> ir::Value {
        let (x_low, x_high) = match op {
            DotOp::UnsignedSigned8 => (self.builder.ins().uwiden_low(x), self.builder.ins().uwiden_high(x)),
            _ => (self.builder.ins().swiden_low(x), self.builder.ins().swiden_high(x)),
        };
        let (y_low, y_high) = (self.builder.ins().swiden_low(y), self.builder.ins().swiden_high(y));
        let low = self.builder.ins().imul(y_low, x_low);
        let high = self.builder.ins().imul(y_high, x_high);
        let low_pairs = self.sum_pairs_wide(low);
        let high_pairs = self.sum_pairs_wide(high);
        let quads = self.builder.ins().iadd_pairwise(low_pairs, high_pairs);
        self.builder.ins().iadd(quads, c)
    }

    fn sum_pairs_wide(&mut self, x: ir::Value) -> ir::Value {
        let (low, high) = (self.builder.ins().swiden_low(x), self.builder.ins().swiden_high(x));
        self.builder.ins().iadd_pairwise(low, high)
    }

    /// Computes c plus four products of bytes, through 16-bit lanes and `pmaddwd`.
    fn quad_products_by_pairs(&mut self, op: DotOp, c: ir::Value, x: ir::Value, y: ir::Value) -> ir::Value {
        let (x_low, x_high) = match op {
            DotOp::UnsignedSigned8 => (self.builder.ins().uwiden_low(x), self.builder.ins().uwiden_high(x)),
            _ => (self.builder.ins().swiden_low(x), self.builder.ins().swiden_high(x)),
        };
        let (y_low, y_high) = (self.builder.ins().swiden_low(y), self.builder.ins().swiden_high(y));
        let low = self.pair_products(x_low, y_low);
        let high = self.pair_products(x_high, y_high);
        let quads = self.builder.ins().iadd_pairwise(low, high);
        self.builder.ins().iadd(quads, c)
    }

    fn dot_scalars(&mut self, op: DotOp, accumulator: &Held, a: &Held, b: &Held) -> Held {
        // A scalar accumulator may have short vectors as factors, on machines with vector registers.
        let (xs, ys) = (self.explode(a), self.explode(b));
        let group = xs.len() / accumulator.parts.len();
        let mut parts = vec![];
        for (i, &c) in accumulator.parts.iter().enumerate() {
            let to_16_bits = op.sum_lane() == Lane::I16;
            let mut sum = if to_16_bits { self.number(types::I32, true, 0) } else { c };
            for (&x, &y) in xs[i * group..][..group].iter().zip(&ys[i * group..][..group]) {
                let x = match op.has_unsigned_factor() {
                    true => self.builder.ins().uextend(types::I32, x),
                    false => self.builder.ins().sextend(types::I32, x),
                };
                let y = self.builder.ins().sextend(types::I32, y);
                let product = self.builder.ins().imul(x, y);
                sum = self.builder.ins().iadd(sum, product);
            }
            if to_16_bits {
                let [least, most] = [i16::MIN, i16::MAX].map(|bound| self.number(types::I32, true, (i32::from(bound) as u32).into()));
                let pair = self.builder.ins().smax(sum, least);
                let pair = self.builder.ins().smin(pair, most);
                let pair = self.builder.ins().ireduce(types::I16, pair);
                sum = self.builder.ins().iadd(c, pair);
            }
            parts.push(sum);
        }
        accumulator.with_parts(parts)
    }
}
