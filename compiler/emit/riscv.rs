//! The attributes of riscv64 objects (psABI, "Attributes"): the instruction set for linkers, loaders and disassemblers. `e_flags` has no bit
//! for vectors.

use super::arm;

/// The section's name.
pub const SECTION: &str = ".riscv.attributes";
/// RV64GCV with all implied extensions, in the order and the versions of the ISA manual.
const RV64GCV: &str = "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_v1p0_zicsr2p0_zifencei2p0_\
    zve32f1p0_zve32x1p0_zve64d1p0_zve64f1p0_zve64x1p0_zvl128b1p0_zvl32b1p0_zvl64b1p0";
const TAG_STACK_ALIGN: u8 = 4;
const TAG_ARCH: u8 = 5;
const STACK_ALIGNMENT: u8 = 16;

/// Returns the section of an object whose levels all need the V extension; `None` for others, which run wherever rv64gc objects run.
pub fn attributes(levels: &[&str]) -> Option<Vec<u8>> {
    levels.iter().all(|&level| level == "rv64gcv").then(|| section(RV64GCV))
}

fn section(architecture: &str) -> Vec<u8> {
    let mut tags = vec![TAG_STACK_ALIGN, STACK_ALIGNMENT, TAG_ARCH];
    tags.extend(architecture.bytes().chain([0]));
    arm::section(b"riscv\0", &tags)
}
