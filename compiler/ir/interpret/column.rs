//! Runs of numbers in the form that arithmetic wants: the bridge between bytes and the semantics of `integer` and `float`.

use super::array::{u16_at, u32_at, u64_at};
use crate::types::ElementType;
use half::{bf16, f16};

/// Numbers of one element type.
#[derive(Clone, Debug)]
pub(super) enum Column {
    /// Any integer or truth value, see [`crate::scalar::integer`].
    Int(Vec<i64>),
    /// Binary32, and the 16-bit floats, which are computed in binary32 and rounded after every operation.
    F32(Vec<f32>),
    /// Binary64.
    F64(Vec<f64>),
    /// Complex: real, imaginary.
    C64(Vec<(f32, f32)>),
}

impl Column {
    /// The numbers, where they are binary32 or narrower floats.
    pub fn singles(&self) -> Option<&[f32]> {
        if let Self::F32(numbers) = self { Some(numbers) } else { None }
    }

    /// The numbers, where they are binary64.
    pub fn doubles(&self) -> Option<&[f64]> {
        if let Self::F64(numbers) = self { Some(numbers) } else { None }
    }

    /// `count` zeros of a type.
    pub fn zeros(element: ElementType, count: usize) -> Self {
        match element {
            ElementType::F16 | ElementType::Bf16 | ElementType::F32 => Self::F32(vec![0.0; count]),
            ElementType::F64 => Self::F64(vec![0.0; count]),
            ElementType::C64 => Self::C64(vec![(0.0, 0.0); count]),
            // Type rules keep numbers without arithmetic out of expressions.
            _ => Self::Int(vec![0; count]),
        }
    }

    /// The elements at `positions` of a tensor's bytes.
    pub fn decode(element: ElementType, bytes: &[u8], positions: impl Iterator<Item = usize> + Clone) -> Self {
        let mut column = Self::zeros(element, positions.size_hint().0);
        column.load(element, bytes, positions);
        column
    }

    /// Overwrites the first elements with the elements at `positions` of a tensor's bytes. The column is of the element's kind.
    pub fn load(&mut self, element: ElementType, bytes: &[u8], positions: impl Iterator<Item = usize>) {
        match (self, element) {
            // A packed integer is the low bits of its byte.
            (Self::Int(out), ElementType::I2) => fill(out, positions, |p| i64::from((bytes[p] << 6) as i8 >> 6)),
            (Self::Int(out), ElementType::I4) => fill(out, positions, |p| i64::from((bytes[p] << 4) as i8 >> 4)),
            (Self::Int(out), ElementType::U4) => fill(out, positions, |p| i64::from(bytes[p] & 15)),
            (Self::Int(out), ElementType::I8) => fill(out, positions, |p| i64::from(bytes[p] as i8)),
            (Self::Int(out), ElementType::Bool) => fill(out, positions, |p| i64::from(bytes[p] != 0)),
            (Self::Int(out), ElementType::I16) => fill(out, positions, |p| i64::from(u16_at(bytes, p) as i16)),
            (Self::Int(out), ElementType::U16) => fill(out, positions, |p| i64::from(u16_at(bytes, p))),
            (Self::Int(out), ElementType::I32) => fill(out, positions, |p| i64::from(u32_at(bytes, p) as i32)),
            (Self::Int(out), ElementType::U32) => fill(out, positions, |p| i64::from(u32_at(bytes, p))),
            (Self::Int(out), ElementType::I64 | ElementType::U64) => fill(out, positions, |p| u64_at(bytes, p) as i64),
            (Self::Int(out), _) => fill(out, positions, |p| i64::from(bytes[p])),
            (Self::F32(out), ElementType::F16) => fill(out, positions, |p| f16::from_bits(u16_at(bytes, p)).to_f32()),
            (Self::F32(out), ElementType::Bf16) => fill(out, positions, |p| bf16::from_bits(u16_at(bytes, p)).to_f32()),
            (Self::F32(out), _) => fill(out, positions, |p| f32::from_bits(u32_at(bytes, p))),
            (Self::F64(out), _) => fill(out, positions, |p| f64::from_bits(u64_at(bytes, p))),
            (Self::C64(out), _) => {
                fill(out, positions, |p| (f32::from_bits(u32_at(bytes, 2 * p)), f32::from_bits(u32_at(bytes, 2 * p + 1))));
            }
        }
    }

    /// Floats in binary64; none for other numbers.
    pub fn wide(&self) -> Option<Vec<f64>> {
        match self {
            Self::F32(values) => Some(values.iter().map(|&x| f64::from(x)).collect()),
            Self::F64(values) => Some(values.clone()),
            _ => None,
        }
    }

    /// Appends the first `count` elements as bytes. Numbers outside the type are cut to its low bits.
    pub fn store(&self, element: ElementType, count: usize, out: &mut Vec<u8>) {
        match (self, element) {
            (Self::Int(values), _) => match element.bits() {
                16 => values[..count].iter().for_each(|&x| out.extend_from_slice(&(x as u16).to_le_bytes())),
                32 => values[..count].iter().for_each(|&x| out.extend_from_slice(&(x as u32).to_le_bytes())),
                64 => values[..count].iter().for_each(|&x| out.extend_from_slice(&x.to_le_bytes())),
                _ => out.extend(values[..count].iter().map(|&x| x as u8)),
            },
            (Self::F32(values), ElementType::F16) => {
                values[..count].iter().for_each(|&x| out.extend_from_slice(&f16::from_f32(x).to_le_bytes()));
            }
            (Self::F32(values), ElementType::Bf16) => {
                values[..count].iter().for_each(|&x| out.extend_from_slice(&bf16::from_f32(x).to_le_bytes()));
            }
            (Self::F32(values), _) => values[..count].iter().for_each(|&x| out.extend_from_slice(&x.to_le_bytes())),
            (Self::F64(values), _) => values[..count].iter().for_each(|&x| out.extend_from_slice(&x.to_le_bytes())),
            (Self::C64(values), _) => values[..count].iter().for_each(|&(re, im)| {
                out.extend_from_slice(&re.to_le_bytes());
                out.extend_from_slice(&im.to_le_bytes());
            }),
        }
    }
}

fn fill<T>(out: &mut [T], positions: impl Iterator<Item = usize>, mut at: impl FnMut(usize) -> T) {
    for (slot, position) in out.iter_mut().zip(positions) {
        *slot = at(position);
    }
}
