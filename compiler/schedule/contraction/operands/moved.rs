//! Weights that fit a signed byte after one number is subtracted from all of them. Products of bytes take half the instructions of products of
//! 16 bits. The correction of a pixel's sums is this number times the sum of all elements under its window. It is computed once for each pixel,
//! for all output channels.

use super::form::Form;
use super::panels::Panels;
use crate::ir::ElementType;
use crate::kernel::{Buffer, BufferKind, KernelBuilder, Lane};
use crate::machine::Machine;
use crate::schedule::contraction::geometry::contraction::Contraction;

/// Minimum number of products for each pixel for which this is worth the correction.
const FEWEST_PRODUCTS: u64 = 12;

/// Maximum number of pixels in a row, since their corrections are on the stack.
const MOST_PIXELS: u64 = 1024;

impl Contraction {
    /// Returns the number to subtract from the weights, if they then are bytes and the machine profits.
    pub fn moved(&self, machine: &Machine) -> Option<i64> {
        let geometry = &self.geometry;
        let by = self.weights.moved_to_signed_byte(self.open)?;
        let is_plain = geometry.groups == 1 && geometry.sizes.is_none() && geometry.is_one_phase() && self.products_in_32_bits().is_none();
        let vectors = geometry.outputs.div_ceil(machine.lanes(4).into());
        let products = vectors * geometry.per_output().div_ceil(4);
        let pays = products >= FEWEST_PRODUCTS && geometry.output_size[1] <= MOST_PIXELS;
        let takes = Form::of_bytes(machine).is_some() && machine.converts_operands() && self.element == ElementType::U8;
        (takes && is_plain && pays).then_some(by)
    }
}

/// Corrections of the pixels' sums.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct Lacking {
    /// Number that is subtracted from all weights.
    pub by: i64,
    /// Correction of each pixel of a row: the number times the sum under its window.
    pub pixels: Buffer,
}

impl Lacking {
    /// Declares the corrections of a row. `None` if weights are not moved, or if a tile computes the corrections of its own pixels.
    pub fn declare(b: &mut KernelBuilder, (work, form): (&Contraction, Form), panels: &Panels) -> Option<Self> {
        let by = panels.moved_by().filter(|_| form != Form::PixelPairs)?;
        let pixels = b.buffer("lacking", BufferKind::Local, Lane::I32, work.geometry.output_size[1], 64);
        Some(Self { by, pixels })
    }
}
