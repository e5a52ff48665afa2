//! Taps of convolutions that meet nothing but padding, as those of a dilation that reaches over the whole image do.
//!
//! Contract: the first and last taps of a constant filter that lie on padding in every window are cut off, and the padding with them. Taps on padding
//! contribute nothing, so each sum keeps its terms and their order. A filter of 3×3 at dilation 18 over an image of 8×8 is one of 1×1.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| cut(edit, inst).map_or(Visit::Keep, |value| Visit::Replace(vec![value])))
}

fn cut(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let (Operation::Conv(conv), &[input, filter], &[result]) = (&data.operation, &data.operands[..], &data.results[..]) else {
        return None;
    };
    let is_counted = !conv.geometry.positions.is_empty();
    let is_constant = edit.moved_constant(filter).is_some() && edit.function.tensor(filter).element.bits() >= 8;
    if is_counted || !is_constant {
        return None;
    }
    let (image, mut size, positions) =
        (&edit.function.tensor(input).shape, edit.static_shape(filter)?, &edit.function.tensor(result).shape);
    let mut conv = conv.clone();
    let mut start = vec![0; size.len()];
    for d in 0..conv.geometry.strides.len() {
        let (Extent::Static(extent), Extent::Static(positions)) = (image[d + 1], positions[d + 1]) else { continue };
        let live = Along::of(&conv, d, extent).live(size[d + 1], positions);
        (start[d + 1], size[d + 1]) = (live.start, live.end - live.start);
        conv.geometry.padding_low[d] = live.padding_low;
        conv.geometry.padding_high[d] = live.padding_high;
        if size[d + 1] == 1 {
            conv.geometry.dilation[d] = 1;
        }
    }
    if edit.static_shape(filter)? == size {
        return None;
    }
    let extents = |list: Vec<u64>| list.into_iter().map(Extent::Static).collect();
    let slice = operators::Slice { stride: vec![1; size.len()], start: extents(start), size: extents(size) };
    let filter = edit.insert_one(slice, &[filter])?;
    edit.insert_one(conv, &[input, filter])
}

/// A dimension of a convolution.
struct Along {
    /// Elements of the input and what is between them.
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
    fn of(conv: &operators::Conv, d: usize, extent: u64) -> Self {
        let WindowGeometry { strides, dilation, padding_low, padding_high, .. } = &conv.geometry;
        let extent = (i128::from(extent) - 1) * i128::from(conv.input_dilation[d]) + 1;
        let [stride, dilation, low, high] = [strides[d], dilation[d], padding_low[d], padding_high[d]].map(i128::from);
        Self { extent, stride, dilation, low, high }
    }

    /// The taps of which some window has one inside, or all where that is none. Each that is cut off takes a step of padding with it.
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
