//! Images with few pixels, whose output rows are joined to one row for register tiles. The weights of such a layer are read once for each tile.
//! Rows of four pixels would read all of them for every row. All rows of the image are staged first, so that the pixels of a tile may be in any
//! of them.

use super::contraction::Contraction;
use super::long_row::JoinedRows;
use super::windows::Geometry;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::table::rows::JOINED;
use crate::schedule::technique::Technique;

impl Contraction {
    /// Tests whether the rows of the contraction's images should become one row.
    pub fn joins_rows(&self, cx: &Context<'_>, form: Form) -> bool {
        let geometry = &self.geometry;
        let [rows, width] = geometry.output_size;
        let pixels = rows.saturating_mul(width);
        let is_plain =
            geometry.sizes.is_none() && geometry.sections.is_none() && geometry.matrices.is_empty() && geometry.channel_planes.is_none();
        let is_whole = is_plain && geometry.is_one_plane() && geometry.is_one_phase() && geometry.groups == 1 && cx.sharing.is_whole();
        let weights = self.weights.len();
        let is_read_again = rows > 1 && pixels <= JOINED.pixels && weights >= JOINED.weights;
        let height = geometry.phases[1].padded(geometry.input_size[0]);
        let staged =
            [height, geometry.phases[2].padded(geometry.input_size[1]), geometry.channels].into_iter().fold(1, u64::saturating_mul);
        let machine = cx.machine;
        let serves = form == Form::Unsigned8 && machine.sums_in_place && cx.goal == Goal::Speed;
        // The corrections for moved weights are computed row by row.
        cx.uses(Technique::JoinedRows)
            && serves
            && is_whole
            && is_read_again
            && staged <= JOINED.elements
            && self.weights.fit_signed_byte(self.open)
    }

    /// Returns the number of weights that are read again if each row of an image is a row of windows.
    pub fn weights_read_again(&self) -> u64 {
        let rows = self.geometry.batch.saturating_mul(self.geometry.output_size[0].saturating_sub(1));
        rows.saturating_mul(self.weights.len())
    }
}

impl Geometry {
    /// Joins the rows of the images to one row.
    pub fn join_rows(&mut self) {
        let [count, width] = self.output_size;
        self.joined = Some(JoinedRows { count, width });
        self.output_size = [1, count * width];
        for (phases, count) in self.phases[1..].iter_mut().zip(self.output_size) {
            phases.list.iter_mut().for_each(|phase| phase.count = count);
        }
    }

    /// Returns the number of padded rows that the windows of a row read.
    pub fn rows_reached(&self) -> u64 {
        self.phases[1].reach() + self.joined.map_or(0, |joined| (joined.count - 1) * self.strides[0])
    }

    /// Returns the distance between the windows of the first pixel and of another pixel, in elements of the staged row or image.
    pub fn window_offset(&self, pixel: u64) -> u64 {
        let of_row = |pixel: u64| pixel * self.strides[1] * self.channels;
        self.joined.map_or_else(
            || of_row(pixel),
            |JoinedRows { width, .. }| {
                let row = self.phases[2].padded(self.input_size[1]) * self.channels;
                pixel / width * self.strides[0] * row + of_row(pixel % width)
            },
        )
    }
}
