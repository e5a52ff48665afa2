//! Symbols of a library: exported ones under one version, imported ones, and names of kernels for debuggers and profilers.

use super::file::{File, Section};
use object::elf::{self, Sym64};
use object::{Endianness, U16, U32, U64, pod};

const LITTLE: Endianness = Endianness::Little;
const SYMBOL: u64 = size_of::<Sym64<Endianness>>() as u64;
/// Bits of a word of the Bloom filter, and the shift of its second hash.
const BLOOM: u32 = 64;
const BLOOM_SHIFT: u32 = 6;
/// Version number of imported symbols.
const UNVERSIONED: u16 = elf::VER_NDX_GLOBAL;
/// Version number of the library's own symbols.
const OWN: u16 = 2;

/// Position of a symbol in a section.
#[derive(Clone)]
pub struct Place {
    pub section: String,
    pub offset: u64,
    pub bytes: u64,
}

/// A symbol.
pub struct Symbol {
    name: String,
    kind: u8,
    /// Position; `None` for an imported symbol.
    place: Option<Place>,
    is_exported: bool,
}

impl Symbol {
    /// Makes a symbol that the library defines.
    pub fn new(name: String, kind: u8, place: Place, is_exported: bool) -> Self {
        Self { name, kind, place: Some(place), is_exported }
    }
}

/// A table of strings.
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend(text.bytes().chain([0]));
        at
    }
}

/// All symbols of a library.
pub struct Symbols {
    /// Imported symbols, then the exported ones by hash bucket.
    dynamic: Vec<(u32, Symbol)>,
    imports: usize,
    /// Symbols of `.symtab`: local ones, then those of `dynamic`.
    local: Vec<(u32, Symbol)>,
    /// Offsets of the names of `dynamic` in the string table of `.symtab`.
    names: Vec<u32>,
    strings: Strings,
    all_strings: Strings,
    /// Names of the library and of its version.
    versions: [(u32, String); 2],
    /// Name of the system library, if it is needed.
    library: Option<u32>,
}

/// Functions of the dynamic loader. On some systems they are in a library other than the C library.
const LOADER: [&str; 2] = ["dlopen", "dlsym"];

impl Symbols {
    /// Makes the symbols of a library. `imports` come from the library `system`, if they are functions of the loader.
    pub fn new(symbols: Vec<Symbol>, (imports, system): (&[&str], &str), version: String, soname: &str) -> Self {
        let mut strings = Strings(vec![0]);
        let mut all_strings = Strings(vec![0]);
        let versions = [soname.to_owned(), version].map(|name| (strings.add(&name), name));
        let library = imports.iter().any(|name| LOADER.contains(name)).then(|| strings.add(system));
        let (mut exported, local): (Vec<Symbol>, Vec<Symbol>) = symbols.into_iter().partition(|symbol| symbol.is_exported);
        let buckets = buckets(exported.len());
        exported.sort_by_key(|symbol| elf::gnu_hash(symbol.name.as_bytes()) % buckets);
        let import = |name: &&str| Symbol { name: (*name).to_owned(), kind: elf::STT_FUNC, place: None, is_exported: true };
        let dynamic = imports.iter().map(import).chain(exported).map(|symbol| (strings.add(&symbol.name), symbol)).collect::<Vec<_>>();
        let local = local.into_iter().map(|symbol| (all_strings.add(&symbol.name), symbol)).collect();
        let names = dynamic.iter().map(|(_, symbol)| all_strings.add(&symbol.name)).collect();
        Self { dynamic, imports: imports.len(), local, names, strings, all_strings, versions, library }
    }

    /// Returns the offset of the library's own name.
    pub fn soname(&self) -> u32 {
        self.versions[0].0
    }

    /// Returns the offset of the system library's name, if it is needed.
    pub fn library(&self) -> Option<u32> {
        self.library
    }

    /// Adds the sections that loaders read. They are filled in once sections have addresses.
    pub fn add_sections(&self, file: &mut File) {
        let count = self.dynamic.len() as u64 + 1;
        file.add(Section::new(".gnu.hash", elf::SHT_GNU_HASH, 8, self.gnu_hash()).loaded().table(0, ".dynsym", 0));
        file.add(Section::new(".hash", elf::SHT_HASH, 4, self.hash()).loaded().table(4, ".dynsym", 0));
        file.add(Section::new(".dynsym", elf::SHT_DYNSYM, 8, vec![0; (count * SYMBOL) as usize]).loaded().table(SYMBOL, ".dynstr", 1));
        file.add(Section::new(".gnu.version", elf::SHT_GNU_VERSYM, 2, self.numbers()).loaded().table(2, ".dynsym", 0));
        file.add(Section::new(".gnu.version_d", elf::SHT_GNU_VERDEF, 4, self.definitions()).loaded().table(0, ".dynstr", 2));
        file.add(Section::new(".dynstr", elf::SHT_STRTAB, 1, self.strings.0.clone()).loaded());
    }

    /// Adds the sections that debuggers and profilers read.
    pub fn add_names(&self, file: &mut File) {
        let locals = self.local.len() as u32 + 1;
        let bytes = (u64::from(locals) + self.dynamic.len() as u64) * SYMBOL;
        file.add(Section::new(".symtab", elf::SHT_SYMTAB, 8, vec![0; bytes as usize]).table(SYMBOL, ".strtab", locals));
        file.add(Section::new(".strtab", elf::SHT_STRTAB, 1, self.all_strings.0.clone()));
    }

