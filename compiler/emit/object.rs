//! The object file: one section a function, the weights and the record in sections of their own, and no symbol undefined.
//!
//! Equal programs give equal bytes: everything is written in the program's order, and no path or time is known here.

use super::header::header;
use super::info::ModelRecord;
use super::report::report;
use crate::codegen::driver::DriverOptions;
use crate::codegen::{CompiledFunction, CompiledModel, Relocation, RelocationTarget, compile};
use crate::diagnostic::{Diagnostic, Diagnostics, Kind};
use crate::interface::ABI;
use crate::machine::{Isa, Machine};
use crate::program::{ALIGNMENT, Program};
use crate::target::{ObjectFormat, Target};
use cranelift_codegen::binemit::Reloc;
use cranelift_object::object::read::elf::{FileHeader, SectionHeader};
use cranelift_object::object::write::{self, Object, SectionId, Symbol, SymbolId, SymbolSection};
use cranelift_object::object::{
    Architecture, BinaryFormat, Endianness, FileFlags, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};
use std::collections::BTreeMap;

/// The model that an object is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// The file's name; directories in it are dropped, for outputs hold no paths.
    pub file: String,
}

impl ModelInfo {
    /// The name without directories.
    pub fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

/// How floating-point numbers are passed on riscv64. Entries pass none, so the code is the same; linkers compare the mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RiscvAbi {
    /// In integer registers.
    Lp64,
    /// Binary32 in floating-point registers.
    Lp64f,
    /// Binary64 too.
    #[default]
    Lp64d,
}

impl RiscvAbi {
    /// The ABI of a name of `--abi`.
    ///
    /// # Errors
    /// A usage diagnostic when there is no such ABI.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        match name {
            "lp64" => Ok(Self::Lp64),
            "lp64f" => Ok(Self::Lp64f),
            "lp64d" => Ok(Self::Lp64d),
            _ => Err(Diagnostic::new(705, Kind::Usage, format!("unknown ABI {name}")).expected("lp64, lp64f or lp64d", name)),
        }
    }

    fn flags(self) -> u32 {
        match self {
            Self::Lp64 => elf::EF_RISCV_FLOAT_ABI_SOFT,
            Self::Lp64f => elf::EF_RISCV_FLOAT_ABI_SINGLE,
            Self::Lp64d => elf::EF_RISCV_FLOAT_ABI_DOUBLE,
        }
    }
}

/// Checks a value of `--weights`.
///
/// # Errors
/// A diagnostic for a place that is not there yet, or that nobody knows.
pub fn check_weights_place(place: &str) -> Result<(), Diagnostic> {
    match place {
        "embed" => Ok(()),
        "external" => Err(Diagnostic::new(494, Kind::Unsupported, "weights in a file of their own are not there yet")
            .help("leave `--weights external` out: the object holds the weights")),
        _ => Err(Diagnostic::new(706, Kind::Usage, format!("unknown place of weights {place}")).expected("embed or external", place)),
    }
}

/// What the object is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectOptions {
    /// Prefix of every name; it is made an identifier.
    pub name: String,
    /// The target.
    pub target: &'static Target,
    /// The CPU level; `init` refuses a lesser CPU.
    pub machine: &'static Machine,
    /// Whether `on_kernel` is called around every kernel.
    pub profile_hooks: bool,
    /// Section of the weights in place of `.rodata.net_weights`.
    pub weights_section: Option<String>,
    /// The mark in riscv64 objects.
    pub riscv_abi: RiscvAbi,
}

impl ObjectOptions {
    /// The defaults, for a name, a target and a CPU level.
    pub fn new(name: impl Into<String>, target: &'static Target, machine: &'static Machine) -> Self {
        let (name, riscv_abi) = (name.into(), RiscvAbi::default());
        Self { name, target, machine, profile_hooks: false, weights_section: None, riscv_abi }
    }
}

/// All that is made of a program.
#[derive(Clone, Debug)]
pub struct ObjectFiles {
    /// The object file.
    pub object: Vec<u8>,
    /// The header.
    pub header: String,
    /// The report, schema `modelc.report/1`.
    pub report: serde_json::Value,
    /// Global symbols of the object.
    pub symbols: Vec<String>,
    /// What the object's record says.
    pub record: ModelRecord,
}

/// Makes an object file, its header and its report.
///
/// # Errors
/// As [`compile`]; and a bug's diagnostic when the object cannot be written.
pub fn object(program: &Program, model: &ModelInfo, options: &ObjectOptions) -> Result<ObjectFiles, Diagnostics> {
    let driver = DriverOptions { name: options.name.clone(), profile_hooks: options.profile_hooks };
    let compiled = compile(program, &model.sha256, options.target, options.machine, &driver)?;
    write_files(program, model, options, &compiled)
}

