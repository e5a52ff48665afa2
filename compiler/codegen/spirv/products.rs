//! Fixed-point products, dot products, and sums across lanes.

use super::assembler::Register;
use super::lower::{Held, Lowering};
use crate::{CodegenError, Operation};
use modelc_kernel::{DotOp, HorizontalOp, Lane, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op, PackedVectorFormat, Word};

impl Lowering<'_> {
    /// Computes the low and the high half of a product of 64 bits.
    pub fn extended_product(&mut self, op: Op, register: Register, a: Word, b: Word) -> [Word; 2] {
        let pair = self.out.pair_type(register);
        let product = self.out.result(op, pair, vec![Operand::IdRef(a), Operand::IdRef(b)]);
        let ty = self.out.ty(register);
        [0, 1].map(|half| self.out.result(Op::CompositeExtract, ty, vec![Operand::IdRef(product), Operand::LiteralBit32(half)]))
    }

    /// Computes `(a·b + 2³⁰) >> 31`. The product overflows only if both factors are the smallest number. No other product gives the smallest number.
    pub fn doubling_high_product(&mut self, register: Register, a: Word, b: Word, saturates: bool) -> Word {
        let truth = register.with(super::assembler::Kind::Bool);
        let [low, high] = self.extended_product(Op::SMulExtended, register, a, b);
        let half = self.out.int(register, 1 << 30);
        let low = self.out.op(Op::IAdd, register, &[low, half]);
        // The sum has a carry if it is less than an addend.
        let carries = self.out.op(Op::ULessThan, truth, &[low, half]);
        let (zero, one) = (self.out.int(register, 0), self.out.int(register, 1));
        let carry = self.out.op(Op::Select, register, &[carries, one, zero]);
        let high = self.out.op(Op::IAdd, register, &[high, carry]);
        let last = self.out.int(register, 31);
        let above = self.out.op(Op::ShiftLeftLogical, register, &[high, one]);
        let below = self.out.op(Op::ShiftRightLogical, register, &[low, last]);
        let result = self.out.op(Op::BitwiseOr, register, &[above, below]);
        if !saturates {
            return result;
        }
        let (smallest, largest) = (self.out.int(register, i32::MIN as u32), self.out.int(register, i32::MAX as u32));
        let wraps = self.out.op(Op::IEqual, truth, &[result, smallest]);
        self.out.op(Op::Select, register, &[wraps, largest, result])
    }

    /// Computes `a >> b`, rounded to nearest, ties away from zero.
    pub fn rounding_quotient(&mut self, register: Register, a: Word, b: Word) -> Word {
        let truth = register.with(super::assembler::Kind::Bool);
        let (zero, one) = (self.out.int(register, 0), self.out.int(register, 1));
        let divisor = self.out.op(Op::ShiftLeftLogical, register, &[one, b]);
        let mask = self.out.op(Op::ISub, register, &[divisor, one]);
        let lost = self.out.op(Op::BitwiseAnd, register, &[a, mask]);
        let half = self.out.op(Op::ShiftRightLogical, register, &[mask, one]);
        let is_negative = self.out.op(Op::SLessThan, truth, &[a, zero]);
        let more = self.out.op(Op::Select, register, &[is_negative, one, zero]);
        let threshold = self.out.op(Op::IAdd, register, &[half, more]);
        let rounds_up = self.out.op(Op::SGreaterThan, truth, &[lost, threshold]);
        let up = self.out.op(Op::Select, register, &[rounds_up, one, zero]);
        let quotient = self.out.op(Op::ShiftRightArithmetic, register, &[a, b]);
        self.out.op(Op::IAdd, register, &[quotient, up])
    }

    /// Adds the sums of groups of products to an accumulator.
    pub fn dot(&mut self, op: DotOp, accumulator: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        if op.is_of_few_machines() {
            return Err(self.unsupported(Operation::Dot(op), self.kernel.ty(accumulator)));
        }
        if self.gpu.byte_dots && matches!(op, DotOp::Signed8 | DotOp::UnsignedSigned8) {
            return self.packed_dot(op, accumulator, a, b);
        }
        let (of_factors, of_sums) = (self.register(self.ty(a))?, self.register(self.ty(accumulator))?);
        let held = self.get(accumulator);
        let accumulators = self.lanes(&held, of_sums);
        let products = self.on_both(a, b, |l, a, b| {
            let a = if op.has_unsigned_factor() { l.without_sign(op.factor_lane(), of_factors, a) } else { a };
            l.out.op(Op::IMul, of_factors, &[a, b])
        });
        let products = self.lanes(&products, of_factors);
        let groups = products.chunks(op.group().into());
        let sums: Vec<Word> = groups.zip(accumulators).map(|(group, accumulator)| self.added(op, group, accumulator)).collect();
        Ok(self.gathered(&sums, of_sums))
    }

    /// Computes a dot product of bytes in packed words, four products an instruction.
    fn packed_dot(&mut self, op: DotOp, accumulator: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        self.out.extension("SPV_KHR_integer_dot_product");
        self.out.capability(Capability::DotProduct);
        self.out.capability(Capability::DotProductInput4x8BitPacked);
        let register = self.register(self.ty(accumulator))?;
        let ty = self.out.ty(Register::INT);
        // The signed factor comes first.
        let (op, [a, b]) = if op == DotOp::Signed8 { (Op::SDot, [a, b]) } else { (Op::SUDot, [b, a]) };
        let (a, b) = (self.packed_words(a), self.packed_words(b));
        let format = Operand::PackedVectorFormat(PackedVectorFormat::PackedVectorFormat4x8Bit);
        let dots: Vec<Word> = a
            .into_iter()
            .zip(b)
            .map(|(a, b)| self.out.result(op, ty, vec![Operand::IdRef(a), Operand::IdRef(b), format.clone()]))
            .collect();
        let dots = self.gathered(&dots, register);
        let accumulators = self.get(accumulator);
        Ok(accumulators.into_iter().zip(dots).map(|(sum, dot)| self.out.op(Op::IAdd, register, &[sum, dot])).collect())
    }

    /// Adds the products of a group to an accumulator.
    fn added(&mut self, op: DotOp, group: &[Word], accumulator: Word) -> Word {
        let add = |l: &mut Self, a: Word, b: Word| l.out.op(Op::IAdd, Register::INT, &[a, b]);
        let mut sum = group[0];
        for &product in &group[1..] {
            sum = add(self, sum, product);
        }
        if op == DotOp::UnsignedSigned8To16 {
            sum = self.clamped(Register::INT, sum, i16::MIN.into(), i16::MAX.into());
        }
        let sum = add(self, accumulator, sum);
        self.with_sign(op.sum_lane(), Register::INT, sum)
    }

    /// Reduces all lanes to one, by halves: lane i with lane i + n/2.
    pub fn horizontal(&mut self, op: HorizontalOp, a: Value) -> Result<Held, CodegenError> {
        let Type { lane, .. } = self.ty(a);
        let mut register = self.register(self.ty(a))?;
        let mut parts = self.get(a);
        while parts.len() > 1 {
            let high = parts.split_off(parts.len() / 2);
            parts = parts.into_iter().zip(high).map(|(a, b)| self.of_pair(op, lane, register, a, b)).collect();
        }
        while register.lanes > 1 {
            let lanes = self.lanes(&parts, register);
            let (low, high) = lanes.split_at(lanes.len() / 2);
            register.lanes /= 2;
            let [low, high] = [low, high].map(|lanes| self.out.vector(register, lanes));
            parts = vec![self.of_pair(op, lane, register, low, high)];
        }
        Ok(parts)
    }

    fn of_pair(&mut self, op: HorizontalOp, lane: Lane, register: Register, a: Word, b: Word) -> Word {
        let op = op.of_two(lane.is_float());
        if lane.is_float() { self.of_floats(op, register, a, b) } else { self.of_integers(op, lane, register, a, b) }
    }
}
