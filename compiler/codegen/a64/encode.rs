//! Encoding of instructions: operands go to the fields that a row names. The source is Arm's Architecture Reference Manual for A-profile, chapter C4.

use super::rows::{Number, Row, Size, Sized, Slot};
pub(super) use crate::arm::Flags;
use crate::own::{AddressError, AssemblyError, Buffer, NumberError, RowFault};

/// The code under construction. Constants are loaded by their distance from the instruction.
pub(super) type Assembler = Buffer<()>;

/// An operand with a physical register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    /// A vector register.
    Vector(u8),
    /// A general-purpose register.
    General(u8),
    /// An immediate.
    Number(i64),
}

/// Encodes a row's instruction.
///
/// # Errors
/// A sentence if the operands do not fit the row.
pub(super) fn encode(row: &Row, size: Size, operands: &[Operand]) -> Result<u32, AssemblyError> {
    if !row.has(size) {
        return Err(AssemblyError::row(row.name, RowFault::Lanes(format!("{size:?}"))));
    }
    if operands.len() != row.slots.len() {
        return Err(AssemblyError::row(row.name, RowFault::Count(operands.len())));
    }
    let mut word = row.word | lanes(row.sized, size);
    if row.sized == Sized::Numbered && !row.slots.iter().any(|slot| matches!(slot, Slot::Number(_))) {
        word |= 1 << (16 + size as u32);
    }
    // A 64-bit result needs the bit for whole registers.
    if row.name == "umov" && size == Size::D {
        word |= 1 << 30;
    }
    for (slot, operand) in row.slots.iter().zip(operands) {
        word |= match (*slot, *operand) {
            (Slot::Vector(field), Operand::Vector(n)) | (Slot::General(field), Operand::General(n)) => u32::from(n) << field as u32,
            (Slot::Number(kind), Operand::Number(n)) => {
                number(kind, size, n).ok_or_else(|| AssemblyError::row(row.name, RowFault::Number(n)))?
            }
            _ => return Err(AssemblyError::row(row.name, RowFault::Operand(format!("{operand:?}")))),
        };
    }
    Ok(word)
}

fn lanes(sized: Sized, size: Size) -> u32 {
    match sized {
        Sized::Fixed | Sized::Numbered => 0,
        Sized::Integer => (size as u32) << 22,
        Sized::Float => u32::from(size == Size::D) << 22,
        Sized::Narrow => u32::from(size == Size::S) << 22,
    }
}

/// Encodes an immediate in its field, if it fits.
fn number(kind: Number, size: Size, n: i64) -> Option<u32> {
    let bits = size.bits();
    let n = u32::try_from(n).ok()?;
    let below = |limit: u32| (n < limit).then_some(n);
    let lane = || below(128 / bits);
    Some(match kind {
        Number::Left => (bits + below(bits)?) << 16,
        Number::Right => (2 * bits - (1..=bits).contains(&n).then_some(n)?) << 16,
        Number::Lane => (2 * lane()? + 1) << (16 + size as u32),
        Number::Element if size == Size::D => below(2)? << 11,
        Number::Element => (below(4)? & 1) << 21 | n >> 1 << 11,
        Number::Byte => below(16)? << 11,
        Number::Twelve => below(1 << 12)? << 10,
        Number::Shift => below(64)? << 10,
        Number::FieldStart => below(64)? << 16,
        Number::FieldEnd => below(64)? << 10,
    })
}

/// A place in memory, with physical registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A base, where 31 is the stack pointer, and a displacement in bytes.
    Near(u8, i32),
    /// A base, an index, and the shift of the index.
    Indexed(u8, u8, u8),
    /// An offset in the constants behind the code.
    Pool(u32),
}

/// A transfer between a register and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moved {
    /// `true` for a vector register.
    pub vector: bool,
    /// Bytes, a power of two up to 16.
    pub bytes: u32,
    /// `true` for a store.
    pub store: bool,
    /// `true` if a load extends the sign to a whole general-purpose register.
    pub signed: bool,
}

impl Moved {
    /// Returns the bits of the transfer in all encodings except loads of constants.
    fn word(self) -> u32 {
        let opcode = match self {
            Self { bytes: 16, store, .. } => 2 | u32::from(!store),
            Self { store: true, .. } => 0,
            Self { signed: true, .. } => 2,
            Self { .. } => 1,
        };
        let size = if self.bytes == 16 { 0 } else { self.bytes.trailing_zeros() };
        size << 30 | u32::from(self.vector) << 26 | opcode << 22
    }
}

/// Tests whether an access of this number of bytes has the displacement.
pub(super) fn reaches(bytes: u32, displacement: i64) -> bool {
    let unit = i64::from(bytes);
    (-256..256).contains(&displacement) || displacement % unit == 0 && (0..4096 * unit).contains(&displacement)
}

