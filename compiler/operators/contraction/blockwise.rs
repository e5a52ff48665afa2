//! Products of rows with int4 or int2 weights that have a scale for each block of inputs. Quantized rows are after LiteRT's reference (`EvalBlockwise4Bit`) and
//! XNNPACK: each block is multiplied in integers, and the blocks' sums are added in floats. Rows of floats are multiplied as they are.

use super::matrix::Matrix;
use super::rows::Rows;
use crate::ir::operators::{BlockMatmul, block_unit};
use crate::ir::{ElementType, Extent, Reduction, Scalar, Value, ZeroPoints};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph};
use ElementType::{F32, I32};

/// A filter whose rows are cut into blocks.
pub struct Filter {
    /// Constants of int4 or int2, `[units, depth]`.
    weights: Matrix,
    /// Constants of f32 or bf16, `[units, blocks]`.
    scales: Value,
    blocks: u64,
    size: u64,
}

impl Filter {
    /// Creates a filter from constants of int4 or int2, `[units, depth]`, and constant scales `[units, depth ÷ size]`, f32 or bf16. `size` fills
    /// whole bytes. `None` if an operand is no constant, or the scales do not fit.
    pub fn new(g: &Graph<'_>, weights: Matrix, scales: Value, size: u64) -> Option<Self> {
        let [units, depth] = g.shape(weights.value).ok()?[..] else { return None };
        let blocks = depth / size.max(1);
        if blocks * size != depth || g.shape(scales).ok()? != [units, blocks] {
            return None;
        }
        [weights.value, scales].into_iter().all(|read| g.known(read).is_some()).then_some(Self { weights, scales, blocks, size })
    }

    /// The sum of each unit's weights, scaled.
    fn sums(&self, g: &Graph<'_>) -> Vec<f32> {
        let known = |value| g.known(value).unwrap_or_default();
        let factors = floats(g.element(self.scales), known(self.scales));
        let weights = self.weights.sums(g.element(self.weights.value), known(self.weights.value), self.size);
        let scaled: Vec<f32> = weights.iter().zip(factors).map(|(&sum, scale)| scale * sum as f32).collect();
        [self.weights.value, self.scales].into_iter().for_each(|read| g.release(read));
        scaled.chunks_exact((self.blocks as usize).max(1)).map(|unit| unit.iter().fold(0.0, |sum, x| sum + x)).collect()
    }
}

/// The products of quantized rows `[count, depth]` with a filter in blocks: `[count, units]`.
///
/// # Errors
/// When the rows are not as long as the filter's.
pub fn products(g: &mut Graph<'_>, quantized: Rows, filter: Filter) -> Result<Value, Error> {
    let excess = quantized.offsets.map(|_| filter.sums(g));
    let units = g.shape(filter.weights.value)?[0];
    let total = of_rows(g, quantized.integers, filter)?;
    let excess = excess.map(|sums| g.constant_f32(&[units], &sums)).transpose()?;
    scaled(g, total, quantized, excess)
}

/// Sums of products of quantized rows as floats. `excess` are the sums of each unit's weights, scaled, where rows have offsets.
fn scaled(g: &mut Graph<'_>, total: Value, quantized: Rows, excess: Option<Value>) -> Result<Value, Error> {
    let Some((offsets, excess)) = quantized.offsets.zip(excess) else {
        return g.compute::<Error>(&[total, quantized.scales], |terms, x| Ok(terms.mul(x[0], x[1])?));
    };
    let mut terms = Terms::new(&[F32, I32, F32, F32]);
    let (total_input, offset, excess_input, scale) = (terms.input(0), terms.input_as(1, F32), terms.input(2), terms.input(3));
    let product = terms.mul(offset, excess_input)?;
    let difference = terms.sub(total_input, product)?;
    let result = terms.mul(difference, scale)?;
    g.map(&[total, offsets, excess, quantized.scales], terms.finish(result))
}

