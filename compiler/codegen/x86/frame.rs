//! The stack frame of a kernel, its prologue and its epilogue.

use super::encode::{Assembler, MemoryOperand, Rm, Tail};
use super::registers::{GENERAL, RAX, RBP, RSP, SAVED};
use crate::own::{AssemblyError, FrameBases, Need, StackFrame};
use regalloc2::PReg;

/// Alignment of the frame in bytes.
const ALIGNMENT: u32 = 64;

/// The stack frame: the caller's frame pointer, saved registers, then spilled registers and stack arrays. rbp points to the frame's top in every
/// function, so that profilers find the callers.
pub(super) struct Frame {
    saved: Vec<u8>,
    /// Bytes of spilled registers; the stack arrays are above them.
    slot_bytes: u32,
    bytes: u32,
    /// Offset of the caller's MXCSR, and after it ours. `None` unless floats are rounded towards zero.
    control: Option<i32>,
}

/// Instruction: opcode, and the digit in the register field.
const LDMXCSR: (&[u8], u8) = (&[0x0F, 0xAE], 2);
const STMXCSR: (&[u8], u8) = (&[0x0F, 0xAE], 3);
/// Rounding field of MXCSR; all ones means towards zero.
const ROUNDING: i32 = 0x6000;

impl StackFrame<Tail> for Frame {
    fn new(need: &Need) -> Self {
        let slot_bytes = (8 * need.slots).next_multiple_of(ALIGNMENT);
        let used_bytes = slot_bytes + need.local_bytes.next_multiple_of(ALIGNMENT);
        let control = need.toward_zero.then_some(used_bytes as i32);
        let bytes = used_bytes + if control.is_some() { ALIGNMENT } else { 0 };
        let used = |n: &usize| need.registers.contains(PReg::new(*n, GENERAL));
        let saved = SAVED.into_iter().filter(used).map(|n| n as u8).collect();
        Self { saved, slot_bytes, bytes, control }
    }

    /// The caller's rbp and the return address are above the frame pointer.
    fn bases(&self) -> FrameBases {
        FrameBases { locals: (RSP, self.slot_bytes as i32), arguments: (RBP, 16) }
    }

    fn stack_bytes(&self) -> u32 {
        let alignment = if self.bytes > 0 { ALIGNMENT } else { 0 };
        16 + 8 * self.saved.len() as u32 + alignment + self.bytes
    }

    fn enter(&self, code: &mut Assembler) -> Result<(), AssemblyError> {
        code.push_pop(0x50, RBP);
        code.general(None, true, &[0x89], RSP, Rm::Register(RBP), &[]);
        for &register in &self.saved {
            code.push_pop(0x50, register);
        }
        if self.bytes > 0 {
            code.general(None, true, &[0x83], 4, Rm::Register(RSP), &[(ALIGNMENT as i8).wrapping_neg() as u8]);
            code.general(None, true, &[0x81], 5, Rm::Register(RSP), &(self.bytes as i32).to_le_bytes());
        }
        if let Some(place) = self.control {
            // No parameter is passed in eax.
            let [kept, ours] = [0, 4].map(|offset| Rm::Memory(MemoryOperand::Sum { base: RSP, index: None, displacement: place + offset }));
            code.general(None, false, STMXCSR.0, STMXCSR.1, kept, &[]);
            code.general(None, false, &[0x8B], RAX, kept, &[]);
            code.general(None, false, &[0x81], 1, Rm::Register(RAX), &ROUNDING.to_le_bytes());
            code.general(None, false, &[0x89], RAX, ours, &[]);
            code.general(None, false, LDMXCSR.0, LDMXCSR.1, ours, &[]);
        }
        Ok(())
    }
}

impl Frame {
    /// Writes the epilogue, up to the return.
    pub fn leave(&self, code: &mut Assembler) {
        if let Some(displacement) = self.control {
            code.general(None, false, LDMXCSR.0, LDMXCSR.1, Rm::Memory(MemoryOperand::Sum { base: RSP, index: None, displacement }), &[]);
        }
        if self.bytes > 0 {
            let displacement = -8 * self.saved.len() as i32;
            code.general(None, true, &[0x8D], RSP, Rm::Memory(MemoryOperand::Sum { base: RBP, index: None, displacement }), &[]);
        }
        for &register in self.saved.iter().rev() {
            code.push_pop(0x58, register);
        }
        code.push_pop(0x58, RBP);
    }
}
