//! The stack frame of a function, and its prologue and epilogue.

use super::encode::Assembler;
use super::registers::{GENERAL, LR, SAVED, SAVED_SINGLES, SINGLE, SP, VECTOR_COUNT, VECTORS, double_register};
use crate::own::{AssemblyError, FrameBases, Need, StackFrame};
use regalloc2::PReg;
use std::convert::Infallible;

/// A stack frame. From high to low addresses, it has saved registers and the return address, saved floats, spill slots, and stack arrays. Arguments
/// of calls are at the stack pointer. The stack pointer is a multiple of four, and of eight if the function calls others.
pub(super) struct Frame {
    /// Saved registers, one bit each.
    saved: u16,
    /// Saved binary32 registers, a contiguous range.
    floats: std::ops::Range<usize>,
    /// Offset of stack arrays.
    locals: u32,
    /// Offset of spill slots.
    pub slots: u32,
    /// `true` if vector registers hold values.
    has_vectors: bool,
    bytes: u32,
}

impl StackFrame<Infallible> for Frame {
    fn new(need: &Need) -> Self {
        let used = |class, n: &usize| need.registers.contains(PReg::new(*n, class));
        let general = SAVED.chain([usize::from(LR)]).filter(|n| used(GENERAL, n)).fold(0, |saved, n| saved | 1 << n);
        let uses_double = |n: &usize| need.registers.contains(double_register((n / 2) as u8));
        let uses = |n: &usize| used(SINGLE, n) || used(VECTORS, &(n / 4)) || uses_double(n);
        let first = SAVED_SINGLES.clone().find(uses);
        let last = SAVED_SINGLES.rev().find(uses);
        let has_vectors = (0..VECTOR_COUNT).any(|n| used(VECTORS, &n));
        let floats = first.zip(last).map_or(0..0, |(first, last)| first..last + 1);
        // Restoring the saved registers also returns, so the return address is saved with them.
        let saved = if general == 0 { 0 } else { general | 1 << LR };
        let locals = need.outgoing.unwrap_or(0).next_multiple_of(8);
        let slots = (locals + need.local_bytes).next_multiple_of(4);
        let mut frame = Self { saved, floats, locals, slots, has_vectors, bytes: slots + 4 * need.slots };
        if need.outgoing.is_some() {
            frame.bytes += frame.arguments() % 8;
        }
        frame
    }

    fn stack_bytes(&self) -> u32 {
        // Moves to far spill slots save one or two registers. Those of vectors reach half as far.
        let through = match self.bytes {
            0..=512 => 0,
            513..=1024 if !self.has_vectors => 0,
            513..=4088 => 4,
            _ => 8,
        };
        self.arguments() + through
    }

    fn bases(&self) -> FrameBases {
        FrameBases { locals: (SP, self.locals as i32), arguments: (SP, self.arguments() as i32) }
    }

    fn enter(&self, code: &mut Assembler) -> Result<(), AssemblyError> {
        match self.saved {
            0 => {}
            // r0 to r7 and lr.
            saved if saved & 0xBF00 == 0 => code.half(0xB500 | saved & 0xFF),
            saved => code.word(0xE92D_0000 | u32::from(saved)),
        }
        if !self.floats.is_empty() {
            code.word(0xED2D_0A00 | self.float_fields());
        }
        code.add_number(SP, SP, -(self.bytes as i32));
        Ok(())
    }
}

impl Frame {
    /// Returns the bytes between the stack pointer and the caller's arguments.
    fn arguments(&self) -> u32 {
        self.bytes + 4 * self.floats.len() as u32 + 4 * self.saved.count_ones()
    }

    /// Tests whether loads and stores of floats reach all spill slots.
    pub fn reaches_slots(&self) -> bool {
        self.bytes <= 1024
    }

    /// Writes the epilogue with the return.
    pub fn leave(&self, code: &mut Assembler) {
        code.add_number(SP, SP, self.bytes as i32);
        if !self.floats.is_empty() {
            code.word(0xECBD_0A00 | self.float_fields());
        }
        // POP loads the return address into the program counter.
        match (self.saved, self.saved & 0x3FFF) {
            (0, _) => code.half(0x4770),
            (_, saved) if saved & 0xFF00 == 0 => code.half(0xBD00 | saved),
            (_, saved) => code.word(0xE8BD_8000 | u32::from(saved)),
        }
    }

    /// Returns the fields of VPUSH and VPOP: the first saved register and their number.
    fn float_fields(&self) -> u32 {
        let first = self.floats.start as u32;
        (first & 1) << 22 | (first >> 1) << 12 | self.floats.len() as u32
    }
}
