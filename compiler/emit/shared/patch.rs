//! Distances in instructions and data. The formulas are from the psABIs of the three instruction sets.

use crate::codegen::RelocationKind;

/// Bytes of a page of aarch64's ADRP, independent of the pages of memory.
const ADRP_PAGE: u64 = 4096;

/// Writes the distance to `target` into the instruction at `at`, whose own address is `place`. For the lower part of a distance on riscv64, `place`
/// is the address of the instruction with the upper part. `None` if the distance does not fit.
pub fn patch(kind: RelocationKind, code: &mut [u8], at: usize, target: u64, place: u64) -> Option<()> {
    let distance = target.wrapping_sub(place).cast_signed();
    match kind {
        RelocationKind::X86Relative
        | RelocationKind::X86Call
        | RelocationKind::X86Distance
        | RelocationKind::Aarch64Distance
        | RelocationKind::RiscvDistance => {
            let field = code.get_mut(at..at + 4)?;
            field.copy_from_slice(&i32::try_from(distance).ok()?.to_le_bytes());
        }
        RelocationKind::Aarch64Call => {
            let instructions = distance >> 2;
            (distance % 4 == 0 && fits(instructions, 26)).then_some(())?;
            set(code, at, 0x03ff_ffff, instructions as u32)?;
        }
        RelocationKind::Aarch64Page => {
            let pages = (target / ADRP_PAGE).wrapping_sub(place / ADRP_PAGE).cast_signed();
            fits(pages, 21).then_some(())?;
            let pages = pages as u32;
            set(code, at, 0x60ff_ffe0, (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5)?;
        }
        RelocationKind::Aarch64PageOffset => set(code, at, 0xfff << 10, ((target % ADRP_PAGE) as u32) << 10)?,
        RelocationKind::RiscvCall => {
            set(code, at, UPPER, upper(distance)?)?;
            set(code, at + 4, LOWER, lower(distance))?;
        }
        RelocationKind::RiscvHigh => set(code, at, UPPER, upper(distance)?)?,
        RelocationKind::RiscvLow => set(code, at, LOWER, lower(distance))?,
        // No library has these relocations.
        RelocationKind::ThumbCall | RelocationKind::ThumbLow | RelocationKind::ThumbHigh | RelocationKind::ThumbDistance => return None,
    }
    Some(())
}

/// The bits of AUIPC's immediate.
const UPPER: u32 = 0xffff_f000;
/// The bits of a 12-bit immediate.
const LOWER: u32 = 0xfff0_0000;

/// Returns the upper part of a distance, rounded so that the signed lower part completes it.
fn upper(distance: i64) -> Option<u32> {
    let rounded = distance.checked_add(0x800)?;
    fits(rounded >> 12, 20).then_some(rounded as u32 & UPPER)
}

fn lower(distance: i64) -> u32 {
    (distance as u32) << 20
}

fn fits(number: i64, bits: u32) -> bool {
    (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number)
}

/// Replaces some bits of an instruction.
fn set(code: &mut [u8], at: usize, bits: u32, value: u32) -> Option<()> {
    let field: &mut [u8; 4] = code.get_mut(at..at + 4)?.try_into().ok()?;
    *field = (u32::from_le_bytes(*field) & !bits | value & bits).to_le_bytes();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(kind: RelocationKind, instruction: u32, target: u64, place: u64) -> Option<u32> {
        let mut code = instruction.to_le_bytes();
        patch(kind, &mut code, 0, target, place).map(|()| u32::from_le_bytes(code))
    }

    /// The encodings are from the GNU assembler and linker.
    #[test]
    fn distances_are_where_the_instructions_have_them() {
        use RelocationKind::*;
        for kind in [X86Relative, X86Distance, Aarch64Distance, RiscvDistance] {
            assert_eq!(patched(kind, 0, 0x1000, 0x2000), Some(0xffff_f000), "{kind:?}");
        }
        assert_eq!(patched(Aarch64Call, 0x9400_0000, 0x1000, 0x2000), Some(0x97ff_fc00), "bl .-4096");
        assert_eq!(patched(Aarch64Page, 0x9000_0010, 0x1_5678, 0x2_1234), Some(0x90ff_ffb0), "adrp x16, .-12 pages");
        assert_eq!(patched(Aarch64Page, 0x9000_0000, 0x3000, 0x2ff0), Some(0xb000_0000), "adrp x0, .+1 page");
        assert_eq!(patched(Aarch64PageOffset, 0x9100_0210, 0x1_5678, 0), Some(0x9119_e210), "add x16, x16, #0x678");
        assert_eq!(patched(RiscvHigh, 0x0000_0517, 0x2900, 0x1000), Some(0x0000_2517), "auipc a0, 2");
        assert_eq!(patched(RiscvLow, 0x0005_0513, 0x2900, 0x1000), Some(0x9005_0513), "addi a0, a0, -1792");
    }

    #[test]
    fn distances_that_do_not_fit_are_refused() {
        use RelocationKind::*;
        for (kind, reach) in [(X86Call, 1 << 31), (Aarch64Call, 1 << 27), (Aarch64Page, 1 << 32), (RiscvHigh, (1 << 31) - 0x800)] {
            let base = 1 << 40;
            assert_eq!(patched(kind, 0, base + reach, base), None, "{kind:?}");
            assert!(patched(kind, 0, base + reach - 4, base).is_some(), "{kind:?}");
            assert!(patched(kind, 0, base - reach, base).is_some(), "{kind:?}");
        }
    }
}
