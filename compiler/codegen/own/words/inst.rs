//! Instructions over virtual registers. All sets of words have most operations.

use crate::RelocationTarget;
use crate::own::{self, Flow, Opcode};
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
        inst.only_defines()
    }

    /// Returns the registers that a called function may change. Functions of the object have no floats.
    fn changed(by_own: bool) -> PRegSet;
}

/// Opcode of an instruction. The comment lists its operands.
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
pub type Inst<O> = own::Inst<Op<O>>;

impl<O: Operations> Inst<O> {
    /// Makes a row's instruction.
    pub fn row(row: O::Row, args: &[Arg]) -> Self {
        Self::new(Op::Row(row), args)
    }
}

impl<O: Operations> Opcode for Op<O> {
    type Number = i32;

    const PARAMETERS: Self = Self::Parameters;
    const JUMP: Self = Self::Jump;
    const BRANCH_IF_LESS: Self = Self::CompareBranch(O::LESS);
    const LOAD_ADDRESS: Self = Self::LoadAddress;
    const CONSTANT: fn(i64) -> Self = |number| Self::Constant(word(number));
    const RETURN: fn(i32) -> Self = Self::Return;
    const NUMBER: fn(i64) -> i32 = word;

    fn flow(inst: &Inst<O>) -> Flow {
        match inst.op {
            Self::Jump => Flow::Jump,
            Self::CompareBranch(_) | Self::CountBranch => Flow::Branch,
            Self::Return(_) | Self::ReturnWith => Flow::Return,
            Self::Parameters | Self::Call(_) => Flow::Straight { pure: false },
            _ => Flow::Straight { pure: O::is_pure(inst) },
        }
    }

    fn limit(inst: &Inst<O>, operands: &mut [Operand]) {
        O::limit(inst, operands);
    }

    /// Returns the registers that the called function may change, but the result.
    fn clobbers(inst: &Inst<O>) -> PRegSet {
        let Self::Call(callee) = inst.op else { return PRegSet::empty() };
        let mut changed = O::changed(matches!(callee, Some(RelocationTarget::Support(_))));
        for arg in &inst.args {
            if let Arg::FixedDef(_, result) = *arg {
                changed.remove(result);
            }
        }
        changed
    }
}

/// Returns the low 32 bits of a constant, because sums wrap.
pub(super) fn word(number: i64) -> i32 {
    number as i32
}
