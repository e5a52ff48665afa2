//! Neighbouring pixels with few channels. They are contiguous in the output, so several of them are computed as one vector.

use super::access::Access;
use super::lanes::{join, repeat};
use super::operands::ElementWise;
use super::positions::{Hoisted, OutputPosition};
use crate::ir::ElementType;
use crate::kernel::{KernelBuilder, Value};
use crate::machine::Machine;
use crate::schedule::technique::Technique;

/// Neighbouring pixels.
#[derive(Clone, Copy)]
pub struct Neighbours<'a> {
    /// Place of the first one.
    pub first: &'a OutputPosition,
    /// Number of channels.
    pub channels: u16,
    /// Number of pixels.
    pub count: u16,
}

impl ElementWise<'_> {
    /// Returns the number of neighbours that fill a vector of the widest output. 1 if pixels cannot be computed together.
    pub fn neighbours(&self, machine: &Machine, channels: u64) -> u64 {
        let takes = |i: usize| {
            let operand = &self.operands[i];
            operand.element != ElementType::Bool && matches!(operand.access, Access::Single | Access::Same | Access::Channel)
        };
        if !self.cx.uses(Technique::NarrowedTogether) || !self.used().all(takes) {
            return 1;
        }
        let bytes = self.outputs.iter().map(|&(output, _)| u64::from(self.cx.element(output).bits().div_ceil(8))).max();
        (u64::from(machine.vector_bytes()) / (channels * bytes.unwrap_or(1)).max(1)).max(1)
    }

    /// Loads operands that are the same at all pixels, from a channel on, and repeats them for each neighbour. Keeps the entries of `hoisted`.
    pub fn repeat_channels(
        &self,
        b: &mut KernelBuilder,
        (channel, channels): (Value, u16),
        neighbours: u16,
        hoisted: &[Option<Hoisted>],
    ) -> Vec<Option<Hoisted>> {
        self.hoist_operands(hoisted, &Access::Channel, |i| {
            let one = self.load_channels(b, i, channel, (channels, channels.into()));
            repeat(b, one, neighbours.into())
        })
    }

    /// Loads the elements that each neighbour has for itself. Keeps the entries of `hoisted`, which [`Self::repeat_channels`] returned.
    pub fn load_neighbours(&self, b: &mut KernelBuilder, of: Neighbours<'_>, hoisted: &[Option<Hoisted>]) -> Vec<Option<Hoisted>> {
        let of_one = |b: &mut KernelBuilder, i: usize, n: u16| {
            let place = OutputPosition { pixel_offset: of.first.pixel_offset + i64::from(n), ..*of.first };
            self.load(b, i, &place, of.channels, of.channels.into())
        };
        self.hoist_operands(hoisted, &Access::Same, |i| {
            let each: Vec<Value> = (0..of.count).map(|n| of_one(b, i, n)).collect();
            join(b, &each)
        })
    }
}
