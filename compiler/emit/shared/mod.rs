//! ELF shared libraries, written without a linker: the code and constants of an object with addresses, and the tables of loaders.
//!
//! Code addresses everything relative to itself, and no data holds an address. So a library has no text relocations. Only imported functions
//! need relocations: each has a slot in `.got`, which the loader fills and then makes read-only.

mod bug;
mod code;
mod description;
mod dynamic;
mod file;
mod patch;
mod stubs;
mod symbols;

pub use description::description;

use super::image::Image;
use super::info::ModelRecord;
use super::options::ObjectOptions;
use super::riscv;
use super::writer::constants;
use crate::codegen::CompiledModel;
use crate::codegen::section::{Contents, Section as Data};
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::ABI;
use crate::machine::Isa;
use crate::program::Program;
use crate::target::{Platform, Target};
use code::Code;
use dynamic::{Dynamic, system_library};
use file::{File, Section};
use object::elf;
use sha2::{Digest, Sha256};
use stubs::linked;
use symbols::{Place, Symbol, Symbols};

/// The inputs of a shared library.
pub struct Library<'a> {
    /// The code, with relocations.
    pub compiled: &'a CompiledModel,
    /// The program, for its constants.
    pub program: &'a Program,
    /// Options of the object.
    pub options: &'a ObjectOptions,
    /// The record in the library.
    pub record: &'a ModelRecord,
    /// Description of the methods and their ports, from [`description`].
    pub description: String,
    /// The topology record, if the weights are external: requirements for other weights.
    pub topology: Option<Vec<u8>>,
    /// Name that programs record for the library.
    pub soname: &'a str,
}

/// Checks that shared libraries can be written for a target.
///
/// # Errors
/// A usage diagnostic if the platform is not Linux, which includes Android.
pub fn check_target(target: &Target) -> Result<(), Diagnostic> {
    if target.platform == Platform::Linux {
        return Ok(());
    }
    Err(not_shared(target))
}

fn not_shared(target: &Target) -> Diagnostic {
    Diagnostic::new(codes::SHARED, format!("no shared library is written for {}", target.name))
        .expected("a target with Linux or Android", target.name)
        .help("write an object, -o NET.o, and link it with the linker of the target")
}

