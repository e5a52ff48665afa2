//! Constants of a graph as values of the function.

use super::run::Run;
use super::subgraph::{Datatype, Quantization, Scales, Tensor};
use crate::frontend::executorch::fault::Fault;
use crate::ir::{Data, ElementType, TensorType, Value};
use crate::operators::contraction::Matrix;
use crate::operators::contraction::dynamic_range::is_block;

impl Run<'_, '_> {
    /// A constant tensor. Four bits become signed ones side by side.
    pub(super) fn constant(&mut self, tensor: &Tensor, number: usize) -> Result<Value, Fault> {
        let (element, stored) = self.stored(tensor, number)?;
        let data = if element == ElementType::I4 {
            let signed = nibbles(stored.bytes(), tensor.dims.last().copied().unwrap_or(0));
            // The file's bytes are not read again.
            stored.release();
            signed.into()
        } else {
            stored
        };
        self.add(TensorType::of(element, &tensor.dims), data)
    }

    /// A filter of integers: four bits as the file has them where its products take them so, and a large model's are not held twice.
    pub(super) fn matrix(&mut self, filter: usize) -> Result<Matrix, Fault> {
        let tensor = self.info(filter);
        let (Datatype::Nibbles, Some(number), &[_, depth]) = (tensor.datatype, tensor.constant, &tensor.dims[..]) else {
            return Ok(self.tensor(filter)?.into());
        };
        let in_groups = matches!(tensor.quantization, Quantization::Groups { .. });
        if !depth.is_multiple_of(2) || !(in_groups || is_block(ElementType::I4, depth)) {
            return Ok(self.tensor(filter)?.into());
        }
        let (element, stored) = self.stored(tensor, number)?;
        Ok(Matrix { value: self.add(TensorType::of(element, &tensor.dims), stored)?, excess: true })
    }

    fn add(&mut self, ty: TensorType, data: Data) -> Result<Value, Fault> {
        let builder = &mut self.caller.graph().builder;
        let constant = builder.module.add_constant(ty, data);
        Ok(builder.constant(constant)?)
    }

    /// The element type of a constant, and its bytes in the file.
    fn stored(&self, tensor: &Tensor, number: usize) -> Result<(ElementType, Data), Fault> {
        let data = self.bytes_of(number)?;
        let elements = tensor.dims.iter().product::<u64>();
        let (element, bytes) = match tensor.datatype {
            Datatype::Element(element) => (element, element.bytes_for(elements)),
            Datatype::Nibbles => {
                let (rows, columns) = (elements.checked_div(tensor.dims.last().copied().unwrap_or(0)).unwrap_or(0), tensor.dims.last());
                (ElementType::I4, columns.and_then(|n| n.div_ceil(2).checked_mul(rows)))
            }
            Datatype::DynamicBytes => return Err(Fault::invalid("a constant of the XNNPACK graph has scales that are found when it runs")),
        };
        let stored = bytes.and_then(|bytes| usize::try_from(bytes).ok()).and_then(|length| data.slice(0..length));
        let stored = stored.ok_or_else(|| {
            Fault::invalid(format!("constant {number} of the XNNPACK graph is shorter than its tensor"))
                .expected(format!("{} bytes", bytes.unwrap_or(u64::MAX)), data.bytes().len().to_string())
        })?;
        Ok((element, stored))
    }

    /// The bytes of a constant, wherever they are.
    fn bytes_of(&self, number: usize) -> Result<Data, Fault> {
        let source = self.subgraph.constants.get(number).ok_or(Fault::Consequence)?;
        Ok(self.caller.bytes_of(source)?)
    }

