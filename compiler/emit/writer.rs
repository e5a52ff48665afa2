//! The writer of objects: sections, symbols and relocations, in every format. Only custom operators are undefined symbols.

use super::format::{self, SectionPlace};
use super::image::Image;
use super::info::ModelRecord;
use super::options::ObjectOptions;
use super::{arm, riscv};
use crate::codegen::driver::Import;
use crate::codegen::section::Contents;
use crate::codegen::{CompiledFunction, CompiledModel, ConstantLayout, Relocation, RelocationTarget};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Data;
use crate::machine::Isa;
use crate::program::Program;
use crate::target::ObjectFormat;
use object::write::{self, Object, SectionId, Symbol, SymbolId, SymbolSection, WritableBuffer};
use object::{Architecture, Endianness, FileFlags, RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf, macho};
use std::collections::BTreeMap;

/// An object under construction.
pub struct Writer<'a> {
    compiled: &'a CompiledModel,
    options: &'a ObjectOptions,
    format: ObjectFormat,
    object: Object<'a>,
    /// Sections by segment and name.
    sections: BTreeMap<(&'static str, String), SectionId>,
    /// Section of each function, its offset there, and the symbol that internal calls use.
    functions: Vec<(SectionId, u64, SymbolId)>,
    /// Position of each piece of data, by number.
    data: Vec<Placed>,
    /// Reserved space of the weights, if they are in the object.
    room: Option<Room>,
    /// Symbols of imported functions.
    imports: Vec<SymbolId>,
    symbols: Vec<String>,
}

/// Position of a piece of data.
#[derive(Clone, Copy)]
struct Placed {
    section: SectionId,
    /// Offset in the section.
    offset: u64,
    symbol: SymbolId,
}

/// Reserved space of the weights. Its zeros are never touched, and so take no memory, until the constants replace them.
struct Room {
    start: *const u8,
    bytes: usize,
}

impl<'a> Writer<'a> {
    /// Makes an empty object.
    pub fn new(compiled: &'a CompiledModel, options: &'a ObjectOptions) -> Self {
        let format = options.target.format;
        let architecture = match options.target.isa {
            Isa::X86_64 => Architecture::X86_64,
            Isa::Aarch64 => Architecture::Aarch64,
            Isa::Riscv64 => Architecture::Riscv64,
            Isa::Thumb => Architecture::Arm,
            Isa::Riscv32 => Architecture::Riscv32,
        };
        let mut object = Object::new(format::binary_format(format), architecture, Endianness::Little);
        format::set_platform(&mut object, options.target);
        let e_flags = match options.target.isa {
            // Code has compressed instructions.
            Isa::Riscv64 | Isa::Riscv32 => Some(options.riscv_abi.flags() | elf::EF_RISCV_RVC),
            Isa::Thumb => Some(elf::EF_ARM_EABI_VER5),
            Isa::X86_64 | Isa::Aarch64 => None,
        };
        if let Some(e_flags) = e_flags {
            object.flags = FileFlags::Elf { os_abi: elf::ELFOSABI_NONE, abi_version: 0, e_flags };
        }
        Self {
            compiled,
            options,
            format,
            object,
            sections: BTreeMap::new(),
            functions: vec![],
            data: vec![],
            room: None,
            imports: vec![],
            symbols: vec![],
        }
    }

    /// Returns the finished file and its global symbols. An object without a record holds no model.
    ///
    /// # Errors
    /// A bug's diagnostic if the parts do not fit the format.
    pub fn write(
        mut self,
        program: &Program,
        record: Option<&ModelRecord>,
        note: Option<Vec<u8>>,
    ) -> Result<(Image, Vec<String>), Diagnostic> {
        self.data()?;
        self.imports()?;
        self.functions()?;
        if let Some(record) = record {
            self.record(record)?;
        }
        if let Some(note) = note {
            let section = self.section(format::note(self.format, &format!("{}_topology", self.name())));
            self.object.set_section_data(section, note, 8);
        }
        if let Some((name, kind, attributes)) = self.attributes(program) {
            let section = self.object.add_section(vec![], name.into(), SectionKind::Elf(kind));
            self.object.set_section_data(section, attributes, 1);
        }
        if self.format == ObjectFormat::Elf {
            // Linkers may make the stack non-executable.
            self.object.add_section(vec![], b".note.GNU-stack".to_vec(), SectionKind::Other);
        }
        let hole = self.room.as_ref().map(|room| Hole {
            room: room.start,
            bytes: room.bytes,
            contents: constants(&self.compiled.constants, program),
        });
        let mut recorder = Recorder { image: Image::default(), pending: vec![], length: 0, hole };
        self.object.emit(&mut recorder).map_err(|error| bug(error.to_string()))?;
        if recorder.hole.is_some() {
            return Err(bug("the weights have no section".into()));
        }
        recorder.flush();
        Ok((recorder.image, self.symbols))
    }

