//! The named parts of an object: functions, tables, GPU modules.

use object::{Object as _, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::BTreeMap;

/// A function or a table.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Piece {
    bytes: Vec<u8>,
    /// Offsets and targets of its references.
    relocations: Vec<(u64, String)>,
}

/// The parts of an object by name.
#[derive(Debug, Default)]
pub struct Contents {
    pub pieces: BTreeMap<String, Piece>,
    /// Bytes of functions.
    pub code: u64,
    /// Bytes of constants and tables.
    pub constants: u64,
}

/// The first word of a SPIR-V module, in the byte order of the targets.
const SPIRV: [u8; 4] = 0x0723_0203_u32.to_le_bytes();

/// Reads the parts of an object.
///
/// # Errors
/// A message if the bytes are no object.
pub fn contents(bytes: &[u8]) -> Result<Contents, String> {
    let file = object::File::parse(bytes).map_err(|error| format!("what the compiler wrote is no object: {error}"))?;
    let mut contents = Contents::default();
    for section in file.sections() {
        let data = section.data().map_err(|error| format!("a section cannot be read: {error}"))?;
        match section.kind() {
            SectionKind::Text => contents.code += section.size(),
            SectionKind::ReadOnlyData | SectionKind::ReadOnlyDataWithRel | SectionKind::Data => contents.constants += section.size(),
            _ => continue,
        }
        let starts = starts(&file, &section);
        for (number, (start, name)) in starts.iter().enumerate() {
            let end = starts.get(number + 1).map_or(data.len() as u64, |next| next.0);
            let relocations = relocations(&file, &section, *start..end);
            let bytes = data.get(*start as usize..end as usize).unwrap_or_default();
            contents.add(name, bytes, relocations);
        }
    }
    Ok(contents)
}

impl Contents {
    /// Adds a part. The modules of a GPU table become separate parts.
    fn add(&mut self, name: &str, bytes: &[u8], relocations: Vec<(u64, String)>) {
        let modules: Vec<usize> = (0..bytes.len() / 4).map(|word| word * 4).filter(|&place| bytes[place..].starts_with(&SPIRV)).collect();
        let table = if name.ends_with("_device") { modules } else { vec![] };
        let end = table.first().copied().unwrap_or(bytes.len());
        self.pieces.insert(name.to_owned(), Piece { bytes: bytes[..end].to_vec(), relocations });
        for (number, &start) in table.iter().enumerate() {
            let end = table.get(number + 1).copied().unwrap_or(bytes.len());
            let piece = Piece { bytes: bytes[start..end].to_vec(), relocations: vec![] };
            self.pieces.insert(format!("{name}, GPU module {number}"), piece);
        }
    }
}

/// Returns the starts of the named parts of a section, in order; the section's start if nothing in it has a name.
fn starts<'data>(file: &object::File<'data>, section: &object::Section<'data, '_>) -> Vec<(u64, String)> {
    let here =
        file.symbols().filter(|symbol| symbol.section_index() == Some(section.index()) && symbol.kind() != object::SymbolKind::Section);
    let mut starts: BTreeMap<u64, String> = BTreeMap::new();
    for symbol in here {
        let (place, name) = (symbol.address() - section.address(), symbol.name().unwrap_or_default());
        // A function also has a name with the hash of its interface; the shorter name stays the same.
        let entry = starts.entry(place).or_insert_with(|| name.to_owned());
        if name.len() < entry.len() {
            name.clone_into(entry);
        }
    }
    starts.entry(0).or_insert_with(|| section.name().unwrap_or_default().to_owned());
    starts.into_iter().collect()
}

/// Returns the references in a part of a section, by offset in the part.
fn relocations<'data>(file: &object::File<'data>, section: &object::Section<'data, '_>, part: std::ops::Range<u64>) -> Vec<(u64, String)> {
    let name = |target: RelocationTarget| match target {
        RelocationTarget::Symbol(index) => {
            let symbol = file.symbol_by_index(index).ok();
            symbol.and_then(|symbol| symbol.name().ok().map(str::to_owned)).unwrap_or_default()
        }
        other => format!("{other:?}"),
    };
    let inside = section.relocations().filter(|(place, _)| part.contains(place));
    inside.map(|(place, one)| (place - part.start, format!("{} {:?} {}", name(one.target()), one.flags(), one.addend()))).collect()
}
