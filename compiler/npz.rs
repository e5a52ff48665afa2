//! NumPy's `.npz` and `.npy` files: maps of names to tensors, read with nothing taken on trust.
//!
//! An `.npz` is a zip of `.npy` files. Inputs and outputs of call *c* are called `in{c}_{i}` and `out{c}_{i}`; for a single call
//! `in{i}` is read too. Types that NumPy lacks travel as others: bfloat16 as its bits in uint16, 4-bit integers as int8.

mod header;

use crate::diagnostic::{Diagnostic, Kind};
use crate::ir::{ElementType, Tensor, TensorType};
use header::{Header, Type};
use npyz::npz::{NpzArchive, NpzWriter};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::path::Path;

/// Arrays larger than this are refused; the largest inputs of real models have some megabytes.
const MAX_BYTES: u64 = 1 << 32;

/// The contents of an `.npz` file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    /// Arrays of numbers by name; a number alone has shape `[]`.
    pub tensors: BTreeMap<String, Tensor>,
    /// Strings by name, such as `method0`.
    pub texts: BTreeMap<String, String>,
    /// Names of arrays of types that no model has, with the type.
    pub others: BTreeMap<String, String>,
}

fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(501, Kind::Invalid, message)
}

impl Archive {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or is no sound `.npz` file.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path)
            .map_err(|error| Diagnostic::new(500, Kind::Io, format!("the file cannot be read: {error}")).in_file(&name))?;
        Self::parse(&bytes).map_err(|diagnostic| diagnostic.in_file(name))
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// When they are no sound `.npz` file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Diagnostic> {
        let mut npz = NpzArchive::new(Cursor::new(bytes)).map_err(|error| invalid(format!("the file is no .npz archive: {error}")))?;
        let zip = npz.zip_archive();
        let mut archive = Self::default();
        for index in 0..zip.len() {
            let mut entry = zip.by_index(index).map_err(|error| invalid(format!("entry {index} cannot be read: {error}")))?;
            let Some(name) = npyz::npz::array_name_from_file_name(entry.name()).map(str::to_owned) else { continue };
            archive.add(name.clone(), &mut entry).map_err(|diagnostic| diagnostic.about_tensor(name))?;
        }
        Ok(archive)
    }

    fn add(&mut self, name: String, reader: &mut dyn Read) -> Result<(), Diagnostic> {
        let header = Header::read(reader)?;
        match &header.ty {
            Type::Number(element, big_endian) => {
                let tensor = numbers(reader, &header, *element, *big_endian)?;
                self.tensors.insert(name, tensor);
            }
            Type::Text(characters) if header.shape.is_empty() => {
                let bytes = exactly(reader, characters.saturating_mul(4))?;
                let codes = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                let text =
                    codes.take_while(|&code| code != 0).map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
                self.texts.insert(name, text);
            }
            Type::Text(_) => drop(self.others.insert(name, "strings".into())),
            Type::Other(ty) => drop(self.others.insert(name, ty.clone())),
        }
        Ok(())
    }

    /// The bytes of an `.npz` file with these arrays, in the order of their names.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Diagnostic> {
        let error = |error: &dyn std::fmt::Display| Diagnostic::new(500, Kind::Io, format!("the archive cannot be written: {error}"));
        let mut bytes = Cursor::new(Vec::new());
        let mut npz = NpzWriter::new(&mut bytes);
        let zip = npz.zip_writer();
        for (name, tensor) in &self.tensors {
            zip.start_file(npyz::npz::file_name_from_array_name(name), Default::default()).map_err(|e| error(&e))?;
            zip.write_all(&to_npy(tensor)).map_err(|e| error(&e))?;
        }
        for (name, text) in &self.texts {
            zip.start_file(npyz::npz::file_name_from_array_name(name), Default::default()).map_err(|e| error(&e))?;
            let characters: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
            zip.write_all(&header::write(&format!("<U{}", characters.len() / 4), &[])).map_err(|e| error(&e))?;
            zip.write_all(&characters).map_err(|e| error(&e))?;
        }
        zip.finish().map_err(|e| error(&e))?;
        drop(npz);
        Ok(bytes.into_inner())
    }

    /// The number of calls: one more than the largest in a name `in{call}_{index}` or `method{call}`, one for names `in{index}`.
    pub fn calls(&self) -> usize {
        let of_input = |name: &str| {
            name.strip_prefix("in").and_then(|rest| rest.split_once('_').map_or(Some(0), |(call, _)| call.parse::<usize>().ok()))
        };
        let of_method = |name: &str| name.strip_prefix("method").and_then(|call| call.parse::<usize>().ok());
        let inputs = self.tensors.keys().filter_map(|name| of_input(name));
        let methods = self.texts.keys().filter_map(|name| of_method(name));
        inputs.chain(methods).max().map_or(0, |last| last.saturating_add(1))
    }

    /// An input of a call.
    pub fn input(&self, call: usize, index: usize) -> Option<&Tensor> {
        let alone = || self.tensors.get(&format!("in{index}")).filter(|_| call == 0);
        self.tensors.get(&format!("in{call}_{index}")).or_else(alone)
    }

    /// The inputs of a call by number.
    pub fn inputs(&self, call: usize) -> Vec<(usize, &Tensor)> {
        let number = |name: &str| {
            let rest = name.strip_prefix("in")?;
            let (of, index) = rest.split_once('_').unwrap_or(("0", rest));
            (of.parse() == Ok(call)).then_some(index)?.parse().ok()
        };
        let numbers: std::collections::BTreeSet<usize> = self.tensors.keys().filter_map(|name| number(name)).collect();
        numbers.into_iter().filter_map(|index| Some((index, self.input(call, index)?))).collect()
    }

    /// An output of a call.
    pub fn output(&self, call: usize, index: usize) -> Option<&Tensor> {
        let alone = || self.tensors.get(&format!("out{index}")).filter(|_| call == 0);
        self.tensors.get(&format!("out{call}_{index}")).or_else(alone)
    }
}

