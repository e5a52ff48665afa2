//! Division of a method into regions. Each run of calls that the device computes becomes a region, with the bytes that are copied in and out.

use super::dispatches::Dispatches;
use super::flow::Flow;
use super::hazards::Work;
use super::mirror::{Mirror, Touched};
use super::ranges::Bytes;
use crate::kernel::Kernel;
use crate::kernel::cost::instructions;
use crate::program::{Address, Call, Crossing, DeviceRegion, HostReason, Step, Visit, calls, walk};
use std::ops::Range;

/// Bytes of a vector, for the estimate of instructions.
const VECTOR_BYTES: u64 = 16;

/// Maximum number of instructions of a single position. A longer kernel costs more than a copy to the host and back.
const MOST_ALONE: u64 = 4096;

/// The first byte of staging memory after the status.
const FIRST_STAGED: u64 = 64;

/// A method for two machines, with corresponding steps.
pub struct Both<'a> {
    /// The steps for the device.
    pub device: &'a [Step],
    /// The kernels of the device's steps.
    pub device_kernels: &'a [Kernel],
    /// The steps for a CPU.
    pub host: &'a [Step],
    /// The kernels of the CPU's steps.
    pub host_kernels: &'a [Kernel],
    /// `true` for each call that is for the device.
    pub marks: &'a [bool],
    /// The live scratch memory after each call.
    pub live: &'a [Vec<Range<u64>>],
}

/// A run of steps that a region replaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The branches and loops around the run, outermost first: the position of each, and `true` for its second list (`otherwise`, or a loop's body).
    pub path: Vec<(usize, bool)>,
    /// The positions of the steps in their list.
    pub steps: Range<usize>,
    /// The region's number.
    pub region: usize,
}

/// Decision about the calls of a method.
pub struct Decided {
    /// The reason why each call stays on the host. `None` if it runs on the device.
    pub reasons: Vec<Option<HostReason>>,
    /// Bytes that the host's steps access.
    pub host: Bytes,
    /// Bytes that the device's calls access.
    pub device: Bytes,
}

/// Division of a method into regions.
pub struct Cutter<'s, 'a, 'd> {
    sides: Both<'s>,
    mirror: &'a Mirror,
    dispatches: &'d mut Dispatches<'a>,
    /// The dispatches of each call, or the reason why it stays on the host.
    found: Vec<Result<Vec<Work>, HostReason>>,
    /// Bytes that the host's steps access.
    host_reads: Bytes,
    /// `true` if the method has branches or loops. Then all live results of a region are copied out.
    has_flow: bool,
    /// Bytes of the host that outlive a call of the method: outputs and variables.
    lasting: Bytes,
    /// Lasting bytes that may have contents before the next step. Without branches and loops, an output has contents only after a step that may write
    /// it.
    held: Bytes,
    /// Bytes of variables that live on the device.
    residents: &'a Bytes,
    /// The number of the next call.
    call: usize,
    path: Vec<(usize, bool)>,
    /// `true` if a run could not become a region, because its bytes cannot be copied. Its calls then stay on the host, and the division starts again.
    is_refused: bool,
    regions: Vec<DeviceRegion>,
    cuts: Vec<Cut>,
}

impl<'s, 'a, 'd> Cutter<'s, 'a, 'd> {
    /// Starts the division of a method. `residents` are the bytes of variables that live on the device.
    pub fn new(sides: Both<'s>, (mirror, residents): (&'a Mirror, &'a Bytes), dispatches: &'d mut Dispatches<'a>) -> Self {
        let has_flow = walk(sides.host).any(|visit| matches!(visit, Visit::If(_) | Visit::While));
        let lasting = mirror.lasting().into_iter().collect::<Bytes>().without(residents);
        let (call, path, is_refused, regions, cuts) = (0, vec![], false, vec![], vec![]);
        let mut found = Vec::with_capacity(sides.marks.len());
        for (call, is_marked) in calls(sides.device).into_iter().zip(sides.marks) {
            let kernel = sides.device_kernels.get(call.kernel).filter(|_| *is_marked);
            found.push(kernel.map_or(Err(HostReason::NotGiven), |kernel| dispatches.of_call(kernel, call)));
        }
        Self {
            sides,
            mirror,
            dispatches,
            found,
            host_reads: Bytes::default(),
            has_flow,
            lasting,
            held: Bytes::default(),
            residents,
            call,
            path,
            is_refused,
            regions,
            cuts,
        }
    }

