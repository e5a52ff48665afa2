//! What differs between object file formats: names of sections, and how relocations are written.

use crate::codegen::RelocationKind;
use crate::diagnostic::{Diagnostic, codes};
use crate::target::{ObjectFormat, Platform, Target};
use object::write::{MachOBuildVersion, Object};
use object::{BinaryFormat, RelocationEncoding as Encoding, RelocationFlags as Flags, SectionKind, elf, macho};

/// Where something goes in a file.
pub struct SectionPlace {
    /// The segment's name, which Mach-O has.
    pub segment: &'static str,
    /// The section's name.
    pub section: String,
    /// What it holds.
    pub kind: SectionKind,
}

/// The format in the words of the `object` crate.
pub fn binary_format(format: ObjectFormat) -> BinaryFormat {
    match format {
        ObjectFormat::Elf => BinaryFormat::Elf,
        ObjectFormat::Coff => BinaryFormat::Coff,
        ObjectFormat::MachO => BinaryFormat::MachO,
    }
}

/// The section of a function. Where names are long, each function has its own; Mach-O counts no more than 255 sections.
pub fn text(format: ObjectFormat, symbol: &str) -> SectionPlace {
    let (segment, section) = match format {
        ObjectFormat::Elf => ("", format!(".text.{symbol}")),
        ObjectFormat::Coff => ("", format!(".text${symbol}")),
        ObjectFormat::MachO => ("__TEXT", "__text".into()),
    };
    SectionPlace { segment, section, kind: SectionKind::Text }
}

/// The section of read-only data.
pub fn data(format: ObjectFormat, symbol: &str) -> SectionPlace {
    let (segment, section) = match format {
        ObjectFormat::Elf => ("", format!(".rodata.{symbol}")),
        ObjectFormat::Coff => ("", format!(".rdata${symbol}")),
        ObjectFormat::MachO => ("__TEXT", "__const".into()),
    };
    SectionPlace { segment, section, kind: SectionKind::ReadOnlyData }
}

/// The section of the weights; `chosen` is the user's name for it.
///
/// # Errors
/// A usage diagnostic for a name that the format cannot hold.
pub fn weights(format: ObjectFormat, symbol: &str, chosen: Option<&str>) -> Result<SectionPlace, Diagnostic> {
    let own = match format {
        ObjectFormat::MachO => SectionPlace { section: "__modelc_weights".into(), ..data(format, symbol) },
        _ => data(format, symbol),
    };
    let Some(chosen) = chosen else { return Ok(own) };
    let longest = if format == ObjectFormat::MachO { 16 } else { 255 };
    if chosen.is_empty() || chosen.len() > longest || chosen.contains('\0') {
        return Err(Diagnostic::new(codes::SECTION_NAME, format!("no section can be called {chosen:?}"))
            .expected(format!("a name of up to {longest} bytes"), format!("{} bytes", chosen.len())));
    }
    Ok(SectionPlace { section: chosen.to_owned(), ..own })
}

/// The section of what tools read and programs do not: it is not loaded.
pub fn note(format: ObjectFormat, symbol: &str) -> SectionPlace {
    match format {
        ObjectFormat::Elf => SectionPlace { segment: "", section: format!(".modelc.{symbol}"), kind: SectionKind::Other },
        ObjectFormat::Coff => SectionPlace { segment: "", section: format!(".modelc${symbol}"), kind: SectionKind::Linker },
        ObjectFormat::MachO => SectionPlace { segment: "__DWARF", section: "__modelc".into(), kind: SectionKind::Debug },
    }
}

/// What Apple's linker wants to know: the platform, and the first version of it on machines of the kind.
pub fn set_platform(object: &mut Object<'_>, target: &Target) {
    let (platform, major) = match target.platform {
        Platform::MacOs => (macho::PLATFORM_MACOS, 11),
        Platform::Ios => (macho::PLATFORM_IOS, 14),
        _ => return,
    };
    let mut version = MachOBuildVersion::default();
    version.platform = platform;
    version.minos = major << 16;
    version.sdk = version.minos;
    object.set_macho_build_version(version);
}

/// How a relocation is written; `None` for one that the format has not, since it is of an instruction set without such objects.
pub fn relocation(format: ObjectFormat, kind: RelocationKind) -> Option<Flags> {
    match format {
        ObjectFormat::Elf => Some(Flags::Elf { r_type: elf_relocation(kind) }),
        ObjectFormat::Coff => x86_relocation(kind),
        ObjectFormat::MachO => macho_relocation(kind),
    }
}

fn elf_relocation(kind: RelocationKind) -> u32 {
    match kind {
        RelocationKind::X86Relative => elf::R_X86_64_PC32,
        RelocationKind::X86Call => elf::R_X86_64_PLT32,
        RelocationKind::Aarch64Call => elf::R_AARCH64_CALL26,
        RelocationKind::Aarch64Page => elf::R_AARCH64_ADR_PREL_PG_HI21,
        RelocationKind::Aarch64PageOffset => elf::R_AARCH64_ADD_ABS_LO12_NC,
        RelocationKind::RiscvCall => elf::R_RISCV_CALL_PLT,
        RelocationKind::RiscvHigh => elf::R_RISCV_PCREL_HI20,
        RelocationKind::RiscvLow => elf::R_RISCV_PCREL_LO12_I,
        RelocationKind::ThumbCall => elf::R_ARM_THM_PC22,
        RelocationKind::ThumbLow => elf::R_ARM_THM_MOVW_PREL_NC,
        RelocationKind::ThumbHigh => elf::R_ARM_THM_MOVT_PREL,
    }
}

/// The two of x86-64.
fn x86_relocation(kind: RelocationKind) -> Option<Flags> {
    let encoding = match kind {
        RelocationKind::X86Relative => Encoding::X86RipRelative,
        RelocationKind::X86Call => Encoding::X86Branch,
        _ => return None,
    };
    Some(Flags::Generic { kind: object::RelocationKind::Relative, encoding, size: 32 })
}

fn macho_relocation(kind: RelocationKind) -> Option<Flags> {
    // The length is that of an instruction: 2² bytes.
    Some(match kind {
        RelocationKind::Aarch64Call => Flags::MachO { r_type: macho::ARM64_RELOC_BRANCH26, r_pcrel: true, r_length: 2 },
        RelocationKind::Aarch64Page => Flags::MachO { r_type: macho::ARM64_RELOC_PAGE21, r_pcrel: true, r_length: 2 },
        RelocationKind::Aarch64PageOffset => Flags::MachO { r_type: macho::ARM64_RELOC_PAGEOFF12, r_pcrel: false, r_length: 2 },
        other => return x86_relocation(other),
    })
}
