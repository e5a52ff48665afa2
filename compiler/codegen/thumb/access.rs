//! Loads and stores.

use super::encode::{Assembler, double, single};
use super::registers::SP;
use super::rows::Single;
use crate::own::words::Arg;
use crate::own::{AddressError, AssemblyError, FrameBases, PhysicalAddress, memory_of};
use regalloc2::PReg;

/// Type of a load or store of a general-purpose register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moved {
    /// Number of bytes: one, two or four.
    pub bytes: u32,
    /// `true` for a store.
    pub store: bool,
    /// `true` if a load extends the sign to the whole register.
    pub signed: bool,
}

/// An address in physical registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A base and a displacement in bytes.
    Near(u8, i32),
    /// A base, an index, and the index's left shift.
    Indexed(u8, u8, u8),
}

impl Place {
    /// Splits the memory operand of an instruction into a place and the displacement that the place does not include. `at` has the registers of all
    /// operands.
    ///
    /// # Errors
    /// [`AddressError::Pool`] for a constant after the code.
    pub fn of(args: &[Arg], at: &[PReg], frame: &FrameBases) -> Result<(Self, i32), AssemblyError> {
        let (address, registers) = memory_of(args, at)?;
        let address = address.physical(frame, registers)?;
        let PhysicalAddress { base, index, displacement } = address.ok_or(AddressError::Pool)?;
        Ok(match index {
            Some((index, shift)) => (Self::Indexed(base, index, shift), displacement),
            None => (Self::Near(base, displacement), 0),
        })
    }

    /// Returns the place of the memory operand of a load or a store.
    ///
    /// # Errors
    /// The errors of [`Self::of`]. [`AddressError::IndexAndDisplacement`] if the place does not include all.
    pub fn accessed(args: &[Arg], at: &[PReg], frame: &FrameBases) -> Result<Self, AssemblyError> {
        match Self::of(args, at, frame)? {
            (place, 0) => Ok(place),
            _ => Err(AddressError::IndexAndDisplacement.into()),
        }
    }
}

/// Tests whether loads and stores have a displacement.
pub(super) fn reaches(displacement: i64) -> bool {
    (-255..4096).contains(&displacement)
}

/// Writes a load or a store.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn access(moved: Moved, register: u8, place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    if let Some(short) = short_access(moved, register, place) {
        code.half(short);
        return Ok(());
    }
    let word = single_word(moved, register);
    code.word(match place {
        Place::Near(base, displacement @ 0..4096) => word | 1 << 23 | u32::from(base) << 16 | displacement as u32,
        Place::Near(base, displacement @ -255..0) => word | u32::from(base) << 16 | 0xC00 | displacement.unsigned_abs(),
        Place::Indexed(base, index, shift @ 0..4) => word | u32::from(base) << 16 | u32::from(shift) << 4 | u32::from(index),
        _ => return Err(AssemblyError::access(moved, place)),
    });
    Ok(())
}

/// Returns the 32-bit encoding of a load or a store, without its address.
fn single_word(moved: Moved, register: u8) -> u32 {
    let size = moved.bytes.trailing_zeros();
    let signed = u32::from(moved.signed && moved.bytes < 4 && !moved.store);
    0xF800_0000 | signed << 24 | size << 21 | u32::from(!moved.store) << 20 | u32::from(register) << 12
}

