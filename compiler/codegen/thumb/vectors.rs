//! Loads, stores and moves of vector registers (Armv8.1-M, MVE).

use super::access::Place;
use super::encode::{Assembler, Flags, vector};
use super::rows::Single;
use crate::own::words::Element;
use crate::own::{AddressError, AssemblyError, Missing};

/// Type of a load or a store of a vector register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Vector {
    /// The element.
    pub element: Element,
    /// `true` for a store.
    pub store: bool,
    /// The elements that it moves.
    pub part: Part,
}

/// Elements of a vector register that an access moves. A load sets the others to zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// All of them.
    Whole,
    /// The first ones. A register holds their number.
    First,
    /// The first ones, as many as in the last access that counted them.
    SameFirst,
}

impl Vector {
    /// A load of bytes, which reaches least.
    pub const BYTES: Self = Self { element: Element::Byte, store: false, part: Part::Whole };

    /// Tests whether the last operand is the number of elements.
    pub fn has_count(self) -> bool {
        self.part == Part::First
    }

    /// Returns the exponent of the bytes of a counted element in the register.
    pub fn counted_size(self) -> u32 {
        if self.element == Element::Byte { 0 } else { 2 }
    }

    /// Tests whether accesses have a displacement, or add it to their base.
    pub fn reaches(self, displacement: i32) -> bool {
        let bytes = self.element.bytes();
        displacement % bytes == 0 && (-127..128).contains(&(displacement / bytes))
    }

    /// Tests whether memory has fewer bytes than the register. Such accesses have r0 to r7 as base.
    pub fn is_of_lanes(self) -> bool {
        matches!(self.element, Element::ByteOfLane | Element::HalfOfLane)
    }
}

/// Returns the encoding of an access, without its mode.
fn word(Vector { element, store, .. }: Vector, register: u8, base: u8, displacement: i32) -> u32 {
    let kind = match element {
        Element::Byte => 0xEC00_1E00,
        Element::Word => 0xEC00_1F00,
        Element::ByteOfLane => 0xEC00_0F00,
        Element::HalfOfLane => 0xEC08_0F00,
    };
    let up = u32::from(displacement >= 0) << 23;
    let units = displacement.unsigned_abs() / element.bytes() as u32;
    kind | up | u32::from(!store) << 20 | u32::from(base) << 16 | vector(Single::D, register) | units
}

/// Writes a load or a store.
///
/// # Errors
/// [`AssemblyError::Access`] if no instruction has these operands.
pub(super) fn access_vector(moved: Vector, register: u8, place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    match place {
        Place::Near(base, displacement) if moved.reaches(displacement) && (base < 8 || !moved.is_of_lanes()) => {
            code.word(word(moved, register, base, displacement) | 1 << 24);
            Ok(())
        }
        _ => Err(AssemblyError::access(moved, place)),
    }
}

/// Writes a load or a store that adds to its base afterwards.
///
/// # Errors
/// [`AddressError::Step`] if no instruction has these operands.
pub(super) fn step_vector(moved: Vector, register: u8, (base, by): (u8, i32), code: &mut Assembler) -> Result<(), AssemblyError> {
    if !moved.reaches(by) || moved.is_of_lanes() && base > 7 {
        return Err(AddressError::Step { what: format!("{moved:?}"), registers: vec![register], by }.into());
    }
    code.word(word(moved, register, base, by) | 1 << 21);
    Ok(())
}

/// Writes VCTP, which counts elements, and VPST, by which the next instruction accesses only these.
pub(super) fn predicate(moved: Vector, count: Option<u8>, code: &mut Assembler) {
    if let Some(count) = count {
        code.word(0xF000_E801 | moved.counted_size() << 20 | u32::from(count) << 16);
    }
    if moved.part != Part::Whole {
        code.word(0xFE71_0F4D);
    }
}

/// Writes VCMP of two registers, and VPSEL of two others by its result.
///
/// # Errors
/// [`AssemblyError::Missing`] if no instruction compares so.
pub(super) fn choose_lanes(flags: Flags, [to, yes, no]: [u8; 3], [a, b]: [u8; 2], code: &mut Assembler) -> Result<(), AssemblyError> {
    let condition = match flags {
        Flags::Equal => 0,
        Flags::NotEqual => 0x80,
        Flags::GreaterOrEqual => 0x1000,
        Flags::Less => 0x1080,
        Flags::Greater => 0x1001,
        Flags::LessOrEqual => 0x1081,
        _ => return Err(Missing::Compared.into()),
    };
    code.word(0xFE21_0F00 | condition | vector(Single::N, a) | vector(Single::M, b));
    code.word(0xFE31_0F01 | vector(Single::D, to) | vector(Single::N, yes) | vector(Single::M, no));
    Ok(())
}

impl Assembler {
    /// Writes VMOV from a vector register to another one: VORR with itself.
    pub(super) fn copy_vector(&mut self, to: u8, from: u8) {
        self.word(0xEF20_0150 | vector(Single::D, to) | vector(Single::N, from) | vector(Single::M, from));
    }
}
