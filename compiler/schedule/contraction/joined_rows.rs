//! Images of few pixels whose output rows are one row for register tiles. The weights of such a layer are read once for each tile, and rows of four pixels
//! would read all of them four times. All rows of the image are staged first, so that the pixels of a tile may lie in any of them.

use super::form::Form;
use super::geometry::Contraction;
use super::long_row::JoinedRows;
use crate::schedule::context::{Context, Goal};

/// Pixels of an image that is one row: some tiles.
pub const MOST_PIXELS: u64 = 32;

/// Weights that leave the first-level cache, and are read from further away for each row.
const FEWEST_WEIGHTS: u64 = 1 << 15;

/// Elements of a staged image.
pub const MOST_ELEMENTS: u64 = 1 << 15;

impl Contraction {
    /// Tells if the rows of its images are to be one row.
    pub fn joins_rows(&self, cx: &Context<'_>, form: Form) -> bool {
        let [rows, width] = self.output_size;
        let pixels = rows.saturating_mul(width);
        let is_plain = self.sizes.is_none() && self.sections.is_none() && self.matrices.is_empty() && self.channel_planes.is_none();
        let is_whole = is_plain && self.is_one_plane() && self.is_one_phase() && self.groups == 1 && cx.block.is_none();
        let weights = self.weights.len();
        let is_read_again = rows > 1 && pixels <= MOST_PIXELS && weights >= FEWEST_WEIGHTS;
        let height = self.phases[1].padded(self.input_size[0]);
        let staged = [height, self.phases[2].padded(self.input_size[1]), self.channels].into_iter().fold(1, u64::saturating_mul);
        let machine = cx.machine;
        let serves = form == Form::Unsigned8 && machine.sums_in_place && !machine.at_once && cx.goal == Goal::Speed;
        // What the sums of moved weights lack is found for each row.
        serves && is_whole && is_read_again && staged <= MOST_ELEMENTS && self.weights.fit_signed_byte(self.open)
    }

    /// Weights that are read again where each row of an image is a row of windows.
    pub fn weights_read_again(&self) -> u64 {
        let rows = self.batch.saturating_mul(self.output_size[0].saturating_sub(1));
        rows.saturating_mul(self.weights.len())
    }

    /// Makes the rows of its images one row.
    pub fn join_rows(&mut self) {
        let [count, width] = self.output_size;
        self.joined = Some(JoinedRows { count, width });
        self.output_size = [1, count * width];
        for (phases, count) in self.phases[1..].iter_mut().zip(self.output_size) {
            phases.list.iter_mut().for_each(|phase| phase.count = count);
        }
    }

    /// Padded rows that the windows of a row read.
    pub fn rows_reached(&self) -> u64 {
        self.phases[1].reach() + self.joined.map_or(0, |joined| (joined.count - 1) * self.strides[0])
    }

    /// Elements of a staged row, or the staged image, from the window of the first pixel to that of another one.
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