    /// Decides which calls run on the device: the marked ones and the ones between two marked ones, if their kernels allow it.
    pub fn decide(mut self) -> Decided {
        self.bridge();
        self.settle();
        let device = self.touched_by_device();
        Decided { reasons: self.found.into_iter().map(Result::err).collect(), host: self.host_reads, device }
    }

    /// Returns the bytes that the device's calls access.
    fn touched_by_device(&self) -> Bytes {
        let calls = calls(self.sides.device).into_iter().zip(&self.found).filter(|(_, found)| found.is_ok());
        calls.flat_map(|(call, _)| self.touched(call, self.sides.device_kernels)).map(|touched| touched.bytes).collect()
    }

    /// Makes the regions, numbered from `first`, and the runs of steps that they replace, in order. The marks must be the decision of [`Self::decide`].
    pub fn cut(mut self, first: usize) -> (Vec<DeviceRegion>, Vec<Cut>) {
        self.settle();
        self.cuts.iter_mut().for_each(|cut| cut.region += first);
        (self.regions, self.cuts)
    }

    /// Makes regions. Repeats this until no run is refused.
    fn settle(&mut self) {
        loop {
            (self.call, self.regions, self.cuts, self.is_refused) = (0, vec![], vec![], false);
            self.host_reads = self.reads_of_host();
            let outputs = self.mirror.outputs().into_iter().collect();
            self.held = if self.has_flow { self.lasting.clone() } else { self.lasting.without(&outputs) };
            self.list(self.sides.device, self.sides.host);
            if !self.is_refused {
                break;
            }
        }
    }

    /// Moves unmarked calls between two marked ones to the device, if their kernels are parallel there. So their operands need no copies.
    fn bridge(&mut self) {
        let mut number = 0;
        // Calls since the last marked one, by number, with their dispatches; `None` if one of them stays on the CPU.
        let mut between: Option<Vec<(usize, Vec<Work>)>> = None;
        for visit in walk(self.sides.device) {
            let Visit::Call(call) = visit else {
                between = None;
                continue;
            };
            if self.sides.marks.get(number) == Some(&true) {
                for (number, dispatches) in between.replace(vec![]).into_iter().flatten() {
                    self.found[number] = Ok(dispatches);
                }
            } else if let Some(mut list) = between.take() {
                match self.follower(call) {
                    Ok(dispatches) => {
                        list.push((number, dispatches));
                        between = Some(list);
                    }
                    Err(reason) => self.found[number] = Err(reason),
                }
            }
            number += 1;
        }
    }

    /// Returns the dispatches of an unmarked call. The error is the reason if the device cannot run it, or would run much work at one position.
    fn follower(&mut self, call: &Call) -> Result<Vec<Work>, HostReason> {
        let kernel = self.sides.device_kernels.get(call.kernel).ok_or(HostReason::NotGiven)?;
        let dispatches = self.dispatches.of_call(kernel, call)?;
        let alone = |work: &Work| {
            let kernel = &self.dispatches.kernels[work.dispatch.kernel].kernel;
            let is_one = kernel.grid.is_none_or(|grid| grid.positions < 2);
            if is_one { instructions(kernel, &[0], VECTOR_BYTES) } else { 0 }
        };
        if dispatches.iter().map(alone).sum::<u64>() > MOST_ALONE { Err(HostReason::OnePosition) } else { Ok(dispatches) }
    }

