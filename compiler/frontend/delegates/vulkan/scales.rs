//! Integers with scales: constants in their graphs' layouts, and the scaling of sums of products.
//!
//! Rows of weights are padded to whole words, and so are vectors with a number for each row. Numbers beyond the result's size are padding.

use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::Call;
use crate::ir::{ElementType, Extent, Interval, Scalar, Value};
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use crate::operators::{Error, extents};
use ElementType::{F32, I4, I8, U8};

/// The integers of bytes.
pub(super) const INT8: Interval = Interval::new(-128, 127);

/// One scale and zero point.
pub(super) fn affine(scale: f64, zero_point: f64) -> Scale {
    Scale { scale: Parameter::Number(scale), zero_point: Parameter::Number(zero_point) }
}

/// The first elements of a constant vector, as constants.
pub(super) fn first(c: &mut Call<'_, '_, '_>, vector: Value, count: u64) -> Result<Value, Fault> {
    let shape = c.shape(vector)?;
    let elements: u64 = shape.iter().product();
    if elements < count {
        let fault = Fault::invalid("a vector has too few numbers for the channels");
        return Err(fault.expected(format!("at least {count}"), elements.to_string()));
    }
    let flat = c.reshape(vector, &[elements])?;
    let part = c.graph().slice_along(flat, 0, Extent::Static(0), Extent::Static(count))?;
    Ok(c.graph().settled(part)?)
}

/// A constant `[rows, padded columns]` without its padding.
pub(super) fn without_padding(c: &mut Call<'_, '_, '_>, matrix: Value, [rows, columns]: [u64; 2]) -> Result<Value, Fault> {
    let shape = c.shape(matrix)?;
    match shape[..] {
        [r, k] if r >= rows && k >= columns => {
            let part = c.graph().slice(matrix, &extents(&[0, 0]), &extents(&[rows, columns]), &[1, 1])?;
            Ok(c.graph().settled(part)?)
        }
        _ => {
            Err(Fault::invalid("the weights are smaller than they have to be")
                .expected(format!("[{rows}, {columns}]"), format!("{shape:?}")))
        }
    }
}

/// The half of a byte that holds the first of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum First {
    /// The four low bits.
    Low,
    /// The four high bits.
    High,
}

/// The form of a constant of 4-bit weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `[rows, columns]` of signed integers of four bits, for products of such.
    Nibbles,
    /// `[rows, columns]` of bytes, for other arithmetic.
    Bytes,
    /// `[rows, columns / 2]` of bytes with two integers each, in excess code (8 more), the first one in the high half: a table.
    Table,
}

/// Weights of four bits in excess code (8 more), two a byte, as a constant of `columns` integers a row.
pub(super) fn nibbles(c: &mut Call<'_, '_, '_>, stored: Value, columns: u64, order: First, form: Form) -> Result<Value, Fault> {
    let shape = c.shape(stored)?;
    let &[rows, bytes] = &shape[..] else {
        return Err(Fault::invalid("the weights are not a matrix").expected("2 dimensions", shape.len().to_string()));
    };
    if bytes.saturating_mul(2) < columns || c.element(stored).bits() != 8 {
        return Err(
            Fault::invalid("rows of weights are too short").expected(format!("{columns} numbers of 4 bits"), format!("{bytes} bytes"))
        );
    }
    let stored = c.graph().evaluated(stored).ok_or_else(|| Fault::unsupported("the 4-bit weights are not constant"))?;
    let numbers = integers(stored, [bytes as usize, columns as usize], order);
    let (element, width, data) = match form {
        Form::Nibbles => (I4, columns, pairs(&numbers, |[first, second]| (first ^ 8) | (second ^ 8) << 4)),
        Form::Bytes => (I8, columns, numbers.into_iter().map(|n| n.wrapping_sub(8)).collect()),
        Form::Table if columns.is_multiple_of(2) => (U8, columns / 2, pairs(&numbers, |[first, second]| first << 4 | second)),
        Form::Table => return Err(Fault::unsupported("rows of an odd number of 4-bit integers")),
    };
    Ok(c.graph().constant(element, &[rows, width], data)?)
}

