//! Lowering of loads, stores and calls of support functions. Floats are held as their bits.

use super::inst::{Arg, Op, Own};
use super::lowering::Lowering;
use super::number::is_byte;
use super::place::reaches;
use crate::own::words::{Operand, Ops, Test, VectorOps, Words};
use crate::own::{Address, Base};
use crate::support::Support;
use crate::thumb::encode::Flags;
use crate::unsupported::Lack;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, ConvertOp, Lane, Rounding, Type, UnaryOp};
use regalloc2::VReg;

impl Lowering<'_> {
    /// Computes an address whose displacement is too far: parts of long vectors.
    fn near(&mut self, address: Address, bytes: u32) -> Address {
        let is_near = address.index.is_some() || reaches(address.displacement, bytes, bytes) || address.base == Base::Arguments;
        if is_near { address } else { Address::at(self.register_of(address)) }
    }
}

impl VectorOps for Lowering<'_> {
    fn lacks(&self, lack: Lack) -> CodegenError {
        self.lack(lack)
    }
}

impl Words for Lowering<'_> {
    type Relation = Flags;

    fn compared(&mut self, test: Test<VReg>) -> (Flags, [Arg; 2]) {
        let b = match test.b {
            Operand::Word(word) => Arg::Use(word),
            Operand::Number(number) if is_byte(number) => Arg::Number(number),
            Operand::Number(number) => Arg::Use(self.word(number)),
        };
        (Flags::of(test.op, false), [Arg::Use(test.a), b])
    }

    fn support(&mut self, what: Support, arguments: &[VReg]) -> Vec<VReg> {
        self.call_support(what, arguments)
    }

    fn has_format(&self, _: Lane) -> bool {
        false
    }

    fn only_aligned(&self) -> bool {
        true
    }

    fn takes_apart(&self) -> bool {
        true
    }

    fn load_word(&mut self, address: Address, bytes: u32, signed: bool) -> VReg {
        let address = self.near(address, bytes);
        self.defined(Op::Own(Own::Load(bytes, signed && bytes < 4)), &[Arg::Memory(address)])
    }

    fn store_word(&mut self, address: Address, bytes: u32, word: VReg) {
        let address = self.near(address, bytes);
        self.emit(Op::Own(Own::Store(bytes)), vec![Arg::Memory(address), Arg::Use(word)]);
    }

    fn load_float(&mut self, address: Address) -> VReg {
        self.load_aligned(address)
    }

    fn store_float(&mut self, address: Address, float: VReg) {
        self.store_aligned(address, float);
    }

    fn float_of_word(&mut self, word: VReg) -> VReg {
        word
    }

    fn word_of_float(&mut self, float: VReg) -> VReg {
        float
    }

    fn float_two(&mut self, op: BinaryOp, _: VReg, _: VReg) -> Result<VReg, CodegenError> {
        self.unsupported(Operation::Binary(op), Type::scalar(Lane::F32))
    }

    fn float_one(&mut self, op: UnaryOp, _: VReg) -> Result<VReg, CodegenError> {
        self.unsupported(Operation::Unary(op), Type::scalar(Lane::F32))
    }

    fn float_fused(&mut self, _: VReg, _: VReg, _: VReg) -> Result<VReg, CodegenError> {
        self.unsupported(Operation::Fused(Rounding::Nearest), Type::scalar(Lane::F32))
    }

    fn float_convert(&mut self, op: ConvertOp, _: VReg, _: Lane) -> Result<VReg, CodegenError> {
        self.unsupported(Operation::Convert(op), Type::scalar(Lane::F32))
    }

    fn choose_float(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        self.choose(test, yes, no)
    }
}