/// The files of a compiled program.
pub(crate) fn write_files(
    program: &Program,
    model: &ModelInfo,
    options: &ObjectOptions,
    compiled: &CompiledModel,
) -> Result<ObjectFiles, Diagnostics> {
    let interface = &compiled.interface;
    let record = ModelRecord {
        abi: ABI,
        model_sha256: model.sha256,
        abi_hash: interface.abi_hash,
        state_bytes: interface.state_bytes,
        scratch_bytes: interface.scratch_bytes,
        stack_bytes: compiled.stack_bytes,
        weights_bytes: compiled.constants.bytes,
        version: env!("CARGO_PKG_VERSION").into(),
        target: options.target.name.into(),
        levels: options.machine.level.into(),
        name: interface.name.clone(),
    };
    let mut writer = Writer::new(compiled, options);
    writer.weights();
    writer.functions()?;
    writer.record(&record)?;
    let (object, symbols) = writer.finish(program)?;
    Ok(ObjectFiles {
        header: header(program, model, compiled, &record),
        report: report(program, model, compiled, &record, object.len() as u64),
        object,
        symbols,
        record,
    })
}

struct Writer<'a> {
    compiled: &'a CompiledModel,
    options: &'a ObjectOptions,
    object: Object<'a>,
    /// The section of each function.
    sections: Vec<SectionId>,
    weights: Option<SymbolId>,
    symbols: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(compiled: &'a CompiledModel, options: &'a ObjectOptions) -> Self {
        let ObjectFormat::Elf = options.target.format;
        let architecture = match options.target.isa {
            Isa::X86_64 => Architecture::X86_64,
            Isa::Aarch64 => Architecture::Aarch64,
            Isa::Riscv64 => Architecture::Riscv64,
        };
        let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
        if options.target.isa == Isa::Riscv64 {
            // Code for riscv64gc has compressed instructions.
            let e_flags = options.riscv_abi.flags() | elf::EF_RISCV_RVC;
            object.flags = FileFlags::Elf { os_abi: elf::ELFOSABI_NONE, abi_version: 0, e_flags };
        }
        Self { compiled, options, object, sections: vec![], weights: None, symbols: vec![] }
    }

    fn name(&self) -> &'a str {
        &self.compiled.interface.name
    }

    fn weights_section(&self) -> String {
        self.options.weights_section.clone().unwrap_or_else(|| format!(".rodata.{}_weights", self.name()))
    }

    /// Room for the weights. Zeros that nobody has written take no memory, so that large weights are only held twice: by the program,
    /// and in the finished file, where they are filled in.
    fn weights(&mut self) {
        let size = self.compiled.constants.bytes;
        if size == 0 {
            return;
        }
        let section = self.object.add_section(vec![], self.weights_section().into_bytes(), SectionKind::ReadOnlyData);
        self.object.set_section_data(section, vec![0; size as usize], ALIGNMENT);
        let symbol = symbol(format!("{}_weights", self.name()), section, 0, size, SymbolKind::Data, SymbolScope::Compilation);
        self.weights = Some(self.object.add_symbol(symbol));
    }

    /// Writes the constants into the file, where the first section of that name and size is.
    fn fill_weights(&self, file: &mut [u8], program: &Program) -> Result<(), Diagnostic> {
        let constants = &self.compiled.constants;
        if constants.bytes == 0 {
            return Ok(());
        }
        let place = section_offset(file, self.weights_section().as_bytes(), constants.bytes);
        let room = place.and_then(|offset| file.get_mut(offset as usize..)?.get_mut(..constants.bytes as usize));
        let room = room.ok_or_else(|| bug("the weights have no section".into()))?;
        for (blob, &offset) in program.constants.iter().zip(&constants.offsets) {
            let bytes = blob.data.bytes();
            room[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }

    fn functions(&mut self) -> Result<(), Diagnostic> {
        for function in &self.compiled.functions {
            let name = format!("{}_{}", self.name(), function.name);
            let section = self.object.add_section(vec![], format!(".text.{name}").into_bytes(), SectionKind::Text);
            self.object.append_section_data(section, &function.code.bytes, function.code.alignment);
            self.sections.push(section);
            self.function_symbols(function, section, name);
        }
        for (index, function) in self.compiled.functions.iter().enumerate() {
            self.relocations(index, function)?;
        }
        Ok(())
    }

    fn function_symbols(&mut self, function: &CompiledFunction, section: SectionId, name: String) {
        let size = function.code.bytes.len() as u64;
        if self.options.target.isa == Isa::Aarch64 {
            // The mapping symbol that says: instructions from here on.
            self.object.add_symbol(symbol("$x".into(), section, 0, 0, SymbolKind::Label, SymbolScope::Compilation));
        }
        if !function.entry {
            self.object.add_symbol(symbol(name, section, 0, size, SymbolKind::Text, SymbolScope::Compilation));
            return;
        }
        for name in [self.compiled.interface.versioned(&function.name), name] {
            self.object.add_symbol(symbol(name.clone(), section, 0, size, SymbolKind::Text, SymbolScope::Dynamic));
            self.symbols.push(name);
        }
    }

    /// Relocations name sections and not functions: a global function could be another's in a shared library.
    fn relocations(&mut self, index: usize, function: &CompiledFunction) -> Result<(), Diagnostic> {
        let section = self.sections[index];
        let mut labels = BTreeMap::new();
        for relocation in &function.code.relocations {
            let target = match relocation.target {
                RelocationTarget::Function(number) => {
                    let target = self.sections.get(number as usize).ok_or_else(|| bug(format!("no function {number}")))?;
                    self.object.section_symbol(*target)
                }
                RelocationTarget::Data(_) => self.weights.ok_or_else(|| bug("there are no weights".into()))?,
                RelocationTarget::Here(offset) => *labels.entry(offset).or_insert_with(|| {
                    let name = format!(".L{index}_{offset}");
                    self.object.add_symbol(symbol(name, section, u64::from(offset), 0, SymbolKind::Label, SymbolScope::Compilation))
                }),
            };
            let flags = RelocationFlags::Elf { r_type: relocation_type(relocation)? };
            let offset = u64::from(relocation.offset);
            self.add_relocation(section, write::Relocation { offset, symbol: target, addend: relocation.addend, flags })?;
        }
        Ok(())
    }

    fn add_relocation(&mut self, section: SectionId, relocation: write::Relocation) -> Result<(), Diagnostic> {
        self.object.add_relocation(section, relocation).map_err(|error| bug(error.to_string()))
    }

    /// The record, kept by linkers that drop what nobody needs: `init` holds a relocation to it that changes nothing.
    fn record(&mut self, record: &ModelRecord) -> Result<(), Diagnostic> {
        let name = format!("{}_info", self.name());
        let section = self.object.add_section(vec![], format!(".rodata.{name}").into_bytes(), SectionKind::ReadOnlyData);
        let bytes = record.to_bytes();
        let size = bytes.len() as u64;
        self.object.set_section_data(section, bytes, 8);
        let symbol = symbol(name.clone(), section, 0, size, SymbolKind::Data, SymbolScope::Dynamic);
        self.object.add_symbol(symbol);
        self.symbols.push(name);
        let target = self.object.section_symbol(section);
        let init =
            self.compiled.functions.iter().position(|f| f.entry && f.name == "init").ok_or_else(|| bug("there is no init".into()))?;
        // Number 0 is R_*_NONE on every instruction set.
        let flags = RelocationFlags::Elf { r_type: elf::R_X86_64_NONE };
        self.add_relocation(self.sections[init], write::Relocation { offset: 0, symbol: target, addend: 0, flags })
    }

    fn finish(mut self, program: &Program) -> Result<(Vec<u8>, Vec<String>), Diagnostic> {
        // The stack need not be executable.
        self.object.add_section(vec![], b".note.GNU-stack".to_vec(), SectionKind::Other);
        let mut bytes = self.object.write().map_err(|error| bug(error.to_string()))?;
        self.fill_weights(&mut bytes, program)?;
        Ok((bytes, self.symbols))
    }
}

/// Where a section begins in a file.
fn section_offset(file: &[u8], name: &[u8], size: u64) -> Option<u64> {
    let endian = Endianness::Little;
    let header = elf::FileHeader64::<Endianness>::parse(file).ok()?;
    let sections = header.sections(endian, file).ok()?;
    let found =
        |s: &&elf::SectionHeader64<Endianness>| sections.section_name(endian, s).is_ok_and(|n| n == name) && s.sh_size(endian) == size;
    Some(sections.iter().find(found)?.sh_offset(endian))
}

fn symbol(name: String, section: SectionId, value: u64, size: u64, kind: SymbolKind, scope: SymbolScope) -> Symbol {
    let (name, section) = (name.into_bytes(), SymbolSection::Section(section));
    Symbol { name, value, size, kind, scope, weak: false, section, flags: SymbolFlags::None }
}

/// The relocations that position-independent code without a global offset table needs; anything else would be a mistake.
fn relocation_type(relocation: &Relocation) -> Result<u32, Diagnostic> {
    Ok(match relocation.kind {
        Reloc::X86PCRel4 => elf::R_X86_64_PC32,
        Reloc::X86CallPCRel4 => elf::R_X86_64_PLT32,
        Reloc::Arm64Call => elf::R_AARCH64_CALL26,
        Reloc::Aarch64AdrPrelPgHi21 => elf::R_AARCH64_ADR_PREL_PG_HI21,
        Reloc::Aarch64AddAbsLo12Nc => elf::R_AARCH64_ADD_ABS_LO12_NC,
        Reloc::RiscvCallPlt => elf::R_RISCV_CALL_PLT,
        Reloc::RiscvPCRelHi20 => elf::R_RISCV_PCREL_HI20,
        Reloc::RiscvPCRelLo12I => elf::R_RISCV_PCREL_LO12_I,
        other => return Err(bug(format!("the code has a relocation {other:?}"))),
    })
}

fn bug(what: String) -> Diagnostic {
    Diagnostic::new(903, Kind::Bug, format!("the object cannot be written: {what}"))
        .help("this is a mistake in modelc; please report it with the model")
}