/// Reads the bytes of an `.npy` file.
///
/// # Errors
/// When they are no sound array of numbers.
pub fn parse_npy(bytes: &[u8]) -> Result<Tensor, Diagnostic> {
    let mut reader = bytes;
    let header = Header::read(&mut reader)?;
    match &header.ty {
        Type::Number(element, big_endian) => numbers(&mut reader, &header, *element, *big_endian),
        other => Err(invalid("the array does not hold numbers").expected("numbers", format!("{other:?}"))),
    }
}

/// The bytes of an `.npy` file. Types that NumPy lacks are written as those that stand for them.
pub fn to_npy(tensor: &Tensor) -> Vec<u8> {
    let plain = match tensor.element {
        ElementType::Bf16 => Tensor { element: ElementType::U16, ..tensor.clone() },
        ElementType::I4 => unpacked(tensor),
        _ => tensor.clone(),
    };
    let mut bytes = header::write(header::description(plain.element), &plain.shape);
    bytes.extend_from_slice(&plain.bytes);
    bytes
}

/// An array as the tensor that a model takes, `name` in the error.
///
/// # Errors
/// When element type or shape differ.
pub fn conform(array: &Tensor, element: ElementType, shape: &[u64], name: &str) -> Result<Tensor, Diagnostic> {
    if array.shape != shape {
        let error = Diagnostic::new(502, Kind::Invalid, "the array does not have the input's shape").about_tensor(name);
        return Err(error.expected(format!("{shape:?}"), format!("{:?}", array.shape)));
    }
    match (array.element, element) {
        (have, want) if have == want => Ok(array.clone()),
        (ElementType::U16, ElementType::Bf16) => Ok(Tensor { element, ..array.clone() }),
        (ElementType::I8, ElementType::I4) => Ok(packed(array)),
        (have, want) => {
            let error = Diagnostic::new(503, Kind::Invalid, "the array does not have the input's type").about_tensor(name);
            Err(error.expected(header::description(want), header::description(have)))
        }
    }
}

fn packed(tensor: &Tensor) -> Tensor {
    let bytes = tensor.bytes.chunks(2).map(|pair| (pair[0] & 15) | (pair.get(1).copied().unwrap_or(0) << 4)).collect();
    Tensor { element: ElementType::I4, shape: tensor.shape.clone(), bytes }
}

fn unpacked(tensor: &Tensor) -> Tensor {
    let nibble = |index: usize| (tensor.bytes[index / 2] >> (index % 2 * 4)) << 4;
    let bytes = (0..tensor.elements()).map(|index| (nibble(index) as i8 >> 4) as u8).collect();
    Tensor { element: ElementType::I8, shape: tensor.shape.clone(), bytes }
}

/// Exactly so many bytes; memory grows with what is there, not with what the header claims.
fn exactly(reader: &mut dyn Read, count: u64) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::new();
    let limit = count.min(MAX_BYTES);
    reader.take(limit).read_to_end(&mut bytes).map_err(|error| invalid(format!("the array cannot be read: {error}")))?;
    if bytes.len() as u64 != count {
        return Err(
            invalid("the array is shorter than its header says").expected(format!("{count} bytes"), format!("{} bytes", bytes.len()))
        );
    }
    Ok(bytes)
}

