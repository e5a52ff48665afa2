//! Differences between object file formats: names of sections, and encodings of relocations.

use crate::codegen::RelocationKind;
use crate::diagnostic::{Diagnostic, codes};
use crate::target::{ObjectFormat, Platform, Target};
use object::write::{MachOBuildVersion, Object};
use object::{BinaryFormat, RelocationEncoding as Encoding, RelocationFlags as Flags, SectionKind, elf, macho};

/// Section for a function or for data.
pub struct SectionPlace {
    /// Name of the segment, for Mach-O.
    pub segment: &'static str,
    /// Name of the section.
    pub section: String,
    /// Kind of contents.
    pub kind: SectionKind,
}

/// Returns the format as the `object` crate names it.
pub fn binary_format(format: ObjectFormat) -> BinaryFormat {
    match format {
        ObjectFormat::Elf => BinaryFormat::Elf,
        ObjectFormat::Coff => BinaryFormat::Coff,
        ObjectFormat::MachO => BinaryFormat::MachO,
    }
}

/// Returns the section of a function. Formats with long names have one section a function; Mach-O allows at most 255 sections.
pub fn text(format: ObjectFormat, symbol: &str) -> SectionPlace {
    let (segment, section) = match format {
        ObjectFormat::Elf => ("", format!(".text.{symbol}")),
        ObjectFormat::Coff => ("", format!(".text${symbol}")),
        ObjectFormat::MachO => ("__TEXT", "__text".into()),
    };
    SectionPlace { segment, section, kind: SectionKind::Text }
}

/// Returns the section of read-only data.
pub fn data(format: ObjectFormat, symbol: &str) -> SectionPlace {
    let (segment, section) = match format {
        ObjectFormat::Elf => ("", format!(".rodata.{symbol}")),
        ObjectFormat::Coff => ("", format!(".rdata${symbol}")),
        ObjectFormat::MachO => ("__TEXT", "__const".into()),
    };
    SectionPlace { segment, section, kind: SectionKind::ReadOnlyData }
}

/// Returns the section of the weights; `chosen` is the user's name for it.
///
/// # Errors
/// A usage diagnostic if the format cannot hold the name.
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

/// Returns the section of data for tools, which is not loaded.
pub fn note(format: ObjectFormat, symbol: &str) -> SectionPlace {
    match format {
        ObjectFormat::Elf => SectionPlace { segment: "", section: format!(".modelc.{symbol}"), kind: SectionKind::Other },
        ObjectFormat::Coff => SectionPlace { segment: "", section: format!(".modelc${symbol}"), kind: SectionKind::Linker },
        ObjectFormat::MachO => SectionPlace { segment: "__DWARF", section: "__modelc".into(), kind: SectionKind::Debug },
    }
}

/// Sets the platform and its oldest supported version, which Apple's linker requires.
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

/// Returns the encoding of a relocation; `None` if the format does not have this instruction set.
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
        RelocationKind::ThumbDistance => elf::R_ARM_REL32,
        RelocationKind::X86Distance => elf::R_X86_64_PC32,
        RelocationKind::Aarch64Distance => elf::R_AARCH64_PREL32,
        RelocationKind::RiscvDistance => elf::R_RISCV_32_PCREL,
    }
}

/// Returns the encoding of a relocation of x86-64.
fn x86_relocation(kind: RelocationKind) -> Option<Flags> {
    let encoding = match kind {
        RelocationKind::X86Relative => Encoding::X86RipRelative,
        RelocationKind::X86Call => Encoding::X86Branch,
        RelocationKind::X86Distance => Encoding::Generic,
        _ => return None,
    };
    Some(Flags::Generic { kind: object::RelocationKind::Relative, encoding, size: 32 })
}

fn macho_relocation(kind: RelocationKind) -> Option<Flags> {
    // `r_length` is the size of an instruction, or of a distance: 2² bytes.
    Some(match kind {
        // Distances in data are the difference of two symbols. The relocation names the first one.
        RelocationKind::X86Distance => Flags::MachO { r_type: macho::X86_64_RELOC_UNSIGNED, r_pcrel: false, r_length: 2 },
        RelocationKind::Aarch64Distance => Flags::MachO { r_type: macho::ARM64_RELOC_UNSIGNED, r_pcrel: false, r_length: 2 },
        RelocationKind::Aarch64Call => Flags::MachO { r_type: macho::ARM64_RELOC_BRANCH26, r_pcrel: true, r_length: 2 },
        RelocationKind::Aarch64Page => Flags::MachO { r_type: macho::ARM64_RELOC_PAGE21, r_pcrel: true, r_length: 2 },
        RelocationKind::Aarch64PageOffset => Flags::MachO { r_type: macho::ARM64_RELOC_PAGEOFF12, r_pcrel: false, r_length: 2 },
        other => return x86_relocation(other),
    })
}
