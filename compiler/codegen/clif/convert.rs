//! Conversions between lane types. Each step doubles or halves the width.

use super::held::{Held, integer_lane, vector_of};
use super::lower::Lowering;
use crate::bug::Mistake;
use crate::{CodegenError, Operation};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::{ConvertOp, Lane, Type};

impl Lowering<'_> {
    /// Lowers a conversion.
    pub fn convert(&mut self, op: ConvertOp, a: &Held, from: Lane, to: Lane) -> Result<Held, CodegenError> {
        let bits = 8 * to.bytes();
        Ok(match op {
            ConvertOp::SignExtend | ConvertOp::ZeroExtend => self.widen_to(a, bits, op == ConvertOp::SignExtend),
            ConvertOp::Wrap => self.wrap_to(a, bits),
            ConvertOp::NarrowSigned => self.narrow_to(a, bits, true),
            ConvertOp::NarrowUnsigned => self.narrow_to(a, bits, false),
            ConvertOp::SignedToFloat => self.integer_to_float(a, to == Lane::F64, true),
            ConvertOp::UnsignedToFloat => self.integer_to_float(a, to == Lane::F64, false),
            ConvertOp::FloatToSigned => self.float_to_integer(a, bits, true),
            ConvertOp::FloatToUnsigned => self.float_to_integer(a, bits, false),
            ConvertOp::FloatToSignedInRange => self.float_to_integer_in_range(a),
            ConvertOp::Promote => self.promote(a),
            ConvertOp::Demote => self.demote(a),
            ConvertOp::HalfToFloat => self.half_to_float(a),
            ConvertOp::FloatToHalf => self.float_to_half(a),
            ConvertOp::Bitcast if from == Lane::Mask || to == Lane::Mask => {
                return self.bug(Mistake::Operation { operation: Operation::Convert(op), of: Type::vector(Lane::Mask, a.lanes) });
            }
            ConvertOp::Bitcast => {
                let lane = match to {
                    Lane::F32 => types::F32,
                    Lane::F64 => types::F64,
                    _ => integer_lane(bits),
                };
                self.cast(a, lane)
            }
            ConvertOp::MaskToInteger => self.mask_to_integer(a, integer_lane(bits)),
        })
    }

    /// Extends integer lanes to twice the width.
    pub fn widen(&mut self, a: &Held, signed: bool) -> Held {
        let lane = integer_lane(2 * a.lane.bits());
        if a.scalar {
            let parts = a.parts.iter().map(|&x| match signed {
                true => self.builder.ins().sextend(lane, x),
                false => self.builder.ins().uextend(lane, x),
            });
            let parts = parts.collect();
            return a.with_lane(lane, parts);
        }
        // A short vector is entirely in the low half.
        let both = u32::from(a.part_lanes()) * a.lane.bits() > 64;
        let mut parts = vec![];
        for &x in &a.parts {
            let low = if signed { self.builder.ins().swiden_low(x) } else { self.builder.ins().uwiden_low(x) };
            parts.push(low);
            if both {
                let high = if signed { self.builder.ins().swiden_high(x) } else { self.builder.ins().uwiden_high(x) };
                parts.push(high);
            }
        }
        a.with_lane(lane, parts)
    }

    fn widen_to(&mut self, a: &Held, bits: u32, signed: bool) -> Held {
        if a.scalar && a.lane.bits() < bits {
            let lane = integer_lane(bits);
            let parts = a.parts.iter().map(|&x| match signed {
                true => self.builder.ins().sextend(lane, x),
                false => self.builder.ins().uextend(lane, x),
            });
            let parts = parts.collect();
            return a.with_lane(lane, parts);
        }
        let mut a = a.clone();
        while a.lane.bits() < bits {
            a = self.widen(&a, signed);
        }
        a
    }

    /// Narrows pairs of parts to one part of half the lane width. A short vector is paired with itself.
    fn halve(&mut self, a: &Held, mut f: impl FnMut(&mut Self, ir::Value, ir::Value) -> ir::Value) -> Held {
        let lane = integer_lane(a.lane.bits() / 2);
        let parts = a.parts.chunks(2).map(|pair| f(self, pair[0], *pair.last().unwrap_or(&pair[0]))).collect();
        a.with_lane(lane, parts)
    }

    /// Truncates integer lanes to half the width.
    pub fn wrap_half(&mut self, a: &Held) -> Held {
        let lane = integer_lane(a.lane.bits() / 2);
        if a.scalar {
            let parts = a.parts.iter().map(|&x| self.builder.ins().ireduce(lane, x)).collect();
            return a.with_lane(lane, parts);
        }
        if self.features.riscv_vectors() {
            // If the low half is sign-extended, saturation changes nothing.
            let shift = i64::from(lane.bits());
            let extended = self.map(a, |l, x| {
                let high = l.builder.ins().ishl_imm_u(x, shift);
                l.builder.ins().sshr_imm_u(high, shift)
            });
            return self.narrow_exact(&extended);
        }
        if lane == types::I32 {
            return self.halve(a, |l, low, high| l.low_halves(low, high));
        }
        if !self.features.x86() {
            return self.halve(a, |l, low, high| l.even_lanes(lane, low, high));
        }
        // With the high bits cleared, unsigned saturation changes nothing.
        let mask = self.number(a.lane, false, (1 << lane.bits()) - 1);
        let low_bits = self.map(a, |l, x| l.builder.ins().band(x, mask));
        self.halve(&low_bits, |l, low, high| l.builder.ins().unarrow(low, high))
    }

    /// Narrows signed lanes that fit half their width.
    fn narrow_exact(&mut self, a: &Held) -> Held {
        self.halve(a, |l, low, high| l.builder.ins().snarrow(low, high))
    }

    fn wrap_to(&mut self, a: &Held, bits: u32) -> Held {
        if a.scalar && a.lane.bits() > bits {
            let lane = integer_lane(bits);
            let parts = a.parts.iter().map(|&x| self.builder.ins().ireduce(lane, x)).collect();
            return a.with_lane(lane, parts);
        }
        let mut a = a.clone();
        while a.lane.bits() > bits {
            a = self.wrap_half(&a);
        }
        a
    }

    /// Narrows a mask to half the lane width.
    pub fn narrow_mask(&mut self, mask: &Held) -> Held {
        if mask.lane == types::I64 && !self.features.riscv_vectors() {
            return self.halve(mask, |l, low, high| l.low_halves(low, high));
        }
        self.narrow_exact(mask)
    }

    /// Narrows signed lanes to half the width, with signed or unsigned saturation.
    pub fn narrow_saturating(&mut self, a: &Held, signed: bool) -> Held {
        if a.scalar || (a.lane == types::I64 && !self.features.riscv_vectors()) {
            let half = a.lane.bits() / 2;
            let (low, high) = if signed { (-(1i64 << (half - 1)), (1i64 << (half - 1)) - 1) } else { (0, (1i64 << half) - 1) };
            let clamped = self.clamp(a, low, high);
            return self.wrap_half(&clamped);
        }
        self.halve(a, |l, low, high| if signed { l.builder.ins().snarrow(low, high) } else { l.builder.ins().unarrow(low, high) })
    }

    /// Narrows signed lanes to `bits` bits, saturated. Steps before the last saturate as signed numbers, which keeps every unsigned result.
    fn narrow_to(&mut self, a: &Held, bits: u32, signed: bool) -> Held {
        let mut a = a.clone();
        while a.lane.bits() > 2 * bits {
            a = self.narrow_saturating(&a, true);
        }
        if a.lane.bits() > bits { self.narrow_saturating(&a, signed) } else { a }
    }

    /// Clamps signed integers to a range.
    fn clamp(&mut self, a: &Held, low: i64, high: i64) -> Held {
        let (low, high) = (self.number(a.lane, a.scalar, low as u64), self.number(a.lane, a.scalar, high as u64));
        self.map(a, |l, x| {
            let below = l.builder.ins().icmp(IntCC::SignedLessThan, x, low);
            let x = if a.scalar { l.builder.ins().select(below, low, x) } else { l.blend(below, low, x) };
            let above = l.builder.ins().icmp(IntCC::SignedGreaterThan, x, high);
            if a.scalar { l.builder.ins().select(above, high, x) } else { l.blend(above, high, x) }
        })
    }

    /// Converts integers to binary32 or binary64, to nearest even.
    fn integer_to_float(&mut self, a: &Held, double: bool, signed: bool) -> Held {
        if a.lane.bits() < 32 {
            let wide = self.widen_to(a, 32, signed);
            return self.integer_to_float(&wide, double, true);
        }
        let lane = if double { types::F64 } else { types::F32 };
        let convert = |l: &mut Self, ty, x| {
            if signed { l.builder.ins().fcvt_from_sint(ty, x) } else { l.builder.ins().fcvt_from_uint(ty, x) }
        };
        match (a.lane, double) {
            _ if a.scalar => {
                let parts = a.parts.iter().map(|&x| convert(self, lane, x)).collect();
                a.with_lane(lane, parts)
            }
            (types::I32, true) => {
                let wide = self.widen_to(a, 64, signed);
                let parts = wide.parts.iter().map(|&x| convert(self, types::F64X2, x)).collect();
                wide.with_lane(lane, parts)
            }
            (types::I64, false) => self.per_lane(a, lane, |l, x| convert(l, lane, x)),
            _ => {
                let parts = a.parts.iter().map(|&x| convert(self, vector_of(lane), x)).collect();
                a.with_lane(lane, parts)
            }
        }
    }

    /// Converts floats to integers: towards zero, saturated, NaN to 0.
    fn float_to_integer(&mut self, a: &Held, bits: u32, signed: bool) -> Held {
        if bits < 32 {
            // A saturated 32-bit result saturates again to the right narrower one.
            let wide = self.float_to_integer(a, 32, true);
            return self.narrow_to(&wide, bits, signed);
        }
        let lane = integer_lane(bits);
        let convert = |l: &mut Self, ty, x| {
            if signed { l.builder.ins().fcvt_to_sint_sat(ty, x) } else { l.builder.ins().fcvt_to_uint_sat(ty, x) }
        };
        if !a.scalar && a.lane == types::F32 && bits == 32 {
            let parts = a.parts.iter().map(|&x| convert(self, types::I32X4, x)).collect();
            return a.with_lane(lane, parts);
        }
        self.per_lane(a, lane, |l, x| convert(l, lane, x))
    }

    /// Converts floats that are known to fit to signed integers of the same width.
    fn float_to_integer_in_range(&mut self, a: &Held) -> Held {
        if !self.features.x86() || a.lane == types::F64 {
            return self.float_to_integer(a, a.lane.bits(), true);
        }
        // A conversion in a vector register is one instruction, even for a scalar.
        let register = self.in_register(a);
        let parts = register.parts.iter().map(|&x| self.builder.ins().x86_cvtt2dq(types::I32X4, x)).collect();
        let integers = register.with_lane(types::I32, parts);
        self.out_of_register(&integers, a.scalar)
    }

    /// Converts binary32 to binary64.
    pub fn promote(&mut self, a: &Held) -> Held {
        if a.scalar {
            let parts = a.parts.iter().map(|&x| self.builder.ins().fpromote(types::F64, x)).collect();
            return a.with_lane(types::F64, parts);
        }
        let mut parts = vec![];
        for &x in &a.parts {
            parts.push(self.builder.ins().fvpromote_low(x));
            if a.part_lanes() > 2 {
                let high = self.upper_half(x);
                parts.push(self.builder.ins().fvpromote_low(high));
            }
        }
        a.with_lane(types::F64, parts)
    }

    /// Converts binary64 to binary32.
    pub fn demote(&mut self, a: &Held) -> Held {
        if a.scalar {
            let parts = a.parts.iter().map(|&x| self.builder.ins().fdemote(types::F32, x)).collect();
            return a.with_lane(types::F32, parts);
        }
        let parts = a.parts.chunks(2).map(|pair| {
            let low = self.builder.ins().fvdemote(pair[0]);
            match pair.get(1) {
                None => low,
                Some(&high) => {
                    let high = self.builder.ins().fvdemote(high);
                    self.lower_halves(low, high)
                }
            }
        });
        let parts = parts.collect();
        a.with_lane(types::F32, parts)
    }
}