    /// Returns the contents of `.dynsym`.
    pub fn dynamic_table(&self, file: &File) -> Vec<u8> {
        let symbols = self.dynamic.iter().map(|(name, symbol)| entry(file, *name, symbol));
        std::iter::once(vec![0; SYMBOL as usize]).chain(symbols).flatten().collect()
    }

    /// Returns the contents of `.symtab`.
    pub fn table(&self, file: &File) -> Vec<u8> {
        let local = self.local.iter().map(|(name, symbol)| entry(file, *name, symbol));
        let dynamic = self.names.iter().zip(&self.dynamic).map(|(name, (_, symbol))| entry(file, *name, symbol));
        std::iter::once(vec![0; SYMBOL as usize]).chain(local).chain(dynamic).flatten().collect()
    }

    /// Returns the version number of each symbol.
    fn numbers(&self) -> Vec<u8> {
        let version = |(_, symbol): &(u32, Symbol)| if symbol.place.is_some() { OWN } else { UNVERSIONED };
        std::iter::once(elf::VER_NDX_LOCAL).chain(self.dynamic.iter().map(version)).flat_map(u16::to_le_bytes).collect()
    }

    /// Returns the version definitions: the library itself, then the version of its symbols.
    fn definitions(&self) -> Vec<u8> {
        const DEFINITION: u32 = 20;
        const NAME: u32 = 8;
        let mut bytes = Vec::new();
        for (number, (at, name)) in self.versions.iter().enumerate() {
            let is_last = number + 1 == self.versions.len();
            let flags = if is_last { 0 } else { elf::VER_FLG_BASE };
            bytes.extend([elf::VER_DEF_CURRENT, flags, number as u16 + 1, 1].into_iter().flat_map(u16::to_le_bytes));
            let next = if is_last { 0 } else { DEFINITION + NAME };
            bytes.extend([elf::hash(name.as_bytes()), DEFINITION, next, *at, 0].into_iter().flat_map(u32::to_le_bytes));
        }
        bytes
    }

    /// Returns the GNU hash table: a Bloom filter, the first symbol of each bucket, and hashes whose lowest bit marks the end of a bucket.
    fn gnu_hash(&self) -> Vec<u8> {
        let exported = &self.dynamic[self.imports..];
        let hashes: Vec<u32> = exported.iter().map(|(_, symbol)| elf::gnu_hash(symbol.name.as_bytes())).collect();
        let (count, first) = (buckets(hashes.len()), self.imports as u32 + 1);
        let words = (hashes.len() as u32 / 4).next_power_of_two();
        let mut bloom = vec![0u64; words as usize];
        let mut starts = vec![0u32; count as usize];
        for (number, &hash) in hashes.iter().enumerate().rev() {
            bloom[(hash / BLOOM % words) as usize] |= 1 << (hash % BLOOM) | 1 << ((hash >> BLOOM_SHIFT) % BLOOM);
            starts[(hash % count) as usize] = first + number as u32;
        }
        let ends = |number: usize| hashes.get(number + 1).is_none_or(|next| next % count != hashes[number] % count);
        let chain = hashes.iter().enumerate().map(|(number, hash)| hash & !1 | u32::from(ends(number)));
        let mut bytes: Vec<u8> = [count, first, words, BLOOM_SHIFT].into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend(bloom.into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(starts.into_iter().chain(chain).flat_map(u32::to_le_bytes));
        bytes
    }

    /// Returns the older hash table, which all loaders read: the first symbol of each bucket, and the next symbol of each chain.
    fn hash(&self) -> Vec<u8> {
        let count = buckets(self.dynamic.len());
        let mut starts = vec![0u32; count as usize];
        let mut next = vec![0u32; self.dynamic.len() + 1];
        for (number, (_, symbol)) in (1u32..).zip(&self.dynamic) {
            let start = &mut starts[(elf::hash(symbol.name.as_bytes()) % count) as usize];
            next[number as usize] = std::mem::replace(start, number);
        }
        [count, next.len() as u32].into_iter().chain(starts).chain(next).flat_map(u32::to_le_bytes).collect()
    }
}

/// Returns the number of buckets for some symbols: about two symbols in each.
fn buckets(symbols: usize) -> u32 {
    (symbols as u32 / 2) | 1
}

fn entry(file: &File, name: u32, symbol: &Symbol) -> Vec<u8> {
    let binding = if symbol.is_exported { elf::STB_GLOBAL } else { elf::STB_LOCAL };
    let (section, value, size) = match &symbol.place {
        Some(place) => (file.number(&place.section), file.address(&place.section) + place.offset, place.bytes),
        None => (elf::SHN_UNDEF, 0, 0),
    };
    let symbol = Sym64 {
        st_name: U32::new(LITTLE, name),
        st_info: binding << 4 | symbol.kind,
        st_other: elf::STV_DEFAULT,
        st_shndx: U16::new(LITTLE, section),
        st_value: U64::new(LITTLE, value),
        st_size: U64::new(LITTLE, size),
    };
    pod::bytes_of(&symbol).to_vec()
}
