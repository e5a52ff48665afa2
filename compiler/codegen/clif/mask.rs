//! Comparisons, masks and selection.

use super::held::{Held, integer_lane};
use super::lower::Lowering;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::CompareOp;

/// Returns Cranelift's condition of an integer comparison.
fn integer_condition(op: CompareOp) -> IntCC {
    match op {
        CompareOp::Equal => IntCC::Equal,
        CompareOp::NotEqual => IntCC::NotEqual,
        CompareOp::Less => IntCC::SignedLessThan,
        CompareOp::LessEqual => IntCC::SignedLessThanOrEqual,
        CompareOp::Greater => IntCC::SignedGreaterThan,
        CompareOp::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        CompareOp::UnsignedLess => IntCC::UnsignedLessThan,
        CompareOp::UnsignedLessEqual => IntCC::UnsignedLessThanOrEqual,
    }
}

/// Returns Cranelift's condition of a float comparison. A NaN gives false, except for `NotEqual`.
fn float_condition(op: CompareOp) -> FloatCC {
    match op {
        CompareOp::Equal => FloatCC::Equal,
        CompareOp::NotEqual => FloatCC::NotEqual,
        CompareOp::Less | CompareOp::UnsignedLess => FloatCC::LessThan,
        CompareOp::LessEqual | CompareOp::UnsignedLessEqual => FloatCC::LessThanOrEqual,
        CompareOp::Greater => FloatCC::GreaterThan,
        CompareOp::GreaterEqual => FloatCC::GreaterThanOrEqual,
    }
}

impl Lowering<'_> {
    /// Compares two values; the mask is as wide as the compared lanes.
    pub fn compare(&mut self, op: CompareOp, a: &Held, b: &Held) -> Held {
        let lane = if a.scalar { types::I8 } else { integer_lane(a.lane.bits()) };
        let float = a.lane.is_float();
        let parts = a.parts.iter().zip(&b.parts).map(|(&x, &y)| {
            if float { self.builder.ins().fcmp(float_condition(op), x, y) } else { self.builder.ins().icmp(integer_condition(op), x, y) }
        });
        let parts = parts.collect();
        a.with_lane(lane, parts)
    }

    /// Converts a mask to another lane width.
    pub fn mask_at(&mut self, mask: &Held, bits: u32) -> Held {
        if mask.scalar {
            return mask.clone();
        }
        let mut mask = mask.clone();
        while mask.lane.bits() < bits {
            mask = self.widen(&mask, true);
        }
        while mask.lane.bits() > bits {
            mask = self.narrow_mask(&mask);
        }
        mask
    }

    /// Converts two masks to a common lane width.
    pub fn masks_alike(&mut self, a: &Held, b: &Held) -> (Held, Held) {
        let bits = a.lane.bits().max(b.lane.bits());
        (self.mask_at(a, bits), self.mask_at(b, bits))
    }

    /// Selects mask ? a : b, for values and for masks.
    pub fn select(&mut self, mask: &Held, a: &Held, b: &Held) -> Held {
        if a.scalar {
            let parts = mask.parts.iter().zip(a.parts.iter().zip(&b.parts));
            let parts = parts.map(|(&m, (&x, &y))| self.builder.ins().select(m, x, y)).collect();
            return a.with_parts(parts);
        }
        // Only masks can differ in lane width.
        let (a, b) = if a.lane == b.lane { (a.clone(), b.clone()) } else { self.masks_alike(a, b) };
        let mask = self.mask_at(mask, a.lane.bits());
        let parts = mask.parts.iter().zip(a.parts.iter().zip(&b.parts));
        let parts = parts.map(|(&m, (&x, &y))| self.blend(m, x, y)).collect();
        a.with_parts(parts)
    }

    /// Selects in one register, by a mask of the same lane width.
    pub fn blend(&mut self, mask: ir::Value, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(a);
        if !self.features.x86() {
            let mask = self.bits_as(ty, mask);
            return self.builder.ins().bitselect(mask, a, b);
        }
        // `blendv` exists for integer lanes of 8, 32 and 64 bits. A mask of whole lanes makes bytes suffice for 16 bits.
        let view = match ty.lane_bits() {
            8 | 16 => types::I8X16,
            32 => types::I32X4,
            _ => types::I64X2,
        };
        let (mask, a, b) = (self.bits_as(view, mask), self.bits_as(view, a), self.bits_as(view, b));
        let blended = self.builder.ins().blendv(mask, a, b);
        self.bits_as(ty, blended)
    }

    /// Computes the complement of a mask.
    pub fn mask_not(&mut self, mask: &Held) -> Held {
        self.map(mask, |l, m| if mask.scalar { l.builder.ins().bxor_imm_u(m, 1) } else { l.builder.ins().bnot(m) })
    }

    /// Converts a mask to integers 0 and 1 of a lane type.
    pub fn mask_to_integer(&mut self, mask: &Held, lane: ir::Type) -> Held {
        if mask.scalar {
            let parts = mask.parts.iter().map(|&m| if lane == types::I8 { m } else { self.builder.ins().uextend(lane, m) });
            let parts = parts.collect();
            return mask.with_lane(lane, parts);
        }
        let mask = self.mask_at(mask, lane.bits());
        let one = self.number(lane, false, 1);
        self.map(&mask, |l, m| l.builder.ins().band(m, one))
    }

    /// Makes a constant mask.
    pub fn mask_constant(&mut self, shape: &Held, value: bool) -> Held {
        let bits = match (value, shape.scalar) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => u64::MAX,
        };
        self.number_like(shape, shape.lane, bits)
    }
}
