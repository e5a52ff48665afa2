//! Registers in their slots on the stack, however far these are. No flag changes.

use super::access::{Moved, Place, access, access_float, reaches};
use super::encode::{Assembler, Operand};
use super::frame::Frame;
use super::registers::SP;
use super::rows;
use regalloc2::{Allocation, PReg, RegClass};

/// A move between a register and its slot.
///
/// # Errors
/// When it is no slot.
pub(super) fn spill(register: PReg, slot: Allocation, store: bool, frame: &Frame, code: &mut Assembler) -> Result<(), String> {
    let slot = slot.as_stack().ok_or("a spill to no slot")?;
    let at = frame.slots as i32 + 4 * slot.index() as i32;
    let number = register.hw_enc() as u8;
    match register.class() {
        RegClass::Int if reaches(at.into()) => access(word(store), number, Place::Near(SP, at), code),
        RegClass::Int => far_word(number, at, store, code),
        _ if frame.reaches_slots() => access_float(store, number, Place::Near(SP, at), code),
        _ => far_float(number, at, store, code),
    }
}

fn word(store: bool) -> Moved {
    Moved { bytes: 4, store, signed: false }
}

/// PUSH of low registers, a bit each.
fn push(registers: u16, code: &mut Assembler) {
    code.half(0xB400 | registers);
}

/// POP of low registers, a bit each.
fn pop(registers: u16, code: &mut Assembler) {
    code.half(0xBC00 | registers);
}

/// A float through r0, which is on the stack meanwhile; beyond the reach of words, r1 holds the address, likewise.
fn far_float(float: u8, displacement: i32, store: bool, code: &mut Assembler) -> Result<(), String> {
    const WORD: u8 = 0;
    const ADDRESS: u8 = 1;
    let is_far = !reaches(i64::from(displacement) + 4);
    let pushed = if is_far { 0b11 } else { 0b1 };
    push(pushed, code);
    let place = if is_far {
        far_address(ADDRESS, displacement + 8, code);
        Place::Near(ADDRESS, 0)
    } else {
        Place::Near(SP, displacement + 4)
    };
    let (held, float) = (Operand::Word(WORD), Operand::Single(float));
    if store {
        code.row(&rows::VMOV_FROM_SINGLE, &[held, float])?;
        access(word(store), WORD, place, code)?;
    } else {
        access(word(store), WORD, place, code)?;
        code.row(&rows::VMOV_TO_SINGLE, &[float, held])?;
    }
    pop(pushed, code);
    Ok(())
}

/// A word beyond the reach of its instruction. The address is made in the register that is loaded, or in one that is on the stack meanwhile.
fn far_word(number: u8, displacement: i32, store: bool, code: &mut Assembler) -> Result<(), String> {
    if !store {
        far_address(number, displacement, code);
        return access(word(store), number, Place::Near(number, 0), code);
    }
    let other = u8::from(number == 0);
    push(1 << other, code);
    far_address(other, displacement + 4, code);
    access(word(store), number, Place::Near(other, 0), code)?;
    pop(1 << other, code);
    Ok(())
}

/// MOVW, MOVT and ADD: the stack pointer plus a number.
fn far_address(to: u8, displacement: i32, code: &mut Assembler) {
    code.move_half(false, to, displacement as u16);
    if displacement >> 16 != 0 {
        code.move_half(true, to, (displacement >> 16) as u16);
    }
    code.half(0x4468 | u16::from(to >> 3) << 7 | u16::from(to & 7));
}
