//! Lane-wise arithmetic.

use super::encode::Condition;
use super::held::{Held, Vector, is_general};
use super::inst::{Arg, Arithmetic, Op, Shift};
use super::length::Length;
use super::lowering::Lowering;
use super::registers::GENERAL;
use super::rows::{self, Row};
use crate::bug::Mistake;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, Lane, Type, UnaryOp, Value};
use regalloc2::{PReg, VReg};

/// Returns the instruction of an operation for a lane, if AVX2 and related extensions have one.
fn simple(op: BinaryOp, lane: Lane) -> Option<&'static Row> {
    use BinaryOp::*;
    let by_lane: [Option<&'static Row>; 6] = match op {
        Add => {
            [Some(&rows::VPADDB), Some(&rows::VPADDW), Some(&rows::VPADDD), Some(&rows::VPADDQ), Some(&rows::VADDPS), Some(&rows::VADDPD)]
        }
        Sub => {
            [Some(&rows::VPSUBB), Some(&rows::VPSUBW), Some(&rows::VPSUBD), Some(&rows::VPSUBQ), Some(&rows::VSUBPS), Some(&rows::VSUBPD)]
        }
        Mul => [None, Some(&rows::VPMULLW), Some(&rows::VPMULLD), None, Some(&rows::VMULPS), Some(&rows::VMULPD)],
        FloatDiv => [None, None, None, None, Some(&rows::VDIVPS), Some(&rows::VDIVPD)],
        And => [Some(&rows::VPAND); 6],
        Or => [Some(&rows::VPOR); 6],
        Xor => [Some(&rows::VPXOR); 6],
        ShiftLeft => [None, None, Some(&rows::VPSLLVD), Some(&rows::VPSLLVQ), None, None],
        ShiftRightUnsigned => [None, None, Some(&rows::VPSRLVD), Some(&rows::VPSRLVQ), None, None],
        ShiftRightSigned => [None, None, Some(&rows::VPSRAVD), None, None, None],
        SignedMin => [Some(&rows::VPMINSB), Some(&rows::VPMINSW), Some(&rows::VPMINSD), None, None, None],
        SignedMax => [Some(&rows::VPMAXSB), Some(&rows::VPMAXSW), Some(&rows::VPMAXSD), None, None, None],
        UnsignedMin => [Some(&rows::VPMINUB), Some(&rows::VPMINUW), Some(&rows::VPMINUD), None, None, None],
        UnsignedMax => [Some(&rows::VPMAXUB), Some(&rows::VPMAXUW), Some(&rows::VPMAXUD), None, None, None],
        SignedAddInRange => [Some(&rows::VPADDB), Some(&rows::VPADDW), Some(&rows::VPADDD), Some(&rows::VPADDQ), None, None],
        SignedAddSaturating => [Some(&rows::VPADDSB), Some(&rows::VPADDSW), None, None, None, None],
        SignedSubSaturating => [Some(&rows::VPSUBSB), Some(&rows::VPSUBSW), None, None, None, None],
        _ => return None,
    };
    by_lane[position(lane)?]
}

/// Returns the instruction of an operation for a lane that only AVX-512 has.
fn simple_avx512(op: BinaryOp, lane: Lane) -> Option<&'static Row> {
    use BinaryOp::*;
    match (op, lane) {
        (Mul, Lane::I64) => Some(&rows::VPMULLQ),
        (SignedMin, Lane::I64) => Some(&rows::VPMINSQ),
        (SignedMax, Lane::I64) => Some(&rows::VPMAXSQ),
        (UnsignedMin, Lane::I64) => Some(&rows::VPMINUQ),
        (UnsignedMax, Lane::I64) => Some(&rows::VPMAXUQ),
        (FloatScale, Lane::F32) => Some(&rows::VSCALEFPS),
        (ShiftRightSigned, Lane::I64) => Some(&rows::VPSRAVQ),
        (ShiftLeft, Lane::I16) => Some(&rows::VPSLLVW),
        (ShiftRightUnsigned, Lane::I16) => Some(&rows::VPSRLVW),
        (ShiftRightSigned, Lane::I16) => Some(&rows::VPSRAVW),
        _ => None,
    }
}

