//! The stack of a kernel, and the code that makes room on it.

use super::encode::Assembler;
use super::registers::{FRAME, GENERAL, SAVED, SAVED_VECTORS, SP, VECTOR};
use crate::codegen::own::Need;
use regalloc2::PReg;

/// Alignment of the stack.
const ALIGNMENT: u32 = 16;

/// STP with the stack pointer moved down before, and LDP with it moved up after: of x and of d registers.
const PUSH: [u32; 2] = [0xA9BF_0000, 0x6DBF_0000];
const POP: [u32; 2] = [0xA8C1_0000, 0x6CC1_0000];

/// The stack below the caller's: its frame pointer and the return address, saved registers, then the frame with spilled registers and stack arrays.
/// x29 points to the caller's frame pointer in every function, so that profilers find the callers.
pub(super) struct Frame {
    /// Pairs of registers: whether they are vector registers, and their numbers. The last one may be paired with itself.
    saved: Vec<(bool, u8, u8)>,
    /// Bytes of spilled registers, above which the stack arrays are.
    pub slot_bytes: u32,
    bytes: u32,
}

impl Frame {
    /// The frame of a function.
    pub fn new(need: &Need) -> Self {
        let slot_bytes = (8 * need.slots).next_multiple_of(ALIGNMENT);
        let bytes = slot_bytes + need.local_bytes.next_multiple_of(ALIGNMENT);
        let used = |class, n: &usize| need.registers.contains(PReg::new(*n, class));
        let general: Vec<u8> = SAVED.filter(|n| used(GENERAL, n)).map(|n| n as u8).collect();
        let vectors: Vec<u8> = SAVED_VECTORS.filter(|n| used(VECTOR, n)).map(|n| n as u8).collect();
        let pairs = |list: &[u8], vector| list.chunks(2).map(|pair| (vector, pair[0], pair[pair.len() - 1])).collect::<Vec<_>>();
        Self { saved: [pairs(&general, false), pairs(&vectors, true)].concat(), slot_bytes, bytes }
    }

    /// Bytes below the stack pointer of the caller.
    pub fn stack_bytes(&self) -> u32 {
        16 + 16 * self.saved.len() as u32 + self.bytes
    }

    /// Makes the frame.
    pub fn enter(&self, code: &mut Assembler) {
        pair(PUSH, (false, FRAME, 30), code);
        code.word(0x9100_0000 | u32::from(SP) << 5 | u32::from(FRAME));
        for &registers in &self.saved {
            pair(PUSH, registers, code);
        }
        if self.bytes > 0 {
            self.move_stack(SP, -i64::from(self.bytes), code);
        }
    }

    /// Takes the frame away, up to the return.
    pub fn leave(&self, code: &mut Assembler) {
        if self.bytes > 0 {
            self.move_stack(FRAME, -16 * self.saved.len() as i64, code);
        }
        for &registers in self.saved.iter().rev() {
            pair(POP, registers, code);
        }
        pair(POP, (false, FRAME, 30), code);
    }

    /// Has the stack pointer point below what another register points to. Frames have less than 2²⁴ bytes.
    fn move_stack(&self, from: u8, bytes: i64, code: &mut Assembler) {
        let _ = code.add_number(SP, from, bytes);
    }
}

/// Two registers to the stack, or from it; one that is paired with itself goes to both places, and comes from one.
fn pair(words: [u32; 2], (vector, first, second): (bool, u8, u8), code: &mut Assembler) {
    let second = if first == second && words == POP { 31 } else { second };
    if second == 31 && vector {
        // LDR with the stack pointer moved up after: no vector register stands for nothing.
        code.word(0xFC41_07E0 | u32::from(first));
        return;
    }
    code.word(words[usize::from(vector)] | u32::from(second) << 10 | u32::from(SP) << 5 | u32::from(first));
}
