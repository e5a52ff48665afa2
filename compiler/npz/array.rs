//! NumPy's `.npy` files: one array, its bytes after a header.

use super::header::{self, Header, Type, invalid};
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::Taken;
use crate::ir::{ElementType, Tensor, TensorType, has_room, packed};
use std::io::Read;

/// Limit of an array's bytes; the largest inputs of real models have a few megabytes.
pub(super) const MAX_BYTES: u64 = 1 << 32;

/// The contents of an `.npy` file.
#[derive(Debug)]
pub(super) enum Array {
    /// Numbers.
    Numbers(Tensor),
    /// One string.
    Text(String),
    /// Anything else, described.
    Other(String),
}

impl Array {
    /// Reads an array that takes all of `bytes` bytes, with its header. Memory is reserved for the file's bytes, not for the size in the
    /// header.
    pub fn read(reader: &mut dyn Read, bytes: u64) -> Result<Self, Diagnostic> {
        let header = Header::read(reader)?;
        let left = bytes.saturating_sub(header.bytes);
        match &header.ty {
            Type::Number(element, big_endian) => Ok(Self::Numbers(numbers(reader, &header, left, *element, *big_endian)?)),
            Type::Text(text) if header.shape.is_empty() => Ok(Self::Text(text.decode(&contents(reader, text.bytes(), left)?))),
            Type::Text(_) => Ok(Self::Other("strings".into())),
            Type::Other(ty) => Ok(Self::Other(ty.clone())),
        }
    }
}

/// Parses the bytes of an `.npy` file.
///
/// # Errors
/// A diagnostic if they are not a valid array of numbers.
pub fn parse_npy(bytes: &[u8]) -> Result<Tensor, Diagnostic> {
    let found = match Array::read(&mut &*bytes, bytes.len() as u64)? {
        Array::Numbers(tensor) => return Ok(tensor),
        Array::Text(_) => "a string".into(),
        Array::Other(ty) => ty,
    };
    Err(invalid("the array does not hold numbers").expected("numbers", found))
}

/// Returns the bytes of an `.npy` file. Types that NumPy lacks are written as substitute types.
pub fn to_npy(tensor: &Tensor) -> Vec<u8> {
    let plain = match tensor.element {
        ElementType::Bf16 => Tensor { element: ElementType::U16, ..tensor.clone() },
        element if element.is_packed() => unpacked(tensor),
        _ => tensor.clone(),
    };
    let mut bytes = header::write(header::description(plain.element), &plain.shape);
    bytes.extend_from_slice(&plain.bytes);
    bytes
}

/// Converts an array to the tensor that a model takes; errors contain `name`.
///
/// # Errors
/// A diagnostic if element type or shape differ.
pub fn conform(array: &Tensor, element: ElementType, shape: &[u64], name: &str) -> Result<Tensor, Diagnostic> {
    Taken::of_shape(element, shape).fitting(array, name)
}

/// Returns a tensor with at least one byte for each element.
pub fn unpacked(tensor: &Tensor) -> Tensor {
    let bytes = packed::unpack(tensor.element, &tensor.bytes, tensor.elements());
    Tensor { element: tensor.element.unpacked(), shape: tensor.shape.clone(), bytes }
}

/// Reads everything after a header: `count` bytes by type and shape, while the file has `left`.
fn contents(reader: &mut dyn Read, count: u64, left: u64) -> Result<Vec<u8>, Diagnostic> {
    let differs = |found: u64| {
        let message = if found < count { "the array is shorter than its header says" } else { "the array is longer than its header says" };
        invalid(message).expected(format!("{count} bytes"), format!("{found} bytes"))
    };
    if count != left {
        return Err(differs(left));
    }
    let mut bytes = Vec::new();
    // Read one byte more than expected, because the end must be reached: the checksum of a compressed array is verified there.
    let read = reader.take(count.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::OutOfMemory => no_memory(count),
        _ => invalid(format!("the array cannot be read: {error}")),
    })?;
    if bytes.len() as u64 == count { Ok(bytes) } else { Err(differs(bytes.len() as u64)) }
}

fn no_memory(bytes: u64) -> Diagnostic {
    Diagnostic::new(codes::NO_MEMORY, format!("there is no memory for an array of {bytes} bytes"))
}

