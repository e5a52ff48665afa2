//! NumPy's `.npz` and `.npy` files: maps of names to tensors. No field of a file is trusted.
//!
//! An `.npz` is a zip of `.npy` files. Inputs and outputs of call *c* are named `in{c}_{i}` and `out{c}_{i}`. For a single call, `in{i}` and
//! `out{i}` are accepted, too. An `.npy` file is read as an archive of one array, `arr_0`. NumPy represents bfloat16 as its bits in uint16, and
//! 4-bit integers as int8.

mod array;
mod header;

use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Tensor;
use array::{Array, MAX_BYTES};
pub use array::{conform, parse_npy, to_npy, unpacked};
use header::invalid;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Limit of the bytes that Deflate can produce from one byte.
const MOST_EXPANSION: u64 = 1032;

/// NumPy's name of the first unnamed array.
pub const ONLY: &str = "arr_0";

/// Comment in archives that modelc writes, by which it recognizes them.
pub const COMMENT: &str = "Made by modelc";

/// Limit of the arrays in a message.
const LISTED: usize = 16;

/// The contents of an `.npz` file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    /// Arrays of numbers by name; a scalar has shape `[]`.
    pub tensors: BTreeMap<String, Tensor>,
    /// Strings by name, such as `method0`.
    pub texts: BTreeMap<String, String>,
    /// Names of arrays whose types models do not have, with the type.
    pub others: BTreeMap<String, String>,
}

impl Archive {
    /// Reads a file.
    ///
    /// # Errors
    /// A diagnostic if the file cannot be read, or if it is not a valid `.npz` file.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path)
            .map_err(|error| Diagnostic::new(codes::DATA_FILE, format!("the file cannot be read: {error}")).in_file(&name))?;
        Self::parse(&bytes).map_err(|diagnostic| diagnostic.in_file(name))
    }

    /// Reads the bytes of a file: an archive, or one array, which is named `arr_0`.
    ///
    /// # Errors
    /// A diagnostic if they are not a valid `.npz` or `.npy` file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Diagnostic> {
        if bytes.starts_with(header::MAGIC) {
            return Ok(Self { tensors: [(ONLY.to_owned(), parse_npy(bytes)?)].into(), ..Self::default() });
        }
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| invalid(format!("the file is not an .npz archive: {error}")))?;
        let mut archive = Self::default();
        // Entries do not share bytes, so a small file cannot be many large arrays.
        let mut unread = Unread { stored: bytes.len() as u64, expanded: MAX_BYTES };
        for index in 0..zip.len() {
            let unreadable = |error: ZipError| invalid(format!("entry {index} of the archive cannot be read: {error}"));
            let mut entry = zip.by_index(index).map_err(unreadable)?;
            let name = entry.name().strip_suffix(".npy").map(str::to_owned);
            let Some(name) = name else { continue };
            let sizes = Unread { stored: entry.compressed_size(), expanded: entry.size() };
            let read = unread.take(&sizes).and_then(|()| Array::read(&mut entry, sizes.expanded));
            archive.add(name.clone(), read.map_err(|diagnostic| diagnostic.about_tensor(&name))?);
        }
        Ok(archive)
    }

    fn add(&mut self, name: String, array: Array) {
        match array {
            Array::Numbers(tensor) => drop(self.tensors.insert(name, tensor)),
            Array::Text(text) => drop(self.texts.insert(name, text)),
            Array::Other(ty) => drop(self.others.insert(name, ty)),
        }
    }

    /// Returns the bytes of an `.npz` file with these arrays, sorted by name. They contain no time.
    ///
    /// # Errors
    /// A diagnostic if the archive cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Diagnostic> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let commented = zip.set_comment(COMMENT);
        let tensors = self.tensors.iter().map(|(name, tensor)| (name, to_npy(tensor)));
        let texts = self.texts.iter().map(|(name, text)| (name, text_to_npy(text)));
        let written =
            commented.and_then(|()| tensors.chain(texts).try_for_each(|(name, npy)| add_file(&mut zip, &format!("{name}.npy"), &npy)));
        let bytes = written.and_then(|()| zip.finish());
        let bytes = bytes.map_err(|error| Diagnostic::new(codes::DATA_FILE, format!("the archive cannot be written: {error}")))?;
        Ok(bytes.into_inner())
    }

    /// Returns the number of calls: one more than the largest number in a name `in{call}_{index}` or `method{call}`; one for names `in{index}`.
    pub fn calls(&self) -> usize {
        let of_input = |name: &str| {
            name.strip_prefix("in").and_then(|rest| rest.split_once('_').map_or(Some(0), |(call, _)| call.parse::<usize>().ok()))
        };
        let of_method = |name: &str| name.strip_prefix("method").and_then(|call| call.parse::<usize>().ok());
        let inputs = self.tensors.keys().filter_map(|name| of_input(name));
        let methods = self.texts.keys().filter_map(|name| of_method(name));
        inputs.chain(methods).max().map_or(0, |last| last.saturating_add(1))
    }

    /// Tests whether every name belongs to the first call.
    pub fn is_of_one_call(&self) -> bool {
        let of_another = |name: &String| {
            let rest = ["in", "out"].into_iter().find_map(|prefix| name.strip_prefix(prefix)).and_then(|rest| rest.split_once('_'));
            rest.is_some_and(|(call, index)| index.parse::<usize>().is_ok() && call.parse::<usize>().is_ok_and(|call| call > 0))
        };
        self.calls() <= 1 && !self.tensors.keys().any(of_another)
    }

    /// Formats the arrays with types and shapes, for messages: `in0 float32[1, 64], label (str)`.
    pub fn contents(&self) -> String {
        let tensors = self.tensors.iter().map(|(name, tensor)| format!("{name} {}{:?}", tensor.element.numpy_name(), tensor.shape));
        let texts = self.texts.keys().map(|name| format!("{name} (str)"));
        let others = self.others.iter().map(|(name, ty)| format!("{name} ({ty})"));
        let mut list: Vec<String> = tensors.chain(texts).chain(others).collect();
        let more = list.len().saturating_sub(LISTED);
        list.truncate(LISTED);
        if more > 0 {
            list.push(format!("{more} more"));
        }
        if list.is_empty() { "no array".into() } else { list.join(", ") }
    }

    /// Returns an input of a call.
    pub fn input(&self, call: usize, index: usize) -> Option<&Tensor> {
        let alone = || self.tensors.get(&format!("in{index}")).filter(|_| call == 0);
        self.tensors.get(&format!("in{call}_{index}")).or_else(alone)
    }

    /// Returns the inputs of a call by number.
    pub fn inputs(&self, call: usize) -> Vec<(usize, &Tensor)> {
        let number = |name: &str| {
            let rest = name.strip_prefix("in")?;
            let (of, index) = rest.split_once('_').unwrap_or(("0", rest));
            (of.parse() == Ok(call)).then_some(index)?.parse().ok()
        };
        let numbers: std::collections::BTreeSet<usize> = self.tensors.keys().filter_map(|name| number(name)).collect();
        numbers.into_iter().filter_map(|index| Some((index, self.input(call, index)?))).collect()
    }

    /// Returns an output of a call.
    pub fn output(&self, call: usize, index: usize) -> Option<&Tensor> {
        let alone = || self.tensors.get(&format!("out{index}")).filter(|_| call == 0);
        self.tensors.get(&format!("out{call}_{index}")).or_else(alone)
    }
}

