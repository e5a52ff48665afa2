//! Instructions over virtual registers: what the lowering writes, and what of it the register allocator reads.

use super::access::{Moved, float_reaches, reaches};
use super::encode::Flags;
use super::registers::{CLOBBERED, GENERAL, SAVED_SINGLES, SINGLE};
use super::rows::Row;
use crate::codegen::RelocationTarget;
pub(super) use crate::codegen::own::words::Arg;
use crate::codegen::own::words::registers_of;
use crate::codegen::own::{Address, Flow, Instruction};
use regalloc2::{Operand, PReg, PRegSet};

/// What an instruction does; the comment is its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// A row's instruction.
    Row(&'static Row),
    /// Parameters arrive: fixed definitions.
    Parameters,
    /// def: a number.
    Constant(i32),
    /// def, memory: the address.
    LoadAddress,
    /// def, memory: so many bytes, zeros above, or the sign's.
    Load(u32, bool),
    /// memory, use: so many bytes.
    Store(u32),
    /// def, memory: four bytes at a multiple of four.
    LoadWord,
    /// memory, use: four bytes at a multiple of four.
    StoreWord,
    /// two defs, memory: two words at a multiple of four.
    LoadPair,
    /// memory, two uses: two words at a multiple of four.
    StorePair,
    /// A load or a store at a register that moves on by so many bytes. Values loaded, the register, what it holds before, values stored.
    Step(Moved, i32),
    /// def, memory: a float.
    LoadFloat,
    /// memory, use: a float.
    StoreFloat,
    /// def, a, b: 1 if a stands so to b, else 0.
    Truth(Flags),
    /// early def, low and high half of a, those of b: 1 if a stands so to b, of 64 bits, else 0.
    LongTruth(Flags),
    /// def, tied otherwise, chosen, a, b: chosen where a stands so to b.
    Choose(Flags),
    /// To the first block.
    Jump,
    /// a, b: to the first block if a stands so to b, else to the second.
    CompareBranch(Flags),
    /// With a status.
    Return(i32),
    /// def: the address of data or of a function, so many bytes further on.
    Refer(RelocationTarget, u64),
    /// use: an argument on the stack, by its number.
    Pass(u32),
    /// def, arguments: calls a function; without a name, that at the address in the first register after the result.
    Call(Option<RelocationTarget>),
    /// With what the first register holds.
    ReturnWith,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// What it does.
    pub op: Op,
    /// To what.
    pub args: Vec<Arg>,
}

impl Inst {
    /// The memory that it reads or writes.
    pub fn accessed(&self) -> Option<&Address> {
        if self.op == Op::LoadAddress {
            return None;
        }
        self.args.iter().find_map(|arg| if let Arg::Memory(address) = arg { Some(address) } else { None })
    }

    /// Accesses another place.
    pub fn access(&mut self, place: Address) {
        for arg in &mut self.args {
            if let Arg::Memory(address) = arg {
                *address = place;
            }
        }
    }

    /// A word, or the part of one, that a load or a store of general-purpose registers moves, perhaps twice.
    pub fn moved(&self) -> Option<Moved> {
        let (bytes, store, signed) = match self.op {
            Op::Load(bytes, signed) => (bytes, false, signed),
            Op::Store(bytes) => (bytes, true, false),
            Op::LoadWord | Op::LoadPair => (4, false, false),
            Op::StoreWord | Op::StorePair => (4, true, false),
            _ => return None,
        };
        Some(Moved { bytes, store, signed })
    }

    /// True if it moves two words.
    pub fn is_of_pair(&self) -> bool {
        matches!(self.op, Op::LoadPair | Op::StorePair)
    }

    /// True if it reaches a number of bytes from a register.
    pub fn reaches(&self, displacement: i32) -> bool {
        let is_near = matches!(self.op, Op::LoadFloat | Op::StoreFloat) || self.is_of_pair();
        if is_near { float_reaches(displacement.into()) } else { reaches(displacement.into()) }
    }
}

impl Instruction for Inst {
    fn operands(&self, list: &mut Vec<Operand>) {
        registers_of(&self.args, list);
    }

    fn flow(&self) -> Flow {
        match self.op {
            Op::Jump => Flow::Jump,
            Op::CompareBranch(_) => Flow::Branch,
            Op::Return(_) | Op::ReturnWith => Flow::Return,
            Op::Parameters | Op::Call(_) | Op::Step(Moved { store: true, .. }, _) => Flow::Straight { pure: false },
            Op::Row(row) => Flow::Straight { pure: row.pure },
            _ => Flow::Straight { pure: matches!(self.args.first(), Some(Arg::Def(_) | Arg::EarlyDef(_))) },
        }
    }

    /// What functions may change, but the result.
    fn clobbers(&self) -> PRegSet {
        let Op::Call(callee) = self.op else { return PRegSet::empty() };
        let words = CLOBBERED.map(|number| PReg::new(number, GENERAL));
        let is_result = |register: &PReg| self.args.iter().any(|arg| matches!(arg, Arg::FixedDef(_, result) if result == register));
        // Functions of the object have no floats.
        let floats = if matches!(callee, Some(RelocationTarget::Support(_))) { 0..0 } else { 0..SAVED_SINGLES.start };
        words.into_iter().filter(|word| !is_result(word)).chain(floats.map(|number| PReg::new(number, SINGLE))).collect()
    }
}
