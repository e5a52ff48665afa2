//! Loads, stores and computations of addresses. Displacements are up to 31 units, and an address has a displacement or an index.

use crate::own::{Address, AddressError, AssemblyError, Base};
use crate::thumb::access::{Moved, Place, short_access};
use crate::thumb::encode::{Assembler, Operand};
use crate::thumb::ops::extension;
use crate::thumb::registers::SP;
use crate::thumb::rows;

/// Tests whether accesses to a number of bytes, one unit each, can have a displacement.
pub(super) fn reaches(displacement: i32, unit: u32, bytes: u32) -> bool {
    let unit = unit as i32;
    displacement >= 0 && displacement % unit == 0 && displacement / unit + bytes as i32 / unit <= 32
}

/// Tests whether computing an address takes several steps, of which not the last one alone reads registers.
pub(super) fn address_in_sums(address: &Address) -> bool {
    match (address.base, address.index) {
        (Base::Register(_), None) => address.displacement.unsigned_abs() >= 256,
        (Base::Register(_), Some((_, shift))) => shift > 0 || address.displacement != 0,
        (_, index) => index.is_some(),
    }
}

/// Writes a load or a store.
///
/// # Errors
/// A message if no instruction has these operands.
pub(super) fn access(moved: Moved, register: u8, place: Place, code: &mut Assembler) -> Result<(), AssemblyError> {
    if let Some(half) = short_access(moved, register, place) {
        code.half(half);
        return Ok(());
    }
    match place {
        // A load from far on the stack computes the address in its own register.
        Place::Near(SP, displacement) if moved.bytes == 4 && !moved.store => {
            code.stack_address(register, displacement)?;
            access(moved, register, Place::Near(register, 0), code)
        }
        // Loads with a displacement set the upper bits to zeros.
        Place::Near(..) if moved.signed && !moved.store => {
            access(Moved { signed: false, ..moved }, register, place, code)?;
            code.short(extension(8 * moved.bytes, true), &[register, register].map(Operand::Word))
        }
        _ => Err(AssemblyError::Access { what: format!("{moved:?} of r{register}"), place: format!("{place:?}") }),
    }
}

/// Writes the computation of an address.
///
/// # Errors
/// A message if the address has too many parts.
pub(super) fn compute(to: u8, place: (Place, i32), code: &mut Assembler) -> Result<(), AssemblyError> {
    match place {
        (Place::Near(SP, displacement), _) => code.stack_address(to, displacement),
        (Place::Near(base, displacement @ -255..256), _) => code.add_byte(to, base, displacement),
        (Place::Near(base, displacement), _) => {
            code.build(to, displacement)?;
            code.accumulate(to, base);
            Ok(())
        }
        (Place::Indexed(SP, index, 0), displacement) => {
            code.stack_address(to, displacement)?;
            code.accumulate(to, index);
            Ok(())
        }
        (Place::Indexed(base, index, 0), 0) => sum(to, [base, index], code),
        (Place::Indexed(base, index, 0), displacement) => {
            code.build(to, displacement)?;
            code.accumulate(to, base);
            code.accumulate(to, index);
            Ok(())
        }
        (Place::Indexed(base, index, shift), 0) if base != SP => {
            code.short(&rows::LSL_NUMBER, &[Operand::Word(to), Operand::Word(index), Operand::Number(shift.into())])?;
            code.accumulate(to, base);
            Ok(())
        }
        other => Err(AddressError::Other(format!("{other:?}")).into()),
    }
}

/// Writes the sum of any two registers.
pub(super) fn sum(to: u8, [a, b]: [u8; 2], code: &mut Assembler) -> Result<(), AssemblyError> {
    if to.max(a).max(b) < 8 {
        return code.short(&rows::ADD, &[to, a, b].map(Operand::Word));
    }
    if to == b {
        code.accumulate(to, a);
    } else {
        code.copy(to, a);
        code.accumulate(to, b);
    }
    Ok(())
}
