//! Removal of taps of convolutions and windows that meet only padding, as with a dilation that reaches over the whole image.
//!
//! Contract: the first and last taps of a constant filter or a window are cut off if they lie on padding at every position. Their padding is removed,
//! too.
//! Taps on padding contribute nothing, so each result keeps its terms and their order. A 3×3 filter at dilation 18 over an 8×8 image becomes a 1×1
//! filter.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| {
        let found = match edit.function.insts[inst].op() {
            Op::Conv => convolution(edit, inst),
            Op::Window => window(edit, inst),
            _ => None,
        };
        found.map_or(Visit::Keep, |value| Visit::Replace(vec![value]))
    })
}

fn convolution(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let (Operation::Conv(conv), &[input, filter]) = (&data.operation, &data.operands[..]) else { return None };
    if edit.moved_constant(filter).is_none() || edit.function.tensor(filter).element.bits() < 8 {
        return None;
    }
    let shape = edit.static_shape(filter)?;
    let sides = 1..conv.geometry.strides.len() + 1;
    let Cut { start, size, geometry } = cut(edit, inst, &conv.geometry, &conv.input_dilation, &shape[sides.clone()])?;
    let conv = operators::Conv { geometry, ..conv.clone() };
    let extents = |list: Vec<u64>| list.into_iter().map(Extent::Static).collect();
    let (mut first, mut kept) = (vec![0; shape.len()], shape);
    first[sides.clone()].copy_from_slice(&start);
    kept[sides].copy_from_slice(&size);
    let slice = operators::Slice { stride: vec![1; first.len()], start: extents(first), size: extents(kept) };
    let filter = edit.insert_one(slice, &[filter])?;
    edit.insert_one(conv, &[input, filter])
}

/// Cuts a window. Windows that sum in groups of nine keep all taps, since the groups are counted from the first tap.
fn window(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let (Operation::Window(window), &[input]) = (&data.operation, &data.operands[..]) else { return None };
    if window.summation != Summation::Rows {
        return None;
    }
    let size: Vec<u64> = window.size.iter().map(|&n| u64::try_from(n).ok()).collect::<Option<_>>()?;
    let Cut { size, geometry, .. } = cut(edit, inst, &window.geometry, &vec![1; size.len()], &size)?;
    let size = size.into_iter().map(|n| i64::try_from(n).ok()).collect::<Option<_>>()?;
    edit.insert_one(operators::Window { size, geometry, ..window.clone() }, &[input])
}

/// The taps that remain.
struct Cut {
    /// The first remaining tap along each dimension.
    start: Vec<u64>,
    /// The number of remaining taps along each dimension.
    size: Vec<u64>,
    /// The geometry of the remaining taps, with less padding.
    geometry: WindowGeometry,
}

/// Cuts taps off along each dimension. `None` if all are needed. Along dimension `d`, elements of the input are `between[d]` apart.
fn cut(edit: &Edit<'_>, inst: Inst, geometry: &WindowGeometry, between: &[i64], taps: &[u64]) -> Option<Cut> {
    if !geometry.positions.is_empty() {
        return None;
    }
    let data = &edit.function.insts[inst];
    let [image, positions] = [data.operands[0], data.results[0]].map(|value| &edit.function.tensor(value).shape);
    let mut found = Cut { start: vec![0; taps.len()], size: taps.to_vec(), geometry: geometry.clone() };
    for d in 0..taps.len() {
        let (Extent::Static(extent), Extent::Static(positions)) = (image[d + 1], positions[d + 1]) else { continue };
        let live = Along::of(geometry, d, extent, between[d]).live(taps[d], positions);
        (found.start[d], found.size[d]) = (live.start, live.end - live.start);
        found.geometry.padding_low[d] = live.padding_low;
        found.geometry.padding_high[d] = live.padding_high;
        if found.size[d] == 1 {
            found.geometry.dilation[d] = 1;
        }
    }
    (found.size != taps).then_some(found)
}

/// A dimension along which taps stand.
struct Along {
    /// The extent of the input with the gaps between its elements.
    extent: i128,
    stride: i128,
    dilation: i128,
    low: i128,
    high: i128,
}

/// Taps that are left, and the padding that they need.
struct Live {
    start: u64,
    end: u64,
    padding_low: i64,
    padding_high: i64,
}

impl Along {
    fn of(geometry: &WindowGeometry, d: usize, extent: u64, between: i64) -> Self {
        let WindowGeometry { strides, dilation, padding_low, padding_high, .. } = geometry;
        let extent = (i128::from(extent) - 1) * i128::from(between) + 1;
        let [stride, dilation, low, high] = [strides[d], dilation[d], padding_low[d], padding_high[d]].map(i128::from);
        Self { extent, stride, dilation, low, high }
    }

    /// Returns the taps that some window reads inside the input, or all taps if there are none. Each tap cut off takes a step of padding with it.
    fn live(&self, taps: u64, positions: u64) -> Live {
        let Self { extent, stride, dilation, low, high } = *self;
        let whole = Live { start: 0, end: taps, padding_low: low as i64, padding_high: high as i64 };
        let last = (i128::from(positions) - 1) * stride;
        // Tap k reads the elements `k · dilation - low` to `k · dilation - low + last`.
        let before = ((low - last).max(0) + dilation - 1) / dilation;
        let after = i128::from(taps) - (extent + low + dilation - 1) / dilation;
        let (before, after) = (before.min(low / dilation), after.clamp(0, high / dilation));
        if positions == 0 || extent < 1 || before + after >= i128::from(taps) {
            return whole;
        }
        Live {
            start: before as u64,
            end: taps - after as u64,
            padding_low: (low - before * dilation) as i64,
            padding_high: (high - after * dilation) as i64,
        }
    }
}
