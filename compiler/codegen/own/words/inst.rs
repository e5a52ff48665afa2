//! Instructions over virtual registers. All sets of words have most operations.

use crate::RelocationTarget;
use crate::own::{self, Flow, Instruction, has_locals, registers_of};
use regalloc2::{Operand, PRegSet};
use std::fmt::Debug;

/// An operand. Numbers have the size of a word.
pub type Arg = own::Arg<i32>;

/// Operations of one set that others do not have, and what is particular about its instructions.
pub trait Operations: Copy + PartialEq + Debug + 'static {
    /// A row of the set's table of encodings.
    type Row: Copy + PartialEq + Debug;
    /// A relation of two operands, on which instructions depend.
    type Relation: Copy + PartialEq + Debug;

    /// The relation of different words.
    const NOT_EQUAL: Self::Relation;
    /// The relation of a word and a greater one, as signed numbers.
    const LESS: Self::Relation;

    /// Limits the registers that operands of an instruction can be in.
    fn limit(_: &Inst<Self>, _: &mut [Operand]) {}

    /// Tests whether an instruction does nothing but define registers.
    fn is_pure(inst: &Inst<Self>) -> bool {
        matches!(inst.args.first(), Some(Arg::Def(_) | Arg::EarlyDef(_)))
    }

    /// Returns the registers that a called function may change. Functions of the object have no floats.
    fn changed(by_own: bool) -> PRegSet;
}

/// Operation of an instruction. The comment lists its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op<O: Operations> {
    /// A row's instruction.
    Row(O::Row),
    /// An operation that only this set has.
    Own(O),
    /// Parameters arrive: fixed definitions.
    Parameters,
    /// def: a constant.
    Constant(i32),
    /// def, memory: the address.
    LoadAddress,
    /// def, tied otherwise, chosen, a, b: chosen if the relation holds.
    Choose(O::Relation),
    /// Jump to the first block.
    Jump,
    /// a, b: jump to the first block if the relation holds, else to the second.
    CompareBranch(O::Relation),
    /// def, use: the number of rounds that remain, and one more. Jump to the first block unless none remains, else to the second.
    CountBranch,
    /// Return with a status.
    Return(i32),
    /// def: the address of data or of a function, plus an offset.
    Refer(RelocationTarget, u64),
    /// use: an argument on the stack, by its number.
    Pass(u32),
    /// def, arguments: call of a function. Without a target, the function's address is in the first register after the result.
    Call(Option<RelocationTarget>),
    /// Return with the values of fixed registers.
    ReturnWith,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Inst<O: Operations> {
    /// The operation.
    pub op: Op<O>,
    /// The operands.
    pub args: Vec<Arg>,
}

impl<O: Operations> Inst<O> {
    /// Makes an instruction.
    pub fn new(op: Op<O>, args: &[Arg]) -> Self {
        Self { op, args: args.to_vec() }
    }

    /// Makes a row's instruction.
    pub fn row(row: O::Row, args: &[Arg]) -> Self {
        Self::new(Op::Row(row), args)
    }
}

impl<O: Operations> Instruction for Inst<O> {
    fn operands(&self, list: &mut Vec<Operand>) {
        let start = list.len();
        registers_of(&self.args, list);
        O::limit(self, &mut list[start..]);
    }

    fn flow(&self) -> Flow {
        match self.op {
            Op::Jump => Flow::Jump,
            Op::CompareBranch(_) | Op::CountBranch => Flow::Branch,
            Op::Return(_) | Op::ReturnWith => Flow::Return,
            Op::Parameters | Op::Call(_) => Flow::Straight { pure: false },
            _ => Flow::Straight { pure: O::is_pure(self) },
        }
    }

    fn reads_locals(&self) -> bool {
        self.op != Op::LoadAddress && has_locals(&self.args)
    }

    /// Registers that the called function may change, but the result.
    fn clobbers(&self) -> PRegSet {
        let Op::Call(callee) = self.op else { return PRegSet::empty() };
        let mut changed = O::changed(matches!(callee, Some(RelocationTarget::Support(_))));
        for arg in &self.args {
            if let Arg::FixedDef(_, result) = *arg {
                changed.remove(result);
            }
        }
        changed
    }
}
