//! Images whose channels lie in planes. A convolution copies the rows that its windows reach into scratch memory anyway. It puts the channels of a
//! pixel side by side on the way. So no kernel of its own transposes the image, and the transposed image takes no memory.

use super::flow::{Item, each_inst};
use super::memory::{row_major, subtensor_start};
use crate::ir::{ElementType, Function, Inst, InstData, Operation, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::RangeInclusive;

/// Numbers of planes that are interleaved while rows are staged. One plane needs no transpose. More planes are faster transposed in square
/// blocks, once by a kernel of their own for all ranges and bands.
const FEW_PLANES: RangeInclusive<u64> = 2..=4;

/// A transpose from planes to pixels: [images, channels, rows, columns] to [images, rows, columns, channels].
const TO_PIXELS: [usize; 4] = [0, 2, 3, 1];

/// Position of the channel planes of an image that a convolution reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChannelPlanes {
    /// The tensor in memory: [images, channels, rows, columns].
    pub source: Value,
    /// Offset of the image's first element in `source`, in elements.
    pub first: u64,
    /// Elements from one channel of a pixel to the next.
    pub stride: u64,
}

/// Returns the planes that a convolution reads instead of its first operand: the operand is their transpose, or some rows of it. `None` if the
/// convolution reads the operand itself.
pub(super) fn channel_planes(function: &Function, data: &InstData) -> Option<ChannelPlanes> {
    let Operation::Conv(conv) = &data.operation else { return None };
    let image = *data.operands.first()?;
    let filter = &function.tensor(data.operands[1]).shape;
    let has_window = filter.len() == 4 && filter[1..3].iter().any(|extent| extent.as_static() != Some(1));
    let is_dense = conv.groups == 1 && conv.input_dilation.iter().all(|&step| step == 1);
    let element = function.tensor(image).element;
    let stages = matches!(element, ElementType::F32 | ElementType::F16 | ElementType::Bf16 | ElementType::I8 | ElementType::U8);
    if !has_window || !is_dense || !stages {
        return None;
    }
    let (pixels, row) = rows_of(function, image)?;
    let transpose = &function.insts[function.defining_inst(pixels)?];
    let turns = matches!(&transpose.operation, Operation::Transpose(transpose) if transpose.permutation == TO_PIXELS);
    let source = *transpose.operands.first().filter(|_| turns)?;
    let ty = function.tensor(source);
    let known = |dimension: usize| ty.shape[dimension].as_static();
    let (channels, rows, columns) = (known(1)?, known(2)?, known(3)?);
    let lies_plainly = ty.layout.order().is_none() && function.tensor(pixels).layout.order().is_none();
    let planes = ChannelPlanes { source, first: row.checked_mul(columns)?, stride: rows.checked_mul(columns)? };
    (lies_plainly && FEW_PLANES.contains(&channels)).then_some(planes)
}

/// Returns the image from which a value slices rows, and the first row. A value that is no slice is its own image.
fn rows_of(function: &Function, value: Value) -> Option<(Value, u64)> {
    let Some(inst) = function.defining_inst(value) else { return Some((value, 0)) };
    let Operation::Slice(slice) = &function.insts[inst].operation else { return Some((value, 0)) };
    let image = function.insts[inst].operands[0];
    let cuts_rows = row_major(function, image)?.len() == 4 && subtensor_start(function, inst).is_some();
    let only_rows = [0, 2, 3].iter().all(|&dimension| function.tensor(value).shape[dimension] == function.tensor(image).shape[dimension]);
    (cuts_rows && only_rows).then_some((image, slice.start[1].as_static()?))
}

/// Returns the transposes that only convolutions read, as planes. They get no kernel of their own.
pub(super) fn absorbed(function: &Function, items: &[Item], uses: &FxHashMap<Value, usize>) -> FxHashSet<Inst> {
    let mut as_planes: FxHashMap<Value, usize> = FxHashMap::default();
    let mut slices = Vec::new();
    each_inst(items, &mut |inst| {
        let data = &function.insts[inst];
        if matches!(data.operation, Operation::Slice(_)) {
            slices.push((data.results[0], data.operands[0]));
        } else if channel_planes(function, data).is_some() {
            *as_planes.entry(data.operands[0]).or_default() += 1;
        }
    });
    // Slices of rows that only convolutions read count as one use of the image.
    for (rows, image) in slices {
        if as_planes.contains_key(&rows) && as_planes.get(&rows) == uses.get(&rows) {
            *as_planes.entry(image).or_default() += 1;
        }
    }
    let is_transpose = |inst: &Inst| matches!(function.insts[*inst].operation, Operation::Transpose(_));
    let only_planes = |(value, count): (&Value, &usize)| function.defining_inst(*value).filter(|_| uses.get(value) == Some(count));
    as_planes.iter().filter_map(only_planes).filter(is_transpose).collect()
}
