//! Windows whose taps are copied to one place. Products of sixteen taps then fill their vectors across the rows of a window, which alone are short.

use crate::kernel::{Buffer, KernelBuilder, Value};
use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::windows::Geometry;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::table::rows::{COPIES, Copies};
use crate::schedule::quantity::Number;
use crate::schedule::technique::Technique;

/// The windows of a row of pixels, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Rows of a window.
    pub rows: u64,
    /// Elements of a window row.
    pub run: u64,
    /// Pixels of the longest row.
    pixels: u64,
}

impl Windows {
    /// Returns the elements of a window.
    pub fn window(&self) -> u64 {
        self.rows * self.run
    }

    /// Returns the elements of all windows. Products read whole vectors.
    pub fn elements(&self) -> u64 {
        self.pixels * self.window() + COPIES.vector
    }

    /// Copies one row of the windows of `pixels` neighbours.
    pub fn copy(&self, b: &mut KernelBuilder, from: RowOfWindows, to: RowOfWindows, pixels: Number) {
        let lanes = COPIES.vector.min(self.run.next_power_of_two()) as u16;
        pixels.repeat(b, |b, pixel| {
            let [source, target] = [from, to].map(|row| {
                let skipped = b.scale_index(pixel, row.step as i64, 0);
                b.add(row.first, skipped)
            });
            Number::Known(self.run as i64).row(b, lanes, 0, |b, i, active| {
                let [source, target] = [source, target].map(|first| b.add(first, i));
                let taps = b.load_active(from.buffer, source, 0, lanes, active);
                b.store_active(to.buffer, target, 0, taps, active);
            });
        });
    }
}

/// Place of a row of the windows of neighbouring pixels.
#[derive(Clone, Copy)]
pub struct RowOfWindows {
    /// Staged rows, or windows one after the other.
    pub buffer: Buffer,
    /// First element of the first window's row.
    pub first: Value,
    /// Elements from a window to the next one.
    pub step: u64,
}

impl Geometry {
    /// Returns the windows to copy, if products of sixteen then take fewer instructions.
    pub fn copied_windows(&self, cx: &Context<'_>) -> Option<Windows> {
        let Copies { vector, word, around, step } = COPIES;
        let is_plain = self.groups == 1 && self.planes.window == 1 && self.is_one_phase() && self.phases[2].dilation == 1;
        let is_whole = self.sizes.is_none() && self.joined.is_none() && self.matrices.is_empty();
        let [rows, run] = [self.window[0], self.window[1] * self.channels];
        let steps = |elements: u64| elements.div_ceil(Form::Sixteens.group());
        let saved = (rows * steps(run)).saturating_sub(steps(rows * run)) * self.outputs * step / 1000;
        let moved = run / vector + run % vector / word + (run % word).count_ones() as u64;
        let pays = rows > 1 && saved > rows * (2 * moved + around);
        (cx.uses(Technique::Windows) && is_plain && is_whole && pays).then_some(Windows { rows, run, pixels: self.output_size[1] })
    }
}