/// Returns the 16-bit encoding of a load or a store, if it has one.
pub(super) fn short_access(moved: Moved, register: u8, place: Place) -> Option<u16> {
    let t = (register < 8).then_some(u16::from(register))?;
    let signed = moved.signed && !moved.store && moved.bytes < 4;
    let load = u16::from(!moved.store);
    match place {
        Place::Near(SP, displacement @ 0..1024) if moved.bytes == 4 && displacement % 4 == 0 => {
            Some(0x9000 | load << 11 | t << 8 | (displacement as u16 / 4))
        }
        Place::Near(base @ 0..8, displacement @ 0..) if !signed => {
            let unit = moved.bytes as i32;
            let units = (displacement % unit == 0 && displacement / unit < 32).then_some((displacement / unit) as u16)?;
            let word = [0x7000, 0x8000, 0x6000][moved.bytes.trailing_zeros() as usize];
            Some(word | load << 11 | units << 6 | u16::from(base) << 3 | t)
        }
        Place::Indexed(base @ 0..8, index @ 0..8, 0) => {
            let word = match (moved.store, signed, moved.bytes) {
                (true, _, 4) => 0x5000,
                (true, _, 2) => 0x5200,
                (true, _, _) => 0x5400,
                (_, true, 1) => 0x5600,
                (_, true, _) => 0x5E00,
                (_, _, 4) => 0x5800,
                (_, _, 2) => 0x5A00,
                _ => 0x5C00,
            };
            Some(word | u16::from(index) << 6 | u16::from(base) << 3 | t)
        }
        _ => None,
    }
}

/// Tests whether loads and stores of floats have a displacement.
pub(super) fn float_reaches(displacement: i64) -> bool {
    displacement % 4 == 0 && (-1020..1024).contains(&displacement)
}

/// Writes a load or a store of a binary64 number, at a multiple of four bytes.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn access_double(store: bool, register: u8, place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    code.word(float_word(store, place)? | 0x100 | double(Single::D, register));
    Ok(())
}

/// Writes a load or a store of a float.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn access_float(store: bool, register: u8, place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    code.word(float_word(store, place)? | single(Single::D, register));
    Ok(())
}

/// Returns the encoding of a load or a store of a float, without its register.
fn float_word(store: bool, place: Place) -> Result<u32, AssemblyError> {
    match place {
        Place::Near(base, displacement) if float_reaches(displacement.into()) => {
            let up = u32::from(displacement >= 0) << 23;
            Ok(0xED00_0A00 | up | u32::from(!store) << 20 | u32::from(base) << 16 | (displacement.unsigned_abs() / 4))
        }
        _ => Err(AssemblyError::Access { what: "a float".into(), place: format!("{place:?}") }),
    }
}

/// Tests whether a load or a store, or one of a pair, can add a number of bytes to its base.
pub(super) fn steps(by: i32, is_of_pair: bool) -> bool {
    if is_of_pair { by % 4 == 0 && (0..1024).contains(&by) } else { (0..256).contains(&by) }
}

/// Writes a load or a store of one register or of two words that adds to its base afterwards.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn access_and_step(moved: Moved, registers: &[u8], (base, by): (u8, i32), code: &mut Assembler) -> Result<(), AssemblyError> {
    let base = u32::from(base) << 16;
    match *registers {
        [register] if steps(by, false) => code.word(single_word(moved, register) | base | 0xB00 | by as u32),
        [low, high] if steps(by, true) => code.word(pair_word(moved.store, low, high) | 0x00A0_0000 | base | (by as u32 / 4)),
        _ => return Err(AddressError::Step { what: format!("{moved:?}"), registers: registers.to_vec(), by }.into()),
    }
    Ok(())
}

/// Writes a load or a store of two words.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn access_pair(store: bool, [low, high]: [u8; 2], place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    match place {
        Place::Near(base, displacement) if float_reaches(displacement.into()) => {
            let up = u32::from(displacement >= 0) << 23;
            code.word(pair_word(store, low, high) | 0x0100_0000 | up | u32::from(base) << 16 | (displacement.unsigned_abs() / 4));
            Ok(())
        }
        _ => Err(AssemblyError::Access { what: "two words".into(), place: format!("{place:?}") }),
    }
}

/// Returns the encoding of LDRD or STRD, without its address.
fn pair_word(store: bool, low: u8, high: u8) -> u32 {
    0xE840_0000 | u32::from(!store) << 20 | u32::from(low) << 12 | u32::from(high) << 8
}
