//! The interface of stack frames, and the registers that the allocator gets.

use super::buffer::Buffer;
use super::error::AssemblyError;
use super::physical::FrameBases;
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};

/// Needs of a function that its frame serves.
pub struct Need {
    /// Registers that it reads or writes.
    pub registers: PRegSet,
    /// Words for registers that were spilled, as [`super::InstructionSet::slot_words`] counts them.
    pub slots: u32,
    /// Bytes of the kernel's arrays.
    pub local_bytes: u32,
    /// Bytes of arguments on the stack that it passes to what it calls; `None` where it calls nothing.
    pub outgoing: Option<u32>,
    /// `true` if floats are rounded towards zero while it runs.
    pub toward_zero: bool,
}

/// The stack frame of a function. `R` is how an instruction names a constant after the code.
pub trait StackFrame<R> {
    /// Computes the frame of a function.
    fn new(need: &Need) -> Self;

    /// Returns the bases that addresses can have in it.
    fn bases(&self) -> FrameBases;

    /// Returns the maximum number of bytes below the caller's stack pointer, the return address included.
    fn stack_bytes(&self) -> u32;

    /// Writes the prologue.
    ///
    /// # Errors
    /// As for [`super::InstructionSet::emit`].
    fn enter(&self, code: &mut Buffer<R>) -> Result<(), AssemblyError>;
}

/// Makes a set of registers of a class, by their numbers.
pub fn registers_in(class: RegClass, numbers: impl IntoIterator<Item = usize>) -> PRegSet {
    numbers.into_iter().map(|number| PReg::new(number, class)).collect()
}

/// Makes the registers that may be allocated: those of each class that are preferred, and the others.
pub fn allocatable(preferred_regs_by_class: [PRegSet; 3], non_preferred_regs_by_class: [PRegSet; 3]) -> MachineEnv {
    MachineEnv { preferred_regs_by_class, non_preferred_regs_by_class, scratch_by_class: [None; 3], fixed_stack_slots: vec![] }
}
