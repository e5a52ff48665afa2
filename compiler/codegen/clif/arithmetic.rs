//! Lane-wise arithmetic.

use super::held::Held;
use super::lower::Lowering;
use crate::bug::Mistake;
use crate::{CodegenError, Operation};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::{BinaryOp, Lane, Type, UnaryOp, Value};

impl Lowering<'_> {
    /// Makes a constant in every lane.
    pub fn constant(&mut self, result: Value, ty: Type, bits: u64) -> Held {
        self.constants.insert(result, bits);
        let shape = self.shape(ty);
        if ty.lane == Lane::Mask { self.mask_constant(&shape, bits != 0) } else { self.number_like(&shape, shape.lane, bits) }
    }

    /// Lowers an operation on two values. Shifts and divisions by a constant have their own code.
    pub fn binary_values(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let mask = self.ty(a).lane == Lane::Mask;
        let constant = self.constants.get(&b).copied();
        let (a, b) = (self.get(a)?, self.get(b)?);
        if mask {
            let (a, b) = self.masks_alike(&a, &b);
            return self.binary(op, &a, &b);
        }
        match (op, constant) {
            (BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned, Some(count)) => {
                self.shift_constant(op, &a, (count as u32 & (a.lane.bits() - 1)) as u8)
            }
            (op, Some(divisor)) if op.is_division() => Ok(self.divide_by_constant(op, &a, divisor)),
            _ => self.binary(op, &a, &b),
        }
    }

    /// Computes an operation on two values, lane by lane.
    pub fn binary(&mut self, op: BinaryOp, a: &Held, b: &Held) -> Result<Held, CodegenError> {
        let float = a.lane.is_float();
        Ok(match op {
            BinaryOp::Add if float => self.map2(a, b, |l, x, y| l.builder.ins().fadd(x, y)),
            BinaryOp::Sub if float => self.map2(a, b, |l, x, y| l.builder.ins().fsub(x, y)),
            BinaryOp::Mul if float => self.map2(a, b, |l, x, y| l.builder.ins().fmul(x, y)),
            BinaryOp::FloatDiv => self.map2(a, b, |l, x, y| l.builder.ins().fdiv(x, y)),
            BinaryOp::Add | BinaryOp::SignedAddInRange => self.map2(a, b, |l, x, y| l.builder.ins().iadd(x, y)),
            BinaryOp::Sub => self.map2(a, b, |l, x, y| l.builder.ins().isub(x, y)),
            BinaryOp::Mul => self.multiply(a, b),
            BinaryOp::SignedDiv | BinaryOp::UnsignedDiv | BinaryOp::SignedRem | BinaryOp::UnsignedRem => {
                self.per_lane2(a, b, |l, x, y| l.divide(op, x, y))
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => self.bitwise(op, a, b),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned => self.shift_lanes(op, a, b),
            BinaryOp::SignedMin | BinaryOp::SignedMax | BinaryOp::UnsignedMin | BinaryOp::UnsignedMax => self.integer_extreme(op, a, b),
            BinaryOp::FloatMinFirst
            | BinaryOp::FloatMaxFirst
            | BinaryOp::FloatMinPropagate
            | BinaryOp::FloatMaxPropagate
            | BinaryOp::FloatMinIgnore
            | BinaryOp::FloatMaxIgnore => self.float_extreme(op, a, b),
            BinaryOp::FloatScale => return self.unsupported(Operation::Binary(op), Type::vector(Lane::F32, a.lanes)),
            BinaryOp::ShiftNearest => return self.unsupported(Operation::Binary(op), Type::vector(Lane::I32, a.lanes)),
            BinaryOp::SignedAddSaturating | BinaryOp::SignedSubSaturating => self.saturating(op, a, b),
        })
    }

    fn bitwise(&mut self, op: BinaryOp, a: &Held, b: &Held) -> Held {
        self.map2(a, b, |l, x, y| match op {
            BinaryOp::And => l.builder.ins().band(x, y),
            BinaryOp::Or => l.builder.ins().bor(x, y),
            _ => l.builder.ins().bxor(x, y),
        })
    }

    /// Computes a wrapping integer product.
    pub fn multiply(&mut self, a: &Held, b: &Held) -> Held {
        if a.lane == types::I8 && !a.scalar && self.features.x86() {
            let (a, b) = (self.widen(a, false), self.widen(b, false));
            let product = self.multiply(&a, &b);
            return self.wrap_half(&product);
        }
        self.map2(a, b, |l, x, y| l.builder.ins().imul(x, y))
    }

    fn integer_extreme(&mut self, op: BinaryOp, a: &Held, b: &Held) -> Held {
        let condition = match op {
            BinaryOp::SignedMin => IntCC::SignedLessThan,
            BinaryOp::SignedMax => IntCC::SignedGreaterThan,
            BinaryOp::UnsignedMin => IntCC::UnsignedLessThan,
            _ => IntCC::UnsignedGreaterThan,
        };
        if a.scalar || (a.lane == types::I64 && !self.features.riscv_vectors()) {
            return self.map2(a, b, |l, x, y| {
                let mask = l.builder.ins().icmp(condition, x, y);
                if a.scalar { l.builder.ins().select(mask, x, y) } else { l.blend(mask, x, y) }
            });
        }
        self.map2(a, b, |l, x, y| match op {
            BinaryOp::SignedMin => l.builder.ins().smin(x, y),
            BinaryOp::SignedMax => l.builder.ins().smax(x, y),
            BinaryOp::UnsignedMin => l.builder.ins().umin(x, y),
            _ => l.builder.ins().umax(x, y),
        })
    }

    fn float_extreme(&mut self, op: BinaryOp, a: &Held, b: &Held) -> Held {
        match op {
            BinaryOp::FloatMinPropagate => return self.map2(a, b, |l, x, y| l.builder.ins().fmin(x, y)),
            BinaryOp::FloatMaxPropagate => return self.map2(a, b, |l, x, y| l.builder.ins().fmax(x, y)),
            _ => {}
        }
        let minimum = matches!(op, BinaryOp::FloatMinFirst | BinaryOp::FloatMinIgnore);
        let (first, second) = (self.in_register(a), self.in_register(b));
        let result = self.map2(&first, &second, |l, x, y| {
            let chosen = l.first_extreme(minimum, x, y);
            if matches!(op, BinaryOp::FloatMinFirst | BinaryOp::FloatMaxFirst) {
                return chosen;
            }
            // A NaN in the second operand already gives the first; a NaN in the first must give the second.
            let nan = l.builder.ins().fcmp(FloatCC::Unordered, x, x);
            if first.scalar { l.builder.ins().select(nan, y, chosen) } else { l.blend(nan, y, chosen) }
        });
        self.out_of_register(&result, a.scalar)
    }

    /// Computes `y < x ? y : x` or `x < y ? y : x`. On x86 exactly this form becomes one `minps` or `maxps`.
    fn first_extreme(&mut self, minimum: bool, x: ir::Value, y: ir::Value) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(x);
        let mask = match minimum {
            true => self.builder.ins().fcmp(FloatCC::LessThan, y, x),
            false => self.builder.ins().fcmp(FloatCC::LessThan, x, y),
        };
        if !ty.is_vector() {
            return self.builder.ins().select(mask, y, x);
        }
        let mask = self.bits_as(ty, mask);
        self.builder.ins().bitselect(mask, y, x)
    }

    /// Computes saturated sums and differences of 8- and 16-bit lanes.
    fn saturating(&mut self, op: BinaryOp, a: &Held, b: &Held) -> Held {
        let add = op == BinaryOp::SignedAddSaturating;
        if !a.scalar && a.lane.bits() <= 16 {
            return self.map2(a, b, |l, x, y| if add { l.builder.ins().sadd_sat(x, y) } else { l.builder.ins().ssub_sat(x, y) });
        }
        let (wide_a, wide_b) = (self.widen(a, true), self.widen(b, true));
        let sum = self.map2(&wide_a, &wide_b, |l, x, y| if add { l.builder.ins().iadd(x, y) } else { l.builder.ins().isub(x, y) });
        self.narrow_saturating(&sum, true)
    }

    /// Computes a quotient or a remainder of scalars. A zero divisor gives 0, and the smallest number ÷ −1 wraps.
    fn divide(&mut self, op: BinaryOp, x: ir::Value, y: ir::Value) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(x);
        if ty.bits() < 32 {
            let signed = matches!(op, BinaryOp::SignedDiv | BinaryOp::SignedRem);
            let (x, y) = match signed {
                true => (self.builder.ins().sextend(types::I32, x), self.builder.ins().sextend(types::I32, y)),
                false => (self.builder.ins().uextend(types::I32, x), self.builder.ins().uextend(types::I32, y)),
            };
            let result = self.divide(op, x, y);
            return self.builder.ins().ireduce(ty, result);
        }
        let ins = |l: &mut Self, value| l.builder.ins().iconst(ty, value);
        let (zero, one) = (ins(self, 0), ins(self, 1));
        let by_zero = self.builder.ins().icmp_imm_s(IntCC::Equal, y, 0);
        if matches!(op, BinaryOp::UnsignedDiv | BinaryOp::UnsignedRem) {
            let safe = self.builder.ins().select(by_zero, one, y);
            let result = match op {
                BinaryOp::UnsignedDiv => self.builder.ins().udiv(x, safe),
                _ => self.builder.ins().urem(x, safe),
            };
            return self.builder.ins().select(by_zero, zero, result);
        }
        // A divisor of 0 or −1 is replaced by 1, since the machine's instruction might trap.
        let minus_one = self.builder.ins().icmp_imm_s(IntCC::Equal, y, -1);
        let special = self.builder.ins().bor(by_zero, minus_one);
        let safe = self.builder.ins().select(special, one, y);
        let (result, by_minus_one) = match op {
            BinaryOp::SignedDiv => (self.builder.ins().sdiv(x, safe), self.builder.ins().ineg(x)),
            _ => (self.builder.ins().srem(x, safe), zero),
        };
        let result = self.builder.ins().select(minus_one, by_minus_one, result);
        self.builder.ins().select(by_zero, zero, result)
    }

    /// Computes a quotient or a remainder by a constant.
    fn divide_by_constant(&mut self, op: BinaryOp, a: &Held, divisor: u64) -> Held {
        let width = a.lane.bits();
        let divisor = if width == 64 { divisor } else { divisor & ((1 << width) - 1) };
        let power = divisor.is_power_of_two().then(|| i64::from(divisor.trailing_zeros()));
        match (op, power) {
            (BinaryOp::UnsignedDiv, Some(shift)) => return self.map(a, |l, x| l.builder.ins().ushr_imm_u(x, shift)),
            (BinaryOp::UnsignedRem, Some(_)) => {
                let mask = self.number_like(a, a.lane, divisor - 1);
                return self.map2(a, &mask, |l, x, y| l.builder.ins().band(x, y));
            }
            _ => {}
        }
        let all_ones = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let safe = divisor != 0 && divisor != all_ones;
        self.per_lane(a, a.lane, |l, x| {
            let ty = l.builder.func.dfg.value_type(x);
            let y = l.builder.ins().iconst(ty, divisor as i64);
            if !safe || ty.bits() < 32 {
                return l.divide(op, x, y);
            }
            match op {
                BinaryOp::SignedDiv => l.builder.ins().sdiv(x, y),
                BinaryOp::UnsignedDiv => l.builder.ins().udiv(x, y),
                BinaryOp::SignedRem => l.builder.ins().srem(x, y),
                _ => l.builder.ins().urem(x, y),
            }
        })
    }

    /// Computes an operation on one value, lane by lane.
    pub fn unary(&mut self, op: UnaryOp, a: &Held, mask: bool) -> Result<Held, CodegenError> {
        let float = a.lane.is_float();
        if mask {
            return match op {
                UnaryOp::Not => Ok(self.mask_not(a)),
                _ => self.bug(Mistake::Operation { operation: Operation::Unary(op), of: Type::vector(Lane::Mask, a.lanes) }),
            };
        }
        if op == UnaryOp::CountLeadingZeros {
            return Ok(self.per_lane(a, a.lane, |l, x| l.builder.ins().clz(x)));
        }
        Ok(self.map(a, |l, x| match op {
            UnaryOp::Neg if float => l.builder.ins().fneg(x),
            UnaryOp::Neg => l.builder.ins().ineg(x),
            UnaryOp::Abs if float => l.builder.ins().fabs(x),
            UnaryOp::Abs => l.builder.ins().iabs(x),
            UnaryOp::Not | UnaryOp::CountLeadingZeros => l.builder.ins().bnot(x),
            UnaryOp::Sqrt => l.builder.ins().sqrt(x),
            UnaryOp::Floor => l.builder.ins().floor(x),
            UnaryOp::Ceil => l.builder.ins().ceil(x),
            UnaryOp::Trunc => l.builder.ins().trunc(x),
            UnaryOp::Nearest => l.builder.ins().nearest(x),
        }))
    }
}