    fn reads_of_host(&self) -> Bytes {
        let mut bytes = Bytes::default();
        let mut number = 0;
        for visit in walk(self.sides.host) {
            match visit {
                Visit::Call(call) => {
                    if self.found[number].is_err() {
                        self.touched(call, self.sides.host_kernels).into_iter().for_each(|touched| bytes.insert(touched.bytes));
                    }
                    number += 1;
                }
                Visit::External(external) => {
                    let tensors = external.inputs.iter().chain(&external.outputs);
                    bytes.extend(&tensors.filter_map(|tensor| self.range(tensor.address, tensor.bytes)).collect());
                }
                Visit::If(condition) | Visit::Do(condition) => bytes.extend(&self.range(condition, 1).into_iter().collect()),
                _ => {}
            }
        }
        bytes
    }

    fn range(&self, address: Address, bytes: u64) -> Option<Range<u64>> {
        let place = self.mirror.place(address)?;
        Some(place..place + bytes)
    }

    /// Returns the bytes that a call accesses, with the kernels of one side.
    fn touched(&self, call: &Call, kernels: &[Kernel]) -> Vec<Touched> {
        kernels.get(call.kernel).map_or(vec![], |kernel| self.mirror.touched(kernel, call))
    }

    /// Makes the regions of one list of steps.
    fn list(&mut self, device: &'s [Step], host: &[Step]) {
        // The bytes whose current contents are on the device.
        let mut there = self.residents.clone();
        let mut run = Run::default();
        for (number, (of_device, of_host)) in device.iter().zip(host).enumerate() {
            if let (Step::Call(call), Step::Call(_)) = (of_device, of_host)
                && self.found[self.call].is_ok()
            {
                run.steps.start = if run.calls.is_empty() { number } else { run.steps.start };
                run.steps.end = number + 1;
                run.calls.push((self.call, call));
                self.call += 1;
                continue;
            }
            self.finish(&mut run, &mut there);
            self.host_step(number, of_device, of_host, &mut there);
        }
        self.finish(&mut run, &mut there);
    }

    /// Notes that a step may have written bytes: lasting bytes have contents from now on.
    fn hold(&mut self, written: &Bytes) {
        self.held.extend(&written.and(&self.lasting));
    }

    /// Handles a step of the host. The device's copy of the bytes that it writes is no longer valid.
    fn host_step(&mut self, number: usize, device: &'s Step, host: &Step, there: &mut Bytes) {
        match (device, host) {
            (_, Step::Call(call)) => {
                let touched = self.touched(call, self.sides.host_kernels);
                let written = touched.into_iter().filter(|touched| touched.writes).map(|touched| touched.bytes).collect();
                self.written_by_host(&written, there);
                self.call += 1;
            }
            (_, Step::External(external)) => {
                let written = external.outputs.iter().filter_map(|tensor| self.range(tensor.address, tensor.bytes)).collect();
                self.written_by_host(&written, there);
            }
            _ => {
                match device.arms().zip(host.arms()) {
                    Some((device, host)) => {
                        for (second, (device, host)) in [false, true].into_iter().zip(device.into_iter().zip(host)) {
                            self.path.push((number, second));
                            self.list(device, host);
                            self.path.pop();
                        }
                    }
                    None => self.held.clone_from(&self.lasting),
                }
                there.clone_from(self.residents);
            }
        }
    }

    /// Notes that the host writes bytes: they have contents, and the device's copy is no longer valid.
    fn written_by_host(&mut self, written: &Bytes, there: &mut Bytes) {
        *there = there.without(written);
        self.hold(written);
    }