impl Library<'_> {
    /// Returns the file of the library.
    ///
    /// # Errors
    /// The errors of [`check_target`]; a bug's diagnostic if a distance does not fit its instruction.
    pub fn write(&self) -> Result<Image, Diagnostic> {
        check_target(self.options.target)?;
        let linked = linked(self.options.target.isa).ok_or_else(|| not_shared(self.options.target))?;
        let code = Code::new(self.compiled, &linked);
        let symbols = Symbols::new(self.symbols(&code), (&self.imports(), system_library(self.is_android())), self.version(), self.soname);
        let dynamic = Dynamic { slot: linked.slot, imports: self.compiled.imports.len(), symbols: &symbols };
        let mut file = File::new(linked.machine, self.flags());
        file.add(Section::new(".note.gnu.build-id", elf::SHT_NOTE, 4, build_id(&self.identity(&code))).loaded());
        symbols.add_sections(&mut file);
        dynamic.add_relocations(&mut file);
        self.data(&mut file);
        file.add(Section::new(".text", elf::SHT_PROGBITS, code.alignment, code.bytes.clone()).executable());
        dynamic.add_sections(&mut file);
        self.unloaded(&mut file);
        symbols.add_names(&mut file);
        file.place();
        let places = |name: &str| file.address(name);
        let text = code.linked(&places, &self.names())?;
        let filled = [
            (".text", text),
            (".dynsym", symbols.dynamic_table(&file)),
            (".symtab", symbols.table(&file)),
            (".dynamic", dynamic.table(&file)),
            (".rela.dyn", dynamic.relocations(&file)),
        ];
        for (name, bytes) in filled {
            file.fill(name, bytes);
        }
        self.fill_distances(&mut file, &code)?;
        Ok(file.image())
    }

    /// Tests whether the target is Android, which differs from Linux only in names of libraries.
    fn is_android(&self) -> bool {
        self.options.settings["target"].as_str().is_some_and(|target| target.contains("android"))
    }

    fn flags(&self) -> u32 {
        // Objects have the same flags: code for riscv64gc has compressed instructions.
        if self.options.target.isa == Isa::Riscv64 { self.options.riscv_abi.flags() | elf::EF_RISCV_RVC } else { 0 }
    }

    fn named(&self, name: &str) -> String {
        self.compiled.interface.plain(name)
    }

    /// Returns the section name of each piece of data, in the order of their numbers.
    fn names(&self) -> Vec<String> {
        let own = |name: &str| format!(".rodata.{}", self.named(name));
        let section = |data: &Data| match (&data.contents, &self.options.weights_section) {
            (Contents::Constants, Some(chosen)) => chosen.clone(),
            _ => own(&data.name),
        };
        self.compiled.data.iter().map(section).collect()
    }

    fn imports(&self) -> Vec<&str> {
        self.compiled.imports.iter().map(|import| import.symbol.as_str()).collect()
    }

    /// Returns the version of all symbols. A program with another interface does not start.
    fn version(&self) -> String {
        format!("{}_{ABI}_{}", self.compiled.interface.name.to_ascii_uppercase(), super::info::abi_hash(self.compiled.interface.abi_hash))
    }

    /// Adds the sections of read-only data.
    fn data(&self, file: &mut File) {
        for (data, name) in self.compiled.data.iter().zip(self.names()) {
            let contents = match &data.contents {
                Contents::Constants => constants(&self.compiled.constants, self.program),
                Contents::Bytes(bytes) => bytes.clone().into(),
            };
            file.add(Section::new(name, elf::SHT_PROGBITS, data.alignment, contents).loaded());
        }
        for (name, bytes) in [("info", self.record.to_bytes()), ("ports", self.ports())] {
            file.add(Section::new(format!(".rodata.{}", self.named(name)), elf::SHT_PROGBITS, 8, bytes).loaded());
        }
    }

    /// Fills the distances to functions into the data that has some.
    fn fill_distances(&self, file: &mut File, code: &Code<'_>) -> Result<(), Diagnostic> {
        for (data, name) in self.compiled.data.iter().zip(self.names()) {
            if let Contents::Bytes(bytes) = &data.contents {
                let mut bytes = bytes.clone();
                code.fill_distances(&mut bytes, file.address(&name), file.address(".text"), data)?;
                file.fill(&name, bytes);
            }
        }
        Ok(())
    }

    /// Returns the description as a C string.
    fn ports(&self) -> Vec<u8> {
        self.description.bytes().chain([0]).collect()
    }

    /// Adds the sections that tools read and loaders ignore.
    fn unloaded(&self, file: &mut File) {
        if let Some(attributes) = riscv::attributes(&self.compiled.levels).filter(|_| self.options.target.isa == Isa::Riscv64) {
            file.add(Section::new(riscv::SECTION, elf::SHT_RISCV_ATTRIBUTES, 1, attributes));
        }
        if let Some(topology) = &self.topology {
            file.add(Section::new(format!(".modelc.{}", self.named("topology")), elf::SHT_PROGBITS, 8, topology.clone()));
        }
    }

    /// Returns a hash that identifies the contents of the library, for the build id.
    fn identity(&self, code: &Code<'_>) -> Vec<u8> {
        let mut hash = Sha256::new();
        for part in [&code.bytes, &self.record.to_bytes(), &self.options.settings.to_string().into_bytes(), &self.ports()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize()[..20].to_vec()
    }

    fn symbols(&self, code: &Code<'_>) -> Vec<Symbol> {
        let mut list = Vec::new();
        for (function, &start) in self.compiled.functions.iter().zip(&code.functions) {
            let place = Place { section: ".text".into(), offset: start, bytes: function.code.bytes.len() as u64 };
            list.push(Symbol::new(self.named(&function.name), elf::STT_FUNC, place.clone(), function.entry));
            if function.entry {
                list.push(Symbol::new(self.compiled.interface.versioned(&function.name), elf::STT_FUNC, place, true));
            }
        }
        for (data, section) in self.compiled.data.iter().zip(self.names()) {
            let place = Place { section, offset: 0, bytes: data.bytes(&self.compiled.constants) };
            list.push(Symbol::new(self.named(&data.name), elf::STT_OBJECT, place, false));
        }
        for (name, bytes) in [("info", self.record.to_bytes().len()), ("ports", self.description.len() + 1)] {
            let place = Place { section: format!(".rodata.{}", self.named(name)), offset: 0, bytes: bytes as u64 };
            list.push(Symbol::new(self.named(name), elf::STT_OBJECT, place, true));
        }
        list
    }
}

/// Returns the note with a build id (gABI, "Note Section").
fn build_id(id: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    for word in [elf::ELF_NOTE_GNU.len() as u32 + 1, id.len() as u32, elf::NT_GNU_BUILD_ID] {
        note.extend(word.to_le_bytes());
    }
    note.extend(elf::ELF_NOTE_GNU);
    note.push(0);
    note.extend(id);
    note
}
