//! The description of a target.

use modelc_machine::{CpuMachine, Isa, machine};
use target_lexicon::Triple;

/// Object file formats that can be written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ObjectFormat {
    /// ELF, 64-bit, little-endian.
    Elf,
    /// COFF, for Windows and UEFI.
    Coff,
    /// Mach-O, 64-bit, little-endian.
    MachO,
}

impl ObjectFormat {
    /// Returns the usual name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Elf => "ELF",
            Self::Coff => "COFF",
            Self::MachO => "Mach-O",
        }
    }
}

/// Operating system of a target. Objects do not depend on it, but tests, examples and marks of some formats do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Platform {
    /// Linux, with any C library; Android.
    Linux,
    /// No operating system.
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
    /// The operating system.
    pub platform: Platform,
    /// CPU levels of its objects, the default first.
    pub levels: &'static [&'static str],
    /// Other spellings. Each may have or omit a vendor, and may have an Android API level at the end.
    pub aliases: &'static [&'static str],
}

/// Makes a target with the levels of its instruction set.
pub(super) const fn row(name: &'static str, isa: Isa, platform: Platform, aliases: &'static [&'static str]) -> Target {
    let format = match platform {
        Platform::Linux | Platform::None => ObjectFormat::Elf,
        Platform::Windows => ObjectFormat::Coff,
        Platform::MacOs | Platform::Ios => ObjectFormat::MachO,
    };
    let levels: &[&str] = match isa {
        Isa::X86_64 => &["x86-64-v3", "x86-64-v2", "x86-64-v4"],
        Isa::Aarch64 => &["aarch64", "aarch64+dotprod", "aarch64+i8mm"],
        Isa::Riscv64 => &["riscv64", "rv64gcv"],
        // Each architecture of microcontrollers has separate levels.
        Isa::Thumb | Isa::Riscv32 => &[],
    };
    Target { name, isa, format, platform, levels, aliases }
}

impl Target {
    /// Returns the triple for code generation, whose list of architectures has Armv8-M but not Armv8.1-M.
    ///
    /// # Panics
    /// Never; a test parses every name.
    pub fn triple(&self) -> Triple {
        self.name.replace("v8.1m", "v8m").parse().expect("names of targets are triples")
    }

    /// Tests whether the header finds the CPU's features with functions of the operating system, because no instruction may ask the CPU.
    pub fn asks_system_for_features(&self) -> bool {
        self.isa == Isa::Aarch64 && self.platform != Platform::None
    }

    /// Returns the machines of the CPU levels, the default first.
    pub fn machines(&self) -> impl Iterator<Item = &'static CpuMachine> {
        self.levels.iter().filter_map(|level| machine(level))
    }

    /// Returns the machine of the default level.
    ///
    /// # Panics
    /// Never; a test looks up the levels of every target.
    pub fn default_machine(&self) -> &'static CpuMachine {
        self.machines().next().expect("each target has a level")
    }
}
