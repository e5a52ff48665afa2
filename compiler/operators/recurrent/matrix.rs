//! Products of rows of floats with constant matrices. A matrix has floats, or int8 with a scale each row; for int8, the program quantizes the rows of
//! floats.

use super::cell::{Weights, stacked};
use super::sequence::Step;
use crate::ir::{ElementType, Reduction, Scalar, Value, ZeroPoints};
use crate::operators::contraction::rows::{asymmetric_rows, symmetric_rows};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph, extents};
use ElementType::{F32, I8, I32};

/// `[rows, depth]` matrices of the same depth, one below the other.
pub(super) struct Matrix {
    weights: Value,
    quantized: Option<Quantized>,
}

/// The quantization of integer weights.
struct Quantized {
    /// The scale of each row, f32.
    scales: Value,
    /// The sum of each row, i32, if the other factor has an offset.
    sums: Option<Value>,
}

impl Matrix {
    /// Stacks matrices that are all of f32, or all of i8 with one scale or one for each row.
    ///
    /// # Errors
    /// When they do not fit each other.
    pub fn new(g: &mut Graph<'_>, parts: &[&Weights], asymmetric: bool) -> Result<Self, Error> {
        let weights = stacked(g, &parts.iter().map(|part| part.value).collect::<Vec<_>>())?;
        if g.element(weights) != I8 {
            return Ok(Self { weights, quantized: None });
        }
        let mut scales = Vec::new();
        for part in parts {
            let rows = g.shape(part.value)?.first().copied().unwrap_or(0) as usize;
            scales.extend((0..rows).map(|row| Scalar::f32(part.scales[if part.scales.len() == 1 { 0 } else { row }])));
        }
        let scales = g.numbers(F32, &[scales.len() as u64], &scales)?;
        let sums = if asymmetric { Some(row_sums(g, weights)?) } else { None };
        Ok(Self { weights, quantized: Some(Quantized { scales, sums }) })
    }

    /// The matrix as values of a step.
    pub fn in_step(&self, step: &mut Step<'_, '_>) -> Result<Self, Error> {
        let quantized = match &self.quantized {
            Some(Quantized { scales, sums }) => {
                Some(Quantized { scales: step.value(*scales)?, sums: sums.map(|sums| step.value(sums)).transpose()? })
            }
            None => None,
        };
        Ok(Self { weights: step.value(self.weights)?, quantized })
    }

    /// `rows [M, depth] × matrixᵀ`, f32.
    pub fn product(&self, g: &mut Graph<'_>, rows: Value) -> Result<Value, Error> {
        let Some(Quantized { scales, sums: row_sums }) = &self.quantized else {
            return Ok(g.builder.matmul(rows, self.weights, ZeroPoints::NONE, F32)?);
        };
        let rows = if row_sums.is_some() { asymmetric_rows(g, rows, &[1])? } else { symmetric_rows(g, rows, &[1])? };
        let sums = g.builder.matmul(rows.integers, self.weights, ZeroPoints::NONE, I32)?;
        let mut operands = vec![sums, rows.scales, *scales];
        let mut types = vec![I32, F32, F32];
        if let Some((offsets, row_sums)) = rows.offsets.zip(*row_sums) {
            operands.extend([offsets, row_sums]);
            types.extend([I32, I32]);
        }
        let mut terms = Terms::new(&types);
        let (mut sum, row_scale, scale) = (terms.input(0), terms.input(1), terms.input(2));
        if types.len() == 5 {
            let (offset, row_sum) = (terms.input(3), terms.input(4));
            let excess = terms.mul(row_sum, offset)?;
            sum = terms.sub(sum, excess)?;
        }
        let sum = terms.convert(sum, F32);
        let factor = terms.mul(row_scale, scale)?;
        let result = terms.mul(sum, factor)?;
        g.map(&operands, terms.finish(result))
    }
}

/// The sum of each row, `[rows]`.
fn row_sums(g: &mut Graph<'_>, weights: Value) -> Result<Value, Error> {
    let rows = g.builder.tensor(weights).static_shape().and_then(|shape| shape.first().copied()).unwrap_or(0);
    let mut terms = Terms::new(&[I8]);
    let wide = terms.input_as(0, I32);
    let wide = g.map(&[weights], terms.finish(wide))?;
    let sums = g.builder.reduce(wide, Reduction::Sum, vec![1])?;
    Ok(g.builder.reshape(sums, extents(&[rows]))?)
}
