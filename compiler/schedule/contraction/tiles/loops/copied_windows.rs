//! Windows of an output row that are copied side by side before products read them.

use super::lowering::Lowering;
use super::places::Segments;
use crate::kernel::{KernelBuilder, Value};
use crate::schedule::contraction::geometry::phases::Phase;
use crate::schedule::contraction::rows::windows::RowOfWindows;
use crate::schedule::quantity::Number;

impl Lowering<'_> {
    /// Copies the windows of an output row. Returns their only segment, or the segments if products read these in place.
    pub(in crate::schedule::contraction) fn copied(
        &self,
        b: &mut KernelBuilder,
        segments: Segments,
        columns: &Phase,
        pixels: Number,
    ) -> Segments {
        let schedule = self.schedule;
        let geometry = &schedule.work.geometry;
        let (Some(windows), Some(to)) = (schedule.windows, self.windows) else { return segments };
        let (lead, step) = (columns.lead * geometry.channels, geometry.strides[1] * geometry.channels);
        let copy = |b: &mut KernelBuilder, start: Value, row: Value| {
            let start = b.scale_index(start, 1, lead as i64);
            let place = b.scale_index(row, windows.run as i64, 0);
            let from = RowOfWindows { buffer: self.pixels.rows, first: start, step };
            let to = RowOfWindows { buffer: to, first: place, step: schedule.pixel_step() };
            windows.copy(b, from, to, pixels);
        };
        match segments {
            Segments::Rows(rows) => (0..).zip(rows).for_each(|(row, start)| {
                let row = b.index(row);
                copy(b, start, row);
            }),
            Segments::Table(table) => b.for_range(0, windows.rows as i64, 1, |b, row| {
                let start = self.start_of(b, table, row);
                copy(b, start, row);
            }),
        }
        Segments::Rows(vec![b.index(0)])
    }
}