/// Writes a load or a store.
///
/// # Errors
/// A sentence if there is no such instruction.
pub(super) fn access(moved: Moved, register: u8, place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    let word = moved.word() | u32::from(register);
    let scaled = |displacement: i32| {
        let units = u32::try_from(displacement).ok().filter(|displacement| displacement.is_multiple_of(moved.bytes))? / moved.bytes;
        (units < 4096).then_some(units << 10)
    };
    let word = match place {
        Place::Near(base, displacement) if scaled(displacement).is_some() => {
            0x3900_0000 | word | scaled(displacement).unwrap_or(0) | u32::from(base) << 5
        }
        Place::Near(base, displacement) if (-256..256).contains(&displacement) => {
            0x3800_0000 | word | (displacement as u32 & 0x1FF) << 12 | u32::from(base) << 5
        }
        Place::Indexed(base, index, shift) if shift == 0 || 1 << shift == moved.bytes => {
            0x3820_6800 | word | u32::from(index) << 16 | u32::from(shift > 0) << 12 | u32::from(base) << 5
        }
        Place::Pool(offset) => return load_constant(moved, register, offset, code),
        _ => return Err(AssemblyError::access(moved, place)),
    };
    code.word(word);
    Ok(())
}

/// Writes a load or a store of two whole vector registers.
///
/// # Errors
/// A sentence if there is no such instruction.
pub(super) fn access_pair([first, second]: [u32; 2], place: Place, store: bool, code: &mut Assembler) -> Result<(), AssemblyError> {
    let opcode = if store { 0xAD00_0000 } else { 0xAD40_0000 };
    match place {
        Place::Near(base, displacement) if displacement % 16 == 0 && (-1024..1024).contains(&displacement) => {
            let field = (displacement / 16) as u32 & 0x7F;
            code.word(opcode | field << 15 | second << 10 | u32::from(base) << 5 | first);
            Ok(())
        }
        _ => Err(AssemblyError::Access { what: "two registers".into(), place: format!("{place:?}") }),
    }
}

/// Writes LD4R of 64-bit elements.
///
/// # Errors
/// [`AssemblyError::Access`] if the registers are no neighbours, or the address is not a register.
pub(super) fn load_four(registers: [u32; 4], place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    let first = registers[0];
    let are_neighbours = registers.iter().zip(0..).all(|(&register, i)| register == (first + i) % 32);
    match place {
        Place::Near(base, 0) if are_neighbours => {
            code.word(0x4D60_EC00 | u32::from(base) << 5 | first);
            Ok(())
        }
        _ => Err(AssemblyError::access(registers, place)),
    }
}

fn load_constant(moved: Moved, register: u8, offset: u32, code: &mut Assembler) -> Result<(), AssemblyError> {
    let word = match moved {
        Moved { vector: true, bytes: 4, store: false, .. } => 0x1C00_0000,
        Moved { vector: true, bytes: 8, store: false, .. } => 0x5C00_0000,
        Moved { vector: true, bytes: 16, store: false, .. } => 0x9C00_0000,
        _ => return Err(AddressError::AmongConstants(format!("{moved:?}")).into()),
    };
    code.name_constant(code.bytes.len(), (), offset);
    code.word(word | u32::from(register));
    Ok(())
}

impl Assembler {
    /// Writes a word.
    pub(super) fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_le_bytes());
    }

    /// Loads a constant into a general-purpose register, by its 16-bit parts that are not all zeros, or not all ones.
    pub(super) fn constant(&mut self, to: u8, number: i64) {
        let parts = |bits: u64| (0..4u32).map(move |i| (i, (bits >> (16 * i) & 0xFFFF) as u32)).filter(|part| part.1 != 0);
        let (bits, flipped) = (number as u64, !number as u64);
        let inverted = parts(flipped).count() < parts(bits).count();
        let (first, chosen) = if inverted { (0x9280_0000, flipped) } else { (0xD280_0000, bits) };
        let mut list = parts(chosen);
        let (place, part) = list.next().unwrap_or((0, 0));
        self.word(first | place << 21 | part << 5 | u32::from(to));
        for (place, part) in list {
            let part = if inverted { !part & 0xFFFF } else { part };
            self.word(0xF280_0000 | place << 21 | part << 5 | u32::from(to));
        }
    }

    /// Adds a constant below 2²⁴ to a register; 31 is the stack pointer.
    pub(super) fn add_number(&mut self, to: u8, from: u8, number: i64) -> Result<(), AssemblyError> {
        let (near, far) = if number < 0 { (0xD100_0000, 0xD140_0000u32) } else { (0x9100_0000, 0x9140_0000u32) };
        let magnitude = u32::try_from(number.unsigned_abs()).ok().filter(|&n| n < 1 << 24).ok_or(NumberError::Sum)?;
        let (low, high) = (magnitude & 0xFFF, magnitude >> 12);
        if high > 0 {
            self.word(far | high << 10 | u32::from(from) << 5 | u32::from(to));
        }
        if low > 0 || high == 0 {
            let from = if high > 0 { to } else { from };
            self.word(near | low << 10 | u32::from(from) << 5 | u32::from(to));
        }
        Ok(())
    }
}
