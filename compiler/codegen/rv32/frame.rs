//! The stack of a function, and the code that makes room on it.

use super::encode::{Assembler, Operand, Reference, fits, halves};
use super::registers::{GENERAL, RA, SAVED, SAVED_SINGLES, SCRATCH, SINGLE, SP};
use super::rows;
use crate::own::{AssemblyError, FrameBases, Need, StackFrame};
use regalloc2::PReg;

/// Reach of short instructions from the stack pointer, in bytes.
const NEAR: u32 = 256;

/// The stack below the caller's: saved registers, spilled registers, stack arrays, then arguments of calls. They are at the stack pointer, a multiple
/// of 16.
pub(super) struct Frame {
    /// Registers that are saved, the return address first.
    saved: Vec<Operand>,
    /// Place of stack arrays.
    locals: u32,
    /// Place of spilled registers.
    pub slots: u32,
    /// Size of the whole frame.
    bytes: u32,
}

impl StackFrame<Reference> for Frame {
    fn new(need: &Need) -> Self {
        let used = |class, n: &usize| need.registers.contains(PReg::new(*n, class));
        let words = [usize::from(RA)].into_iter().chain(SAVED.into_iter().flatten()).filter(|n| used(GENERAL, n));
        let singles = SAVED_SINGLES.into_iter().flatten().filter(|n| used(SINGLE, n));
        let saved: Vec<Operand> = words.map(|n| Operand::Word(n as u8)).chain(singles.map(|n| Operand::Single(n as u8))).collect();
        let locals = need.outgoing.unwrap_or(0).next_multiple_of(4);
        let slots = (locals + need.local_bytes).next_multiple_of(4);
        let bytes = (slots + 4 * need.slots + 4 * saved.len() as u32).next_multiple_of(16);
        Self { saved, locals, slots, bytes }
    }

    fn bases(&self) -> FrameBases {
        FrameBases { locals: (SP, self.locals as i32), arguments: (SP, self.bytes as i32) }
    }

    fn stack_bytes(&self) -> u32 {
        self.bytes
    }

    fn enter(&self, code: &mut Assembler) -> Result<(), AssemblyError> {
        let first = self.first_step();
        code.move_stack(-(first as i32))?;
        self.each_saved(first, true, code)?;
        code.move_stack(-((self.bytes - first) as i32))
    }
}

impl Frame {
    /// Bytes of the first step of the stack pointer: all, or what short instructions reach.
    fn first_step(&self) -> u32 {
        if self.bytes <= NEAR { self.bytes } else { (4 * self.saved.len() as u32).next_multiple_of(16) }
    }

    /// Takes the frame away, and returns.
    pub fn leave(&self, code: &mut Assembler) -> Result<(), AssemblyError> {
        let first = self.first_step();
        code.move_stack((self.bytes - first) as i32)?;
        self.each_saved(first, false, code)?;
        code.move_stack(first as i32)?;
        // C.JR of the return address.
        code.half(0x8082);
        Ok(())
    }

    fn each_saved(&self, top: u32, store: bool, code: &mut Assembler) -> Result<(), AssemblyError> {
        for (&register, i) in self.saved.iter().zip(1..) {
            code.stack_word(register, top as i32 - 4 * i, store)?;
        }
        Ok(())
    }
}

impl Assembler {
    /// The stack pointer plus a number.
    fn move_stack(&mut self, bytes: i32) -> Result<(), AssemblyError> {
        if bytes == 0 { Ok(()) } else { self.add_number(SP, SP, bytes) }
    }

    /// A register plus a number.
    pub(super) fn add_number(&mut self, to: u8, from: u8, number: i32) -> Result<(), AssemblyError> {
        let operands = |last| [Operand::Word(to), Operand::Word(from), last];
        if fits(number.into(), 12) {
            return self.row(&rows::ADD_NUMBER, &operands(Operand::Number(number)));
        }
        self.constant(SCRATCH, number)?;
        self.row(&rows::ADD, &operands(Operand::Word(SCRATCH)))
    }

    /// A register to or from a place on the stack.
    pub(super) fn stack_word(&mut self, register: Operand, at: i32, store: bool) -> Result<(), AssemblyError> {
        let row = match (register, store) {
            (Operand::Single(_), true) => &rows::FSW,
            (Operand::Single(_), false) => &rows::FLW,
            (_, true) => &rows::SW,
            (_, false) => &rows::LW,
        };
        let (place, base) = self.near(SP, at)?;
        self.row(row, &[register, Operand::Number(place), Operand::Word(base)])
    }

    /// A number and a base that loads and stores take, of one that is perhaps too far.
    pub(super) fn near(&mut self, base: u8, displacement: i32) -> Result<(i32, u8), AssemblyError> {
        if fits(displacement.into(), 12) {
            return Ok((displacement, base));
        }
        let [high, low] = halves(displacement);
        self.constant(SCRATCH, high)?;
        self.row(&rows::ADD, &[SCRATCH, SCRATCH, base].map(Operand::Word))?;
        Ok((low, SCRATCH))
    }
}
