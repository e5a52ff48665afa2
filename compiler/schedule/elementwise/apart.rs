//! Neighbouring pixels of a block of channels that are computed as one vector and stored separately, so that narrowing instructions get whole
//! vectors.

use super::lanes::{join, narrow};
use super::neighbours::Neighbours;
use super::operands::ElementWise;
use super::positions::{Hoisted, OutputPosition};
use crate::kernel::{KernelBuilder, Value};
use crate::schedule::unsupported::Unsupported;

impl ElementWise<'_> {
    /// Computes the channels of a block of neighbouring pixels. All lanes of `accumulators` together hold their sums. `hoisted` has
    /// the operands that are the same for all pixels ([`Self::repeat_channels`]).
    ///
    /// # Errors
    /// The errors of [`Self::emit`].
    pub fn emit_apart(
        &self,
        b: &mut KernelBuilder,
        of: Neighbours<'_>,
        accumulators: &[Value],
        hoisted: &[Option<Hoisted>],
    ) -> Result<(), Unsupported> {
        let Neighbours { first: place, channels, count: neighbours } = of;
        let lanes = channels * neighbours;
        let all = join(b, accumulators);
        let hoisted = self.load_neighbours(b, of, hoisted);
        let results = self.results(b, place, &[all], &hoisted, lanes, lanes.into())?;
        for ((tensor, buffer), computed) in self.outputs.iter().zip(results) {
            let stored = narrow(b, computed, self.cx.element(*tensor));
            if self.shape.last().is_some_and(|extent| extent.is(channels.into())) {
                b.store(buffer.expect("declared"), place.flat, self.flat_offset(place), stored);
                continue;
            }
            for n in 0..neighbours {
                let place = OutputPosition { pixel_offset: place.pixel_offset + i64::from(n), ..*place };
                let part = b.part(stored, n * channels, channels);
                b.store(buffer.expect("declared"), place.flat, self.flat_offset(&place), part);
            }
        }
        Ok(())
    }
}
