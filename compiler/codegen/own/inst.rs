//! Instructions as an operation with operands, which all our instruction sets have.

use super::arg::{Arg, has_locals, registers_of};
use super::instruction::{Flow, Instruction};
use regalloc2::{Operand, PRegSet};
use std::fmt::Debug;

/// An operation of an instruction set.
pub trait Opcode: Copy + PartialEq + Debug {
    /// A number among the operands.
    type Number: Copy + Debug;

    /// Fixed definitions: the incoming parameters.
    const PARAMETERS: Self;
    /// A jump to the first block.
    const JUMP: Self;
    /// a, b: to the first block if a is less than b, as signed numbers, else to the second.
    const BRANCH_IF_LESS: Self;
    /// def, memory: the address.
    const LOAD_ADDRESS: Self;
    /// def: a constant.
    const CONSTANT: fn(i64) -> Self;
    /// The return of a status.
    const RETURN: fn(i32) -> Self;
    /// The operand of a constant that an instruction can have.
    const NUMBER: fn(i64) -> Self::Number;

    /// Returns where execution continues after an instruction.
    fn flow(inst: &Inst<Self>) -> Flow;

    /// Limits the registers that operands of an instruction can be in.
    fn limit(_: &Inst<Self>, _: &mut [Operand]) {}

    /// Returns the registers that an instruction changes beside its operands.
    fn clobbers(_: &Inst<Self>) -> PRegSet {
        PRegSet::empty()
    }
}

/// An instruction over virtual registers.
#[derive(Clone, Debug)]
pub struct Inst<O: Opcode> {
    /// The operation.
    pub op: O,
    /// The operands.
    pub args: Vec<Arg<O::Number>>,
}

impl<O: Opcode> Inst<O> {
    /// Makes an instruction.
    pub fn new(op: O, args: &[Arg<O::Number>]) -> Self {
        Self { op, args: args.to_vec() }
    }

    /// Tests whether it does nothing but define registers.
    pub fn only_defines(&self) -> bool {
        matches!(self.args.first(), Some(Arg::Def(_) | Arg::EarlyDef(_)))
    }
}

impl<O: Opcode> Instruction for Inst<O> {
    fn operands(&self, list: &mut Vec<Operand>) {
        let start = list.len();
        registers_of(&self.args, list);
        O::limit(self, &mut list[start..]);
    }

    fn flow(&self) -> Flow {
        O::flow(self)
    }

    fn reads_locals(&self) -> bool {
        self.op != O::LOAD_ADDRESS && has_locals(&self.args)
    }

    fn clobbers(&self) -> PRegSet {
        O::clobbers(self)
    }
}