/// Multiplies by weights i8 `[units, depth]` that the program computes, with constant scales f32 `[units, blocks]`.
///
/// # Errors
/// A mismatch of the rows' length and the filter's.
pub fn products_of_computed(g: &mut Graph<'_>, quantized: Rows, weights: Value, scales: Value) -> Result<Value, Error> {
    let ([units, depth], [_, blocks]) = (dimensions(g, weights)?, dimensions(g, scales)?);
    let [count, found] = g.extents(quantized.integers)[..] else { return Err(Error::NoMatrix { rank: g.rank(quantized.integers) }) };
    g.equate(found, Extent::Static(depth))?;
    let [blocks, units, size] = [blocks, units, depth / blocks.max(1)].map(Extent::Static);
    let left = by_blocks(g, quantized.integers, [count, blocks, size])?;
    let right = by_blocks(g, weights, [units, blocks, size])?;
    let sums = g.builder.matmul(left, right, ZeroPoints::NONE, I32)?;
    let scales = by_blocks(g, scales, [units, blocks, Extent::Static(1)])?;
    let scales = g.reshape(scales, &[blocks, Extent::Static(1), units])?;
    let total = sum_of_scaled(g, sums, scales, &[count, units])?;
    let excess = quantized.offsets.map(|_| {
        let wide = g.convert(right, I32)?;
        let sums = g.builder.reduce(wide, Reduction::Sum, vec![2])?;
        let sums = g.reshape(sums, &[blocks, Extent::Static(1), units])?;
        sum_of_scaled(g, sums, scales, &[units])
    });
    scaled(g, total, quantized, excess.transpose()?)
}

fn dimensions(g: &Graph<'_>, matrix: Value) -> Result<[u64; 2], Error> {
    <[u64; 2]>::try_from(g.shape(matrix)?).map_err(|_| Error::NoMatrix { rank: g.rank(matrix) })
}

/// A matrix whose rows are cut into blocks, with the blocks outermost.
fn by_blocks(g: &mut Graph<'_>, matrix: Value, apart: [Extent; 3]) -> Result<Value, Error> {
    let apart = g.reshape(matrix, &apart)?;
    Ok(g.builder.transpose(apart, vec![1, 0, 2])?)
}

/// The sum over blocks, the outermost dimension, of integers times scales.
fn sum_of_scaled(g: &mut Graph<'_>, integers: Value, scales: Value, shape: &[Extent]) -> Result<Value, Error> {
    let scaled = g.compute::<Error>(&[integers, scales], |terms, x| {
        let number = terms.convert(x[0], F32);
        Ok(terms.mul(number, x[1])?)
    })?;
    let sum = g.builder.reduce(scaled, Reduction::Sum, vec![0])?;
    g.reshape(sum, shape)
}

/// The products of rows `[count, depth]`, floats or integers as they are, with a filter in blocks: `[count, units]`.
///
/// # Errors
/// When the rows are not as long as the filter's.
pub fn of_rows(g: &mut Graph<'_>, rows: Value, filter: Filter) -> Result<Value, Error> {
    let Filter { weights, scales, blocks, size } = filter;
    let units = g.shape(weights.value)?[0];
    let [_, depth] = g.extents(rows)[..] else { return Err(Error::NoMatrix { rank: g.rank(rows) }) };
    g.equate(depth, Extent::Static(blocks * size))?;
    let element = g.element(weights.value);
    let missing = size.next_multiple_of(block_unit(element)) - size;
    let (rows, weights) = if missing == 0 {
        (rows, weights)
    } else {
        // Whatever the weights are that meet the rows' zeros.
        let padded = with_zeros(g.known(weights.value).unwrap_or_default(), [size, missing].map(|n| n / element.per_byte()));
        let value = g.constant(element, &[units, blocks * (size + missing)], padded)?;
        (rows_with_zeros(g, rows, [blocks, size, missing])?, Matrix { value, ..weights })
    };
    Ok(g.builder.block_matmul([rows, weights.value, scales], BlockMatmul { excess: weights.excess })?)
}

/// Rows `[count, blocks · size]` with zeros after each block.
fn rows_with_zeros(g: &mut Graph<'_>, rows: Value, [blocks, size, missing]: [u64; 3]) -> Result<Value, Error> {
    let count = g.extents(rows)[0];
    let apart = g.reshape(rows, &[count, Extent::Static(blocks), Extent::Static(size)])?;
    let zero = Scalar::from_bits(g.element(rows), 0);
    let padded = g.pad(apart, &[0, 0, 0], &[0, 0, missing as i64], zero)?;
    g.reshape(padded, &[count, Extent::Static(blocks * (size + missing))])
}

/// Blocks of bytes with zeros after each.
fn with_zeros(weights: &[u8], [size, missing]: [u64; 2]) -> Vec<u8> {
    let (block, zeros) = (size as usize, missing as usize);
    weights.chunks(block.max(1)).flat_map(|block| block.iter().copied().chain(std::iter::repeat_n(0, zeros))).collect()
}

/// Constants of f32 or bf16.
fn floats(element: ElementType, bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    let size = (element.bits() / 8).max(1) as usize;
    bytes.chunks_exact(size).map(move |b| match *b {
        [low, high] => half::bf16::from_le_bytes([low, high]).to_f32(),
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
        _ => f32::NAN,
    })
}
