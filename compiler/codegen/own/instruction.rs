//! Interface of an instruction set: its instructions, frames, jumps and encodings.

use super::buffer::Buffer;
use super::error::{AssemblyError, Missing};
use super::frame::StackFrame;
use regalloc2::{Allocation, MachineEnv, Operand, PReg, PRegSet, RegClass};
use std::fmt::Debug;

/// An instruction over virtual registers.
pub trait Instruction: Debug {
    /// Adds its registers. [`InstructionSet::emit`] gets those that are allocated in the same order.
    fn operands(&self, list: &mut Vec<Operand>);

    /// Returns where execution continues after it.
    fn flow(&self) -> Flow;

    /// Tests whether it reads the kernel's arrays on the stack, which its stores change.
    fn reads_locals(&self) -> bool;

    /// Registers that it changes beside its operands.
    fn clobbers(&self) -> PRegSet {
        PRegSet::empty()
    }
}

/// Continuation after an instruction. Only the last one of a block leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// The next instruction.
    Straight {
        /// `true` if it only defines registers. It is removed if nothing uses them.
        pure: bool,
    },
    /// The block of its edge.
    Jump,
    /// The block of the first edge where its condition holds, else that of the second.
    Branch,
    /// The caller.
    Return,
}

/// How far an encoding of a jump reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Bytes of the encoding.
    pub bytes: usize,
    /// The least distance, from the jump's first byte.
    pub from: i64,
    /// The greatest distance.
    pub to: i64,
}

impl Reach {
    /// Tests whether a distance is within reach.
    pub fn holds(self, distance: i64) -> bool {
        (self.from..=self.to).contains(&distance)
    }
}

/// An instruction set with its registers, its frames and its encodings, for one level of a machine.
pub trait InstructionSet {
    /// Instructions over virtual registers.
    type Inst: Instruction;
    /// Layout of a frame.
    type Frame: StackFrame<Self::Reference>;
    /// Condition of a jump: flags, or registers that it compares itself.
    type Condition: Copy;
    /// How an instruction names a constant after the code.
    type Reference: Copy;

    /// Alignment of the code and of the constants after it, a power of two.
    const ALIGNMENT: usize;
    /// Alignment of the heads of innermost loops, a power of two.
    const LOOP_ALIGNMENT: usize;
    /// Instructions that do nothing, the shortest first.
    const NOTHING: &'static [&'static [u8]];
    /// An instruction that stops the program. It fills bytes between the code and its constants, which are never run.
    const STOP: &'static [u8];
    /// `true` if moves of the allocator that change nothing are removed.
    const REMOVES_MOVES: bool = false;

    /// The registers that may be allocated.
    fn registers(&self) -> MachineEnv;
    /// Words of the stack that a spilled register takes.
    fn slot_words(&self, class: RegClass) -> usize;

    /// An instruction that goes on with the next one.
    ///
    /// # Errors
    /// When the operands do not fit it: a mistake of the lowering.
    fn emit(&self, inst: &Self::Inst, at: &[PReg], frame: &Self::Frame, code: &mut Buffer<Self::Reference>) -> Result<(), AssemblyError>;
    /// A copy of a register to another one of its class.
    ///
    /// # Errors
    /// As for [`InstructionSet::emit`].
    fn copy(&self, from: PReg, to: PReg, code: &mut Buffer<Self::Reference>) -> Result<(), AssemblyError>;
    /// A store of a register to its slot on the stack, or a load from it. Slots are counted in words.
    ///
    /// # Errors
    /// As for [`InstructionSet::emit`].
    fn spill(
        &self,
        register: PReg,
        slot: usize,
        store: bool,
        frame: &Self::Frame,
        code: &mut Buffer<Self::Reference>,
    ) -> Result<(), AssemblyError>;
    /// A move that the allocator wants: between registers of one class, or between a register and its slot on the stack.
    ///
    /// # Errors
    /// When there is no such move.
    fn transfer(
        &self,
        from: Allocation,
        to: Allocation,
        frame: &Self::Frame,
        code: &mut Buffer<Self::Reference>,
    ) -> Result<(), AssemblyError> {
        let slot = |allocation: Allocation| Ok::<_, AssemblyError>(allocation.as_stack().ok_or(Missing::Slot)?.index());
        match (from.as_reg(), to.as_reg()) {
            (Some(from), Some(to)) => self.copy(from, to, code),
            (Some(from), None) => self.spill(from, slot(to)?, true, frame, code),
            (None, Some(to)) => self.spill(to, slot(from)?, false, frame, code),
            (None, None) => Err(AssemblyError::MemoryToMemory),
        }
    }
    /// An instruction that returns, with the end of the frame.
    ///
    /// # Errors
    /// When it does not return.
    fn leave(&self, inst: &Self::Inst, frame: &Self::Frame, code: &mut Buffer<Self::Reference>) -> Result<(), AssemblyError>;

    /// The code of a branch before its jump, and what that jump depends on for the first edge.
    ///
    /// # Errors
    /// As for [`InstructionSet::emit`].
    fn test(&self, inst: &Self::Inst, at: &[PReg], code: &mut Buffer<Self::Reference>) -> Result<Self::Condition, AssemblyError>;
    /// Returns the opposite condition.
    fn inverse(&self, condition: Self::Condition) -> Self::Condition;
    /// The encodings of a jump on a condition, or always: the shortest first, the last one reaches everywhere in a kernel.
    fn reaches(&self, condition: Option<Self::Condition>) -> &'static [Reach];
    /// Writes the jump in one of its encodings, given by its place among the reaches, over `bytes`.
    fn jump(&self, condition: Option<Self::Condition>, reach: usize, distance: i64, bytes: &mut [u8]);

    /// Writes the distance between an instruction's reference and the constant into the field, which begins at the first byte given.
    ///
    /// # Errors
    /// When the constant is too far away.
    fn refer(&self, reference: Self::Reference, distance: i64, field: &mut [u8]) -> Result<(), AssemblyError>;
}
