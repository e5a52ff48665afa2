//! Instructions as bytes: operands in the fields that a row names, in 16 bits where they fit.

use super::registers::{GENERAL, SP, ZERO, is_low};
use super::rows::{self, Number, Row, Short, Slot};
use crate::own::{AssemblyError, Buffer, RowFault};
use regalloc2::PReg;

/// Reference to a constant after the code. There is none: numbers are in instructions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reference {}

/// Code as it grows.
pub(super) type Assembler = Buffer<Reference>;

/// An operand whose register is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    /// A general-purpose register.
    Word(u8),
    /// A register of binary32.
    Single(u8),
    /// A number.
    Number(i32),
}

impl Operand {
    /// The operand of an allocated register.
    pub fn of(register: PReg) -> Self {
        let number = register.hw_enc() as u8;
        if register.class() == GENERAL { Self::Word(number) } else { Self::Single(number) }
    }
}

/// Tells whether a number fits some bits with a sign.
pub(super) fn fits(number: i64, bits: u32) -> bool {
    (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number)
}

fn number(kind: Number, n: i32) -> Option<u32> {
    let bits = n as u32;
    let twelve = fits(n.into(), 12);
    match kind {
        Number::Twelve => twelve.then_some(bits << 20),
        Number::Store => twelve.then_some((bits >> 5) << 25 | (bits & 31) << 7),
        Number::Shift => (bits < 32).then_some(bits << 20),
        Number::Upper => (bits & 0xFFF == 0).then_some(bits),
    }
}

/// The 32 bits of a row's instruction.
///
/// # Errors
/// When the operands are not those of the row.
pub(super) fn encode(row: &Row, operands: &[Operand]) -> Result<u32, AssemblyError> {
    if operands.len() != row.slots.len() {
        return Err(AssemblyError::row(row.name, RowFault::Count(operands.len())));
    }
    let mut word = row.word;
    for (slot, operand) in row.slots.iter().zip(operands) {
        word |= match (*slot, *operand) {
            (Slot::Word(field), Operand::Word(n)) | (Slot::Single(field), Operand::Single(n)) => u32::from(n) << field as u32,
            // x0.
            (Slot::Word(_), Operand::Number(0)) => 0,
            (Slot::Number(kind), Operand::Number(n)) => {
                number(kind, n).ok_or_else(|| AssemblyError::row(row.name, RowFault::Number(n.into())))?
            }
            _ => return Err(AssemblyError::row(row.name, RowFault::Operand(format!("{operand:?}")))),
        };
    }
    Ok(word)
}

/// A register x8 to x15 in three bits.
fn low(register: u8) -> Option<u16> {
    is_low(register).then_some(u16::from(register & 7))
}

/// The result's field of short instructions, which is their first operand, too.
fn result(register: u8) -> u16 {
    u16::from(register) << 7
}

/// Six bits with a sign in their two fields.
fn six(n: i32) -> Option<u16> {
    fits(n.into(), 6).then_some(((n as u16 >> 5) & 1) << 12 | (n as u16 & 31) << 2)
}

/// The bits `from` and above of a number, moved to `to`.
fn bits(n: i32, from: u32, count: u32, to: u32) -> u16 {
    ((n as u32 >> from & ((1 << count) - 1)) << to) as u16
}

/// The 16 bits of a row's instruction, where there are such.
pub(super) fn shorten(row: &Row, operands: &[Operand]) -> Option<u16> {
    use Operand::{Number, Word};
    match (row.short, operands) {
        (Short::Add, &[Word(d), Word(a), Word(b)]) => short_add(d, a, b),
        (Short::Same(word) | Short::Either(word), &[Word(d), Word(a), Word(b)]) if d == a => Some(word | low(d)? << 7 | low(b)? << 2),
        (Short::Either(word), &[Word(d), Word(a), Word(b)]) if d == b => Some(word | low(d)? << 7 | low(a)? << 2),
        (Short::AddNumber, &[Word(d), Word(a), Number(n)]) => short_sum(d, a, n),
        (Short::AddNumber, &[Word(d), Number(0), Number(n)]) if d != ZERO => Some(0x4001 | result(d) | six(n)?),
        (Short::ShiftLeft, &[Word(d), Word(a), Number(n @ 1..32)]) if d == a && d != ZERO => Some(0x0002 | result(d) | bits(n, 0, 5, 2)),
        // Shifts have no sign; all of their numbers fit.
        (Short::Number(word), &[Word(d), Word(a), Number(n)]) if d == a && word != 0x8801 => {
            Some(word | low(d)? << 7 | (1..32).contains(&n).then_some(bits(n, 0, 5, 2))?)
        }
        (Short::Number(word), &[Word(d), Word(a), Number(n)]) if d == a => Some(word | low(d)? << 7 | six(n)?),
        (Short::Upper, &[Word(d), Number(n)]) if d != ZERO && d != SP && n != 0 => Some(0x6001 | result(d) | six(n >> 12)?),
        (Short::Memory(words), &[Word(d) | Operand::Single(d), Number(n), Word(a)]) => short_memory(words, d, a, n),
        _ => None,
    }
}

