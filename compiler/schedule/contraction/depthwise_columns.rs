//! The depthwise convolutions of floats whose windows are read in place, and their columns at the border.

use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::needs;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::table::depthwise::MOST_AT_BORDER;
use crate::schedule::technique::Technique;
use std::ops::Range;

/// Columns of the output.
pub(super) struct Columns {
    /// Columns whose windows lie inside of the rows of the input.
    pub inside: Range<u64>,
    /// The number of columns.
    pub all: u64,
}

impl Columns {
    /// The columns of a convolution whose windows are read in place; nothing where rows are staged in a ring of so many bytes.
    pub fn in_place(cx: &Context<'_>, work: &Contraction, form: Form, ring: u64) -> Option<Self> {
        let geometry = &work.geometry;
        let machine = cx.machine;
        let is_fast = cx.writes_out() && machine.combines_lanes() && ring > machine.l1_bytes;
        let is_plain = form == Form::Float && !work.reads_halves() && geometry.outputs == geometry.channels && geometry.strides[1] > 1;
        let is_image = geometry.is_one_plane() && geometry.is_one_phase() && geometry.sizes.is_none() && geometry.sections.is_none();
        let is_dense = geometry.phases.iter().all(|phases| phases.dilation == 1);
        if !(cx.uses(Technique::InPlace) && is_fast && is_plain && is_image && is_dense && stays_behind(cx, work)) {
            return None;
        }
        let columns = &geometry.phases[2];
        let (low, stride, all) = (columns.padding_low, geometry.strides[1], geometry.output_size[1]);
        let first = low.div_ceil(stride);
        let end = (geometry.input_size[1] + low).checked_sub(geometry.window[1])? / stride + 1;
        let inside = first..end.min(all);
        let at_border = first + all - inside.end;
        (!inside.is_empty() && at_border <= MOST_AT_BORDER).then_some(Self { inside, all })
    }
}

/// Tells whether each output pixel, in order, may overwrite the input from its start on, if the output of staged rows may. It may if no later pixel
/// reads an input pixel that lies there. Positions read grow faster than positions written, so the first rows and columns tell.
fn stays_behind(cx: &Context<'_>, work: &Contraction) -> bool {
    let geometry = &work.geometry;
    if needs::overwritten_by_rows(*cx, work).is_none() {
        return true;
    }
    let ([height, width], [rows, columns]) = (geometry.input_size, geometry.output_size);
    let [low_rows, low_columns] = [1, 2].map(|axis: usize| geometry.phases[axis].padding_low);
    let is_as_wide = cx.element(cx.group.outputs[0]).bits() == work.element.bits();
    let row = |y: u64| (y * geometry.strides[0]).saturating_sub(low_rows) * width;
    let column = |x: u64| (x * geometry.strides[1]).saturating_sub(low_columns);
    let ends = |y: u64, x: u64| y * columns + x + 1;
    let shrinks = geometry.strides[0] > 1 && rows * columns <= height * width && columns <= width && is_as_wide;
    let behind_row = |y: u64| y + 1 == rows || ends(y, columns - 1) <= row(y + 1);
    let behind_pixel = |y: u64, x: u64| ends(y, x) <= row(y) + column(x + 1);
    let first_rows = 0..rows.min(low_rows + 2);
    let first_columns = 0..(columns - 1).min(low_columns + 2);
    shrinks && first_rows.into_iter().all(|y| behind_row(y) && first_columns.clone().all(|x| behind_pixel(y, x)))
}
