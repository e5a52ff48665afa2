//! The stack frame of a function, and its prologue and epilogue.

use crate::own::{AssemblyError, FrameBases, Need, StackFrame};
use crate::thumb::encode::Assembler;
use crate::thumb::registers::{GENERAL, LOW, LR, SAVED, SP};
use regalloc2::PReg;
use std::convert::Infallible;

/// Largest step of the stack pointer by one instruction.
const STEP: i32 = 508;
/// Number of steps above which a register holds the size of the frame.
const STEPS: i32 = 2;

/// A stack frame. From high to low addresses, it has saved low registers and the return address, saved high registers, spill slots, and stack arrays.
/// Arguments of calls are at the stack pointer. The stack pointer is a multiple of four, and of eight if the function calls others.
pub(super) struct Frame {
    /// Saved low registers and the return address, one bit each.
    saved: u16,
    /// Saved high registers. PUSH takes them from as many low ones, from r4 on.
    high: Vec<u8>,
    /// Offset of stack arrays.
    locals: u32,
    /// Offset of spill slots.
    pub slots: u32,
    bytes: u32,
}

impl StackFrame<Infallible> for Frame {
    fn new(need: &Need) -> Self {
        let used = |n: &usize| need.registers.contains(PReg::new(*n, GENERAL));
        let high: Vec<u8> = (LOW.end..SAVED.end).filter(used).map(|n| n as u8).collect();
        let locals = need.outgoing.unwrap_or(0).next_multiple_of(8);
        let slots = (locals + need.local_bytes).next_multiple_of(4);
        let bytes = slots + 4 * need.slots;
        // A large frame, or one that alignment makes large, needs a register for its size.
        let others = high.len().max(usize::from(bytes as i32 + 4 > STEP * STEPS));
        let low = (SAVED.start..LOW.end).filter(|n| used(n) || n - SAVED.start < others).fold(0, |saved, n| saved | 1 << n);
        let saved = if low != 0 || used(&usize::from(LR)) { low | 1 << LR } else { 0 };
        let mut frame = Self { saved, high, locals, slots, bytes };
        if need.outgoing.is_some() {
            frame.bytes += frame.arguments() % 8;
        }
        frame
    }

    /// Far jumps, and moves of high registers, save two registers.
    fn stack_bytes(&self) -> u32 {
        self.arguments() + 8
    }

    fn bases(&self) -> FrameBases {
        FrameBases { locals: (SP, self.locals as i32), arguments: (SP, self.arguments() as i32) }
    }

    fn enter(&self, code: &mut Assembler) -> Result<(), AssemblyError> {
        if self.saved != 0 {
            // PUSH of low registers and lr.
            code.half(0xB500 | self.saved & 0xFF);
        }
        if !self.high.is_empty() {
            self.high.iter().zip(SAVED).for_each(|(&high, low)| code.copy(low as u8, high));
            code.half(0xB400 | self.stand_ins());
        }
        move_stack(-(self.bytes as i32), code)
    }
}

impl Frame {
    /// Returns the bytes between the stack pointer and the caller's arguments.
    fn arguments(&self) -> u32 {
        self.bytes + 4 * self.high.len() as u32 + 4 * self.saved.count_ones()
    }

    /// Returns low registers in place of the saved high ones, one bit each.
    fn stand_ins(&self) -> u16 {
        ((1 << self.high.len()) - 1) << SAVED.start
    }

    /// Writes the epilogue with the return.
    pub fn leave(&self, code: &mut Assembler) -> Result<(), AssemblyError> {
        move_stack(self.bytes as i32, code)?;
        if !self.high.is_empty() {
            code.half(0xBC00 | self.stand_ins());
            self.high.iter().zip(SAVED).for_each(|(&high, low)| code.copy(high, low as u8));
        }
        // POP loads the return address into the program counter; BX uses lr.
        code.half(if self.saved == 0 { 0x4770 } else { 0xBD00 | self.saved & 0xFF });
        Ok(())
    }
}

/// Moves the stack pointer. A large frame has saved r4.
fn move_stack(bytes: i32, code: &mut Assembler) -> Result<(), AssemblyError> {
    const SIZE: u8 = 4;
    if bytes.abs() > STEP * STEPS {
        code.build(SIZE, bytes)?;
        code.accumulate(SP, SIZE);
        return Ok(());
    }
    let mut left = bytes.abs();
    while left > 0 {
        let step = left.min(STEP);
        code.half(0xB000 | u16::from(bytes < 0) << 7 | (step / 4) as u16);
        left -= step;
    }
    Ok(())
}
