//! The dynamic section of a library, and the relocations of the slots for imported functions.

use super::file::{File, Section};
use super::stubs::SLOT;
use super::symbols::Symbols;
use object::elf;

/// Returns the library that has `dlopen`. It is part of the C library since glibc 2.34, and another name of it in musl. Android's name has no
/// version.
pub fn system_library(is_android: bool) -> &'static str {
    if is_android { "libdl.so" } else { "libdl.so.2" }
}

const ENTRY: u64 = 16;
const RELOCATION: u64 = 24;

/// Contents of the dynamic section.
pub struct Dynamic<'a> {
    /// The relocation type of a slot.
    pub slot: u32,
    /// Number of imported functions.
    pub imports: usize,
    pub symbols: &'a Symbols,
}

impl Dynamic<'_> {
    /// Adds the section of relocations, if there are imports.
    pub fn add_relocations(&self, file: &mut File) {
        if self.imports > 0 {
            let bytes = vec![0; self.imports * RELOCATION as usize];
            file.add(Section::new(".rela.dyn", elf::SHT_RELA, 8, bytes).loaded().table(RELOCATION, ".dynsym", 0));
        }
    }

    /// Adds the sections that the loader writes.
    pub fn add_sections(&self, file: &mut File) {
        let bytes = self.table(file).len();
        file.add(Section::new(".dynamic", elf::SHT_DYNAMIC, 8, vec![0; bytes]).relocated().table(ENTRY, ".dynstr", 0));
        if self.imports > 0 {
            let slots = vec![0; self.imports * SLOT as usize];
            file.add(Section::new(".got", elf::SHT_PROGBITS, 8, slots).relocated().table(SLOT, "", 0));
        }
    }

    /// Returns the contents of `.dynamic`.
    pub fn table(&self, file: &File) -> Vec<u8> {
        let mut list: Vec<(i64, u64)> = self.symbols.library().map(|name| (elf::DT_NEEDED, name.into())).into_iter().collect();
        list.push((elf::DT_SONAME, self.symbols.soname().into()));
        let tables = [
            (elf::DT_GNU_HASH, ".gnu.hash"),
            (elf::DT_HASH, ".hash"),
            (elf::DT_STRTAB, ".dynstr"),
            (elf::DT_SYMTAB, ".dynsym"),
            (elf::DT_VERSYM, ".gnu.version"),
            (elf::DT_VERDEF, ".gnu.version_d"),
        ];
        list.extend(tables.map(|(tag, section)| (tag, file.address(section))));
        list.extend([(elf::DT_STRSZ, file.bytes(".dynstr")), (elf::DT_SYMENT, 24), (elf::DT_VERDEFNUM, 2)]);
        if self.imports > 0 {
            let relocations = [(elf::DT_RELA, file.address(".rela.dyn")), (elf::DT_RELASZ, file.bytes(".rela.dyn"))];
            list.extend(relocations.into_iter().chain([(elf::DT_RELAENT, RELOCATION)]));
        }
        list.extend([(elf::DT_FLAGS, elf::DF_BIND_NOW.into()), (elf::DT_FLAGS_1, elf::DF_1_NOW.into()), (elf::DT_NULL, 0)]);
        list.into_iter().flat_map(|(tag, value)| [tag.cast_unsigned(), value]).flat_map(u64::to_le_bytes).collect()
    }

    /// Returns the contents of `.rela.dyn`: the address of a function for each slot.
    pub fn relocations(&self, file: &File) -> Vec<u8> {
        // Symbol 0 is empty. The symbols of the slots follow it in order.
        let words = |number: u64| [file.address(".got") + number * SLOT, (number + 1) << 32 | u64::from(self.slot), 0];
        (0..self.imports as u64).flat_map(words).flat_map(u64::to_le_bytes).collect()
    }
}
