//! Instructions over virtual registers: what the lowering writes, and what of it the register allocator reads.

use super::encode::Flags;
use super::rows::{Row, Size};
use crate::codegen::own::{self, Address, Base, Flow, Instruction};
use regalloc2::{Operand, PReg, VReg};

/// A function of these instructions.
pub(super) type Function = own::Function<Inst>;

/// An operand, in the order in which the manual writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arg {
    /// A register written.
    Def(VReg),
    /// A register read.
    Use(VReg),
    /// What the register written holds before; not written out.
    Tied(VReg),
    /// A register written that must be this one.
    FixedDef(VReg, PReg),
    /// Memory.
    Memory(Address),
    /// A number.
    Number(i64),
}

/// What an instruction does; the comment is its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// A row's instruction.
    Row(&'static Row, Size),
    /// Parameters arrive: fixed definitions.
    Parameters,
    /// def: a number of 64 bits.
    Constant(i64),
    /// def: this in each half of a vector register, where one instruction can make it.
    Pattern(u64),
    /// def, memory: the address.
    LoadAddress,
    /// def, memory: so many bytes to a general-purpose register, zeros above, or the sign's.
    Load(u32, bool),
    /// memory, use: so many bytes of a general-purpose register.
    Store(u32),
    /// def, memory: so many bytes to a vector register, zeros above.
    LoadVector(u32),
    /// def, memory: a whole vector register of what nothing writes while the kernel runs.
    LoadInput,
    /// def, def, memory: two whole vector registers.
    LoadPair,
    /// memory, use: so many bytes of a vector register.
    StoreVector(u32),
    /// memory, use, use: two whole vector registers.
    StorePair,
    /// def, a, b: 1 if a stands so to b, else 0.
    CompareSet(Flags),
    /// def, chosen, otherwise, a, b: chosen where a stands so to b.
    CompareSelect(Flags),
    /// To the first block.
    Jump,
    /// a, b: to the first block if a stands so to b, else to the second.
    CompareBranch(Flags),
    /// use: to the first block if it is not 0, else to the second.
    TestBranch,
    /// With a status.
    Return(i32),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// What it does.
    pub op: Op,
    /// To what.
    pub args: Vec<Arg>,
}

impl Instruction for Inst {
    /// In the order of the operands; of memory, base and index.
    fn operands(&self, list: &mut Vec<Operand>) {
        let start = list.len();
        let tied = self.args.iter().position(|arg| matches!(arg, Arg::Tied(_)));
        for (i, arg) in self.args.iter().enumerate() {
            match *arg {
                // The tied operand stands right after the definition.
                Arg::Def(v) if tied == Some(i + 1) => list.push(Operand::reg_reuse_def(v, list.len() + 1 - start)),
                Arg::Def(v) => list.push(Operand::reg_def(v)),
                Arg::Use(v) | Arg::Tied(v) => list.push(Operand::reg_use(v)),
                Arg::FixedDef(v, p) => list.push(Operand::reg_fixed_def(v, p)),
                Arg::Memory(address) => {
                    if let Base::Register(v) = address.base {
                        list.push(Operand::reg_use(v));
                    }
                    list.extend(address.index.map(|(v, _)| Operand::reg_use(v)));
                }
                Arg::Number(_) => {}
            }
        }
    }

    fn flow(&self) -> Flow {
        match self.op {
            Op::Jump => Flow::Jump,
            Op::CompareBranch(_) | Op::TestBranch => Flow::Branch,
            Op::Return(_) => Flow::Return,
            Op::Parameters => Flow::Straight { pure: false },
            Op::Row(row, _) => Flow::Straight { pure: row.pure },
            _ => Flow::Straight { pure: matches!(self.args.first(), Some(Arg::Def(_))) },
        }
    }
}
