//! What a target is.

use crate::machine::{Isa, Machine, machine};
use target_lexicon::Triple;

/// Object file formats that are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ObjectFormat {
    /// ELF, 64-bit, little-endian.
    Elf,
    /// COFF, as Windows and UEFI have it.
    Coff,
    /// Mach-O, 64-bit, little-endian.
    MachO,
}

impl ObjectFormat {
    /// The name that people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Elf => "ELF",
            Self::Coff => "COFF",
            Self::MachO => "Mach-O",
        }
    }
}

/// What runs programs on a target. Objects need none of it; tests, examples and the marks of some formats do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Platform {
    /// Linux, with any C library; Android.
    Linux,
    /// Nothing.
    None,
    /// Windows.
    Windows,
    /// macOS.
    MacOs,
    /// iOS.
    Ios,
}

/// One target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The name used in messages, in `net_info` and for code generation.
    pub name: &'static str,
    /// Instruction set.
    pub isa: Isa,
    /// Format of its object files.
    pub format: ObjectFormat,
    /// What runs programs there.
    pub platform: Platform,
    /// The CPU levels that its objects may have, the default first.
    pub levels: &'static [&'static str],
    /// Other spellings. In all of them a vendor word may stand or be missing, and Android's API level may follow.
    pub aliases: &'static [&'static str],
}

/// A target with the levels of its instruction set.
pub(super) const fn row(name: &'static str, isa: Isa, platform: Platform, aliases: &'static [&'static str]) -> Target {
    let format = match platform {
        Platform::Linux | Platform::None => ObjectFormat::Elf,
        Platform::Windows => ObjectFormat::Coff,
        Platform::MacOs | Platform::Ios => ObjectFormat::MachO,
    };
    let levels: &[&str] = match isa {
        Isa::X86_64 => &["x86-64-v3", "x86-64-v2", "x86-64-v4"],
        Isa::Aarch64 => &["aarch64", "aarch64+dotprod"],
        Isa::Riscv64 => &["riscv64", "rv64gcv"],
        // Each architecture of the M profile has its own.
        Isa::Thumb => &[],
    };
    Target { name, isa, format, platform, levels, aliases }
}

impl Target {
    /// The triple that code generation gets.
    ///
    /// # Panics
    /// Never: a test parses every name.
    pub fn triple(&self) -> Triple {
        self.name.parse().expect("names of targets are triples")
    }

    /// The machines of its CPU levels, the default first.
    pub fn machines(&self) -> impl Iterator<Item = &'static Machine> {
        self.levels.iter().filter_map(|level| machine(level))
    }

    /// The machine of its default level.
    ///
    /// # Panics
    /// Never: a test looks up the levels of every target.
    pub fn default_machine(&self) -> &'static Machine {
        self.machines().next().expect("each target has a level")
    }
}
