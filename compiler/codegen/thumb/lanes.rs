//! Vector registers: loads, stores and operations on lanes (Armv8.1-M, MVE).

use super::encode::Flags;
use super::inst::{Arg, Op, Own};
use super::lowering::Lowering;
use super::registers::VECTORS;
use super::rows::{self, Row};
use super::vectors::{Part, Vector};
use crate::CodegenError;
use crate::own::Address;
use crate::own::words::{ByteOp, Element, LaneOp, LaneShift, LaneTest, Ops, VectorOps, WithWord};
use crate::unsupported::Lack;
use modelc_kernel::Value;
use regalloc2::VReg;

/// Returns the row of an operation.
fn row_of(op: LaneOp) -> &'static Row {
    match op {
        LaneOp::Add => &rows::VADD_LANES,
        LaneOp::Sub => &rows::VSUB_LANES,
        LaneOp::Mul => &rows::VMUL_LANES,
        LaneOp::HighProduct => &rows::VMULH,
        LaneOp::DoublingHighProduct => &rows::VQRDMULH,
        LaneOp::Min => &rows::VMIN,
        LaneOp::Max => &rows::VMAX,
        LaneOp::And => &rows::VAND,
        LaneOp::Or => &rows::VORR,
        LaneOp::Xor => &rows::VEOR,
        LaneOp::Shift => &rows::VSHL,
    }
}

impl Lowering<'_> {
    /// Accesses a vector register, or its first elements.
    fn move_vector(&mut self, mut moved: Vector, first: Option<u32>, mut args: Vec<Arg>) {
        if let Some(count) = first {
            moved.part = Part::First;
            args.push(Arg::Use(self.word(count as i32)));
        }
        self.emit(Op::Own(Own::Vector(moved)), args);
    }
}

impl VectorOps for Lowering<'_> {
    fn lacks(&self, lack: Lack) -> CodegenError {
        self.lack(lack)
    }

    fn holds_bytes(&self, value: Value) -> bool {
        self.set.vectors.contains(value)
    }

    fn holds_lanes(&self, value: Value) -> bool {
        self.set.lanes.contains(value)
    }

    fn load_vector(&mut self, address: Address, element: Element, first: Option<u32>) -> Result<VReg, CodegenError> {
        let result = self.register(VECTORS);
        let args = vec![Arg::Def(result), Arg::Memory(address)];
        self.move_vector(Vector { element, store: false, part: Part::Whole }, first, args);
        Ok(result)
    }

    fn store_vector(&mut self, address: Address, element: Element, first: Option<u32>, vector: VReg) -> Result<(), CodegenError> {
        let args = vec![Arg::Memory(address), Arg::Use(vector)];
        self.move_vector(Vector { element, store: true, part: Part::Whole }, first, args);
        Ok(())
    }

    fn add_sixteen_products(&mut self, sum: VReg, a: VReg, b: VReg) -> Result<VReg, CodegenError> {
        Ok(self.row(&rows::VMLADAVA, &[Arg::Tied(sum), Arg::Use(a), Arg::Use(b)]))
    }

    fn two_bytes(&mut self, op: ByteOp, a: VReg, b: VReg) -> Result<VReg, CodegenError> {
        let row = match op {
            ByteOp::SignedMin => &rows::VMIN_BYTES,
            ByteOp::SignedMax => &rows::VMAX_BYTES,
            ByteOp::UnsignedMin => &rows::VMIN_UNSIGNED_BYTES,
            ByteOp::UnsignedMax => &rows::VMAX_UNSIGNED_BYTES,
        };
        Ok(self.vector_row(row, &[Arg::Use(a), Arg::Use(b)]))
    }

    fn vector_of_byte(&mut self, word: VReg) -> Result<VReg, CodegenError> {
        Ok(self.vector_row(&rows::VDUP_BYTE, &[Arg::Use(word)]))
    }

    fn vector_of_words(&mut self, words: [VReg; 4]) -> Result<VReg, CodegenError> {
        let key = (self.block, words);
        if let Some(&known) = self.set.joined.get(&key) {
            return Ok(known);
        }
        let [a, b, c, d] = words;
        let vector = if words == [a; 4] {
            self.vector_row(&rows::VDUP, &[Arg::Use(a)])
        } else {
            let even = self.vector_row(&rows::VMOV_EVEN, &[Arg::Use(a), Arg::Use(c)]);
            self.vector_row(&rows::VMOV_ODD, &[Arg::Tied(even), Arg::Use(b), Arg::Use(d)])
        };
        self.set.joined.insert(key, vector);
        Ok(vector)
    }

    fn two_lanes(&mut self, op: LaneOp, a: VReg, b: VReg) -> Result<VReg, CodegenError> {
        Ok(self.vector_row(row_of(op), &[Arg::Use(a), Arg::Use(b)]))
    }

    fn lanes_with_word(&mut self, op: WithWord, a: VReg, word: VReg) -> Result<VReg, CodegenError> {
        let row = match op {
            WithWord::Add => &rows::VADD_WORD,
            WithWord::Mul => &rows::VMUL_WORD,
        };
        Ok(self.vector_row(row, &[Arg::Use(a), Arg::Use(word)]))
    }

    fn shift_lanes_by(&mut self, a: VReg, count: u32, shift: LaneShift) -> Result<VReg, CodegenError> {
        let row = match shift {
            LaneShift::Left => &rows::VSHL_NUMBER,
            LaneShift::Right => &rows::VSHR_UNSIGNED_NUMBER,
            LaneShift::RightSigned => &rows::VSHR_NUMBER,
        };
        Ok(self.vector_row(row, &[Arg::Use(a), Arg::Number(count as i32)]))
    }

    fn choose_lanes(&mut self, LaneTest { op, a, b }: LaneTest, yes: VReg, no: VReg) -> Result<VReg, CodegenError> {
        Ok(self.defined_in(VECTORS, Op::Own(Own::ChooseLanes(Flags::of(op, false))), &[yes, no, a, b].map(Arg::Use)))
    }

    fn negate_lanes(&mut self, a: VReg) -> Result<VReg, CodegenError> {
        let key = (self.block, a);
        if let Some(&known) = self.set.negated.get(&key) {
            return Ok(known);
        }
        let negated = self.vector_row(&rows::VNEG_LANES, &[Arg::Use(a)]);
        self.set.negated.insert(key, negated);
        Ok(negated)
    }

    fn narrow_lanes(&mut self, a: VReg, bits: u32, signed: bool) -> Result<VReg, CodegenError> {
        let [first, second] = if signed { [&rows::VQMOVN, &rows::VQMOVN_HALVES] } else { [&rows::VQMOVUN, &rows::VQMOVN_UNSIGNED_HALVES] };
        let halves = self.vector_row(first, &[Arg::Tied(a), Arg::Use(a)]);
        if bits == 16 {
            return Ok(halves);
        }
        Ok(self.vector_row(second, &[Arg::Tied(halves), Arg::Use(halves)]))
    }
}
