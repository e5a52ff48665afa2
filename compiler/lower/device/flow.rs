//! The flow of bytes in a region, and its dispatches with the barriers between them.

use super::hazards::{Running, Work};
use super::mirror::Touched;
use super::ranges::Bytes;
use crate::program::{DeviceStep, Dispatch};

/// The flow of bytes in a region.
#[derive(Default)]
pub struct Flow {
    /// Bytes that are on the device as they are to be.
    pub there: Bytes,
    /// Bytes that enter before.
    pub enter: Bytes,
    /// Bytes that are written.
    pub written: Bytes,
    /// Extents that are read.
    pub extents: Vec<u64>,
    /// Dispatches and barriers.
    pub steps: Vec<DeviceStep>,
    running: Running,
    counts: Counting,
}

/// True if counts of workgroups are known to the device.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Counting {
    /// Nothing computes them.
    #[default]
    Never,
    /// They are computed before; nobody has waited for them.
    Before,
    /// They are there.
    Done,
}

impl From<Bytes> for Flow {
    /// A region before which some bytes are on the device as they are to be.
    fn from(there: Bytes) -> Self {
        Self { there, ..Self::default() }
    }
}

impl Flow {
    /// Begins with the dispatch that computes counts; where there is none, the dispatches that follow have the workgroups of their grids.
    pub fn count(&mut self, counting: Option<Work>) {
        if let Some(counting) = counting {
            self.dispatches(&[counting]);
            self.counts = Counting::Before;
        }
    }

    /// A call that touches some bytes, where these hold something before.
    pub fn call(&mut self, touched: &[Touched], before: &Bytes) {
        for Touched { bytes, reads, writes, .. } in touched {
            let all: Bytes = std::iter::once(bytes.clone()).collect();
            // A part of what it writes may keep what it held.
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

    /// Dispatches, each after a barrier where it must not run with one since the last barrier.
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