/// The numbers of four bits in rows of bytes, as they are stored, without the padding of the rows.
fn integers(stored: &[u8], [bytes, columns]: [usize; 2], order: First) -> Vec<u8> {
    let halves = |byte: &u8| if order == First::Low { [byte & 15, byte >> 4] } else { [byte >> 4, byte & 15] };
    let row = |row: &[u8]| row.iter().flat_map(halves).take(columns).collect::<Vec<u8>>();
    stored.chunks_exact(bytes.max(1)).flat_map(row).collect()
}

/// Two numbers a byte. A last number without a partner is joined with 0.
fn pairs(numbers: &[u8], joined: impl Fn([u8; 2]) -> u8) -> Vec<u8> {
    // A stored 8 stands for 0.
    numbers.chunks(2).map(|pair| joined([pair[0], pair.get(1).copied().unwrap_or(8)])).collect()
}

/// The numbers of a constant.
pub(super) fn floats(c: &mut Call<'_, '_, '_>, value: Value) -> Result<Vec<f32>, Fault> {
    let value = c.cast(value, F32)?;
    let bytes = c.graph().evaluated(value).ok_or_else(|| Fault::unsupported("the scales of the weights are not constant"))?;
    Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// The arguments that scale sums of products of integers, by their positions.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    /// The input's scale.
    pub(super) input: usize,
    /// The scales of the channels.
    pub(super) weights: usize,
    /// The bias.
    pub(super) bias: usize,
}

impl Sums {
    /// Sums, channels last, as real numbers.
    pub(super) fn real(self, c: &mut Call<'_, '_, '_>, sums: Value, channels: u64) -> Result<Value, Fault> {
        let scales = c.tensor(self.weights)?;
        let scales = first(c, scales, channels)?;
        let input = c.double(self.input)? as f32;
        let factors: Vec<f32> = floats(c, scales)?.into_iter().map(|scale| scale * input).collect();
        let factors = c.graph().constant_f32(&[channels], &factors)?;
        let mut operands = vec![sums, factors];
        if let Some(bias) = c.optional_tensor(self.bias)? {
            operands.push(first(c, bias, channels)?);
        }
        Ok(c.graph().compute::<Error>(&operands, |terms, x| {
            let sum = terms.convert(x[0], F32);
            let mut real = terms.mul(sum, x[1])?;
            if let Some(&bias) = x.get(2) {
                let bias = terms.convert(bias, F32);
                real = terms.add(real, bias)?;
            }
            Ok(real)
        })?)
    }
}

/// Real numbers as bytes of the result's scale, after the activation that the call names: arguments by number.
pub(super) fn as_bytes(c: &mut Call<'_, '_, '_>, real: Value, scale: usize, activation: Option<usize>) -> Result<Value, Fault> {
    let activation = activation.map(|argument| c.text(argument)).transpose()?.flatten();
    let real = match activation.as_deref() {
        None | Some("none") => real,
        Some("relu") => c.graph().compute::<Error>(&[real], |terms, x| {
            let zero = terms.constant(Scalar::float(F32, 0.0));
            Ok(terms.max(x[0], zero)?)
        })?,
        Some(other) => return Err(Fault::unsupported("unknown activation").expected("none or relu", other)),
    };
    let scale = affine(c.double(scale)?, c.double(scale + 1)?);
    Ok(quantize::quantize(c.graph(), real, &scale, INT8, Rounding::Even, I8)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_four_bits_become_signed_and_lose_their_padding() {
        // 8 stands for 0, 9 for 1, 7 for −1: rows of three, in two bytes each.
        let signed = |numbers: &[u8]| pairs(numbers, |[first, second]| (first ^ 8) | (second ^ 8) << 4);
        assert_eq!(signed(&integers(&[0x98, 0x87, 0x79, 0x88], [2, 3], First::Low)), [0x10, 0x1F, 0x0F]);
        assert_eq!(signed(&integers(&[0x89, 0x78], [2, 3], First::High)), [0x10, 0x0F]);
    }
}
