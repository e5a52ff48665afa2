//! The build attributes of objects for Arm's M profile ("Addenda to, and Errata in, the ABI for the Arm Architecture"), which linkers compare.
//!
//! Entries have no float parameters, so objects fit programs with any float ABI.

use crate::codegen::thumb;
use crate::kernel::Lane;
use crate::machine::{Extension, machine};
use crate::program::Program;

/// The section's name.
pub const SECTION: &str = ".ARM.attributes";

const TAG_FILE: u8 = 1;
const TAG_CPU_ARCH: u8 = 6;
const TAG_CPU_ARCH_PROFILE: u8 = 7;
const TAG_THUMB_ISA_USE: u8 = 9;
const TAG_FP_ARCH: u8 = 10;
const TAG_ABI_ALIGN_PRESERVED: u8 = 25;
const TAG_ABI_HARD_FP_USE: u8 = 27;
const TAG_ABI_VFP_ARGS: u8 = 28;
const TAG_CPU_UNALIGNED_ACCESS: u8 = 34;
const TAG_MVE_ARCH: u8 = 48;

/// The value of [`TAG_ABI_HARD_FP_USE`] for binary32 alone.
const SINGLE: u8 = 1;
/// Armv8.1-M with the main extension.
const V81M: u8 = 21;

/// Properties of an architecture in the attributes.
struct Architecture {
    levels: &'static [&'static str],
    architecture: u8,
    /// The floating-point unit: VFPv4 or Armv8's, each with 16 registers of 64 bits.
    floats: u8,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture { levels: &["cortex-m0", "cortex-m0plus"], architecture: 12, floats: 0 },
    Architecture { levels: &["cortex-m23"], architecture: 16, floats: 0 },
    Architecture { levels: &["cortex-m3"], architecture: 10, floats: 0 },
    Architecture { levels: &["cortex-m4"], architecture: 13, floats: 0 },
    Architecture { levels: &["cortex-m4f"], architecture: 13, floats: 6 },
    Architecture { levels: &["cortex-m7", "cortex-m7+dp"], architecture: 13, floats: 8 },
    Architecture { levels: &["cortex-m7+nofp"], architecture: 13, floats: 0 },
    Architecture { levels: &["cortex-m33", "cortex-m33+nodsp"], architecture: 17, floats: 8 },
    Architecture { levels: &["cortex-m33+nofp", "cortex-m33+nodsp+nofp"], architecture: 17, floats: 0 },
    Architecture { levels: &["cortex-m55", "cortex-m85"], architecture: V81M, floats: 8 },
    Architecture { levels: &["cortex-m55+nofp", "cortex-m85+nofp"], architecture: V81M, floats: 0 },
];

/// Returns the section of an object for a level.
pub fn attributes(level: &str, program: &Program) -> Option<Vec<u8>> {
    let plain = level.trim_end_matches("+strict-align");
    let row = ARCHITECTURES.iter().find(|row| row.levels.contains(&plain))?;
    // 1 is the first Thumb, and 2 is Thumb-2. 3 is the architecture's own set, with which compilers mark Armv8-M.
    let thumb = match row.architecture {
        12 => 1,
        16.. => 3,
        _ => 2,
    };
    let mut tags = vec![(TAG_CPU_ARCH, row.architecture), (TAG_CPU_ARCH_PROFILE, b'M'), (TAG_THUMB_ISA_USE, thumb)];
    if row.floats > 0 && has_floats(program) {
        tags.push((TAG_FP_ARCH, row.floats));
        let has_doubles = machine(level).is_some_and(|machine| machine.has(Extension::Doubles)) && has_lane(program, Lane::F64);
        // Without the mark, code may use all formats of the unit.
        tags.extend((!has_doubles).then_some((TAG_ABI_HARD_FP_USE, SINGLE)));
    }
    if row.architecture == V81M && has_vectors(program, level) {
        // Vectors of integers alone.
        tags.push((TAG_MVE_ARCH, 1));
    }
    tags.extend([(TAG_ABI_ALIGN_PRESERVED, 1), (TAG_ABI_VFP_ARGS, 3)]);
    if machine(level).is_some_and(|machine| !machine.only_aligned) {
        tags.push((TAG_CPU_UNALIGNED_ACCESS, 1));
    }
    tags.sort_unstable();
    Some(section(b"aeabi\0", &tags.iter().flat_map(|&(tag, value)| [tag, value]).collect::<Vec<u8>>()))
}

/// Tests whether kernels compute floats.
pub(super) fn has_floats(program: &Program) -> bool {
    has_lane(program, Lane::F32) || has_lane(program, Lane::F64)
}

/// Tests whether kernels have values of a lane type.
fn has_lane(program: &Program, lane: Lane) -> bool {
    program.kernels.iter().flat_map(|kernel| &kernel.types).any(|ty| ty.lane == lane)
}

/// Tests whether vector registers hold values of kernels.
fn has_vectors(program: &Program, level: &str) -> bool {
    machine(level).is_some_and(|machine| program.kernels.iter().any(|kernel| thumb::has_vectors(kernel, machine)))
}

/// Returns a section of attributes of a whole file, in the common format of Arm and RISC-V. Lengths include themselves, and the inner one also
/// its tag.
pub(super) fn section(vendor: &[u8], tags: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'A'];
    bytes.extend((vendor.len() as u32 + tags.len() as u32 + 9).to_le_bytes());
    bytes.extend(vendor);
    bytes.push(TAG_FILE);
    bytes.extend((tags.len() as u32 + 5).to_le_bytes());
    bytes.extend(tags);
    bytes
}
