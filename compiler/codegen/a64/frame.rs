//! The stack frame of a kernel, its prologue and its epilogue.

use super::encode::Assembler;
use super::registers::{FRAME, GENERAL, SAVED, SAVED_VECTORS, SP, VECTOR};
use crate::own::{AssemblyError, FrameBases, Need, StackFrame};
use regalloc2::PReg;

/// Alignment of the stack in bytes.
const ALIGNMENT: u32 = 16;

/// STP with pre-decrement and LDP with post-increment of the stack pointer, for x and for d registers.
const PUSH: [u32; 2] = [0xA9BF_0000, 0x6DBF_0000];
const POP: [u32; 2] = [0xA8C1_0000, 0x6CC1_0000];

/// Two saved registers.
#[derive(Clone, Copy)]
struct Saved {
    /// `true` for vector registers.
    vector: bool,
    first: u8,
    /// The second register. The last register may be paired with itself.
    second: u8,
}

/// The frame pointer and the return address.
const RETURN: Saved = Saved { vector: false, first: FRAME, second: 30 };

/// The stack frame: the caller's frame pointer and the return address, saved registers, then spilled registers and stack arrays. x29 points to the
/// caller's frame pointer in every function, so that profilers find the callers.
pub(super) struct Frame {
    saved: Vec<Saved>,
    /// Bytes of spilled registers; the stack arrays are above them.
    slot_bytes: u32,
    bytes: u32,
}

impl StackFrame<()> for Frame {
    fn new(need: &Need) -> Self {
        let slot_bytes = (8 * need.slots).next_multiple_of(ALIGNMENT);
        let bytes = slot_bytes + need.local_bytes.next_multiple_of(ALIGNMENT);
        let used = |class, n: &usize| need.registers.contains(PReg::new(*n, class));
        let general: Vec<u8> = SAVED.filter(|n| used(GENERAL, n)).map(|n| n as u8).collect();
        let vectors: Vec<u8> = SAVED_VECTORS.filter(|n| used(VECTOR, n)).map(|n| n as u8).collect();
        fn pairs(list: &[u8], vector: bool) -> impl Iterator<Item = Saved> {
            list.chunks(2).map(move |pair| Saved { vector, first: pair[0], second: pair[pair.len() - 1] })
        }
        Self { saved: pairs(&general, false).chain(pairs(&vectors, true)).collect(), slot_bytes, bytes }
    }

    /// The caller's frame pointer and the return address are above the frame pointer.
    fn bases(&self) -> FrameBases {
        FrameBases { locals: (SP, self.slot_bytes as i32), arguments: (FRAME, 16) }
    }

    fn stack_bytes(&self) -> u32 {
        16 + 16 * self.saved.len() as u32 + self.bytes
    }

    fn enter(&self, code: &mut Assembler) -> Result<(), AssemblyError> {
        pair(PUSH, RETURN, code);
        code.word(0x9100_0000 | u32::from(SP) << 5 | u32::from(FRAME));
        for &registers in &self.saved {
            pair(PUSH, registers, code);
        }
        if self.bytes > 0 {
            self.move_stack(SP, -i64::from(self.bytes), code);
        }
        Ok(())
    }
}

impl Frame {
    /// Writes the epilogue, up to the return.
    pub fn leave(&self, code: &mut Assembler) {
        if self.bytes > 0 {
            self.move_stack(FRAME, -16 * self.saved.len() as i64, code);
        }
        for &registers in self.saved.iter().rev() {
            pair(POP, registers, code);
        }
        pair(POP, RETURN, code);
    }

    /// Sets the stack pointer to a register plus a number of bytes, which is below 2²⁴ for a frame.
    fn move_stack(&self, from: u8, bytes: i64, code: &mut Assembler) {
        let _ = code.add_number(SP, from, bytes);
    }
}

/// Pushes or pops two registers. A register that is paired with itself is stored twice, and loaded once.
fn pair(words: [u32; 2], Saved { vector, first, second }: Saved, code: &mut Assembler) {
    let second = if first == second && words == POP { 31 } else { second };
    if second == 31 && vector {
        // LDR with post-increment of the stack pointer: LDP has no zero register among vector registers.
        code.word(0xFC41_07E0 | u32::from(first));
        return;
    }
    code.word(words[usize::from(vector)] | u32::from(second) << 10 | u32::from(SP) << 5 | u32::from(first));
}
