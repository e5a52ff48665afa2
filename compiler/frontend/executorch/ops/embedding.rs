//! Rows of tables of integers, and integers with a scale for each row: `quantized_decomposed` operators that have tokens in rows.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{ElementType, Interval};
use crate::operators::embedding::{Scales, floats_of_rows, integers_of_bytes};
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use crate::operators::quantize_rows;
use ElementType::F32;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("quantized_decomposed::embedding_byte.out", |c| embedding(c, 8)),
    ("quantized_decomposed::embedding_byte.dtype_out", |c| embedding(c, 8)),
    ("quantized_decomposed::embedding_4bit.out", |c| embedding(c, 4)),
    ("quantized_decomposed::embedding_4bit.dtype_out", |c| embedding(c, 4)),
    ("quantized_decomposed::embedding_2bit.out", |c| embedding(c, 2)),
    ("quantized_decomposed::embedding_2bit.dtype_out", |c| embedding(c, 2)),
    ("quantized_decomposed::choose_qparams_per_token_asymmetric.out", choose_parameters),
    ("quantized_decomposed::quantize_per_token.out", quantize_tokens),
    ("quantized_decomposed::dequantize_per_token.out", dequantize_tokens),
];

/// (weight, scales, zero points, low, high, indices, …): rows of the table, which alone are brought to floats. Scales are one a row, or one for each
/// group of neighbours in it.
fn embedding(c: &mut Call<'_, '_, '_>, bits: u32) -> Outcome {
    let (weight, scales, zero_points, indices) = (c.tensor(0)?, c.tensor(1)?, c.optional_tensor(2)?, c.tensor(5)?);
    let table = c.shape(weight)?;
    let &[rows, bytes] = &table[..] else {
        return Err(Fault::invalid("the table is not a matrix").expected("2 dimensions", table.len().to_string()));
    };
    let columns = bytes * u64::from(8 / bits);
    let picked = c.graph().gather(weight, indices, 0)?;
    let integers = if bits == 8 { picked } else { integers_of_bytes(c.graph(), picked, bits)? };
    let groups = c.shape(scales)?.iter().product::<u64>() / rows.max(1);
    if groups == 0 || !columns.is_multiple_of(groups) {
        return Err(Fault::invalid("the scales do not fit the table").expected(format!("a divisor of {columns}"), groups.to_string()));
    }
    let out = c.out_form(c.out())?.element;
    let scales = Scales { scales, zero_points, rows, groups };
    let y = floats_of_rows(c.graph(), integers, indices, columns, &scales, out)?;
    c.finish(y)
}

/// (input, dtype, scale, zero point). Scales and zero points of 8-bit integers, for each row along the last dimension.
fn choose_parameters(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let x = c.cast(x, F32)?;
    let found = quantize_rows::spanning_rows(c.graph(), x, Interval::new(-128, 127))?;
    for (index, value) in [2, 3].into_iter().zip(found) {
        c.define(index, value)?;
    }
    Ok(())
}

/// Scales and zero points of rows, arguments 1 and 2.
fn of_rows(c: &mut Call<'_, '_, '_>) -> Result<Scale, Fault> {
    Ok(Scale { scale: Parameter::Tensor(c.tensor(1)?), zero_point: Parameter::Tensor(c.tensor(2)?) })
}

/// (input, scales, zero points, low, high, dtype).
fn quantize_tokens(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, scale, bounds) = (c.tensor(0)?, of_rows(c)?, Interval::new(c.int(3)?, c.int(4)?));
    let out = c.out_form(c.out())?.element;
    let y = quantize::quantize(c.graph(), x, &scale, bounds, Rounding::Even, out)?;
    c.finish(y)
}

/// (input, scales, zero points, low, high, dtype, output_dtype).
fn dequantize_tokens(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, scale) = (c.tensor(0)?, of_rows(c)?);
    let out = c.out_form(c.out())?.element;
    let y = quantize::dequantize(c.graph(), x, &scale, Rounding::Even, out)?;
    c.finish(y)
}
