//! Lane-wise arithmetic.

use super::held::{Held, Vector, is_general};
use super::lowering::Lowering;
use super::rows::{self, Row, Size};
use crate::bug::Mistake;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, Lane, Type, UnaryOp, Value};
use regalloc2::VReg;

/// Returns the instruction of an operation for a lane, if one exists.
fn simple(op: BinaryOp, lane: Lane) -> Option<&'static Row> {
    use BinaryOp::*;
    let row = match (op, lane.is_float()) {
        (Add, true) => &rows::FADD,
        (Sub, true) => &rows::FSUB,
        (Mul, true) => &rows::FMUL,
        (FloatDiv, _) => &rows::FDIV,
        (FloatMinPropagate, _) => &rows::FMIN,
        (FloatMaxPropagate, _) => &rows::FMAX,
        (Add | SignedAddInRange, _) => &rows::ADD,
        (Sub, _) => &rows::SUB,
        (Mul, _) => &rows::MUL,
        (And, _) => &rows::AND,
        (Or, _) => &rows::ORR,
        (Xor, _) => &rows::EOR,
        (ShiftLeft, _) => &rows::USHL,
        (ShiftNearest, _) => &rows::SRSHL,
        (SignedMin, _) => &rows::SMIN,
        (SignedMax, _) => &rows::SMAX,
        (UnsignedMin, _) => &rows::UMIN,
        (UnsignedMax, _) => &rows::UMAX,
        (SignedAddSaturating, _) => &rows::SQADD,
        (SignedSubSaturating, _) => &rows::SQSUB,
        _ => return None,
    };
    row.has(Size::of(lane.bytes())).then_some(row)
}