    /// Makes a region of a run of calls. If its bytes cannot be copied, marks its calls for the host instead.
    fn finish(&mut self, run: &mut Run<'s>, there: &mut Bytes) {
        let Run { steps, calls } = std::mem::take(run);
        let Some(&(first, ..)) = calls.first() else { return };
        let mut flow = Flow::from(there.clone());
        flow.count(self.counting(&calls));
        for &(number, call) in &calls {
            let mut before = self.live_before(number, first);
            before.extend(&self.held);
            let touched = self.touched(call, self.sides.device_kernels);
            let (extents, touched): (Vec<_>, Vec<_>) = touched.into_iter().partition(|touched| touched.is_extent);
            flow.call(&touched, &before);
            flow.extents.extend(extents.iter().map(|touched| touched.bytes.start));
            flow.dispatches(self.found[number].as_deref().unwrap_or_default());
        }
        let last = first + calls.len() - 1;
        let mut wanted = self.host_reads.clone();
        wanted.extend(&self.lasting);
        let mut live = self.live_after(last);
        live.extend(&self.lasting);
        let leave = if self.has_flow { flow.written.and(&live) } else { flow.written.and(&live).and(&wanted) };
        let Some(region) = self.region(&flow, &leave) else {
            calls.iter().for_each(|&(number, _)| self.found[number] = Err(HostReason::Crossing));
            self.is_refused = true;
            return;
        };
        self.hold(&flow.written);
        *there = flow.there;
        self.regions.push(region);
        self.cuts.push(Cut { path: self.path.clone(), steps, region: self.regions.len() - 1 });
    }

    /// Makes the dispatch that computes the counts of calls, if they need any.
    fn counting(&mut self, calls: &[(usize, &'s Call)]) -> Option<Work> {
        let dispatches = calls.iter().flat_map(|&(number, _)| self.found[number].as_deref().unwrap_or_default());
        let mut places: Vec<u64> = dispatches.filter_map(|work| work.dispatch.counts).collect();
        places.sort_unstable();
        places.dedup();
        self.dispatches.counting(&places)
    }

    /// Returns the scratch memory that is live after a call, as bytes of the area.
    fn live_after(&self, number: usize) -> Bytes {
        let place = self.mirror.place(Address::Scratch(0)).unwrap_or(0);
        self.sides.live.get(number).into_iter().flatten().map(|range| place + range.start..place + range.end).collect()
    }

    /// Returns the bytes that may be live before a call of a run. `first` is the first call of the run. At an unknown position, this is the whole area.
    fn live_before(&self, number: usize, first: usize) -> Bytes {
        match number.checked_sub(1) {
            Some(before) if number > first || !self.has_flow => self.live_after(before),
            None if !self.has_flow => Bytes::default(),
            // The previous call depends on branches.
            _ => std::iter::once(0..self.mirror.bytes).collect(),
        }
    }

    fn region(&self, flow: &Flow, leave: &Bytes) -> Option<DeviceRegion> {
        let mut staging = FIRST_STAGED;
        let mut crossing = |range: &Range<u64>, is_extent: bool| {
            let start = range.start - range.start % 4;
            let bytes = range.end - start;
            let crossing = Crossing { host: self.mirror.host(start)?, staging, device: start, bytes, is_extent };
            staging = (staging + bytes).next_multiple_of(64);
            Some((crossing, start..crossing.device + bytes.next_multiple_of(4)))
        };
        let mut enter = Vec::new();
        for range in flow.enter.ranges() {
            let (crossing, copied) = crossing(range, false)?;
            let beside = std::iter::once(copied).collect::<Bytes>().without(&flow.enter);
            // Other bytes in the same words must not be newer on the device.
            if beside.ranges().iter().any(|range| flow.there.meets(range)) {
                return None;
            }
            enter.push(crossing);
        }
        let mut extents = flow.extents.clone();
        extents.sort_unstable();
        extents.dedup();
        for place in extents {
            enter.push(crossing(&(place..place + 8), true)?.0);
        }
        let mut leaving = Vec::new();
        for range in leave.ranges() {
            let (crossing, _) = crossing(range, false)?;
            if !flow.there.covers(&(crossing.device..range.end)) {
                return None;
            }
            leaving.push(crossing);
        }
        Some(DeviceRegion { enter, steps: flow.steps.clone(), leave: leaving })
    }
}

/// Consecutive calls of the device.
#[derive(Default)]
struct Run<'s> {
    steps: Range<usize>,
    /// The calls with their numbers.
    calls: Vec<(usize, &'s Call)>,
}