fn short_add(d: u8, a: u8, b: u8) -> Option<u16> {
    let other = match (d, a, b) {
        (0, _, _) => return None,
        (_, a, b) if d == a => b,
        (_, a, b) if d == b => a,
        _ => return None,
    };
    (other != ZERO).then_some(0x9002 | result(d) | u16::from(other) << 2)
}

fn short_sum(d: u8, a: u8, n: i32) -> Option<u16> {
    match (d, a) {
        (ZERO, _) | (_, ZERO) => None,
        _ if n == 0 => Some(0x8002 | result(d) | u16::from(a) << 2),
        (SP, SP) if n % 16 == 0 && fits(n.into(), 10) && six(n).is_none() => {
            Some(0x6101 | bits(n, 9, 1, 12) | bits(n, 4, 1, 6) | bits(n, 6, 1, 5) | bits(n, 7, 2, 3) | bits(n, 5, 1, 2))
        }
        _ if d == a => Some(0x0001 | result(d) | six(n)?),
        (d, SP) if n % 4 == 0 && (1..1024).contains(&n) => {
            Some(bits(n, 4, 2, 11) | bits(n, 6, 4, 7) | bits(n, 2, 1, 6) | bits(n, 3, 1, 5) | low(d)? << 2)
        }
        _ => None,
    }
}

/// Loads and stores of words.
fn short_memory([near, stack]: [u16; 2], register: u8, base: u8, n: i32) -> Option<u16> {
    if n % 4 != 0 || n < 0 {
        return None;
    }
    let is_store = near & 0x8000 != 0;
    if base != SP {
        let place = bits(n, 3, 3, 10) | bits(n, 2, 1, 6) | bits(n, 6, 1, 5);
        return (n < 128).then_some(near | place | low(base)? << 7 | low(register)? << 2);
    }
    // C.LWSP cannot load x0, which nothing loads.
    match is_store {
        _ if n >= 256 => None,
        true => Some(stack | bits(n, 2, 4, 9) | bits(n, 6, 2, 7) | u16::from(register) << 2),
        false => Some(stack | bits(n, 5, 1, 12) | bits(n, 2, 3, 4) | bits(n, 6, 2, 2) | result(register)),
    }
}

impl Assembler {
    /// 16 bits.
    pub(super) fn half(&mut self, half: u16) {
        self.bytes.extend(half.to_le_bytes());
    }

    /// 32 bits.
    pub(super) fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_le_bytes());
    }

    /// A row's instruction, in 16 bits where that is possible.
    ///
    /// # Errors
    /// As for [`encode`].
    pub(super) fn row(&mut self, row: &Row, operands: &[Operand]) -> Result<(), AssemblyError> {
        match shorten(row, operands) {
            Some(half) => self.half(half),
            None => self.word(encode(row, operands)?),
        }
        Ok(())
    }

    /// A copy of a register.
    pub(super) fn copy(&mut self, to: u8, from: u8) -> Result<(), AssemblyError> {
        if to == from {
            return Ok(());
        }
        self.row(&rows::ADD_NUMBER, &[Operand::Word(to), Operand::Word(from), Operand::Number(0)])
    }

    /// A copy of a register of binary32.
    pub(super) fn copy_single(&mut self, to: u8, from: u8) -> Result<(), AssemblyError> {
        if to == from {
            return Ok(());
        }
        self.row(&rows::FSGNJ, &[Operand::Single(to), Operand::Single(from), Operand::Single(from)])
    }

    /// A number in a register: LUI for what is above twelve bits, ADDI for these.
    pub(super) fn constant(&mut self, to: u8, number: i32) -> Result<(), AssemblyError> {
        let to = Operand::Word(to);
        let [high, low] = halves(number);
        if high == 0 {
            return self.row(&rows::ADD_NUMBER, &[to, Operand::Number(0), Operand::Number(low)]);
        }
        self.row(&rows::LUI, &[to, Operand::Number(high)])?;
        if low == 0 { Ok(()) } else { self.row(&rows::ADD_NUMBER, &[to, to, Operand::Number(low)]) }
    }
}

/// A number as a sum of one that LUI makes and one of twelve bits with a sign.
pub(super) fn halves(number: i32) -> [i32; 2] {
    let low = number << 20 >> 20;
    [number.wrapping_sub(low), low]
}
