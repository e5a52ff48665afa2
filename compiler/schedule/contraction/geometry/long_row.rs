//! Rows of pixels that are not rows of an image. One is long and computed in sections, and one has all pixels of an image.

use super::phases::Phase;
use crate::kernel::{BinaryOp, KernelBuilder, Value};
use crate::schedule::quantity::Number;

/// A row whose sections replace rows of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LongRow {
    /// Pixels of the input.
    pub input: u64,
    /// Pixels of the output.
    pub output: u64,
    /// Number of sections.
    pub sections: u64,
    /// Output pixels of a section, in each phase.
    pub length: u64,
}

/// The output rows of an image that are computed as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinedRows {
    /// Number of rows.
    pub count: u64,
    /// Pixels of a row of the image.
    pub width: u64,
}

impl LongRow {
    /// Returns the number of output pixels of a phase in a section. There are `step` phases.
    pub fn width(&self, b: &mut KernelBuilder, section: Value, phase: &Phase, step: u64) -> Number {
        let pixels = (self.output - phase.first).div_ceil(step);
        if pixels == self.sections * self.length {
            return Number::Known(self.length as i64);
        }
        let left = b.scale_index(section, -(self.length as i64), pixels as i64);
        let (none, all) = (b.index(0), b.index(self.length as i64));
        let left = b.binary(BinaryOp::SignedMin, left, all);
        Number::Computed(b.binary(BinaryOp::SignedMax, left, none))
    }
}
