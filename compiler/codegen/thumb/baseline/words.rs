//! Lowering of loads, stores and calls of support functions. Floats are held as their bits.

use super::inst::{Arg, Op};
use super::lowering::Lowering;
use super::place::reaches;
use crate::codegen::own::words::{Ops, Test, Words};
use crate::codegen::own::{Address, Base};
use crate::codegen::support::Support;
use crate::codegen::thumb::registers::GENERAL;
use crate::codegen::{CodegenError, RelocationTarget};
use crate::kernel::{BinaryOp, ConvertOp, UnaryOp, Value};
use regalloc2::{PReg, VReg};

impl Lowering<'_> {
    /// Computes an address whose displacement is too far: parts of long vectors.
    fn near(&mut self, address: Address, bytes: u32) -> Address {
        let is_near = address.index.is_some() || reaches(address.displacement, bytes, bytes) || address.base == Base::Arguments;
        if is_near { address } else { Address::at(self.register_of(address)) }
    }
}

impl Words for Lowering<'_> {
    fn support(&mut self, what: Support, arguments: &[VReg]) -> Vec<VReg> {
        let results: Vec<VReg> = (0..what.result()).map(|_| self.scalar()).collect();
        let fixed = |number: usize| PReg::new(number, GENERAL);
        let defined = results.iter().enumerate().map(|(number, &result)| Arg::FixedDef(result, fixed(number)));
        let used = arguments.iter().enumerate().map(|(number, &argument)| Arg::FixedUse(argument, fixed(number)));
        self.emit(Op::Call(Some(RelocationTarget::Support(what))), defined.chain(used).collect());
        results
    }

    fn has_floats(&self) -> bool {
        false
    }

    fn only_aligned(&self) -> bool {
        true
    }

    fn takes_apart(&self) -> bool {
        true
    }

    fn wants_zeros(&self, loaded: Value) -> bool {
        self.set.zeros.contains(loaded)
    }

    fn load_word(&mut self, address: Address, bytes: u32, signed: bool) -> VReg {
        let address = self.near(address, bytes);
        self.defined(Op::Load(bytes, signed && bytes < 4), &[Arg::Memory(address)])
    }

    fn store_word(&mut self, address: Address, bytes: u32, word: VReg) {
        let address = self.near(address, bytes);
        self.emit(Op::Store(bytes), vec![Arg::Memory(address), Arg::Use(word)]);
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
        self.unsupported(format_args!("{op:?} of binary32 by an instruction on this CPU level"))
    }

    fn float_one(&mut self, op: UnaryOp, _: VReg) -> Result<VReg, CodegenError> {
        self.unsupported(format_args!("{op:?} of binary32 by an instruction on this CPU level"))
    }

    fn float_fused(&mut self, _: VReg, _: VReg, _: VReg) -> Result<VReg, CodegenError> {
        self.unsupported("a fused product on this CPU level")
    }

    fn float_convert(&mut self, op: ConvertOp, _: VReg) -> Result<VReg, CodegenError> {
        self.unsupported(format_args!("{op:?} of binary32 by an instruction on this CPU level"))
    }

    fn choose_float(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        self.choose(test, yes, no)
    }
}