fn numbers(reader: &mut dyn Read, header: &Header, element: ElementType, big_endian: bool) -> Result<Tensor, Diagnostic> {
    let size = TensorType::of(element, &header.shape).static_bytes().filter(|&n| n <= MAX_BYTES);
    let size = size
        .ok_or_else(|| invalid("the array is too large").expected(format!("at most {MAX_BYTES} bytes"), format!("{:?}", header.shape)))?;
    let mut bytes = exactly(reader, size)?;
    if big_endian {
        // Complex numbers are two parts of four bytes.
        let part = element.alignment() as usize;
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
    if element == ElementType::Bool {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    if header.fortran_order {
        bytes = row_major(&bytes, &header.shape, element.bits() as usize / 8);
    }
    Ok(Tensor { element, shape: header.shape.clone(), bytes })
}

/// Elements in column-major order, put into row-major order.
fn row_major(bytes: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let mut position = vec![0u64; shape.len()];
    for _ in 0..bytes.len() / size {
        let index = position.iter().zip(shape).rev().fold(0, |index, (&p, &extent)| index * extent + p) as usize;
        result.extend_from_slice(&bytes[index * size..(index + 1) * size]);
        for d in (0..shape.len()).rev() {
            position[d] += 1;
            if position[d] < shape[d] {
                break;
            }
            position[d] = 0;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(element: ElementType, shape: &[u64], bytes: Vec<u8>) -> Tensor {
        Tensor { element, shape: shape.to_vec(), bytes }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut archive = Archive::default();
        for (element, name) in ElementType::ALL {
            if !matches!(element, ElementType::I4 | ElementType::Bf16) {
                let bytes =
                    (0..element.bits() / 8 * 6).map(|n| if element == ElementType::Bool { (n % 2) as u8 } else { n as u8 }).collect();
                archive.tensors.insert(name.into(), tensor(element, &[2, 3], bytes));
            }
        }
        archive.tensors.insert("in0_0".into(), tensor(ElementType::F64, &[], 2.5f64.to_le_bytes().to_vec()));
        archive.tensors.insert("in3_1".into(), tensor(ElementType::I8, &[0, 4], vec![]));
        archive.texts.insert("method0".into(), "forward é".into());
        let read = Archive::parse(&archive.to_bytes().unwrap()).unwrap();
        assert_eq!(read, archive);
        assert_eq!(read.calls(), 4);
        assert!(read.input(0, 0).is_some() && read.input(3, 1).is_some() && read.input(1, 0).is_none());
    }

    #[test]
    fn types_without_a_numpy_type_travel_as_others() {
        let four_bit = tensor(ElementType::I4, &[3], vec![0xF7, 0x08]);
        let array = parse_npy(&to_npy(&four_bit)).unwrap();
        assert_eq!((array.element, array.bytes.clone()), (ElementType::I8, vec![7, 255, 248]));
        assert_eq!(conform(&array, ElementType::I4, &[3], "in0").unwrap(), four_bit);
        let brain = tensor(ElementType::Bf16, &[1], vec![0x80, 0x3F]);
        let array = parse_npy(&to_npy(&brain)).unwrap();
        assert_eq!(conform(&array, ElementType::Bf16, &[1], "in0").unwrap(), brain);
    }

    #[test]
    fn column_major_and_big_endian_arrays_are_rearranged() {
        let mut bytes = header::write(">i2", &[2, 3]);
        let text = String::from_utf8(bytes.clone().into_iter().map(|b| if b.is_ascii() { b } else { b'?' }).collect()).unwrap();
        let at = text.find("False").unwrap();
        bytes[at..at + 5].copy_from_slice(b"True ");
        bytes.extend([0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
        assert_eq!(parse_npy(&bytes).unwrap(), tensor(ElementType::I16, &[2, 3], vec![1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]));
    }

    #[test]
    fn wrong_types_and_shapes_are_named() {
        let array = tensor(ElementType::F32, &[2], vec![0; 8]);
        let shape = conform(&array, ElementType::F32, &[1, 2], "in0").unwrap_err();
        let element = conform(&array, ElementType::I8, &[2], "in0").unwrap_err();
        assert_eq!((shape.code, element.code), (502, 503));
        assert!(element.to_string().contains("|i1") && element.to_string().contains("<f4"), "{element}");
    }

    #[test]
    fn damaged_files_are_errors() {
        let mut archive = Archive::default();
        archive.tensors.insert("in0_0".into(), tensor(ElementType::F32, &[2, 2], vec![1; 16]));
        let bytes = archive.to_bytes().unwrap();
        for cut in 0..bytes.len() {
            assert!(Archive::parse(&bytes[..cut]).is_err());
        }
        for position in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[position] ^= 0x15;
            let _ = Archive::parse(&flipped);
        }
        let claims = header::write("<f4", &[u64::MAX, u64::MAX]);
        assert!(parse_npy(&claims).is_err());
    }
}