/// Tests whether bits are a float that is neither a zero nor a NaN.
fn is_plain_limit(lane: Lane, bits: u64) -> bool {
    match lane {
        Lane::F32 => f32::from_bits(bits as u32) != 0.0 && !f32::from_bits(bits as u32).is_nan(),
        Lane::F64 => f64::from_bits(bits) != 0.0 && !f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

impl Lowering<'_> {
    /// Lowers an operation on two values.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        if ty.lane == Lane::Mask {
            return self.mask_binary(op, a, b);
        }
        let shifts = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned);
        if let Some(&count) = self.constants.get(&b).filter(|_| shifts) {
            return self.shift_constant(op, a, count as u32 & (8 * ty.lane.bytes() - 1));
        }
        if is_general(ty) {
            let (x, y) = (self.general(a)?, self.general(b)?);
            return Ok(Held::General(self.general_binary(op, x, y)));
        }
        if let Some(&mask) = self.set.subtracted_masks.get(&b) {
            return self.subtract_mask(a, mask);
        }
        if let Some(&count) = self.constants.get(&b).filter(|_| op == BinaryOp::ShiftNearest) {
            return self.shift_to_nearest(a, -i64::from(count as u32 as i32));
        }
        let (x, y) = (self.vector(a)?, self.vector(b)?);
        let limit = self.constants.get(&b).is_some_and(|&bits| is_plain_limit(ty.lane, bits));
        let op = match op {
            // Both operations return a NaN operand. They differ only for two zeros, and this limit is not zero.
            BinaryOp::FloatMinFirst if limit => BinaryOp::FloatMinPropagate,
            BinaryOp::FloatMaxFirst if limit => BinaryOp::FloatMaxPropagate,
            op => op,
        };
        self.binary_vectors(op, ty.lane, &x, &y).map(Held::Vector)
    }

    /// Computes an operation on two vectors, lane by lane.
    pub fn binary_vectors(&mut self, op: BinaryOp, lane: Lane, a: &Vector, b: &Vector) -> Result<Vector, CodegenError> {
        let size = a.size();
        if let Some(row) = simple(op, lane) {
            let row = if op == BinaryOp::FloatDiv && a.lanes == 1 { &rows::FDIV_ONE } else { row };
            return Ok(self.map2(a, b, |l, x, y| match (op, lane.is_float()) {
                (BinaryOp::Mul, true) => l.multiply_floats(size, x, y),
                (BinaryOp::Mul, false) => l.multiply_integers(size, x, y),
                (BinaryOp::Add | BinaryOp::SignedAddInRange, false) => l.add_integers(size, x, y),
                _ => l.two(row, size, x, y),
            }));
        }
        Ok(match op {
            BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned => {
                let row = if op == BinaryOp::ShiftRightSigned { &rows::SSHL } else { &rows::USHL };
                self.map2(a, b, |l, x, count| {
                    let left = l.one(&rows::NEG, size, count);
                    l.two(row, size, x, left)
                })
            }
            BinaryOp::SignedMin | BinaryOp::SignedMax | BinaryOp::UnsignedMin | BinaryOp::UnsignedMax => self.extreme_quads(op, a, b),
            BinaryOp::Mul => self.by_lanes(op, a, b),
            op if op.is_division() => self.by_lanes(op, a, b),
            BinaryOp::FloatScale => return self.unsupported(Operation::Binary(op), Type::vector(lane, a.lanes)),
            _ if lane.is_float() => self.float_extreme(op, a, b),
            _ => return self.bug(Mistake::Operation { operation: Operation::Binary(op), of: Type::vector(lane, a.lanes) }),
        })
    }

    /// Computes a product of floats. A factor that repeats a lane becomes an element operand.
    fn multiply_floats(&mut self, size: Size, x: VReg, y: VReg) -> VReg {
        match self.with_element(size, x, y) {
            Some((other, args)) => self.row(&rows::FMUL_ELEMENT, size, &[super::inst::Arg::Use(other), args[0], args[1]]),
            None => self.two(&rows::FMUL, size, x, y),
        }
    }

    /// Computes an operation without a vector instruction, lane by lane in general-purpose registers.
    fn by_lanes(&mut self, op: BinaryOp, a: &Vector, b: &Vector) -> Vector {
        let signed = matches!(op, BinaryOp::SignedDiv | BinaryOp::SignedRem);
        let (x, y) = (self.explode(a, signed), self.explode(b, signed));
        let lanes: Vec<VReg> = x.into_iter().zip(y).map(|(x, y)| self.general_binary(op, x, y)).collect();
        self.implode(&lanes, a.bytes)
    }

    /// Computes a minimum or maximum of 64-bit lanes: a comparison and a selection.
    fn extreme_quads(&mut self, op: BinaryOp, a: &Vector, b: &Vector) -> Vector {
        let row = if matches!(op, BinaryOp::UnsignedMin | BinaryOp::UnsignedMax) { &rows::CMHI } else { &rows::CMGT };
        let smallest = matches!(op, BinaryOp::SignedMin | BinaryOp::UnsignedMin);
        self.map2(a, b, |l, x, y| {
            let greater = l.two(row, Size::D, x, y);
            let (yes, no) = if smallest { (y, x) } else { (x, y) };
            l.blend(greater, yes, no)
        })
    }

    /// Computes `b < a ? b : a`, or the maximum. If NaNs are ignored, a number wins against a NaN.
    fn float_extreme(&mut self, op: BinaryOp, a: &Vector, b: &Vector) -> Vector {
        let minimum = matches!(op, BinaryOp::FloatMinFirst | BinaryOp::FloatMinIgnore);
        let ignores = matches!(op, BinaryOp::FloatMinIgnore | BinaryOp::FloatMaxIgnore);
        let size = a.size();
        self.map2(a, b, |l, x, y| {
            let (greater, less) = if minimum { (x, y) } else { (y, x) };
            let second = l.two(&rows::FCMGT, size, greater, less);
            let chosen = l.blend(second, y, x);
            if !ignores {
                return chosen;
            }
            // A NaN in the second operand already gives the first; a NaN in the first must give the second.
            let number = l.two(&rows::FCMEQ, size, x, x);
            l.blend(number, chosen, y)
        })
    }

    /// Lowers an operation on one value.
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        if ty.lane == Lane::Mask {
            return self.mask_not(a);
        }
        if is_general(ty) {
            let x = self.general(a)?;
            return Ok(Held::General(self.general_unary(op, x)));
        }
        let a = self.vector(a)?;
        let float = ty.lane.is_float();
        let row = match op {
            UnaryOp::Neg if float => &rows::FNEG,
            UnaryOp::Abs if float => &rows::FABS,
            UnaryOp::Neg => &rows::NEG,
            UnaryOp::Abs => &rows::ABS,
            UnaryOp::Not => &rows::NOT,
            UnaryOp::CountLeadingZeros if a.bytes == 8 => {
                let lanes = self.explode(&a, false);
                let counts: Vec<VReg> = lanes.into_iter().map(|x| self.general_unary(op, x)).collect();
                return Ok(Held::Vector(self.implode(&counts, 8)));
            }
            UnaryOp::CountLeadingZeros => &rows::CLZ,
            UnaryOp::Sqrt if a.lanes == 1 => &rows::FSQRT_ONE,
            UnaryOp::Sqrt => &rows::FSQRT,
            UnaryOp::Floor => &rows::FRINTM,
            UnaryOp::Ceil => &rows::FRINTP,
            UnaryOp::Trunc => &rows::FRINTZ,
            UnaryOp::Nearest => &rows::FRINTN,
        };
        let size = a.size();
        Ok(Held::Vector(self.map(&a, |l, x| l.one(row, size, x))))
    }

    /// Lowers a shift by a constant.
    pub fn shift_constant(&mut self, op: BinaryOp, a: Value, count: u32) -> Result<Held, CodegenError> {
        if is_general(self.ty(a)) {
            let x = self.general(a)?;
            return Ok(Held::General(self.shift_general(op, x, count)));
        }
        let a = self.vector(a)?;
        Ok(Held::Vector(self.shift_vector(op, &a, count)))
    }

    /// Shifts lanes by a constant.
    pub fn shift_vector(&mut self, op: BinaryOp, a: &Vector, count: u32) -> Vector {
        if count == 0 {
            return a.clone();
        }
        let size = a.size();
        let row = match op {
            BinaryOp::ShiftLeft => return self.map(a, |l, x| l.shift_left(size, x, count)),
            BinaryOp::ShiftRightSigned if count + 1 == size.bits() => return self.map(a, |l, x| l.signs(size, x)),
            BinaryOp::ShiftRightSigned => &rows::SSHR,
            _ => &rows::USHR,
        };
        self.map(a, |l, x| l.one_with(row, size, x, count.into()))
    }
}
