//! FULLY_CONNECTED with int4 weights that have a scale for each block of inputs, after LiteRT's reference (`EvalBlockwise4Bit`): rows of floats
//! are quantized with an offset, each block is multiplied in integers, and the blocks' sums are added in floats.

use super::hybrid::{self, asymmetric_rows};
use super::operator::{Operand, Operator, invalid};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Reduction, Value, WindowGeometry};
use crate::operators::terms::Terms;
use ElementType::{F16, F32, I4, I32};

/// Blocks of so many elements along the last dimension of a tensor; one scale each in another tensor of the file. The zero points are 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub size: u64,
    pub scales: usize,
}

/// The filter `[units, depth]`, block by block.
struct Filter {
    /// `[blocks, units, size]`
    weights: Vec<u8>,
    /// `[units, blocks]`
    scales: Vec<f32>,
    units: u64,
    blocks: u64,
    size: u64,
}

/// The products of `rows [count, depth]` with a filter in blocks: `[count, units]`.
pub(super) fn products(operator: &mut Operator<'_, '_, '_>, rows: Value, filter: &Operand, blocks: Blocks) -> Result<Value, Diagnostic> {
    let filter = Filter::read(operator, filter, blocks)?;
    let count = operator.extents_of(rows)[0];
    let quantized = asymmetric_rows(operator.builder(), rows, &[1])?;
    let Filter { blocks, units, size, .. } = filter;
    // A convolution of one pixel a row, with a group of channels for each block.
    let [one, depth] = [1, blocks * size].map(Extent::Static);
    let pixels = operator.reshape_to(quantized.integers, &[count, one, one, depth])?;
    let (scales, weight_sums) = (filter.scales_by_block(), filter.sums());
    let weights = operator.constant(I4, &[blocks * units, 1, 1, size], filter.weights)?;
    let [ones, zeros] = [vec![1; 2], vec![0; 2]];
    let geometry = WindowGeometry {
        strides: ones.clone(),
        dilation: ones,
        padding_low: zeros.clone(),
        padding_high: zeros,
        ..WindowGeometry::default()
    };
    let sums = operator.builder().conv(pixels, weights, geometry, blocks, (0, 0), I32)?;
    let [blocks_extent, units_extent] = [blocks, units].map(Extent::Static);
    let sums = operator.reshape_to(sums, &[count, blocks_extent, units_extent])?;
    let scales = operator.constant_f32(&[blocks, units], &scales)?;
    let mut terms = Terms::new(&[I32, F32]);
    let (sum, scale) = (terms.input_as(0, F32), terms.input(1));
    let scaled = terms.mul(sum, scale)?;
    let scaled = operator.map(&[sums, scales], terms.finish(scaled))?;
    let total = operator.builder().reduce(scaled, Reduction::Sum, vec![1])?;
    let total = operator.reshape_to(total, &[count, units_extent])?;
    let Some(offsets) = quantized.offsets else { return Ok(total) };
    let excess = operator.constant_f32(&[units], &weight_sums)?;
    let mut terms = Terms::new(&[F32, I32, F32, F32]);
    let (total_input, offset, excess_input, scale) = (terms.input(0), terms.input_as(1, F32), terms.input(2), terms.input(3));
    let product = terms.mul(offset, excess_input)?;
    let difference = terms.sub(total_input, product)?;
    let result = terms.mul(difference, scale)?;
    operator.map(&[total, offsets, excess, quantized.scales], terms.finish(result))
}

impl Filter {
    fn read(operator: &Operator<'_, '_, '_>, filter: &Operand, Blocks { size, scales }: Blocks) -> Result<Self, Diagnostic> {
        let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&filter.info.name);
        let [units, depth] = filter.shape[..] else { return Err(at(invalid(314, "the filter must have two dimensions"))) };
        if size == 0 || !size.is_multiple_of(2) || !depth.is_multiple_of(size) {
            let error = invalid(305, "the filter's rows do not divide into its blocks");
            return Err(at(error.expected("an even size that divides the depth", format!("{size} of {depth}"))));
        }
        let blocks = depth / size;
        let info = operator.tensor(scales)?;
        let values = info.data.as_ref().filter(|_| info.element == F16).map(|data| halves(data.bytes()));
        let values = values.filter(|list| list.len() as u64 == units * blocks).ok_or_else(|| {
            let error = invalid(305, "the scales do not fit the filter's blocks").about_tensor(&info.name);
            error.expected(format!("{} constants of f16", units * blocks), format!("{} {:?}", info.element.name(), info.shape))
        })?;
        let stored = operator.constant_bytes(filter).ok_or_else(|| at(invalid(309, "a filter in blocks must be a constant")))?;
        let block = (size / 2) as usize;
        let row = block * blocks as usize;
        let weights = (0..blocks as usize)
            .flat_map(|b| (0..units as usize).flat_map(move |unit| &stored[unit * row + b * block..][..block]))
            .copied()
            .collect();
        Ok(Self { weights, scales: values, units, blocks, size })
    }

    /// `[blocks, units]`
    fn scales_by_block(&self) -> Vec<f32> {
        let (blocks, units) = (self.blocks as usize, self.units as usize);
        (0..blocks).flat_map(|block| (0..units).map(move |unit| self.scales[unit * blocks + block])).collect()
    }

    /// The sum of each unit's weights, scaled.
    fn sums(&self) -> Vec<f32> {
        let (blocks, units) = (self.blocks as usize, self.units as usize);
        let weights = hybrid::weights(I4, &self.weights);
        let sums: Vec<i32> = weights.chunks_exact(self.size as usize).map(|block| block.iter().sum()).collect();
        let of_block = |unit: usize, block: usize| self.scales[unit * blocks + block] * sums[block * units + unit] as f32;
        (0..units).map(|unit| (0..blocks).map(|block| of_block(unit, block)).fold(0.0, |sum, x| sum + x)).collect()
    }
}

fn halves(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(2).map(|pair| half::f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect()
}