    /// Returns the attributes of the instruction set that linkers read: section name, kind and contents.
    fn attributes(&self, program: &Program) -> Option<(&'static str, u32, Vec<u8>)> {
        let levels = &self.compiled.levels;
        match self.options.target.isa {
            Isa::Riscv64 | Isa::Riscv32 => riscv::attributes(levels).map(|bytes| (riscv::SECTION, elf::SHT_RISCV_ATTRIBUTES, bytes)),
            Isa::Thumb => {
                levels.first().and_then(|level| arm::attributes(level, program)).map(|bytes| (arm::SECTION, elf::SHT_ARM_ATTRIBUTES, bytes))
            }
            Isa::X86_64 | Isa::Aarch64 => None,
        }
    }

    /// Returns the bit in a function's address that selects the Thumb state.
    fn state_bit(&self) -> u64 {
        u64::from(self.options.target.isa == Isa::Thumb)
    }

    fn name(&self) -> &'a str {
        &self.compiled.interface.name
    }

    fn section(&mut self, place: SectionPlace) -> SectionId {
        let key = (place.segment, place.section.clone());
        if let Some(&known) = self.sections.get(&key) {
            return known;
        }
        let section = self.object.add_section(place.segment.into(), place.section.into_bytes(), place.kind);
        self.sections.insert(key, section);
        section
    }

    fn data(&mut self) -> Result<(), Diagnostic> {
        for data in &self.compiled.data {
            let name = format!("{}_{}", self.name(), data.name);
            let (section, offset) = match &data.contents {
                Contents::Constants => (self.weights(&name, data.alignment)?, 0),
                Contents::Bytes(bytes) => {
                    let section = self.section(format::data(self.format, &name));
                    (section, self.object.append_section_data(section, bytes, data.alignment))
                }
            };
            let size = data.bytes(&self.compiled.constants);
            let symbol = self.object.add_symbol(symbol(name, section, offset, size, SymbolKind::Data, SymbolScope::Compilation));
            self.data.push(Placed { section, offset, symbol });
        }
        Ok(())
    }

    /// Adds a section with space for the weights. No other data shares the section.
    fn weights(&mut self, name: &str, alignment: u64) -> Result<SectionId, Diagnostic> {
        let place = format::weights(self.format, name, self.options.weights_section.as_deref())?;
        let section = self.object.add_section(place.segment.into(), place.section.into_bytes(), place.kind);
        let room = vec![0; self.compiled.constants.bytes as usize];
        self.room = Some(Room { start: room.as_ptr(), bytes: room.len() });
        self.object.set_section_data(section, room, alignment);
        Ok(section)
    }

    /// Adds the undefined symbols of imported functions.
    fn imports(&mut self) -> Result<(), Diagnostic> {
        for Import { symbol: name, .. } in &self.compiled.imports {
            let own = |function: &CompiledFunction| *name == format!("{}_{}", self.name(), function.name);
            if self.compiled.functions.iter().any(own) || *name == format!("{}_info", self.name()) {
                let message = format!("the custom operator's function {name} has the name of one of the object's own");
                return Err(Diagnostic::new(codes::SYMBOL_NAME, message).help("give the object another name: --name"));
            }
            let (name, section) = (name.clone().into_bytes(), SymbolSection::Undefined);
            let symbol = Symbol {
                name,
                value: 0,
                size: 0,
                kind: SymbolKind::Text,
                scope: SymbolScope::Dynamic,
                weak: false,
                section,
                flags: SymbolFlags::None,
            };
            self.imports.push(self.object.add_symbol(symbol));
        }
        Ok(())
    }

    fn functions(&mut self) -> Result<(), Diagnostic> {
        for (number, function) in self.compiled.functions.iter().enumerate() {
            let name = format!("{}_{}", self.name(), function.name);
            let section = self.section(format::text(self.format, &name));
            let offset = self.object.append_section_data(section, &function.code.bytes, function.code.alignment);
            let local = self.function_symbols(function, (section, offset), name, number);
            self.functions.push((section, offset, local));
        }
        for (index, function) in self.compiled.functions.iter().enumerate() {
            self.relocations(index, function)?;
        }
        let compiled = self.compiled;
        compiled.data.iter().enumerate().try_for_each(|(number, data)| self.distances(number, &data.relocations))
    }

    /// Adds the distances to functions in a piece of data. In Mach-O, a distance is the difference of two symbols, so it counts from the symbol of
    /// the data.
    fn distances(&mut self, number: usize, relocations: &[Relocation]) -> Result<(), Diagnostic> {
        for relocation in relocations {
            let wrong = || bug(format!("data has a relocation {relocation:?}"));
            let RelocationTarget::Function(function) = relocation.target else { return Err(wrong()) };
            let (_, _, symbol) = *self.functions.get(function as usize).ok_or_else(wrong)?;
            let flags = format::relocation(self.format, relocation.kind).ok_or_else(wrong)?;
            let Placed { section, offset, symbol: data } = self.data[number];
            let (start, after) = match self.format {
                ObjectFormat::MachO => (Some(data), relocation.offset),
                ObjectFormat::Elf | ObjectFormat::Coff => (None, 0),
            };
            let (offset, addend) = (offset + u64::from(relocation.offset), relocation.addend - i64::from(after));
            let distance = write::Relocation { offset, symbol, addend, flags };
            self.object.add_relocation_with_subtractor(section, distance, start).map_err(|error| bug(error.to_string()))?;
        }
        Ok(())
    }

    /// Adds the names of a function. Returns the symbol that internal calls use, whose name cannot clash with another object.
    fn function_symbols(
        &mut self,
        function: &CompiledFunction,
        (section, offset): (SectionId, u64),
        name: String,
        number: usize,
    ) -> SymbolId {
        let size = function.code.bytes.len() as u64;
        let local = format!("{}_entry{number}", self.name());
        // A mapping symbol marks the start of instructions.
        let mapping = match (self.options.target.isa, self.format) {
            (Isa::Aarch64, ObjectFormat::Elf) => Some("$x"),
            (Isa::Thumb, _) => Some("$t"),
            _ => None,
        };
        if let Some(mapping) = mapping {
            self.object.add_symbol(symbol(mapping.into(), section, offset, size, SymbolKind::Label, SymbolScope::Compilation));
        }
        // Linkers insert veneers for distant calls only if the call names the function's own symbol.
        let by_section = self.format == ObjectFormat::Elf && self.options.target.isa != Isa::Thumb;
        let at = offset | self.state_bit();
        let mut add = |name: String, kind, scope| self.object.add_symbol(symbol(name, section, at, size, kind, scope));
        if !function.entry {
            let own = add(name, SymbolKind::Text, SymbolScope::Compilation);
            return if by_section { self.object.section_symbol(section) } else { own };
        }
        let versioned = self.compiled.interface.versioned(&function.name);
        for name in [versioned, name] {
            add(name.clone(), SymbolKind::Text, SymbolScope::Dynamic);
            self.symbols.push(name);
        }
        if by_section { self.object.section_symbol(section) } else { add(local, SymbolKind::Text, SymbolScope::Compilation) }
    }

    fn relocations(&mut self, index: usize, function: &CompiledFunction) -> Result<(), Diagnostic> {
        let (section, start, _) = self.functions[index];
        let mut labels = BTreeMap::new();
        for relocation in &function.code.relocations {
            let (mut addend, offset) = (relocation.addend, start + u64::from(relocation.offset));
            let target = match relocation.target {
                RelocationTarget::Function(number) => {
                    self.functions.get(number as usize).ok_or_else(|| bug(format!("no function {number}")))?.2
                }
                RelocationTarget::Support(what) => return Err(bug(format!("{what:?} has no function"))),
                RelocationTarget::External(number) => {
                    *self.imports.get(number as usize).ok_or_else(|| bug(format!("no external function {number}")))?
                }
                RelocationTarget::Data(number) => self.data_symbol(number, relocation, &mut addend, &mut labels)?,
                RelocationTarget::Here(at) => *labels.entry((None, u64::from(at))).or_insert_with(|| {
                    let name = format!(".L{index}_{at}");
                    let value = start + u64::from(at);
                    self.object.add_symbol(symbol(name, section, value, 0, SymbolKind::Label, SymbolScope::Compilation))
                }),
            };
            let flags = format::relocation(self.format, relocation.kind)
                .ok_or_else(|| bug(format!("the code has a relocation {:?}", relocation.kind)))?;
            self.add_relocation(section, write::Relocation { offset, symbol: target, addend, flags })?;
        }
        Ok(())
    }

    /// Returns the symbol that a reference to data uses. Mach-O on aarch64 has 24 bits for the addend and Thumb 16, so the referenced byte gets
    /// a symbol of its own there.
    fn data_symbol(
        &mut self,
        number: u32,
        relocation: &Relocation,
        addend: &mut i64,
        labels: &mut BTreeMap<(Option<u32>, u64), SymbolId>,
    ) -> Result<SymbolId, Diagnostic> {
        let Placed { section, offset, symbol: whole } = *self.data.get(number as usize).ok_or_else(|| bug(format!("no data {number}")))?;
        if (self.format != ObjectFormat::MachO || self.options.target.isa != Isa::Aarch64) && self.options.target.isa != Isa::Thumb {
            return Ok(whole);
        }
        let at = u64::try_from(std::mem::take(addend)).map_err(|_| bug(format!("a reference before its data: {relocation:?}")))?;
        let of = &self.compiled.data[number as usize].name;
        Ok(*labels.entry((Some(number), at)).or_insert_with(|| {
            let name = format!("L{}_{of}{at}", self.compiled.interface.name);
            self.object.add_symbol(symbol(name, section, offset + at, 0, SymbolKind::Data, SymbolScope::Compilation))
        }))
    }

    fn add_relocation(&mut self, section: SectionId, relocation: write::Relocation) -> Result<(), Diagnostic> {
        self.object.add_relocation(section, relocation).map_err(|error| bug(error.to_string()))
    }

    /// Adds the record, so that linkers keep it. In ELF, `init` has a relocation to it that changes nothing. In Mach-O, a flag of its symbol
    /// keeps it. COFF linkers drop only marked sections.
    fn record(&mut self, record: &ModelRecord) -> Result<(), Diagnostic> {
        let name = format!("{}_info", self.name());
        let section = self.section(format::data(self.format, &name));
        let bytes = record.to_bytes();
        let offset = self.object.append_section_data(section, &bytes, 8);
        let mut symbol = symbol(name.clone(), section, offset, bytes.len() as u64, SymbolKind::Data, SymbolScope::Dynamic);
        if self.format == ObjectFormat::MachO {
            symbol.flags = SymbolFlags::MachO { n_desc: macho::N_NO_DEAD_STRIP };
        }
        self.object.add_symbol(symbol);
        self.symbols.push(name);
        let init = self.compiled.functions.iter().position(|f| f.entry && f.name == "init");
        let init = init.ok_or_else(|| bug("there is no init".into()))?;
        if self.format != ObjectFormat::Elf {
            return Ok(());
        }
        let target = self.object.section_symbol(section);
        // Number 0 is R_*_NONE on every instruction set.
        let flags = RelocationFlags::Elf { r_type: elf::R_X86_64_NONE };
        self.add_relocation(self.functions[init].0, write::Relocation { offset: 0, symbol: target, addend: 0, flags })
    }
}