fn position(lane: Lane) -> Option<usize> {
    [Lane::I8, Lane::I16, Lane::I32, Lane::I64, Lane::F32, Lane::F64].iter().position(|&l| l == lane)
}

/// Returns the row for binary32 or for binary64.
pub(super) fn by_float(lane: Lane, single: &'static Row, double: &'static Row) -> &'static Row {
    if lane == Lane::F32 { single } else { double }
}

/// Returns the row for integer lanes of one, two, four or eight bytes.
pub(super) fn by_bytes(bytes: u32, rows: [&'static Row; 4]) -> &'static Row {
    rows[bytes.trailing_zeros() as usize]
}

/// Magnitudes of integers.
pub(super) const MAGNITUDES: [&Row; 4] = [&rows::VPABSB, &rows::VPABSW, &rows::VPABSD, &rows::VPABSQ];

/// Returns the sign bit of a lane with this number of bytes.
pub(super) fn sign_bit(bytes: u32) -> u64 {
    1 << (8 * bytes - 1)
}

impl Lowering<'_> {
    /// Applies an instruction to the parts of a vector.
    pub fn map(&mut self, a: &Vector, mut f: impl FnMut(&mut Self, Length, VReg) -> VReg) -> Vector {
        let length = a.length();
        let parts = a.parts.iter().map(|&x| f(self, length, x)).collect();
        a.with(parts)
    }

    /// Applies an instruction to the parts of two vectors of one shape.
    pub fn map2(&mut self, a: &Vector, b: &Vector, mut f: impl FnMut(&mut Self, Length, VReg, VReg) -> VReg) -> Vector {
        let length = a.length();
        let parts = a.parts.iter().zip(&b.parts).map(|(&x, &y)| f(self, length, x, y)).collect();
        a.with(parts)
    }

    /// Lowers an operation on two values.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        if ty.lane == Lane::Mask {
            return self.mask_binary(op, a, b);
        }
        if let (BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned, Some(&count)) =
            (op, self.constants.get(&b))
        {
            return self.shift_constant(op, a, count as u32 & (8 * ty.lane.bytes() - 1));
        }
        if is_general(ty) {
            let (x, y) = (self.general(a)?, self.general(b)?);
            let divides = |&&number: &&u64| ![0, u64::MAX].contains(&number);
            if op.is_division() && self.constants.get(&b).filter(divides).is_some() {
                return Ok(Held::General(self.divide_by_any_but_0(op, x, y)));
            }
            return Ok(Held::General(self.general_binary(op, x, y)));
        }
        if let Some(&mask) = self.set.subtracted_masks.get(&b) {
            return self.subtract_mask(a, mask);
        }
        // A constant becomes the second operand, which the instruction can read from memory.
        let commutes =
            matches!(op, BinaryOp::Add | BinaryOp::SignedAddInRange | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        let (a, b) = if commutes && self.constants.contains_key(&a) { (b, a) } else { (a, b) };
        let (x, y) = (self.vector(a)?, self.vector(b)?);
        self.binary_vectors(op, ty.lane, &x, &y).map(Held::Vector)
    }

    /// Computes an operation on two vectors, lane by lane.
    pub fn binary_vectors(&mut self, op: BinaryOp, lane: Lane, a: &Vector, b: &Vector) -> Result<Vector, CodegenError> {
        let row = simple(op, lane).or_else(|| if self.set.avx512 { simple_avx512(op, lane) } else { None });
        if let Some(row) = row {
            return Ok(self.map2(a, b, |l, n, x, y| match op {
                BinaryOp::And | BinaryOp::Or if l.set.avx512 => l.logical(op, n, x, y),
                _ => l.two(row, n, x, y),
            }));
        }
        Ok(match op {
            BinaryOp::Mul if lane == Lane::I8 => self.multiply_bytes(a, b),
            BinaryOp::Mul => self.map2(a, b, |l, n, x, y| l.multiply_quads(n, x, y)),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned => self.shift_lanes(op, a, b)?,
            BinaryOp::SignedMin | BinaryOp::SignedMax | BinaryOp::UnsignedMin | BinaryOp::UnsignedMax => self.extreme_quads(op, a, b),
            op if op.is_division() => {
                let signed = matches!(op, BinaryOp::SignedDiv | BinaryOp::SignedRem);
                let (x, y) = (self.explode(a, signed), self.explode(b, signed));
                let lanes: Vec<VReg> = x.into_iter().zip(y).map(|(x, y)| self.divide(op, x, y)).collect();
                self.implode(&lanes, a.bytes)
            }
            BinaryOp::FloatScale | BinaryOp::ShiftNearest => return self.unsupported(Operation::Binary(op), Type::vector(lane, a.lanes)),
            _ if lane.is_float() => self.float_extreme(op, lane, a, b),
            _ => return self.bug(Mistake::Operation { operation: Operation::Binary(op), of: Type::vector(lane, a.lanes) }),
        })
    }

    /// Computes and, or. An or of a conjunction and another value becomes one instruction.
    fn logical(&mut self, op: BinaryOp, n: Length, x: VReg, y: VReg) -> VReg {
        if op == BinaryOp::And {
            let result = self.two(&rows::VPAND, n, x, y);
            self.set.conjunctions.insert(result, (x, y));
            return result;
        }
        let (conjunction, other) = if self.set.conjunctions.contains_key(&x) { (x, y) } else { (y, x) };
        match self.set.conjunctions.get(&conjunction) {
            // The overwritten operand is mostly a constant that was loaded only for this.
            Some(&(p, q)) => self.row(&rows::VPTERNLOGD, n, &[Arg::Tied(q), Arg::Use(p), Arg::Use(other), Arg::Number(0xEA)]),
            None => self.two(&rows::VPOR, n, x, y),
        }
    }

    /// Multiplies bytes as 16-bit lanes, even and odd ones separately.
    fn multiply_bytes(&mut self, a: &Vector, b: &Vector) -> Vector {
        self.map2(a, b, |l, n, x, y| {
            let even = l.two(&rows::VPMULLW, n, x, y);
            let low = l.number(2, n, 0x00FF);
            let even = l.two(&rows::VPAND, n, even, low);
            // The product of x's high byte and y's high byte times 2⁸; only its low 16 bits count.
            let x = l.one_with(&rows::VPSRLW, n, x, 8);
            let high = l.number(2, n, 0xFF00);
            let y = l.two(&rows::VPAND, n, y, high);
            let odd = l.two(&rows::VPMULLW, n, x, y);
            l.two(&rows::VPOR, n, even, odd)
        })
    }

    /// Computes 64-bit products without an instruction for them: low times low, plus the two mixed products shifted by 32 bits.
    fn multiply_quads(&mut self, n: Length, x: VReg, y: VReg) -> VReg {
        let (x_high, y_high) = (self.one_with(&rows::VPSRLQ, n, x, 32), self.one_with(&rows::VPSRLQ, n, y, 32));
        let low = self.two(&rows::VPMULUDQ, n, x, y);
        let (first, second) = (self.two(&rows::VPMULUDQ, n, x_high, y), self.two(&rows::VPMULUDQ, n, x, y_high));
        let mixed = self.two(&rows::VPADDQ, n, first, second);
        let mixed = self.one_with(&rows::VPSLLQ, n, mixed, 32);
        self.two(&rows::VPADDQ, n, low, mixed)
    }

    /// Computes a minimum or maximum of 64-bit lanes with AVX2: a comparison and a blend.
    fn extreme_quads(&mut self, op: BinaryOp, a: &Vector, b: &Vector) -> Vector {
        let unsigned = matches!(op, BinaryOp::UnsignedMin | BinaryOp::UnsignedMax);
        let smallest = matches!(op, BinaryOp::SignedMin | BinaryOp::UnsignedMin);
        self.map2(a, b, |l, n, x, y| {
            let (mut p, mut q) = (x, y);
            if unsigned {
                let sign = l.number(8, n, sign_bit(8));
                (p, q) = (l.two(&rows::VPXOR, n, x, sign), l.two(&rows::VPXOR, n, y, sign));
            }
            let greater = l.two(&rows::VPCMPGTQ, n, p, q);
            let (yes, no) = if smallest { (y, x) } else { (x, y) };
            l.blend(8, n, greater, yes, no)
        })
    }

    /// Computes one of the six float minima and maxima. `vminps a, b` is `a < b ? a : b`.
    fn float_extreme(&mut self, op: BinaryOp, lane: Lane, a: &Vector, b: &Vector) -> Vector {
        let minimum = matches!(op, BinaryOp::FloatMinFirst | BinaryOp::FloatMinIgnore | BinaryOp::FloatMinPropagate);
        let row = match minimum {
            true => by_float(lane, &rows::VMINPS, &rows::VMINPD),
            false => by_float(lane, &rows::VMAXPS, &rows::VMAXPD),
        };
        self.map2(a, b, |l, n, x, y| {
            let first = l.two(row, n, y, x);
            match op {
                BinaryOp::FloatMinFirst | BinaryOp::FloatMaxFirst => first,
                // A NaN in the second operand already gives the first; a NaN in the first must give the second.
                BinaryOp::FloatMinIgnore | BinaryOp::FloatMaxIgnore => l.where_unordered(lane, n, [x, x], y, first),
                // For two zeros, the two orders differ in the sign. If an operand is a NaN, the sum is a NaN.
                _ => {
                    let second = l.two(row, n, x, y);
                    let both = l.two(if minimum { &rows::VPOR } else { &rows::VPAND }, n, first, second);
                    let sum = l.two(by_float(lane, &rows::VADDPS, &rows::VADDPD), n, x, y);
                    l.where_unordered(lane, n, [x, y], sum, both)
                }
            }
        })
    }

    /// Computes an operation on 64-bit scalars.
    pub fn general_binary(&mut self, op: BinaryOp, x: VReg, y: VReg) -> VReg {
        let arithmetic = match op {
            BinaryOp::Add | BinaryOp::SignedAddInRange => Arithmetic::Add,
            BinaryOp::Sub => Arithmetic::Sub,
            BinaryOp::Mul => Arithmetic::Multiply,
            BinaryOp::And => Arithmetic::And,
            BinaryOp::Or => Arithmetic::Or,
            BinaryOp::Xor => Arithmetic::Xor,
            BinaryOp::ShiftLeft => return self.row_of(GENERAL, &rows::SHLX, Length::X, &[Arg::Use(x), Arg::Use(y)]),
            BinaryOp::ShiftRightSigned => return self.row_of(GENERAL, &rows::SARX, Length::X, &[Arg::Use(x), Arg::Use(y)]),
            BinaryOp::ShiftRightUnsigned => return self.row_of(GENERAL, &rows::SHRX, Length::X, &[Arg::Use(x), Arg::Use(y)]),
            BinaryOp::SignedMin => return self.extreme(Condition::Less, x, y),
            BinaryOp::SignedMax => return self.extreme(Condition::Greater, x, y),
            BinaryOp::UnsignedMin => return self.extreme(Condition::Below, x, y),
            BinaryOp::UnsignedMax => return self.extreme(Condition::Above, x, y),
            _ => return self.divide(op, x, y),
        };
        self.defined(Op::Arithmetic(arithmetic), &[Arg::Tied(x), Arg::Use(y)])
    }

    /// Returns a if a compares with b as `condition` says, else b.
    pub fn extreme(&mut self, condition: Condition, a: VReg, b: VReg) -> VReg {
        self.defined(Op::Extreme(condition), &[Arg::Tied(b), Arg::Use(a)])
    }

    /// Loads a constant into a general-purpose register.
    pub fn general_number(&mut self, number: i64) -> VReg {
        self.defined(Op::Constant(number), &[])
    }

    /// Computes a quotient or a remainder of 64-bit numbers. A divisor of 0 gives 0. A division by −1 could trap on the smallest number. So both
    /// divisors are replaced by 1, and the result is corrected.
    fn divide(&mut self, op: BinaryOp, x: VReg, y: VReg) -> VReg {
        let signed = matches!(op, BinaryOp::SignedDiv | BinaryOp::SignedRem);
        let one = self.general_number(1);
        let mut divisor = self.choose(Condition::Equal, (y, Arg::Number(0)), one, y);
        if signed {
            divisor = self.choose(Condition::Equal, (y, Arg::Number(-1)), one, divisor);
        }
        let mut result = self.divide_by_any_but_0(op, x, divisor);
        let zero = self.general_number(0);
        if signed {
            let by_minus_one = if op == BinaryOp::SignedDiv { self.negate(x) } else { zero };
            result = self.choose(Condition::Equal, (y, Arg::Number(-1)), by_minus_one, result);
        }
        self.choose(Condition::Equal, (y, Arg::Number(0)), zero, result)
    }

    /// Computes a quotient or a remainder. The divisor is not 0, and not −1 if it is signed.
    fn divide_by_any_but_0(&mut self, op: BinaryOp, x: VReg, divisor: VReg) -> VReg {
        let signed = matches!(op, BinaryOp::SignedDiv | BinaryOp::SignedRem);
        let quotient = matches!(op, BinaryOp::SignedDiv | BinaryOp::UnsignedDiv);
        let (whole, rest, early) = (self.scalar(), self.scalar(), PReg::new(2, GENERAL));
        let dividend = PReg::new(0, GENERAL);
        self.emit(
            Op::Divide { signed },
            vec![Arg::FixedDef(whole, dividend), Arg::FixedTemp(rest, early), Arg::FixedUse(x, dividend), Arg::Use(divisor)],
        );
        if quotient { whole } else { rest }
    }

    /// Computes −x.
    pub fn negate(&mut self, x: VReg) -> VReg {
        self.defined(Op::Negate, &[Arg::Tied(x)])
    }

    /// Returns `yes` if the comparison holds, else `no`.
    pub fn choose(&mut self, condition: Condition, (a, b): (VReg, Arg), yes: VReg, no: VReg) -> VReg {
        self.defined(Op::CompareSelect(condition), &[Arg::Tied(no), Arg::Use(yes), Arg::Use(a), b])
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
        Ok(Held::Vector(match op {
            UnaryOp::Neg if float => self.with_number(&rows::VPXOR, &a, sign_bit(a.bytes)),
            UnaryOp::Abs if float => self.with_number(&rows::VPAND, &a, !sign_bit(a.bytes)),
            UnaryOp::Not => self.with_number(&rows::VPXOR, &a, u64::MAX),
            UnaryOp::Neg => {
                let zero = self.number(a.bytes, a.length(), 0);
                let zeros = a.with(vec![zero; a.parts.len()]);
                self.binary_vectors(BinaryOp::Sub, ty.lane, &zeros, &a)?
            }
            UnaryOp::Abs => self.magnitude(&a),
            UnaryOp::CountLeadingZeros => self.leading_zeros(&a),
            UnaryOp::Sqrt => {
                let row = by_float(ty.lane, &rows::VSQRTPS, &rows::VSQRTPD);
                self.map(&a, |l, n, x| l.one(row, n, x))
            }
            UnaryOp::Floor => self.round(ty.lane, &a, 9),
            UnaryOp::Ceil => self.round(ty.lane, &a, 10),
            UnaryOp::Trunc => self.round(ty.lane, &a, 11),
            UnaryOp::Nearest => self.round(ty.lane, &a, 8),
        }))
    }

    /// Applies an instruction to a vector and a constant in every lane.
    pub fn with_number(&mut self, row: &'static Row, a: &Vector, bits: u64) -> Vector {
        let bytes = a.bytes;
        self.map(a, |l, n, x| {
            let number = l.number(bytes, n, bits);
            l.two(row, n, x, number)
        })
    }

    /// Rounds floats to whole numbers. The two low bits of the mode are the direction; 8 suppresses the flag for inexact results.
    pub fn round(&mut self, lane: Lane, a: &Vector, mode: i32) -> Vector {
        let row = match self.set.avx512 {
            true => by_float(lane, &rows::VRNDSCALEPS, &rows::VRNDSCALEPD),
            false => by_float(lane, &rows::VROUNDPS, &rows::VROUNDPD),
        };
        self.map(a, |l, n, x| l.one_with(row, n, x, mode))
    }

    fn magnitude(&mut self, a: &Vector) -> Vector {
        if a.bytes == 8 && !self.set.avx512 {
            return self.map(a, |l, n, x| {
                let sign = l.sign_quads(n, x);
                let flipped = l.two(&rows::VPXOR, n, x, sign);
                l.two(&rows::VPSUBQ, n, flipped, sign)
            });
        }
        let row = by_bytes(a.bytes, MAGNITUDES);
        self.map(a, |l, n, x| l.one(row, n, x))
    }

    /// Returns lanes of ones where a 64-bit lane is negative, with AVX2.
    pub fn sign_quads(&mut self, n: Length, x: VReg) -> VReg {
        let zero = self.number(8, n, 0);
        self.two(&rows::VPCMPGTQ, n, zero, x)
    }

    fn leading_zeros(&mut self, a: &Vector) -> Vector {
        if !self.set.avx512 {
            let unused = 64 - 8 * a.bytes as i32;
            let lanes: Vec<VReg> = self.explode(a, false).into_iter().map(|x| self.leading_zeros_of(x, unused)).collect();
            return self.implode(&lanes, a.bytes);
        }
        match a.bytes {
            4 => self.map(a, |l, n, x| l.one(&rows::VPLZCNTD, n, x)),
            8 => self.map(a, |l, n, x| l.one(&rows::VPLZCNTQ, n, x)),
            bytes => {
                let wide = self.widen(a, 4, false);
                let count = self.leading_zeros(&wide);
                let count = self.with_number(&rows::VPSUBD, &count, u64::from(32 - 8 * bytes));
                self.wrap(&count, bytes)
            }
        }
    }

    fn leading_zeros_of(&mut self, x: VReg, unused: i32) -> VReg {
        let count = self.defined(Op::LeadingZeros, &[Arg::Use(x)]);
        self.defined(Op::Arithmetic(Arithmetic::Sub), &[Arg::Tied(count), Arg::Number(unused)])
    }

    fn general_unary(&mut self, op: UnaryOp, x: VReg) -> VReg {
        match op {
            UnaryOp::Neg => self.negate(x),
            UnaryOp::Abs => {
                let negative = self.negate(x);
                self.extreme(Condition::Greater, x, negative)
            }
            UnaryOp::CountLeadingZeros => self.leading_zeros_of(x, 0),
            _ => self.defined(Op::Not, &[Arg::Tied(x)]),
        }
    }

    /// Computes a × b + c, rounded once.
    pub fn fused(&mut self, a: Value, b: Value, c: Value) -> Result<Held, CodegenError> {
        let row = by_float(self.ty(a).lane, &rows::VFMADD231PS, &rows::VFMADD231PD);
        // The second factor may come from memory.
        let (a, b) = if self.constants.contains_key(&a) { (b, a) } else { (a, b) };
        let (a, b, c) = (self.vector(a)?, self.vector(b)?, self.vector(c)?);
        let length = a.length();
        let parts = (0..a.parts.len()).map(|i| self.tied(row, length, c.parts[i], a.parts[i], b.parts[i])).collect();
        Ok(Held::Vector(a.with(parts)))
    }

    /// Lowers a shift by a constant.
    pub fn shift_constant(&mut self, op: BinaryOp, a: Value, count: u32) -> Result<Held, CodegenError> {
        if is_general(self.ty(a)) {
            let x = self.general(a)?;
            let shift = match op {
                BinaryOp::ShiftLeft => Shift::Left,
                BinaryOp::ShiftRightSigned => Shift::RightSigned,
                _ => Shift::RightUnsigned,
            };
            return Ok(Held::General(self.defined(Op::Shift(shift), &[Arg::Tied(x), Arg::Number(count as i32)])));
        }
        let a = self.vector(a)?;
        Ok(Held::Vector(self.shift_vector(op, &a, count)))
    }

    /// Shifts lanes by a constant.
    pub fn shift_vector(&mut self, op: BinaryOp, a: &Vector, count: u32) -> Vector {
        let (left, signed) = (op == BinaryOp::ShiftLeft, op == BinaryOp::ShiftRightSigned);
        let rows: [&'static Row; 3] = match a.bytes {
            4 => [&rows::VPSLLD, &rows::VPSRLD, &rows::VPSRAD],
            8 => [&rows::VPSLLQ, &rows::VPSRLQ, &rows::VPSRAQ],
            _ => [&rows::VPSLLW, &rows::VPSRLW, &rows::VPSRAW],
        };
        let row = if left { rows[0] } else { rows[1] };
        let number = count as i32;
        if a.bytes == 1 {
            // Shifted as 16-bit lanes; bits of the neighbouring byte are then cleared.
            let kept = if left { 0xFF << count & 0xFF } else { 0xFF >> count };
            let shifted = self.map(a, |l, n, x| l.one_with(row, n, x, number));
            let shifted = self.with_number(&rows::VPAND, &shifted, kept);
            return if signed { self.extend_sign(&shifted, count, &rows::VPSUBB) } else { shifted };
        }
        if signed && a.bytes == 8 && !self.set.avx512 {
            let shifted = self.map(a, |l, n, x| l.one_with(row, n, x, number));
            return self.extend_sign(&shifted, count, &rows::VPSUBQ);
        }
        self.map(a, |l, n, x| l.one_with(if signed { rows[2] } else { row }, n, x, number))
    }

    /// Extends the sign bit, which a logical shift has moved down by `count`: (x ^ m) − m.
    fn extend_sign(&mut self, a: &Vector, count: u32, subtract: &'static Row) -> Vector {
        let sign = sign_bit(a.bytes) >> count;
        let flipped = self.with_number(&rows::VPXOR, a, sign);
        self.with_number(subtract, &flipped, sign)
    }

    /// Shifts lanes by counts in lanes, where no instruction exists: bytes, with AVX2 16-bit lanes, and arithmetic shifts of 64 bits.
    fn shift_lanes(&mut self, op: BinaryOp, a: &Vector, b: &Vector) -> Result<Vector, CodegenError> {
        if a.bytes == 8 {
            return Ok(self.map2(a, b, |l, n, x, y| {
                let sign = l.number(8, n, sign_bit(8));
                let moved = l.two(&rows::VPSRLVQ, n, sign, y);
                let shifted = l.two(&rows::VPSRLVQ, n, x, y);
                let flipped = l.two(&rows::VPXOR, n, shifted, moved);
                l.two(&rows::VPSUBQ, n, flipped, moved)
            }));
        }
        let (x, y) = (self.widen(a, 4, op == BinaryOp::ShiftRightSigned), self.widen(b, 4, false));
        let shifted = self.binary_vectors(op, Lane::I32, &x, &y)?;
        Ok(self.wrap(&shifted, a.bytes))
    }
}
