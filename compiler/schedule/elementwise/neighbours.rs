//! Neighbouring pixels that have few channels: they lie side by side in the output, so that several of them are one vector there, and
//! are computed as one.

use super::access::Access;
use super::lanes::{join, repeat};
use super::operands::ElementWise;
use super::positions::{Hoisted, OutputPosition};
use crate::ir::ElementType;
use crate::kernel::{KernelBuilder, Value};
use crate::machine::Machine;

impl ElementWise<'_> {
    /// How many neighbours fill a vector of what is stored: a power of two, one where they are not to be computed together.
    pub fn neighbours(&self, machine: &Machine, channels: u64) -> u64 {
        let takes = |i: usize| {
            let operand = &self.operands[i];
            operand.element != ElementType::Bool && matches!(operand.access, Access::Single | Access::Same | Access::Channel)
        };
        if !self.used().all(takes) {
            return 1;
        }
        let bytes = self.outputs.iter().map(|&(output, _)| u64::from(self.cx.element(output).bits().div_ceil(8))).max();
        (u64::from(machine.vector_bytes()) / (channels * bytes.unwrap_or(1)).max(1)).max(1)
    }

    /// What is the same for all pixels, in the lanes of some neighbours with this many channels each, beside what `hoisted` has already.
    pub fn repeat_channels(
        &self,
        b: &mut KernelBuilder,
        place: &OutputPosition,
        hoisted: &[Option<Hoisted>],
        (channels, neighbours): (u16, u16),
    ) -> Vec<Option<Hoisted>> {
        self.hoist_operands(hoisted, &Access::Channel, |i| {
            let one = self.load(b, i, place, channels, channels.into());
            repeat(b, one, neighbours.into())
        })
    }

    /// The elements that each of some neighbours has for itself, beside what [`Self::repeat_channels`] gave.
    pub fn load_neighbours(
        &self,
        b: &mut KernelBuilder,
        place: &OutputPosition,
        hoisted: &[Option<Hoisted>],
        (channels, neighbours): (u16, u16),
    ) -> Vec<Option<Hoisted>> {
        let of_one = |b: &mut KernelBuilder, i: usize, n: u16| {
            let place = OutputPosition { pixel_offset: place.pixel_offset + i64::from(n), ..*place };
            self.load(b, i, &place, channels, channels.into())
        };
        self.hoist_operands(hoisted, &Access::Same, |i| {
            let each: Vec<Value> = (0..neighbours).map(|n| of_one(b, i, n)).collect();
            join(b, &each)
        })
    }
}