/// Returns all constants of a program, at the offsets of the layout.
pub fn constants(layout: &ConstantLayout, program: &Program) -> Image {
    let mut image = Image::default();
    for blob in &program.constants {
        image.align(program.alignment.bytes());
        image.push(blob.data.clone());
    }
    debug_assert!(image.len() <= layout.bytes);
    image.push(vec![0; layout.bytes.saturating_sub(image.len()) as usize]);
    image
}

/// A buffer for the object while it is written. It replaces the reserved space by the weights.
struct Recorder {
    image: Image,
    pending: Vec<u8>,
    length: usize,
    hole: Option<Hole>,
}

struct Hole {
    room: *const u8,
    bytes: usize,
    contents: Image,
}

impl Recorder {
    fn flush(&mut self) {
        self.image.push(Data::from(std::mem::take(&mut self.pending)));
    }
}

impl WritableBuffer for Recorder {
    fn len(&self) -> usize {
        self.length
    }

    fn reserve(&mut self, _: usize) -> Result<(), ()> {
        Ok(())
    }

    fn resize(&mut self, length: usize) {
        self.pending.resize(self.pending.len() + length.saturating_sub(self.length), 0);
        self.length = length.max(self.length);
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        match self.hole.take_if(|hole| std::ptr::eq(hole.room, bytes.as_ptr()) && hole.bytes == bytes.len()) {
            Some(hole) => {
                self.flush();
                self.image.append(&hole.contents);
            }
            None => self.pending.extend_from_slice(bytes),
        }
    }
}

fn symbol(name: String, section: SectionId, value: u64, size: u64, kind: SymbolKind, scope: SymbolScope) -> Symbol {
    let (name, section) = (name.into_bytes(), SymbolSection::Section(section));
    Symbol { name, value, size, kind, scope, weak: false, section, flags: SymbolFlags::None }
}

fn bug(what: String) -> Diagnostic {
    Diagnostic::new(codes::OBJECT, format!("the object cannot be written: {what}"))
        .help("this is a mistake in modelc; please report it with the model")
}