    /// The scales of a filter: one, or one a channel.
    pub(super) fn scales(&self, tensor: &Tensor) -> Result<Vec<f32>, Fault> {
        let (scales, expected) = match &tensor.quantization {
            Quantization::Tensor(affine) => return Ok(vec![affine.scale]),
            Quantization::Channels { axis, scales } => (scales, tensor.dims[*axis]),
            Quantization::Groups { .. } => return Err(Fault::unsupported("a filter has groups in something else than a product of rows")),
            Quantization::None | Quantization::Rows { .. } => return Err(Fault::invalid("a filter of integers has no scales")),
        };
        let numbers = match scales {
            Scales::Numbers(numbers) => numbers.clone(),
            Scales::Constant { constant, count } => {
                let data = self.bytes_of(*constant)?;
                let numbers = data.bytes().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                numbers.take(usize::try_from(*count).unwrap_or(usize::MAX)).collect()
            }
        };
        checked(&numbers, expected, |&scale| scale)?;
        Ok(numbers)
    }

    /// The scales `[units, blocks]` of a filter in groups of some size, bfloat16 as in the file.
    pub(super) fn scales_of_groups(&mut self, filter: usize, size: u64) -> Result<Value, Fault> {
        let tensor = self.info(filter);
        let Quantization::Groups { scales, .. } = &tensor.quantization else { return Err(Fault::Consequence) };
        let depth = tensor.dims.last().copied().unwrap_or(0);
        if !depth.is_multiple_of(size) {
            return Err(Fault::unsupported("groups of a filter do not divide its depth")
                .expected(format!("a multiple of {size}"), depth.to_string()));
        }
        let units = tensor.dims.iter().product::<u64>().checked_div(depth).unwrap_or(0);
        let shape = [units, depth / size];
        let expected = units * (depth / size);
        match scales {
            Scales::Numbers(numbers) => {
                checked(numbers, expected, |&scale| scale)?;
                let numbers = &numbers.clone();
                Ok(self.caller.graph().constant_f32(&shape, numbers)?)
            }
            Scales::Constant { constant, count } => {
                let data = self.bytes_of(*constant)?;
                let length = usize::try_from(*count).ok().and_then(|count| count.checked_mul(2)).unwrap_or(usize::MAX);
                let data = data.slice(0..length.min(data.bytes().len() & !1)).ok_or(Fault::Consequence)?;
                checked(data.bytes().as_chunks::<2>().0, expected, |&pair| half::bf16::from_le_bytes(pair).to_f32())?;
                self.add(TensorType::of(ElementType::Bf16, &shape), data)
            }
        }
    }
}

/// Checks that there are as many scales as expected, and that all are sound.
fn checked<T>(stored: &[T], expected: u64, scale: impl Fn(&T) -> f32) -> Result<(), Fault> {
    if stored.len() as u64 != expected {
        return Err(Fault::invalid("a filter does not have a scale for each channel or group")
            .expected(expected.to_string(), stored.len().to_string()));
    }
    match stored.iter().map(scale).find(|scale| !(scale.is_finite() && *scale >= 0.0)) {
        Some(scale) => Err(Fault::invalid("a scale is negative or no number").expected("a finite number of 0 or more", scale.to_string())),
        None => Ok(()),
    }
}

/// Converts 4-bit numbers in excess code (8 more), with rows of whole bytes, to signed ones without gaps.
fn nibbles(stored: &[u8], columns: u64) -> Vec<u8> {
    if columns.is_multiple_of(2) {
        return stored.iter().map(|byte| byte ^ 0x88).collect();
    }
    let columns = usize::try_from(columns).unwrap_or(usize::MAX);
    let of_row = |row: &[u8]| row.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(columns).map(|n| n ^ 8).collect::<Vec<u8>>();
    let flat: Vec<u8> = stored.chunks_exact(columns.div_ceil(2).max(1)).flat_map(of_row).collect();
    flat.chunks(2).map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 4).collect()
}

#[cfg(test)]
mod tests {
    use super::nibbles;

    #[test]
    fn numbers_of_four_bits_become_signed() {
        // 8 stands for 0, 0 for −8, 15 for 7.
        assert_eq!(nibbles(&[0x08, 0xF7], 2), [0x80, 0x7F]);
    }

    #[test]
    fn odd_rows_end_in_the_middle_of_a_byte() {
        // Rows of three: (0, 1, 2) and (3, 4, 5), the last half of each row's second byte unused.
        assert_eq!(nibbles(&[0x98, 0xFA, 0xCB, 0xFD], 3), [0x10, 0x32, 0x54]);
    }
}
