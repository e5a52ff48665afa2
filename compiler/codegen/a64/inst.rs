//! Instructions over virtual registers: output of the lowering, input of the register allocator.

use super::encode::Flags;
use super::rows::{Row, Size};
use crate::own::{self, Address, Base, Flow, Instruction};
use regalloc2::{Operand, PReg, VReg};

/// A function of these instructions.
pub(super) type Function = own::Function<Inst>;

/// An operand. Operands are in the order of Arm's manual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arg {
    /// A written register.
    Def(VReg),
    /// A read register.
    Use(VReg),
    /// The register whose old contents the definition overwrites; it has no field.
    Tied(VReg),
    /// A written register that must be a certain physical register.
    FixedDef(VReg, PReg),
    /// An operand in memory.
    Memory(Address),
    /// An immediate.
    Number(i64),
}

/// The operation of an instruction; the comment lists its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// The instruction of a row.
    Row(&'static Row, Size),
    /// Fixed definitions: the incoming parameters.
    Parameters,
    /// def: a 64-bit constant.
    Constant(i64),
    /// def: a 64-bit pattern in each half of a vector register, which one instruction can make.
    Pattern(u64),
    /// def, memory: the address.
    LoadAddress,
    /// def, memory: a load of this number of bytes to a general-purpose register, extended with sign if `true`, else with zeros.
    Load(u32, bool),
    /// memory, use: a store of this number of bytes of a general-purpose register.
    Store(u32),
    /// def, memory: a load of this number of bytes to a vector register, with zeros above.
    LoadVector(u32),
    /// def, memory: a load of a whole vector register from memory that is read-only in the kernel.
    LoadInput,
    /// def, def, memory: a load of two whole vector registers.
    LoadPair,
    /// four fixed defs, memory: a load of four 64-bit elements, each repeated in a register. The registers are neighbours, and the address is a
    /// register.
    LoadFour,
    /// memory, use: a store of this number of bytes of a vector register.
    StoreVector(u32),
    /// memory, use, use: a store of two whole vector registers.
    StorePair,
    /// def, a, b: 1 if the comparison of a with b holds, else 0.
    CompareSet(Flags),
    /// def, chosen, otherwise, a, b: chosen if the comparison of a with b holds, else otherwise.
    CompareSelect(Flags),
    /// Jump to the first block.
    Jump,
    /// a, b: to the first block if the comparison of a with b holds, else to the second.
    CompareBranch(Flags),
    /// use: to the first block if it is not 0, else to the second.
    TestBranch,
    /// Return of a status.
    Return(i32),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub args: Vec<Arg>,
}

impl Instruction for Inst {
    /// Lists registers in the order of the operands; a memory operand has base and index.
    fn operands(&self, list: &mut Vec<Operand>) {
        let start = list.len();
        let tied = self.args.iter().position(|arg| matches!(arg, Arg::Tied(_)));
        for (i, arg) in self.args.iter().enumerate() {
            match *arg {
                // The tied operand follows the definition.
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

    fn reads_locals(&self) -> bool {
        self.op != Op::LoadAddress && self.args.iter().any(|arg| matches!(arg, Arg::Memory(address) if address.base == Base::Locals))
    }
}
