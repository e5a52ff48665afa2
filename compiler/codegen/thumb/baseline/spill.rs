//! Moves between registers and spill slots. Loads and stores only have low registers, so others go through r0, which the stack keeps meanwhile.

use super::frame::Frame;
use super::place::access;
use crate::own::AssemblyError;
use crate::thumb::access::Place;
use crate::thumb::encode::Assembler;
use crate::thumb::registers::SP;
use crate::thumb::spill::{pop, push, word};
use regalloc2::PReg;

/// The register through which high ones move.
const WORD: u8 = 0;
/// Largest displacement of a word from the stack pointer.
const FAR: i32 = 1020;

/// Writes a move between a register and its spill slot, by the slot's number.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn spill(register: PReg, slot: usize, store: bool, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
    let at = frame.slots as i32 + 4 * slot as i32;
    match (register.hw_enc() as u8, store) {
        (low @ 0..8, true) => store_low(low, at, code),
        (low @ 0..8, false) => access(word(false), low, Place::Near(SP, at), code),
        (high, store) => {
            push(1 << WORD, code);
            if store {
                code.copy(WORD, high);
                store_low(WORD, at + 4, code)?;
            } else {
                access(word(false), WORD, Place::Near(SP, at + 4), code)?;
                code.copy(high, WORD);
            }
            pop(1 << WORD, code);
            Ok(())
        }
    }
}

/// Stores a low register on the stack. Another one has the address if that is far.
fn store_low(register: u8, at: i32, code: &mut Assembler) -> Result<(), AssemblyError> {
    if at <= FAR {
        return access(word(true), register, Place::Near(SP, at), code);
    }
    let other = u8::from(register == 0);
    push(1 << other, code);
    code.stack_address(other, at + 4)?;
    access(word(true), register, Place::Near(other, 0), code)?;
    pop(1 << other, code);
    Ok(())
}
