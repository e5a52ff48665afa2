//! Compaction of the host's scratch memory: the bytes that the host uses move together, without the gaps between them.

use crate::kernel::Kernel;
use crate::machine::Alignment;
use crate::program::{Address, Call, DeviceRegion, Method, Visit, change_addresses, regions, walk};
use std::ops::Range;

/// Bytes of a run-time extent in memory.
const EXTENT_BYTES: u64 = 8;

/// New offsets of the scratch memory that a method uses on the host.
pub struct CloseUp {
    /// Ranges of used bytes, in order, with the new first byte of each. The distance to a multiple of the alignment stays, because kernels rely on it.
    runs: Vec<(Range<u64>, u64)>,
    /// Size of the scratch memory after the move.
    pub bytes: u64,
}

impl CloseUp {
    /// Computes the new offsets for a method. `levels` and `kernels` are the method and the kernels of each CPU level.
    pub fn new(levels: &[Method], kernels: &[Vec<Kernel>], regions: &[DeviceRegion]) -> Self {
        let mut touched: Vec<Range<u64>> =
            levels.iter().zip(kernels).flat_map(|(level, kernels)| of_method(level, kernels, regions)).collect();
        touched.retain(|range| range.start < range.end);
        touched.sort_unstable_by_key(|range| range.start);
        let mut close_up = Self { runs: vec![], bytes: 0 };
        for range in touched {
            match close_up.runs.last_mut() {
                Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
                _ => close_up.runs.push((range, 0)),
            }
        }
        for (run, to) in &mut close_up.runs {
            *to = close_up.bytes + (run.start - close_up.bytes) % Alignment::LINE.bytes();
            close_up.bytes = *to + (run.end - run.start);
        }
        close_up
    }

    /// Changes the addresses in a method's steps, extents and regions to the new offsets.
    pub fn methods(&self, levels: &mut [Method], device: &mut [DeviceRegion]) {
        let mut change = |address: &mut Address| {
            if let Address::Scratch(offset) = address
                && let Some(place) = self.place(*offset)
            {
                *offset = place;
            }
        };
        for number in levels.first().map_or(vec![], |level| regions(&level.steps)) {
            let region = &mut device[number];
            region.enter.iter_mut().chain(&mut region.leave).for_each(|crossing| change(&mut crossing.host));
        }
        for level in levels {
            change_addresses(&mut level.steps, &mut change);
            level.input_extents.iter_mut().chain(&mut level.output_extents).for_each(|extent| change(&mut extent.cell));
            (level.scratch_bytes, level.lower_bound) = (self.bytes, level.lower_bound.min(self.bytes));
        }
    }

    /// Returns the new offset of a byte. `None` if the byte is not used.
    fn place(&self, offset: u64) -> Option<u64> {
        self.runs.iter().find(|(run, _)| run.contains(&offset)).map(|(run, to)| to + (offset - run.start))
    }

    /// Returns the new ranges of the used bytes of a range.
    pub fn ranges(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let shared = |(run, to): &(Range<u64>, u64)| {
            let (start, end) = (range.start.max(run.start), range.end.min(run.end));
            (start < end).then(|| to + (start - run.start)..to + (end - run.start))
        };
        self.runs.iter().filter_map(shared)
    }
}

/// Returns the scratch memory that a method's steps use, or that is copied to or from a region.
fn of_method(method: &Method, kernels: &[Kernel], regions: &[DeviceRegion]) -> Vec<Range<u64>> {
    let mut list: Vec<(Address, u64)> = Vec::new();
    for visit in walk(&method.steps) {
        match visit {
            Visit::Call(call) => list.extend(of_call(call, kernels)),
            Visit::External(external) => {
                list.extend(external.inputs.iter().chain(&external.outputs).map(|tensor| (tensor.address, tensor.bytes)))
            }
            Visit::If(condition) | Visit::Do(condition) => list.push((condition, 1)),
            Visit::Region(number) => {
                let crossings = regions[number].enter.iter().chain(&regions[number].leave);
                list.extend(crossings.map(|crossing| (crossing.host, crossing.bytes)));
            }
            Visit::Else | Visit::While | Visit::Parallel(_) | Visit::End => {}
        }
    }
    list.extend(method.input_extents.iter().chain(&method.output_extents).map(|extent| (extent.cell, EXTENT_BYTES)));
    let in_scratch = |(address, bytes)| if let Address::Scratch(offset) = address { Some(offset..offset + bytes) } else { None };
    list.into_iter().filter_map(in_scratch).collect()
}

/// Returns the addresses that a kernel call uses, with their bytes: operands, private memory of all ranges, and the extents that count its slices.
fn of_call(call: &Call, kernels: &[Kernel]) -> Vec<(Address, u64)> {
    let mut list = Vec::new();
    for (argument, ((_, data), address)) in kernels[call.kernel].pointer_params().zip(&call.arguments).enumerate() {
        // A kernel may also serve calls with larger tensors than its own, if they are divided into ranges.
        let least = data.bytes();
        let bytes = call.division.ranges().and_then(|ranges| ranges.bytes.get(argument)).map_or(least, |&bytes| bytes.max(least));
        list.push((*address, bytes + call.last_block(argument)));
    }
    if let Some(ranges) = call.division.ranges() {
        list.extend(ranges.private.iter().map(|private| {
            let bytes = ranges.bytes.get(private.argument).copied().unwrap_or(0);
            (private.second, u64::from(ranges.most).saturating_sub(2) * private.step + bytes.max(private.step))
        }));
    }
    list.extend(call.division.blocks().into_iter().flat_map(|blocks| &blocks.extents).map(|extent| (extent.0, EXTENT_BYTES)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Step;

    /// Makes a method that branches on scratch bytes at given offsets.
    fn method(places: &[u64]) -> Method {
        let branch = |&place: &u64| Step::If { condition: Address::Scratch(place), then: vec![], otherwise: vec![] };
        Method {
            name: "main".into(),
            steps: places.iter().map(branch).collect(),
            scratch_bytes: 4096,
            lower_bound: 2048,
            ..Method::default()
        }
    }

    #[test]
    fn what_is_touched_closes_up_and_keeps_its_alignment() {
        let mut levels = [method(&[1000, 8, 1001, 4095])];
        let close_up = CloseUp::new(&levels, &[vec![]], &[]);
        close_up.methods(&mut levels, &mut []);
        let places =
            walk(&levels[0].steps).filter_map(|visit| if let Visit::If(Address::Scratch(place)) = visit { Some(place) } else { None });
        assert_eq!(places.collect::<Vec<_>>(), [1000 % 64, 8, 1001 % 64, 63]);
        assert_eq!((levels[0].scratch_bytes, levels[0].lower_bound), (64, 64));
        assert_eq!(close_up.ranges(&(0..1001)).collect::<Vec<_>>(), [8..9, 40..41]);
    }
}
