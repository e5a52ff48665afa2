//! Weights that fit a signed byte when one number is taken from all of them: products of bytes then take half the instructions that products of
//! 16 bits do. What the sums of a pixel lack is the number times the sum of all that is under its window. That is summed once a pixel, for all
//! output channels.

use super::form::Form;
use super::geometry::Contraction;
use super::panels::Panels;
use crate::ir::ElementType;
use crate::kernel::{Buffer, BufferKind, KernelBuilder, Lane};
use crate::machine::Machine;

/// Products of bytes a pixel from which on they make up for its sum.
const FEWEST_PRODUCTS: u64 = 12;

/// The pixels of a row whose sums are kept on the stack.
const MOST_PIXELS: u64 = 1024;

impl Contraction {
    /// The number that is taken from weights where this makes them bytes, and pays on a machine that multiplies bytes.
    pub fn moved(&self, machine: &Machine) -> Option<i64> {
        let by = self.weights.moved_to_signed_byte(self.open)?;
        let is_plain = self.groups == 1 && self.sizes.is_none() && self.is_one_phase() && self.products_in_32_bits().is_none();
        let vectors = self.outputs.div_ceil(machine.lanes(4).into());
        let products = vectors * self.per_output().div_ceil(4);
        let pays = products >= FEWEST_PRODUCTS && self.output_size[1] <= MOST_PIXELS;
        let takes = Form::of_bytes(machine).is_some() && !machine.at_once && self.element == ElementType::U8;
        (takes && is_plain && pays).then_some(by)
    }
}

/// What pixels lack.
#[derive(Clone, Copy)]
pub(super) struct Lacking {
    /// The number that is taken from all weights.
    pub by: i64,
    /// That times the sum under its window, of each pixel of a row.
    pub pixels: Buffer,
}

impl Lacking {
    /// Declares the sums of a row.
    pub fn declare(b: &mut KernelBuilder, work: &Contraction, panels: &Panels) -> Option<Self> {
        let by = panels.moved_by()?;
        let pixels = b.buffer("lacking", BufferKind::Local, Lane::I32, work.output_size[1], 64);
        Some(Self { by, pixels })
    }
}
