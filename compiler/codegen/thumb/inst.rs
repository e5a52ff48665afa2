//! Instructions over virtual registers: operations of Thumb alone, and the accesses of instructions.

use super::access::{Moved, float_reaches, reaches, steps};
use super::encode::Flags;
use super::registers::{CLOBBERED, GENERAL, LOW, SAVED_SINGLES, SINGLE};
use super::rows::Row;
use super::vectors::Vector;
use crate::own::Address;
use crate::own::words;
pub(super) use crate::own::words::Arg;
use regalloc2::{Operand, OperandConstraint, PReg, PRegSet};

/// Operation of an instruction.
pub(super) type Op = words::Op<Own>;
/// An instruction.
pub(super) type Inst = words::Inst<Own>;

/// Operations that only Thumb-2 has. The comment lists the operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Own {
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
    /// def, memory: a binary64 number at a multiple of four.
    LoadDouble,
    /// memory, use: a binary64 number at a multiple of four.
    StoreDouble,
    /// def, memory, or memory, use: a vector register. The number of its elements, if that is counted, is the last operand.
    Vector(Vector),
    /// A load or a store of a vector register that moves on by so many bytes. Operands as of [`Self::Step`].
    StepVector(Vector, i32),
    /// def, chosen, otherwise, a, b, all of vectors: lanes chosen where those of a stand so to those of b.
    ChooseLanes(Flags),
    /// def, a, b: 1 if a stands so to b, else 0.
    Truth(Flags),
    /// early def, low and high half of a, those of b: 1 if a stands so to b, of 64 bits, else 0.
    LongTruth(Flags),
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
            Op::Own(Own::Load(bytes, signed)) => (bytes, false, signed),
            Op::Own(Own::Store(bytes)) => (bytes, true, false),
            Op::Own(Own::LoadWord | Own::LoadPair) => (4, false, false),
            Op::Own(Own::StoreWord | Own::StorePair) => (4, true, false),
            _ => return None,
        };
        Some(Moved { bytes, store, signed })
    }

    /// True if it moves two words.
    pub fn is_of_pair(&self) -> bool {
        matches!(self.op, Op::Own(Own::LoadPair | Own::StorePair))
    }

    /// True if it moves a vector register.
    pub fn is_of_vector(&self) -> bool {
        matches!(self.op, Op::Own(Own::Vector(_)))
    }

    /// Returns the operation that accesses the same and steps its base by a number of bytes. `None` if there is none.
    pub fn stepping(&self, by: i32) -> Option<Own> {
        match self.op {
            Op::Own(Own::Vector(moved)) => moved.reaches(by).then_some(Own::StepVector(moved, by)),
            _ => self.moved().filter(|_| steps(by, self.is_of_pair())).map(|moved| Own::Step(moved, by)),
        }
    }

    /// True if it reaches a number of bytes from a register.
    pub fn reaches(&self, displacement: i32) -> bool {
        if let Op::Own(Own::Vector(moved)) = self.op {
            return moved.reaches(displacement);
        }
        let floats = [Own::LoadFloat, Own::StoreFloat, Own::LoadDouble, Own::StoreDouble];
        let is_near = floats.into_iter().any(|own| self.op == Op::Own(own)) || self.is_of_pair();
        if is_near { float_reaches(displacement.into()) } else { reaches(displacement.into()) }
    }
}

impl words::Operations for Own {
    type Row = &'static Row;
    type Relation = Flags;

    const NOT_EQUAL: Flags = Flags::NotEqual;
    const LESS: Flags = Flags::Less;

    fn limit(inst: &Inst, operands: &mut [Operand]) {
        let Op::Own(Self::Vector(moved) | Self::StepVector(moved, _)) = inst.op else { return };
        if !moved.is_of_lanes() {
            return;
        }
        let others = operands.len() - usize::from(moved.has_count());
        // A stepped base is defined in the register that it is used in.
        let is_limited = |operand: &&mut Operand| operand.class() == GENERAL && operand.constraint() == OperandConstraint::Reg;
        for operand in operands[..others].iter_mut().filter(is_limited) {
            *operand = Operand::new(operand.vreg(), OperandConstraint::Limit(LOW.end), operand.kind(), operand.pos());
        }
    }

    fn is_pure(inst: &Inst) -> bool {
        match inst.op {
            Op::Row(row) => row.pure,
            Op::Own(Self::Step(Moved { store: true, .. }, _) | Self::StepVector(Vector { store: true, .. }, _)) => false,
            _ => inst.only_defines(),
        }
    }

    fn changed(by_own: bool) -> PRegSet {
        let floats = if by_own { 0..0 } else { 0..SAVED_SINGLES.start };
        let words = CLOBBERED.map(|number| PReg::new(number, GENERAL));
        words.into_iter().chain(floats.map(|number| PReg::new(number, SINGLE))).collect()
    }
}
