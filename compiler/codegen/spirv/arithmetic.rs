//! Operations on lanes. Sums, differences and products of floats are never contracted: each is rounded separately.
//!
//! Vulkan promises correct rounding only of sums, differences and products. The error of a quotient is up to 2.5 units in the last place, that of a
//! root somewhat more. A fused product may be rounded twice. A kernel whose bits must not depend on the device uses none of these three.

use super::assembler::{Extended, Kind, Register};
use super::lower::{Held, Lowering, Position};
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, CompareOp, Lane, Rounding, Type, UnaryOp, Value};
use rspirv::spirv::{Decoration, Op, Word};

impl Lowering<'_> {
    /// Lowers an operation on two values of a type.
    pub fn binary(&mut self, op: BinaryOp, ty: Type, a: Value, b: Value) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        if let Some(known) = self.of_position(op, a, b) {
            return Ok(vec![known]);
        }
        let sound = Divisor { is_zero: self.may_be(b, 0), is_minus_one: self.may_be(b, -1) };
        Ok(match (ty.lane, op) {
            (Lane::Mask, _) => self.on_both(a, b, |l, a, b| l.of_masks(op, register, a, b)),
            (Lane::F32, BinaryOp::FloatScale) | (_, BinaryOp::ShiftNearest) => return Err(self.unsupported(Operation::Binary(op), ty)),
            (Lane::F32, _) => self.on_both(a, b, |l, a, b| l.of_floats(op, register, a, b)),
            (lane, BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned) => {
                self.on_both(a, b, |l, a, b| l.shift(op, lane, register, a, b))
            }
            (lane, op) if op.is_division() => {
                let naturals = [a, b].iter().all(|&value| ty.lanes == 1 && self.indices.interval(value).is_natural());
                self.on_both(a, b, |l, a, b| l.divided((op, lane), register, [a, b], sound, naturals))
            }
            (lane, _) => self.on_both(a, b, |l, a, b| l.of_integers(op, lane, register, a, b)),
        })
    }

    /// Returns the workgroup's number for the position divided by the workgroup size, and the place in the workgroup for the remainder. Both come
    /// from built-in variables, so the device knows that all lanes share the quotient.
    fn of_position(&self, op: BinaryOp, a: Value, b: Value) -> Option<Word> {
        let Position { value, workgroup, group, place } = self.position?;
        let is_by_workgroup = a == value && self.constant_of(b) == Some(workgroup.into());
        match op {
            BinaryOp::UnsignedDiv if is_by_workgroup => Some(group),
            BinaryOp::UnsignedRem if is_by_workgroup => Some(place),
            _ => None,
        }
    }

    /// Tests whether a divisor may equal `number`, from its constant bits or its interval.
    fn may_be(&self, value: Value, number: i64) -> bool {
        let ty = self.ty(value);
        match self.constant_of(value) {
            Some(bits) => {
                let unused = 64 - 8 * ty.lane.bytes().clamp(1, 8);
                (bits << unused) as i64 >> unused == number
            }
            None => {
                let interval = self.indices.interval(value);
                ty.lanes > 1 || (interval.low..=interval.high).contains(&number)
            }
        }
    }

    fn of_masks(&mut self, op: BinaryOp, register: Register, a: Word, b: Word) -> Word {
        let op = match op {
            BinaryOp::And => Op::LogicalAnd,
            BinaryOp::Or => Op::LogicalOr,
            _ => Op::LogicalNotEqual,
        };
        self.out.op(op, register, &[a, b])
    }

    /// Computes a sum, a difference or a product of floats that is rounded separately.
    pub fn exact(&mut self, op: Op, register: Register, a: Word, b: Word) -> Word {
        let id = self.out.op(op, register, &[a, b]);
        self.out.decorate(id, Decoration::NoContraction, &[]);
        id
    }

    /// Computes an operation on floats.
    pub fn of_floats(&mut self, op: BinaryOp, register: Register, a: Word, b: Word) -> Word {
        let truth = register.with(Kind::Bool);
        let pick = |l: &mut Self, less: Word, yes: Word, no: Word| l.out.op(Op::Select, register, &[less, yes, no]);
        match op {
            BinaryOp::Add => self.exact(Op::FAdd, register, a, b),
            BinaryOp::Sub => self.exact(Op::FSub, register, a, b),
            BinaryOp::Mul => self.exact(Op::FMul, register, a, b),
            BinaryOp::FloatDiv => self.out.op(Op::FDiv, register, &[a, b]),
            BinaryOp::FloatMinFirst => {
                let less = self.out.op(Op::FOrdLessThan, truth, &[b, a]);
                pick(self, less, b, a)
            }
            BinaryOp::FloatMaxFirst => {
                let less = self.out.op(Op::FOrdLessThan, truth, &[a, b]);
                pick(self, less, b, a)
            }
            BinaryOp::FloatMinPropagate | BinaryOp::FloatMinIgnore => {
                let less = self.is_below(register, a, b);
                let least = pick(self, less, a, b);
                self.beside_nan(op == BinaryOp::FloatMinIgnore, register, [a, b], least)
            }
            _ => {
                let less = self.is_below(register, a, b);
                let most = pick(self, less, b, a);
                self.beside_nan(op == BinaryOp::FloatMaxIgnore, register, [a, b], most)
            }
        }
    }

    /// Tests whether a float is less than another; −0 is less than +0. The bits are compared as integers that grow with the number.
    fn is_below(&mut self, register: Register, a: Word, b: Word) -> Word {
        let integer = register.with(Kind::Int);
        let [a, b] = [a, b].map(|value| {
            let bits = self.out.op(Op::Bitcast, integer, &[value]);
            // For negative numbers, all bits but the sign are inverted.
            let (last, one) = (self.out.int(register, 31), self.out.int(register, 1));
            let sign = self.out.op(Op::ShiftRightArithmetic, integer, &[bits, last]);
            let turned = self.out.op(Op::ShiftRightLogical, integer, &[sign, one]);
            self.out.op(Op::BitwiseXor, integer, &[bits, turned])
        });
        self.out.op(Op::SLessThan, register.with(Kind::Bool), &[a, b])
    }

    /// Tests whether a float is a NaN, by its bits.
    fn is_nan(&mut self, register: Register, a: Word) -> Word {
        let integer = register.with(Kind::Int);
        let bits = self.out.op(Op::Bitcast, integer, &[a]);
        let (rest, infinity) = (self.out.int(register, 0x7fff_ffff), self.out.int(register, f32::INFINITY.to_bits()));
        let magnitude = self.out.op(Op::BitwiseAnd, integer, &[bits, rest]);
        self.out.op(Op::UGreaterThan, register.with(Kind::Bool), &[magnitude, infinity])
    }

    /// Returns a minimum or maximum if an operand is a NaN: the other operand if NaNs are ignored, else the NaN. Without a NaN, the result is
    /// `otherwise`.
    fn beside_nan(&mut self, ignores: bool, register: Register, [a, b]: [Word; 2], otherwise: Word) -> Word {
        let [no_a, no_b] = [a, b].map(|value| self.is_nan(register, value));
        let (of_a, of_b) = if ignores { (b, a) } else { (a, b) };
        let of_b = self.out.op(Op::Select, register, &[no_b, of_b, otherwise]);
        self.out.op(Op::Select, register, &[no_a, of_a, of_b])
    }

    /// Computes an operation on integers, except shifts and divisions.
    pub fn of_integers(&mut self, op: BinaryOp, lane: Lane, register: Register, a: Word, b: Word) -> Word {
        let plain = match op {
            BinaryOp::Add | BinaryOp::SignedAddInRange | BinaryOp::SignedAddSaturating => Op::IAdd,
            BinaryOp::Sub | BinaryOp::SignedSubSaturating => Op::ISub,
            BinaryOp::Mul => Op::IMul,
            // These operations keep repeated signs, and repeated signs keep both signed and unsigned order.
            BinaryOp::And => return self.out.op(Op::BitwiseAnd, register, &[a, b]),
            BinaryOp::Or => return self.out.op(Op::BitwiseOr, register, &[a, b]),
            BinaryOp::Xor => return self.out.op(Op::BitwiseXor, register, &[a, b]),
            BinaryOp::SignedMin => return self.out.extended(Extended::SMin, register, &[a, b]),
            BinaryOp::SignedMax => return self.out.extended(Extended::SMax, register, &[a, b]),
            BinaryOp::UnsignedMin => return self.out.extended(Extended::UMin, register, &[a, b]),
            _ => return self.out.extended(Extended::UMax, register, &[a, b]),
        };
        let result = self.out.op(plain, register, &[a, b]);
        match op {
            BinaryOp::SignedAddSaturating | BinaryOp::SignedSubSaturating => {
                let largest = (1 << (8 * lane.bytes() - 1)) - 1;
                self.clamped(register, result, -largest - 1, largest)
            }
            _ => self.with_sign(lane, register, result),
        }
    }

    /// Clamps a signed integer to a range.
    pub fn clamped(&mut self, register: Register, a: Word, low: i32, high: i32) -> Word {
        let (low, high) = (self.out.int(register, low as u32), self.out.int(register, high as u32));
        self.out.extended(Extended::SClamp, register, &[a, low, high])
    }

    /// Extends the low bits of a lane to 32 bits, with sign.
    pub fn with_sign(&mut self, lane: Lane, register: Register, a: Word) -> Word {
        if lane.bytes() >= 4 {
            return a;
        }
        let (first, count) = (self.out.int(Register::INT, 0), self.out.int(Register::INT, 8 * lane.bytes()));
        self.out.op(Op::BitFieldSExtract, register, &[a, first, count])
    }

    /// Extends the low bits of a lane to 32 bits, with zeros.
    pub fn without_sign(&mut self, lane: Lane, register: Register, a: Word) -> Word {
        if lane.bytes() >= 4 {
            return a;
        }
        let mask = self.out.int(register, (1 << (8 * lane.bytes())) - 1);
        self.out.op(Op::BitwiseAnd, register, &[a, mask])
    }

    /// Computes a shift by a count below the width.
    pub fn shift(&mut self, op: BinaryOp, lane: Lane, register: Register, a: Word, count: Word) -> Word {
        match op {
            BinaryOp::ShiftLeft => {
                let shifted = self.out.op(Op::ShiftLeftLogical, register, &[a, count]);
                self.with_sign(lane, register, shifted)
            }
            BinaryOp::ShiftRightSigned => self.out.op(Op::ShiftRightArithmetic, register, &[a, count]),
            _ => {
                let a = self.without_sign(lane, register, a);
                let shifted = self.out.op(Op::ShiftRightLogical, register, &[a, count]);
                self.with_sign(lane, register, shifted)
            }
        }
    }

    /// Computes a quotient or a remainder. SPIR-V leaves three cases undefined: division by zero, the smallest number by −1, and remainders of
    /// negative numbers.
    fn divided(&mut self, (op, lane): (BinaryOp, Lane), register: Register, [a, b]: [Word; 2], divisor: Divisor, naturals: bool) -> Word {
        let is_signed = matches!(op, BinaryOp::SignedDiv | BinaryOp::SignedRem) && !naturals;
        let is_quotient = matches!(op, BinaryOp::SignedDiv | BinaryOp::UnsignedDiv);
        let [a, b] = if is_signed { [a, b] } else { [a, b].map(|value| self.without_sign(lane, register, value)) };
        let truth = register.with(Kind::Bool);
        let (zero, one) = (self.out.int(register, 0), self.out.int(register, 1));
        let by_zero = divisor.is_zero.then(|| self.out.op(Op::IEqual, truth, &[b, zero]));
        let mut sound = by_zero.map_or(b, |by_zero| self.out.op(Op::Select, register, &[by_zero, one, b]));
        if is_signed && lane == Lane::I32 && divisor.is_minus_one {
            // The smallest number divided by 1 is the wrapped quotient, with remainder 0.
            let (smallest, minus_one) = (self.out.int(register, i32::MIN as u32), self.out.int(register, u32::MAX));
            let is_smallest = self.out.op(Op::IEqual, truth, &[a, smallest]);
            let by_minus_one = self.out.op(Op::IEqual, truth, &[b, minus_one]);
            let wraps = self.out.op(Op::LogicalAnd, truth, &[is_smallest, by_minus_one]);
            sound = self.out.op(Op::Select, register, &[wraps, one, sound]);
        }
        let result = match (is_quotient, is_signed) {
            (true, false) => self.out.op(Op::UDiv, register, &[a, sound]),
            (false, false) => self.out.op(Op::UMod, register, &[a, sound]),
            (true, true) => self.out.op(Op::SDiv, register, &[a, sound]),
            (false, true) => {
                let quotient = self.out.op(Op::SDiv, register, &[a, sound]);
                let product = self.out.op(Op::IMul, register, &[quotient, sound]);
                self.out.op(Op::ISub, register, &[a, product])
            }
        };
        let result = by_zero.map_or(result, |by_zero| self.out.op(Op::Select, register, &[by_zero, zero, result]));
        self.with_sign(lane, register, result)
    }

    /// Lowers an operation on one value.
    pub fn unary(&mut self, op: UnaryOp, ty: Type, a: Value) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        let held = self.get(a);
        Ok(held.into_iter().map(|a| self.of_one(op, ty.lane, register, a)).collect())
    }

    fn of_one(&mut self, op: UnaryOp, lane: Lane, register: Register, a: Word) -> Word {
        let is_float = lane.is_float();
        match op {
            UnaryOp::Neg if is_float => self.out.op(Op::FNegate, register, &[a]),
            UnaryOp::Abs if is_float => self.out.extended(Extended::FAbs, register, &[a]),
            UnaryOp::Neg => {
                let negated = self.out.op(Op::SNegate, register, &[a]);
                self.with_sign(lane, register, negated)
            }
            UnaryOp::Abs => {
                let magnitude = self.out.extended(Extended::SAbs, register, &[a]);
                self.with_sign(lane, register, magnitude)
            }
            UnaryOp::Not if lane == Lane::Mask => self.out.op(Op::LogicalNot, register, &[a]),
            UnaryOp::Not => self.out.op(Op::Not, register, &[a]),
            UnaryOp::Sqrt => self.out.extended(Extended::Sqrt, register, &[a]),
            UnaryOp::Floor => self.out.extended(Extended::Floor, register, &[a]),
            UnaryOp::Ceil => self.out.extended(Extended::Ceil, register, &[a]),
            UnaryOp::Trunc => self.out.extended(Extended::Trunc, register, &[a]),
            UnaryOp::Nearest => self.out.extended(Extended::RoundEven, register, &[a]),
            UnaryOp::CountLeadingZeros => {
                let a = self.without_sign(lane, register, a);
                // The index of the highest set bit, or −1.
                let first = self.out.extended(Extended::FindUMsb, register, &[a]);
                let last = self.out.int(register, 8 * lane.bytes() - 1);
                self.out.op(Op::ISub, register, &[last, first])
            }
        }
    }

    /// Computes a product and a sum with one rounding, if the device rounds once.
    pub fn fma(&mut self, register: Register, [a, b, c]: [Value; 3], rounding: Rounding) -> Result<Held, CodegenError> {
        if rounding == Rounding::TowardZero {
            return Err(self.unsupported(Operation::Fused(rounding), self.kernel.ty(a)));
        }
        let (a, b, c) = (self.get(a), self.get(b), self.get(c));
        Ok((0..a.len()).map(|i| self.out.extended(Extended::Fma, register, &[a[i], b[i], c[i]])).collect())
    }

    /// Compares two values; the result is a mask. Integers with repeated signs keep both signed and unsigned order.
    pub fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        let register = self.register(ty.with_lane(Lane::Mask))?;
        let is_float = ty.lane.is_float();
        let op = match op {
            CompareOp::Equal if is_float => Op::FOrdEqual,
            CompareOp::NotEqual if is_float => Op::FUnordNotEqual,
            CompareOp::Less if is_float => Op::FOrdLessThan,
            CompareOp::LessEqual if is_float => Op::FOrdLessThanEqual,
            CompareOp::Greater if is_float => Op::FOrdGreaterThan,
            CompareOp::GreaterEqual if is_float => Op::FOrdGreaterThanEqual,
            CompareOp::Equal => Op::IEqual,
            CompareOp::NotEqual => Op::INotEqual,
            CompareOp::Less => Op::SLessThan,
            CompareOp::LessEqual => Op::SLessThanEqual,
            CompareOp::Greater => Op::SGreaterThan,
            CompareOp::GreaterEqual => Op::SGreaterThanEqual,
            CompareOp::UnsignedLess => Op::ULessThan,
            CompareOp::UnsignedLessEqual => Op::ULessThanEqual,
        };
        Ok(self.on_both(a, b, |l, a, b| l.out.op(op, register, &[a, b])))
    }
}

/// Special values that a divisor may have.
#[derive(Clone, Copy)]
struct Divisor {
    is_zero: bool,
    is_minus_one: bool,
}