/// The sizes of entries that are not yet read: limits for the total, or the sizes of one.
struct Unread {
    /// Bytes in the archive.
    stored: u64,
    /// Bytes in memory.
    expanded: u64,
}

impl Unread {
    /// Subtracts the sizes of an entry, before it is read.
    fn take(&mut self, entry: &Self) -> Result<(), Diagnostic> {
        let &Self { stored, expanded } = entry;
        let possible = expanded <= stored.saturating_mul(MOST_EXPANSION);
        let (Some(stored), Some(expanded), true) = (self.stored.checked_sub(stored), self.expanded.checked_sub(expanded), possible) else {
            return Err(invalid("the array is larger than the archive can hold").expected(
                format!("at most {} bytes", self.expanded.min(stored.saturating_mul(MOST_EXPANSION))),
                format!("{expanded} bytes"),
            ));
        };
        *self = Self { stored, expanded };
        Ok(())
    }
}

fn text_to_npy(text: &str) -> Vec<u8> {
    let characters: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let mut bytes = header::write(&format!("<U{}", characters.len() / 4), &[]);
    bytes.extend(characters);
    bytes
}

fn add_file(zip: &mut ZipWriter<Cursor<Vec<u8>>>, name: &str, contents: &[u8]) -> Result<(), ZipError> {
    let options = SimpleFileOptions::DEFAULT.compression_method(CompressionMethod::Deflated);
    zip.start_file(name, options.large_file(contents.len() as u64 >= u64::from(u32::MAX)))?;
    Ok(zip.write_all(contents)?)
}

#[cfg(test)]
mod tests;