fn numbers(reader: &mut dyn Read, header: &Header, left: u64, element: ElementType, big_endian: bool) -> Result<Tensor, Diagnostic> {
    let size = TensorType::of(element, &header.shape).static_bytes().filter(|&n| n <= MAX_BYTES);
    let size = size
        .ok_or_else(|| invalid("the array is too large").expected(format!("at most {MAX_BYTES} bytes"), format!("{:?}", header.shape)))?;
    let mut bytes = contents(reader, size, left)?;
    if big_endian {
        // A complex number has two parts.
        let part = element.alignment() as usize;
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
    if element == ElementType::Bool {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    if header.fortran_order {
        if !has_room(bytes.len()) {
            return Err(no_memory(size));
        }
        bytes = row_major(&bytes, &header.shape, element.bits() as usize / 8);
    }
    Ok(Tensor { element, shape: header.shape.clone(), bytes })
}

/// Converts elements from column-major to row-major order.
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

    /// Makes a file with a header of a given version, as NumPy might write it.
    fn file(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((dictionary.len() as u16).to_le_bytes()),
            _ => bytes.extend((dictionary.len() as u32).to_le_bytes()),
        }
        bytes.extend(dictionary.bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn types_without_a_numpy_type_travel_as_others() {
        let four_bit = tensor(ElementType::I4, &[3], vec![0xF7, 0x08]);
        let array = parse_npy(&to_npy(&four_bit)).unwrap();
        assert_eq!((array.element, array.bytes.clone()), (ElementType::I8, vec![7, 255, 248]));
        assert_eq!(conform(&array, ElementType::I4, &[3], "in0").unwrap(), four_bit);
        let two_bit = tensor(ElementType::I2, &[5], vec![0b11_10_01_00, 0b10]);
        let array = parse_npy(&to_npy(&two_bit)).unwrap();
        assert_eq!((array.element, array.bytes.clone()), (ElementType::I8, vec![0, 1, 254, 255, 254]));
        assert_eq!(conform(&array, ElementType::I2, &[5], "in0").unwrap(), two_bit);
        let unsigned = tensor(ElementType::U4, &[2], vec![0xF7]);
        let array = parse_npy(&to_npy(&unsigned)).unwrap();
        assert_eq!((array.element, array.bytes.clone()), (ElementType::U8, vec![7, 15]));
        assert_eq!(conform(&array, ElementType::U4, &[2], "in0").unwrap(), unsigned);
        let brain = tensor(ElementType::Bf16, &[1], vec![0x80, 0x3F]);
        let array = parse_npy(&to_npy(&brain)).unwrap();
        assert_eq!(conform(&array, ElementType::Bf16, &[1], "in0").unwrap(), brain);
    }

    #[test]
    fn column_major_and_big_endian_arrays_are_rearranged() {
        let bytes = file(1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
        assert_eq!(parse_npy(&bytes).unwrap(), tensor(ElementType::I16, &[2, 3], vec![1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]));
        let bytes = file(1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }", &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(parse_npy(&bytes).unwrap(), tensor(ElementType::C64, &[1], vec![4, 3, 2, 1, 8, 7, 6, 5]));
    }

    #[test]
    fn all_versions_of_headers_are_read() {
        for version in 1..=3 {
            let bytes = file(version, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", &[7]);
            assert_eq!(parse_npy(&bytes).unwrap(), tensor(ElementType::U8, &[], vec![7]), "{version}");
        }
        assert!(parse_npy(&file(4, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }", &[7])).is_err());
    }

    #[test]
    fn wrong_types_and_shapes_are_named() {
        let array = tensor(ElementType::F32, &[2], vec![0; 8]);
        let shape = conform(&array, ElementType::F32, &[1, 2], "in0").unwrap_err();
        let element = conform(&array, ElementType::I8, &[2], "in0").unwrap_err();
        assert_eq!((shape.code, element.code), (codes::ARRAY_SHAPE, codes::ARRAY_TYPE));
        assert!(element.to_string().contains("int8") && element.to_string().contains("float32"), "{element}");
    }

    #[test]
    fn arrays_have_as_many_bytes_as_their_headers_say() {
        for (extents, bytes) in [(vec![u64::MAX, u64::MAX], 0), (vec![1 << 29], 16), (vec![4], 15), (vec![4], 17), (vec![1 << 61], 0)] {
            let mut file = header::write("<f4", &extents);
            file.extend(vec![0; bytes]);
            assert_eq!(parse_npy(&file).unwrap_err().code, codes::DAMAGED_ARCHIVE, "{extents:?}");
        }
        let empty = header::write("<f4", &[0, u64::from(u32::MAX)]);
        assert_eq!(parse_npy(&empty).unwrap().shape, [0, u64::from(u32::MAX)]);
        assert_eq!(
            parse_npy(&file(1, "{'descr': '<U3', 'fortran_order': False, 'shape': (), }", &[0; 12])).unwrap_err().code,
            codes::DAMAGED_ARCHIVE
        );
    }
}
