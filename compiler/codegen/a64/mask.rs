//! Masks: comparisons, selection, and conversion between widths. Masks are lanes of zeros or ones.

use super::encode::Flags;
use super::held::{Held, Vector, is_general, part_count};
use super::inst::{Arg, Op};
use super::lowering::Lowering;
use super::rows::{self, Row, Size};
use crate::CodegenError;
use crate::bug::{MaskUse, Mistake};
use crate::own::integer;
use modelc_kernel::{BinaryOp, CompareOp, Lane, Type, Value};
use regalloc2::VReg;

impl Lowering<'_> {
    /// Selects bits of `yes` where the mask's bit is 1, else of `no`.
    pub fn blend(&mut self, mask: VReg, yes: VReg, no: VReg) -> VReg {
        self.tied(&rows::BSL, Size::B, mask, yes, no)
    }

    /// Lowers a comparison.
    pub fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        if is_general(ty) {
            let x = self.general(a)?;
            let y = match self.known(b).filter(|number| number.unsigned_abs() < 1 << 12) {
                Some(number) => Arg::Number(number),
                None => Arg::Use(self.general(b)?),
            };
            return Ok(Held::General(self.defined(Op::CompareSet(Flags::of(op, false)), &[Arg::Use(x), y])));
        }
        let (x, y) = (self.vector(a)?, self.vector(b)?);
        let mask = self.compare_lanes(op, ty.lane, &x, &y);
        if ty.lanes > 1 { Ok(Held::Vector(mask)) } else { Ok(Held::General(self.truth(&mask))) }
    }

    /// Returns the lowest lane of a mask as 0 or 1.
    fn truth(&mut self, mask: &Vector) -> VReg {
        let raw = self.general_of_vector(mask.parts[0]);
        self.general_row(&rows::AND_ONE, Size::D, &[Arg::Use(raw)])
    }

    fn compare_lanes(&mut self, op: CompareOp, lane: Lane, a: &Vector, b: &Vector) -> Vector {
        let rows: [&'static Row; 3] =
            if lane.is_float() { [&rows::FCMEQ, &rows::FCMGT, &rows::FCMGE] } else { [&rows::CMEQ, &rows::CMGT, &rows::CMGE] };
        let (row, swapped, inverted) = match op {
            CompareOp::Equal => (rows[0], false, false),
            CompareOp::NotEqual => (rows[0], false, true),
            CompareOp::Greater => (rows[1], false, false),
            CompareOp::GreaterEqual => (rows[2], false, false),
            CompareOp::Less => (rows[1], true, false),
            CompareOp::LessEqual => (rows[2], true, false),
            CompareOp::UnsignedLess => (&rows::CMHI, true, false),
            CompareOp::UnsignedLessEqual => (&rows::CMHS, true, false),
        };
        let size = a.size();
        let (first, second) = if swapped { (b, a) } else { (a, b) };
        let mask = self.map2(first, second, |l, x, y| l.two(row, size, x, y));
        if inverted { self.inverted(&mask) } else { mask }
    }

    fn inverted(&mut self, mask: &Vector) -> Vector {
        self.map(mask, |l, x| l.one(&rows::NOT, Size::B, x))
    }

    /// Converts a mask to lanes of `bytes` bytes.
    pub fn mask_at(&mut self, mask: &Vector, bytes: u32) -> Vector {
        if mask.bytes < bytes { self.widen(mask, bytes, true) } else { self.wrap(mask, bytes) }
    }

    /// Computes and, or, exclusive or of masks.
    pub fn mask_binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        match (self.get(a)?, self.get(b)?) {
            (Held::General(x), Held::General(y)) => Ok(Held::General(self.general_binary(op, x, y))),
            (Held::Vector(a), Held::Vector(b)) => {
                let b = self.mask_at(&b, a.bytes);
                self.binary_vectors(op, integer(a.bytes), &a, &b).map(Held::Vector)
            }
            _ => self.bug(Mistake::Mask(MaskUse::Binary)),
        }
    }

    /// Computes the complement of a mask.
    pub fn mask_not(&mut self, a: Value) -> Result<Held, CodegenError> {
        Ok(match self.get(a)? {
            Held::General(x) => Held::General(self.general_row(&rows::EOR_ONE, Size::D, &[Arg::Use(x)])),
            Held::Vector(mask) => Held::Vector(self.inverted(&mask)),
        })
    }

    /// Lowers a selection: mask ? a : b.
    pub fn select(&mut self, mask: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        if is_general(ty) {
            let (mask, yes, no) = (self.general(mask)?, self.general(a)?, self.general(b)?);
            return Ok(Held::General(self.choose(Flags::NotEqual, (mask, Arg::Number(0)), yes, no)));
        }
        let (yes, no) = (self.vector(a)?, self.vector(b)?);
        // Only masks can differ in lane width.
        let no = if ty.lane == Lane::Mask { self.mask_at(&no, yes.bytes) } else { no };
        let mask = match self.get(mask)? {
            Held::General(register) => self.splat_truth(register, yes.bytes, ty.lanes),
            Held::Vector(mask) => self.mask_at(&mask, yes.bytes),
        };
        let parts = (0..yes.parts.len()).map(|i| self.blend(mask.parts[i], yes.parts[i], no.parts[i])).collect();
        Ok(Held::Vector(yes.with(parts)))
    }

    /// Copies a truth value in a general-purpose register to every lane of a mask.
    pub fn splat_truth(&mut self, register: VReg, bytes: u32, lanes: u16) -> Vector {
        let ones = self.negate(register);
        let part = self.row(&rows::DUP_GENERAL, Size::D, &[Arg::Use(ones)]);
        Vector { bytes, lanes, parts: vec![part; part_count(bytes, lanes)] }
    }

    /// Returns one lane of a mask as 0 or 1.
    pub fn extract_truth(&mut self, mask: &Held, lane: u16) -> VReg {
        match mask {
            Held::Vector(vector) => {
                let part = self.piece(vector, u32::from(lane) * vector.bytes, vector.bytes);
                self.truth(&Vector { bytes: vector.bytes, lanes: 1, parts: vec![part] })
            }
            Held::General(register) => *register,
        }
    }

    /// Converts a mask to integers 0 and 1.
    pub fn mask_to_integer(&mut self, a: Value, ty: Type) -> Result<Held, CodegenError> {
        let bytes = ty.lane.bytes();
        Ok(match self.get(a)? {
            Held::General(register) if is_general(ty) => Held::General(register),
            Held::General(register) => {
                let part = self.one(&rows::FMOV_TO_D, Size::D, register);
                Held::Vector(Vector { bytes, lanes: 1, parts: vec![part] })
            }
            Held::Vector(mask) => {
                let mask = self.mask_at(&mask, bytes);
                // Lanes of −1 become 1.
                Held::Vector(self.map(&mask, |l, x| l.one(&rows::NEG, Size::of(bytes), x)))
            }
        })
    }

    /// Subtracts 1 from the 32-bit lanes where a mask is true.
    pub fn subtract_mask(&mut self, a: Value, mask: Value) -> Result<Held, CodegenError> {
        let a = self.vector(a)?;
        let Held::Vector(mask) = self.get(mask)? else { return self.bug(Mistake::Mask(MaskUse::Subtract)) };
        let mask = self.mask_at(&mask, 4);
        Ok(Held::Vector(self.map2(&a, &mask, |l, x, ones| l.two(&rows::ADD, Size::S, x, ones))))
    }
}
