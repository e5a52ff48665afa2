//! Encoding of instructions: a row defines the fields of the operands. The 16-bit form is used if the operands fit.

use super::rows::{Number, Row, Short, Single, Slot};
pub(super) use crate::arm::Flags;
use crate::own::{AssemblyError, Buffer, RowFault};
use std::convert::Infallible;

/// Buffer of emitted code. No instruction refers to a constant after the code: constants are in instructions.
pub(super) type Assembler = Buffer<Infallible>;

/// An operand with a known register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    /// A general-purpose register.
    Word(u8),
    /// A binary32 register.
    Single(u8),
    /// A binary64 register.
    Double(u8),
    /// A vector register.
    Vector(u8),
    /// A number.
    Number(i32),
}

/// Returns the field of a number of twelve bits, which has three parts.
pub(super) fn twelve(bits: u32) -> u32 {
    (bits >> 11 & 1) << 26 | (bits >> 8 & 7) << 12 | bits & 0xFF
}

/// Returns the field of a constant that is a byte, repeated or shifted. `None` for other constants.
pub(super) fn modified(number: i32) -> Option<u32> {
    let number = number as u32;
    let byte = number & 0xFF;
    let second = number >> 8 & 0xFF;
    let bits = match number {
        _ if number == byte => byte,
        _ if number == byte * 0x0001_0001 => 0x100 | byte,
        _ if number == second * 0x0100_0100 => 0x200 | second,
        _ if number == byte * 0x0101_0101 => 0x300 | byte,
        _ => {
            let turn = (8..32).find(|&turn| (0x80..0x100).contains(&number.rotate_left(turn)))?;
            turn << 7 | number.rotate_left(turn) & 0x7F
        }
    };
    Some(twelve(bits))
}

/// Returns the field of a binary32 register.
pub(super) fn single(field: Single, n: u8) -> u32 {
    let (high, low) = (u32::from(n >> 1), u32::from(n & 1));
    match field {
        Single::D => high << 12 | low << 22,
        Single::N => high << 16 | low << 7,
        Single::M => high | low << 5,
    }
}

/// Returns the field of a binary64 register. The lowest bit of its number is beside the others.
pub(super) fn double(field: Single, n: u8) -> u32 {
    single(field, 2 * n)
}

/// Returns the field of a vector register.
pub(super) fn vector(field: Single, n: u8) -> u32 {
    let shift = match field {
        Single::D => 13,
        Single::N => 17,
        Single::M => 1,
    };
    u32::from(n) << shift
}

fn number(kind: Number, n: i32) -> Option<u32> {
    let small = |limit: i32| (0..limit).contains(&n).then_some(n as u32);
    Some(match kind {
        Number::Modified => modified(n)?,
        Number::Twelve => twelve(small(1 << 12)?),
        Number::Shift => {
            let count = small(32)?;
            (count >> 2) << 12 | (count & 3) << 6
        }
        Number::Five => small(32)?,
        Number::Left => small(32)? << 16,
        Number::Right => (1..33).contains(&n).then_some((32 - n as u32) << 16)?,
    })
}

/// Returns the 32-bit encoding of a row, with the first halfword in the upper half.
///
/// # Errors
/// A message if the operands do not fit the row.
pub(super) fn encode(row: &Row, operands: &[Operand]) -> Result<u32, AssemblyError> {
    if operands.len() != row.slots.len() {
        return Err(AssemblyError::row(row.name, RowFault::Count(operands.len())));
    }
    let mut word = row.word;
    for (slot, operand) in row.slots.iter().zip(operands) {
        word |= match (*slot, *operand) {
            (Slot::Word(field), Operand::Word(n)) => u32::from(n) << field as u32,
            (Slot::Twice(a, b), Operand::Word(n)) => u32::from(n) << a as u32 | u32::from(n) << b as u32,
            (Slot::Even(field), Operand::Word(n)) if n % 2 == 0 => u32::from(n) << field as u32,
            (Slot::Single(field), Operand::Single(n)) => single(field, n),
            (Slot::Double(field), Operand::Double(n @ 0..16)) => double(field, n),
            (Slot::Vector(field), Operand::Vector(n)) => vector(field, n),
            (Slot::Number(kind), Operand::Number(n)) => {
                number(kind, n).ok_or_else(|| AssemblyError::row(row.name, RowFault::Number(n.into())))?
            }
            _ => return Err(AssemblyError::row(row.name, RowFault::Operand(format!("{operand:?}")))),
        };
    }
    Ok(word)
}

/// Returns the 16-bit encoding of a row, if these operands have one.
pub(super) fn shorten(row: &Row, operands: &[Operand]) -> Option<u16> {
    use Operand::{Number, Word};
    let low = |n: u8| (n < 8).then_some(u16::from(n));
    let bits = |n: i32, limit: i32| (0..limit).contains(&n).then_some(n as u16);
    Some(match (row.short, operands) {
        (Short::Two(word), &[Word(d), Word(m)]) => word | low(m)? << 3 | low(d)?,
        (Short::Three(word), &[Word(d), Word(n), Word(m)]) if d.max(n).max(m) < 8 => {
            word | u16::from(m) << 6 | u16::from(n) << 3 | u16::from(d)
        }
        // ADD with one register as result and operand. It takes any registers and sets no flags.
        (Short::Three(0x1800), &[Word(d), Word(n), Word(m)]) if row.pure && (d == n || d == m) => {
            let other = if d == n { m } else { n };
            0x4400 | u16::from(d >> 3) << 7 | u16::from(other) << 3 | u16::from(d & 7)
        }
        (Short::Same(word) | Short::Either(word), &[Word(d), Word(n), Word(m)]) if d == n => word | low(m)? << 3 | low(d)?,
        (Short::Either(word), &[Word(d), Word(n), Word(m)]) if d == m => word | low(n)? << 3 | low(d)?,
        (Short::Shift(word), &[Word(d), Word(m), Number(count)]) => word | bits(count, 32)? << 6 | low(m)? << 3 | low(d)?,
        (Short::Small(_, word), &[Word(d), Word(n), Number(number)]) if d == n => word | low(d)? << 8 | bits(number, 256)?,
        (Short::Small(word, _), &[Word(d), Word(n), Number(number)]) => word | bits(number, 8)? << 6 | low(n)? << 3 | low(d)?,
        _ => return None,
    })
}

impl Assembler {
    /// Writes a halfword.
    pub(super) fn half(&mut self, half: u16) {
        self.bytes.extend(half.to_le_bytes());
    }

    /// Writes two halfwords, the upper one first.
    pub(super) fn word(&mut self, word: u32) {
        self.half((word >> 16) as u16);
        self.half(word as u16);
    }

    /// Writes a row's instruction, in 16 bits if possible.
    ///
    /// # Errors
    /// The errors of [`encode`].
    pub(super) fn row(&mut self, row: &Row, operands: &[Operand]) -> Result<(), AssemblyError> {
        match shorten(row, operands) {
            Some(half) => self.half(half),
            None => self.word(encode(row, operands)?),
        }
        Ok(())
    }
}
