//! Products of quantized rows with int4 weights that have a scale for each block of inputs, after LiteRT's reference (`EvalBlockwise4Bit`) and XNNPACK:
//! each block is multiplied in integers, and the blocks' sums are added in floats.

use super::dynamic_range::integers;
use super::rows::Rows;
use crate::ir::{ElementType, Extent, Reduction, Value, WindowGeometry};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph};
use ElementType::{F32, I4, I32};

/// The filter `[units, depth]`, block by block.
pub struct Filter {
    /// `[blocks, units, size]`, two int4 a byte.
    weights: Vec<u8>,
    /// `[units, blocks]`
    scales: Vec<f32>,
    units: u64,
    blocks: u64,
    size: u64,
}

/// The products of quantized rows `[count, depth]` with a filter in blocks: `[count, units]`.
///
/// # Errors
/// When the rows are not as long as the filter's.
pub fn products(g: &mut Graph<'_>, quantized: Rows, filter: Filter) -> Result<Value, Error> {
    let count = g.extents(quantized.integers)[0];
    let Filter { blocks, units, size, .. } = filter;
    // A convolution of one pixel a row, with a group of channels for each block.
    let [one, depth] = [1, blocks * size].map(Extent::Static);
    let pixels = g.reshape(quantized.integers, &[count, one, one, depth])?;
    let (scales, weight_sums) = (filter.scales_by_block(), filter.sums());
    let weights = g.constant(I4, &[blocks * units, 1, 1, size], filter.weights)?;
    let [ones, zeros] = [vec![1; 2], vec![0; 2]];
    let geometry = WindowGeometry {
        strides: ones.clone(),
        dilation: ones,
        padding_low: zeros.clone(),
        padding_high: zeros,
        ..WindowGeometry::default()
    };
    let sums = g.builder.conv(pixels, weights, geometry, blocks, (0, 0), I32)?;
    let [blocks_extent, units_extent] = [blocks, units].map(Extent::Static);
    let sums = g.reshape(sums, &[count, blocks_extent, units_extent])?;
    let scales = g.constant_f32(&[blocks, units], &scales)?;
    let mut terms = Terms::new(&[I32, F32]);
    let (sum, scale) = (terms.input_as(0, F32), terms.input(1));
    let scaled = terms.mul(sum, scale)?;
    let scaled = g.map(&[sums, scales], terms.finish(scaled))?;
    let total = g.builder.reduce(scaled, Reduction::Sum, vec![1])?;
    let total = g.reshape(total, &[count, units_extent])?;
    let Some(offsets) = quantized.offsets else { return Ok(total) };
    let excess = g.constant_f32(&[units], &weight_sums)?;
    let mut terms = Terms::new(&[F32, I32, F32, F32]);
    let (total_input, offset, excess_input, scale) = (terms.input(0), terms.input_as(1, F32), terms.input(2), terms.input(3));
    let product = terms.mul(offset, excess_input)?;
    let difference = terms.sub(total_input, product)?;
    let result = terms.mul(difference, scale)?;
    g.map(&[total, offsets, excess, quantized.scales], terms.finish(result))
}

impl Filter {
    /// Of the int4 weights `[units, depth]` as they are stored, and the scales `[units, depth ÷ size]`. `size` is even and divides the depth.
    pub fn new(stored: &[u8], scales: Vec<f32>, units: u64, size: u64) -> Self {
        let blocks = (scales.len() as u64).checked_div(units).unwrap_or(0);
        let block = (size / 2) as usize;
        let row = block * blocks as usize;
        let weights = (0..blocks as usize)
            .flat_map(|b| (0..units as usize).flat_map(move |unit| &stored[unit * row + b * block..][..block]))
            .copied()
            .collect();
        Self { weights, scales, units, blocks, size }
    }

    /// `[blocks, units]`
    fn scales_by_block(&self) -> Vec<f32> {
        let (blocks, units) = (self.blocks as usize, self.units as usize);
        (0..blocks).flat_map(|block| (0..units).map(move |unit| self.scales[unit * blocks + block])).collect()
    }

    /// The sum of each unit's weights, scaled.
    fn sums(&self) -> Vec<f32> {
        let (blocks, units) = (self.blocks as usize, self.units as usize);
        let weights = integers(I4, &self.weights);
        let sums: Vec<i32> = weights.chunks_exact(self.size as usize).map(|block| block.iter().sum()).collect();
        let of_block = |unit: usize, block: usize| self.scales[unit * blocks + block] * sums[block * units + unit] as f32;
        (0..units).map(|unit| (0..blocks).map(|block| of_block(unit, block)).fold(0.0, |sum, x| sum + x)).collect()
    }
}
