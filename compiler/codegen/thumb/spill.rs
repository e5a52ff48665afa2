//! Moves between registers and spill slots at any distance. They change no flags.

use super::access::{Moved, Place, access, access_double, access_float, float_reaches, reaches};
use super::encode::{Assembler, Operand};
use super::frame::Frame;
use super::registers::{SP, double_number};
use super::rows;
use super::vectors::{Part, Vector, access_vector};
use crate::own::AssemblyError;
use crate::own::words::Element;
use regalloc2::{PReg, RegClass};

/// Writes a move between a register and its spill slot, by the slot's number.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn spill(register: PReg, slot: usize, store: bool, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
    let at = frame.slots as i32 + 4 * slot as i32;
    let number = register.hw_enc() as u8;
    match register.class() {
        RegClass::Int if reaches(at.into()) => access(word(store), number, Place::Near(SP, at), code),
        RegClass::Int => far_access(word(store), number, at, code),
        RegClass::Vector => match double_number(register) {
            Some(double) => through(at, float_reaches(at.into()), code, |place, code| access_double(store, double, place, code)),
            None => {
                let moved = Vector { element: Element::Word, store, part: Part::Whole };
                through(at, moved.reaches(at), code, |place, code| access_vector(moved, number, place, code))
            }
        },
        _ if frame.reaches_slots() => access_float(store, number, Place::Near(SP, at), code),
        _ => far_float(number, at, store, code),
    }
}

/// Accesses a slot. If the instruction does not reach it, r0 holds the address, and is saved on the stack.
fn through(
    displacement: i32,
    reaches: bool,
    code: &mut Assembler,
    access: impl Fn(Place, &mut Assembler) -> Result<(), AssemblyError>,
) -> Result<(), AssemblyError> {
    const ADDRESS: u8 = 0;
    if reaches {
        return access(Place::Near(SP, displacement), code);
    }
    push(1 << ADDRESS, code);
    far_address(ADDRESS, displacement + 4, code);
    access(Place::Near(ADDRESS, 0), code)?;
    pop(1 << ADDRESS, code);
    Ok(())
}

/// Makes the move of a word.
pub(super) fn word(store: bool) -> Moved {
    Moved { bytes: 4, store, signed: false }
}

/// Writes PUSH of low registers, given one bit each.
pub(super) fn push(registers: u16, code: &mut Assembler) {
    code.half(0xB400 | registers);
}

/// Writes POP of low registers, given one bit each.
pub(super) fn pop(registers: u16, code: &mut Assembler) {
    code.half(0xBC00 | registers);
}

/// Moves a float through r0. If words do not reach the slot, r1 holds its address. Both registers are saved on the stack.
fn far_float(float: u8, displacement: i32, store: bool, code: &mut Assembler) -> Result<(), AssemblyError> {
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

/// Accesses a place of the stack that loads and stores do not reach. A load computes the address in its own register. A store saves another register on
/// the stack for it.
pub(super) fn far_access(moved: Moved, number: u8, displacement: i32, code: &mut Assembler) -> Result<(), AssemblyError> {
    if !moved.store {
        far_address(number, displacement, code);
        return access(moved, number, Place::Near(number, 0), code);
    }
    let other = u8::from(number == 0);
    push(1 << other, code);
    far_address(other, displacement + 4, code);
    access(moved, number, Place::Near(other, 0), code)?;
    pop(1 << other, code);
    Ok(())
}

/// Computes the stack pointer plus a constant: MOVW, MOVT and ADD.
fn far_address(to: u8, displacement: i32, code: &mut Assembler) {
    code.move_half(false, to, displacement as u16);
    if displacement >> 16 != 0 {
        code.move_half(true, to, (displacement >> 16) as u16);
    }
    code.half(0x4468 | u16::from(to >> 3) << 7 | u16::from(to & 7));
}
