//! The attributes of RISC-V objects (psABI, "Attributes"): the instruction set for linkers, loaders and disassemblers. `e_flags` has no bit
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

/// Levels with a section, and their architectures. Code for rv64gc has none, because it runs wherever such objects run.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("rv64gcv", RV64GCV),
    ("rv32imc", "rv32i2p1_m2p0_c2p0"),
    ("rv32imac", "rv32i2p1_m2p0_a2p1_c2p0"),
    ("rv32imafc", "rv32i2p1_m2p0_a2p1_f2p2_c2p0_zicsr2p0"),
];

/// Returns the section of an object whose levels are all one of these; `None` for others.
pub fn attributes(levels: &[&str]) -> Option<Vec<u8>> {
    let (name, architecture) = ARCHITECTURES.iter().find(|(name, _)| levels.first() == Some(name))?;
    levels.iter().all(|level| level == name).then(|| section(architecture))
}

fn section(architecture: &str) -> Vec<u8> {
    let mut tags = vec![TAG_STACK_ALIGN, STACK_ALIGNMENT, TAG_ARCH];
    tags.extend(architecture.bytes().chain([0]));
    arm::section(b"riscv\0", &tags)
}
