//! Flow of bytes in a region, and its dispatches with barriers.

use super::hazards::{Running, Work};
use super::mirror::Touched;
use super::ranges::Bytes;
use crate::program::{DeviceStep, Dispatch};

/// Flow of bytes in a region while its calls are added.
#[derive(Default)]
pub struct Flow {
    /// Bytes whose current contents are on the device.
    pub there: Bytes,
    /// Bytes that must be copied in before the region.
    pub enter: Bytes,
    /// Bytes that the region writes.
    pub written: Bytes,
    /// Places of the extents that the region reads.
    pub extents: Vec<u64>,
    /// Dispatches and barriers.
    pub steps: Vec<DeviceStep>,
    running: Running,
    counts: Counting,
}

/// State of the region's counts of workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Counting {
    /// The region computes no counts.
    #[default]
    Never,
    /// A dispatch computes them, with no barrier after it yet.
    Before,
    /// They are computed, and a barrier follows.
    Done,
}

impl From<Bytes> for Flow {
    /// Makes the flow of a new region. `there` are the bytes whose current contents are on the device before it.
    fn from(there: Bytes) -> Self {
        Self { there, ..Self::default() }
    }
}

impl Flow {
    /// Begins the region with the dispatch that computes counts. Without one, later dispatches use the workgroups of their grids.
    pub fn count(&mut self, counting: Option<Work>) {
        if let Some(counting) = counting {
            self.dispatches(&[counting]);
            self.counts = Counting::Before;
        }
    }

    /// Adds the accesses of a call. `before` are the bytes that may hold live contents before it.
    pub fn call(&mut self, touched: &[Touched], before: &Bytes) {
        for Touched { bytes, reads, writes, .. } in touched {
            let all: Bytes = std::iter::once(bytes.clone()).collect();
            // The call may write only a part of these bytes, so live contents must be on the device before.
            let needed = if *reads { all.clone() } else { all.and(before) };
            let missing = needed.without(&self.there);
            self.enter.extend(&missing);
            self.there.extend(&missing);
            if *writes {
                self.written.extend(&all);
                self.there.extend(&all);
            }
        }
    }

    /// Adds dispatches. A dispatch comes after a barrier if it conflicts with one since the last barrier.
    pub fn dispatches(&mut self, list: &[Work]) {
        for work in list {
            if self.running.add(work) {
                self.steps.push(DeviceStep::Barrier);
            }
            let counts = work.dispatch.counts.filter(|_| self.counts != Counting::Never);
            if counts.is_some() && self.counts == Counting::Before {
                self.steps.push(DeviceStep::CountBarrier);
                self.counts = Counting::Done;
            }
            self.steps.push(DeviceStep::Dispatch(Dispatch { counts, ..work.dispatch.clone() }));
        }
    }
}
