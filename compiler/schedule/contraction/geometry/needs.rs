//! Memory needs of a contraction: its input, scratch memory, and whether its output may overwrite the input.

use super::contraction::Contraction;
use crate::kernel::{Buffer, KernelBuilder};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::contraction::operands::panels::filling::Stored;
use crate::schedule::contraction::operands::panels::{Panels, packing};
use crate::schedule::contraction::operands::weights::Weights;
use crate::schedule::contraction::rows::staging::Staging;
use crate::schedule::elementwise::lanes::memory_lane;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::interface::Requirements;
use crate::schedule::pair::Pair;
use crate::schedule::unsupported::Unsupported;

/// Declares a contraction's input, and its weights in panels.
///
/// # Errors
/// [`Unsupported`] if the element type has no arithmetic.
pub fn declare<'p>(
    cx: &Context<'_>,
    b: &mut KernelBuilder,
    arguments: &mut Arguments,
    work: &Contraction,
    panels: impl Iterator<Item = &'p Panels> + Clone,
    shared: &[Pair],
) -> Result<(Buffer, Stored), Unsupported> {
    let elements = Elements::new(memory_lane(work.element)?, cx.most_elements(work.input)?);
    let input = arguments.operand(b, "input", work.input, elements, shared);
    Ok((input, packing::declare(cx.packed, b, panels, &work.weights, arguments)))
}

/// Returns the needs of a contraction and its element-wise work: the ring, and pairs that may share memory. `once` states that the input is
/// read once, row by row.
pub fn requirements(
    cx: Context<'_>,
    (work, element_wise): (&Contraction, &ElementWise<'_>),
    staging: Option<&Staging>,
    once: bool,
) -> Requirements {
    let whole_rows = staging.is_some_and(|staging| staging.chunk.is_none());
    requirements_of(cx, (work, element_wise), staging.iter().map(|s| s.bytes()).collect(), once && whole_rows)
}

/// Returns the needs of a contraction with some scratch memory. `by_rows` states that the input is read once, row by row. Each row is then read
/// before the output row that needs it is written.
pub fn requirements_of(
    cx: Context<'_>,
    (work, element_wise): (&Contraction, &ElementWise<'_>),
    scratch: Vec<u64>,
    by_rows: bool,
) -> Requirements {
    let mut may_share = element_wise.shareable();
    // An operand of the epilogue that is also the input is not read in step with the output.
    may_share.retain(|pair| pair.read != work.input);
    // A tensor that fills the panels must not be overwritten before the last panel.
    if let Weights::Computed { tensor, .. } = work.weights {
        may_share.retain(|pair| pair.read != tensor);
    }
    if by_rows {
        may_share.extend(overwritten_by_rows(cx, work));
    }
    Requirements { scratch, may_share, ..Requirements::default() }
}

/// Returns the number of output rows along which a depthwise kernel is divided, if `shared` pairs share memory. `None` if there is too little
/// work, or if a range would read memory that another one writes.
pub fn divided_rows(cx: &Context<'_>, work: &Contraction, shared: &[Pair]) -> Option<u64> {
    let geometry = &work.geometry;
    let rows = geometry.output_size[0];
    // Windows read elements that another range might already have overwritten.
    let is_one = geometry.batch == 1 || cx.sharing.is_for_threads();
    let apart = shared.iter().all(|pair| pair.read != work.input) && is_one && geometry.sizes.is_none();
    (apart && rows > 1 && cx.sharing.is_worth_ranges(geometry.multiply_accumulates())).then_some(rows)
}

/// Returns the input and the output of a contraction, if the output may overwrite the input once rows are staged.
pub fn overwritten_by_rows(cx: Context<'_>, work: &Contraction) -> Option<Pair> {
    let geometry = &work.geometry;
    let epilogue_reads_input = cx.group.epilogue().is_some_and(|e| e.operands.contains(&work.input));
    // A row whose channels are in planes is in several places.
    let is_together = geometry.channel_planes.is_none() && geometry.is_one_plane() && geometry.matrices.is_empty();
    let is_by_rows = is_together && geometry.is_one_phase() && geometry.sizes.is_none();
    let may_overwrite = is_by_rows && cx.group.outputs.len() == 1 && !epilogue_reads_input && may_overwrite_input(cx, work);
    may_overwrite.then(|| Pair { read: work.input, written: cx.group.outputs[0] })
}

/// Tests whether each output row takes exactly the place of the one input row that it needs, if the output starts where the input starts.
pub fn keeps_rows(cx: Context<'_>, work: &Contraction) -> bool {
    let geometry = &work.geometry;
    let out_bits = geometry.outputs * u64::from(cx.element(cx.group.outputs[0]).bits());
    geometry.is_pointwise() && out_bits == geometry.channels * u64::from(work.element.bits())
}

/// Tests whether the output may start where the input starts. Then every output row ends before the first input row that is not staged yet, or
/// everything is staged. The distance changes linearly from image to image. It also does so from row to row, between the rows at which the first and
/// the last input row are staged. So the ends of these ranges are enough.
fn may_overwrite_input(cx: Context<'_>, work: &Contraction) -> bool {
    let geometry = &work.geometry;
    let out_bytes = u64::from(cx.element(cx.group.outputs[0]).bits() / 8);
    let in_bytes = u64::from(work.element.bits() / 8);
    let out_rows = geometry.output_size[0];
    let out_row = u128::from(geometry.output_size[1] * geometry.outputs * out_bytes);
    // Sections of a row need only some of its pixels.
    let [in_rows, in_width] = geometry.sections.map_or(geometry.input_size, |row| [row.input, 1]);
    let in_row = u128::from(in_width * geometry.channels * in_bytes);
    let [_, rows, columns] = &geometry.phases;
    let (reach, low, stride) = match geometry.sections {
        Some(_) => (columns.padded(geometry.input_size[1]), columns.padding_low, geometry.input_size[1]),
        None => (geometry.rows_reached(), rows.padding_low, geometry.strides[0]),
    };
    let holds = |n: u64, y: u64| {
        let staged = (y * stride + reach).saturating_sub(low).min(in_rows);
        let unread = (u128::from(n) * u128::from(in_rows) + u128::from(staged)) * in_row;
        let everything = n + 1 == geometry.batch && staged == in_rows;
        everything || (u128::from(n) * u128::from(out_rows) + u128::from(y) + 1) * out_row <= unread
    };
    let ends = [0, low.saturating_sub(reach) / stride, (in_rows + low).saturating_sub(reach) / stride, out_rows.saturating_sub(1)];
    let rows = || ends.iter().flat_map(|&end| end.saturating_sub(1)..=end + 1).filter(|&y| y < out_rows);
    let images = [0, geometry.batch.saturating_sub(2), geometry.batch.saturating_sub(1)];
    images.into_iter().filter(|&n| n < geometry.batch).all(|n| rows().all(|y| holds(n, y)))
}
