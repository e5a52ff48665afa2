//! Times of a device, which it writes to staging memory if it is measured.

use super::hooks::KernelTime;
use crate::interface::device::{Field, timestamp_places};
use crate::program::{Device, DeviceRegion};

/// Times of the runs of a region. Each dispatch waits for the one before it during a measurement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegionTimes {
    /// Time to copy inputs from staging memory.
    pub enter: KernelTime,
    /// Time of each dispatch, in order.
    pub dispatches: Vec<KernelTime>,
    /// Time to copy outputs to staging memory.
    pub leave: KernelTime,
}

impl RegionTimes {
    fn new(region: &DeviceRegion) -> Self {
        Self { dispatches: vec![KernelTime::default(); region.dispatches().count()], ..Self::default() }
    }

    /// Adds a run, in ticks of `period` nanoseconds. A region that did not run has left zeros.
    fn add(&mut self, ticks: &[u64], period: f64) {
        if ticks.contains(&0) {
            return;
        }
        let (first, between) = (std::iter::once(&mut self.enter), self.dispatches.iter_mut());
        let times = first.chain(between).chain(std::iter::once(&mut self.leave));
        for (time, ticks) in times.zip(ticks.windows(2)) {
            time.add((ticks[1].saturating_sub(ticks[0]) as f64 * period) as u64);
        }
    }
}

/// The times of all regions of an instance, and the offsets of their ticks.
pub(super) struct Regions {
    /// Offset of each region's ticks in staging memory.
    places: Vec<u64>,
    times: Vec<RegionTimes>,
}

impl Regions {
    pub(super) fn new(device: &Device) -> Self {
        Self { places: timestamp_places(device).0, times: device.regions.iter().map(RegionTimes::new).collect() }
    }

    pub(super) fn times(&self) -> &[RegionTimes] {
        &self.times
    }

    /// Clears the measured times.
    pub(super) fn forget(&mut self) {
        for RegionTimes { enter, dispatches, leave } in &mut self.times {
            dispatches.iter_mut().chain([enter, leave]).for_each(|time| *time = KernelTime::default());
        }
    }

    /// Returns host address and number of each region's ticks; nothing if the device does not measure. `state` is the device record.
    fn ticks<'a>(&'a self, state: &[u8]) -> impl Iterator<Item = (*mut u64, usize)> + 'a {
        let mapped = word(state, Field::Mapped);
        let open = mapped != 0 && word(state, Field::Queries) != 0;
        let place = move |(place, times): (&u64, &RegionTimes)| ((mapped + place) as *mut u64, times.dispatches.len() + 3);
        self.places.iter().zip(&self.times).filter(move |_| open).map(place)
    }

    /// Clears the ticks before a call.
    pub(super) fn clear(&self, state: &[u8]) {
        for (place, count) in self.ticks(state) {
            // SAFETY: the state holds the address of mapped staging memory, which has room for the ticks; no region runs.
            unsafe { std::slice::from_raw_parts_mut(place, count) }.fill(0);
        }
    }

    /// Adds the ticks of the regions that ran in a call.
    pub(super) fn take(&mut self, state: &[u8]) {
        let period = f64::from(f32::from_bits(word(state, Field::Period) as u32));
        let ticks: Vec<Vec<u64>> = self
            .ticks(state)
            // SAFETY: as in `clear`; every region that ran has ended.
            .map(|(place, count)| unsafe { std::slice::from_raw_parts(place, count) }.to_vec())
            .collect();
        self.times.iter_mut().zip(ticks).for_each(|(times, ticks)| times.add(&ticks, period));
    }
}

/// Reads a word of the device record; 0 if there is none.
fn word(state: &[u8], field: Field) -> u64 {
    let bytes = state.get(field.offset() as usize..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_times_of_what_lies_between_them() {
        let mut times = RegionTimes { dispatches: vec![KernelTime::default(); 2], ..RegionTimes::default() };
        times.add(&[100, 110, 140, 141, 150], 2.0);
        times.add(&[0; 5], 2.0);
        let all = [&times.enter, &times.dispatches[0], &times.dispatches[1], &times.leave];
        assert_eq!(all.map(|time| (time.runs, time.nanoseconds)), [(1, 20), (1, 60), (1, 2), (1, 18)]);
    }

    #[test]
    fn a_state_without_a_device_has_no_ticks() {
        let regions = Regions { places: vec![64], times: vec![RegionTimes::default()] };
        let mut state = vec![0; 1024];
        assert_eq!(regions.ticks(&state).count(), 0);
        state[Field::Mapped.offset() as usize] = 8;
        assert_eq!(regions.ticks(&state).count(), 0, "the device takes no times");
        state[Field::Queries.offset() as usize] = 1;
        assert_eq!(regions.ticks(&state).next(), Some((72 as *mut u64, 3)));
        assert_eq!(regions.ticks(&[]).count(), 0);
    }
}
