//! Products of quantized rows with int4 weights that have a scale for each block of inputs, after LiteRT's reference (`EvalBlockwise4Bit`) and XNNPACK:
//! each block is multiplied in integers, and the blocks' sums are added in floats.

use super::dynamic_range::integers;
use super::rows::Rows;
use crate::ir::operators::BLOCK_UNIT;
use crate::ir::{ElementType, Extent, Scalar, Value};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph};
use ElementType::{F32, I4, I8, I32};

/// A filter whose rows are cut into blocks.
pub struct Filter {
    /// Constants of int4, `[units, depth]`.
    weights: Value,
    /// `[units, blocks]`
    scales: Vec<f32>,
    /// The sum of each unit's weights, scaled.
    sums: Vec<f32>,
    blocks: u64,
    size: u64,
}

impl Filter {
    /// Of constants of int4, `[units, depth]`, and the scales `[units, depth ÷ size]`; `size` is even. None where they are no constants,
    /// or the scales do not fit.
    pub fn new(g: &Graph<'_>, weights: Value, scales: Vec<f32>, size: u64) -> Option<Self> {
        let [units, depth] = g.shape(weights).ok()?[..] else { return None };
        let blocks = depth / size.max(1);
        if blocks * size != depth || units.checked_mul(blocks) != Some(scales.len() as u64) {
            return None;
        }
        let sums = sums(g.known(weights)?, &scales, size, blocks);
        Some(Self { weights, scales, sums, blocks, size })
    }
}

/// The products of quantized rows `[count, depth]` with a filter in blocks: `[count, units]`.
///
/// # Errors
/// When the rows are not as long as the filter's.
pub fn products(g: &mut Graph<'_>, quantized: Rows, filter: Filter) -> Result<Value, Error> {
    let Filter { weights, scales, sums, blocks, size } = filter;
    let units = g.shape(weights)?[0];
    let [_, depth] = g.extents(quantized.integers)[..] else { return Err(Error::NoMatrix { rank: g.rank(quantized.integers) }) };
    g.equate(depth, Extent::Static(blocks * size))?;
    let missing = size.next_multiple_of(BLOCK_UNIT) - size;
    let (rows, weights) = if missing == 0 {
        (quantized.integers, weights)
    } else {
        let padded = with_zeros(g.known(weights).unwrap_or_default(), size, missing);
        let weights = g.constant(I4, &[units, blocks * (size + missing)], padded)?;
        (rows_with_zeros(g, quantized.integers, [blocks, size, missing])?, weights)
    };
    let scales = g.constant_f32(&[units, blocks], &scales)?;
    let total = g.builder.block_matmul(rows, weights, scales)?;
    let Some(offsets) = quantized.offsets else {
        return g.compute::<Error>(&[total, quantized.scales], |terms, x| Ok(terms.mul(x[0], x[1])?));
    };
    let excess = g.constant_f32(&[units], &sums)?;
    let mut terms = Terms::new(&[F32, I32, F32, F32]);
    let (total_input, offset, excess_input, scale) = (terms.input(0), terms.input_as(1, F32), terms.input(2), terms.input(3));
    let product = terms.mul(offset, excess_input)?;
    let difference = terms.sub(total_input, product)?;
    let result = terms.mul(difference, scale)?;
    g.map(&[total, offsets, excess, quantized.scales], terms.finish(result))
}

/// Rows `[count, blocks · size]` with zeros after each block.
fn rows_with_zeros(g: &mut Graph<'_>, rows: Value, [blocks, size, missing]: [u64; 3]) -> Result<Value, Error> {
    let count = g.extents(rows)[0];
    let apart = g.reshape(rows, &[count, Extent::Static(blocks), Extent::Static(size)])?;
    let padded = g.pad(apart, &[0, 0, 0], &[0, 0, missing as i64], Scalar::int(I8, 0))?;
    g.reshape(padded, &[count, Extent::Static(blocks * (size + missing))])
}

/// Blocks of int4, two a byte, with zeros after each.
fn with_zeros(weights: &[u8], size: u64, missing: u64) -> Vec<u8> {
    let (block, zeros) = ((size / 2) as usize, (missing / 2) as usize);
    weights.chunks(block.max(1)).flat_map(|block| block.iter().copied().chain(std::iter::repeat_n(0, zeros))).collect()
}

/// The sum of each unit's weights, scaled.
fn sums(weights: &[u8], scales: &[f32], size: u64, blocks: u64) -> Vec<f32> {
    let sum = |bytes: &[u8]| integers(I4, bytes).iter().sum::<i32>() as f32;
    let block = (size / 2).max(1) as usize;
    let scaled: Vec<f32> = weights.chunks_exact(block).zip(scales).map(|(bytes, scale)| scale * sum(bytes)).collect();
    scaled.chunks_exact((blocks as usize).max(1)).map(|unit| unit.iter().fold(0.0, |sum, x| sum + x)).collect()
}
