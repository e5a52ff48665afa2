//! Work of the JIT between kernels: it measures times, keeps results of kernels, and overwrites dead scratch memory.

use super::options::{JitOptions, LiveRanges};
use super::threads::{Order, Task, Threads};
use crate::codegen::driver::{AFTER, BEFORE};
use crate::program::{Address, Method, Moving, calls};
use std::ffi::c_void;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Filler of dead memory: a NaN in every float format, −1 as an integer, and out of range as an index.
const POISON: u8 = 0xff;

/// Limit of the times kept for one kernel call. When it is reached, every second time is dropped, and every second later time is skipped.
const MOST_TIMES: usize = 1 << 12;

/// Time spent in one kernel call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelTime {
    /// Number of runs.
    pub runs: u64,
    /// Total time of all runs.
    pub nanoseconds: u64,
    /// Times of runs at equal distances.
    times: Vec<u64>,
    /// Binary logarithm of this distance.
    thinned: u32,
}

impl KernelTime {
    pub(super) fn add(&mut self, nanoseconds: u64) {
        if self.runs.is_multiple_of(1 << self.thinned) {
            if self.times.len() == MOST_TIMES {
                let mut position = 0;
                self.times.retain(|_| {
                    position += 1;
                    position % 2 == 1
                });
                self.thinned += 1;
            }
            self.times.push(nanoseconds);
        }
        self.runs += 1;
        self.nanoseconds += nanoseconds;
    }

    /// Returns the least of the kept times, in nanoseconds; 0 if the kernel never ran.
    pub fn least(&self) -> u64 {
        self.times.iter().copied().min().unwrap_or(0)
    }

    /// Returns the median time of a run in nanoseconds; 0 if the kernel never ran.
    pub fn median(&self) -> u64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or(0)
    }
}

/// Results of one kernel call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Index of the call among [`calls`] of its method.
    pub call: usize,
    /// Bytes of each of the call's [`crate::program::Origin::results`]; empty for a result outside scratch memory and outputs.
    pub results: Vec<Vec<u8>>,
}

/// Address and size of each result of each call of a method.
type CallResults = Vec<Vec<(Address, usize)>>;

/// State of the callback of one instance.
pub struct Hooks {
    profile: bool,
    times: Vec<KernelTime>,
    started: Instant,
    live: Option<Vec<LiveRanges>>,
    /// Number of each method's first call.
    first_calls: Vec<usize>,
    method: usize,
    /// Scratch memory of the running call.
    scratch: *mut u8,
    scratch_bytes: usize,
    /// Memory areas beside it.
    pub(super) areas: Vec<(*const u8, usize)>,
    /// Moving addresses of each method, and the step of each of its calls.
    moving: Vec<(Moving, Vec<usize>)>,
    /// Dynamic extents of the running call, and the addresses that follow.
    extents: Vec<u64>,
    places: Vec<u64>,
    /// Addresses of the results of each method's calls; kept only for observation.
    written: Option<Vec<CallResults>>,
    /// Output buffers of the running call, if it is observed.
    outputs: Vec<(*const u8, usize)>,
    observations: Vec<Observation>,
    threads: Option<Threads>,
    /// Number of parallel kernel calls.
    parallel_calls: u64,
    /// The running call.
    call: usize,
    /// Least time of each task of each kernel call, if tasks run one after the other.
    task_times: Vec<Vec<u64>>,
}

impl Hooks {
    /// Makes the hooks for the methods of a model with `regions` device regions.
    pub(super) fn new(methods: &[Method], regions: usize, options: &JitOptions, (threads, order): (u32, Order)) -> Self {
        let mut count = 0;
        let mut first_calls = Vec::new();
        for method in methods {
            first_calls.push(count);
            count += calls(&method.steps).len();
        }
        let times = if options.profile { vec![KernelTime::default(); count + regions] } else { vec![] };
        let written = options.observe.then(|| methods.iter().map(places).collect());
        Self {
            profile: options.profile,
            times,
            started: Instant::now(),
            live: options.live.clone(),
            first_calls,
            method: 0,
            scratch: std::ptr::null_mut(),
            scratch_bytes: 0,
            areas: vec![],
            moving: methods.iter().map(|method| (method.moving.clone(), method.memory_map.calls.clone())).collect(),
            extents: vec![],
            places: vec![],
            written,
            outputs: vec![],
            observations: vec![],
            threads: (threads > 1).then(|| Threads::new(threads, order)),
            parallel_calls: 0,
            call: 0,
            task_times: if options.profile { vec![vec![]; count] } else { vec![] },
        }
    }

    /// Returns the address of `parallel_for`; 0 without threads.
    pub(super) fn parallel_for(&self) -> u64 {
        if self.threads.is_some() { parallel_for as *const () as u64 } else { 0 }
    }

    /// Returns the address of the callback; 0 if it has nothing to do.
    pub(super) fn callback(&self) -> u64 {
        if self.profile || self.live.is_some() || self.written.is_some() { on_kernel as *const () as u64 } else { 0 }
    }

    /// Prepares the hooks for a run of a method with some dynamic extents. Scratch memory and output buffers must stay in place until the run
    /// ends.
    pub(super) fn start(&mut self, method: usize, extents: Vec<u64>, scratch: &mut [u8], outputs: Vec<(*const u8, usize)>) {
        self.method = method;
        let follows = self.follows_extents();
        self.places = self.moving.get(method).filter(|_| follows).map_or(vec![], |(moving, _)| moving.offsets(&extents));
        self.extents = extents;
        if self.live.is_some() {
            scratch.fill(POISON);
        }
        self.scratch = scratch.as_mut_ptr();
        self.scratch_bytes = scratch.len();
        self.outputs = outputs;
        self.observations.clear();
    }

    /// Returns the results of the last call's kernels, in the order in which they ran.
    pub(super) fn take_observations(&mut self) -> Vec<Observation> {
        std::mem::take(&mut self.observations)
    }

    /// Tells if [`Hooks::start`] needs dynamic extents and outputs, because memory is observed or overwritten.
    pub(super) fn follows_extents(&self) -> bool {
        self.written.is_some() || self.live.is_some()
    }

    /// Returns the times of all kernel calls, then of all device regions.
    pub(super) fn times(&self) -> &[KernelTime] {
        &self.times
    }

    pub(super) fn clear_times(&mut self) {
        self.times.fill(KernelTime::default());
    }

    pub(super) fn task_times(&self) -> &[Vec<u64>] {
        &self.task_times
    }

    /// Returns the number of parallel kernel calls.
    pub(super) fn parallel_calls(&self) -> u64 {
        self.parallel_calls
    }

    /// Returns the time of a parallel call without work, if there are threads.
    pub(super) fn empty_call(&mut self) -> Option<Duration> {
        self.threads.as_mut().map(Threads::empty_call)
    }

    fn after(&mut self, call: usize) {
        if let Some(time) = self.times.get_mut(call) {
            time.add(self.started.elapsed().as_nanos() as u64);
        }
        let local = self.first_calls.get(self.method).and_then(|first| call.checked_sub(*first));
        let written = self.written.as_ref().and_then(|written| written.get(self.method)?.get(local?));
        if let (Some(written), Some(call)) = (written, local) {
            let results = written.iter().map(|&(address, bytes)| self.read(address, bytes).unwrap_or_default()).collect();
            self.observations.push(Observation { call, results });
        }
        if let Some(live) = local.and_then(|local| self.live(local)) {
            // SAFETY: start() took both from the scratch memory of the running call, which waits for this callback.
            let scratch = unsafe { std::slice::from_raw_parts_mut(self.scratch, self.scratch_bytes) };
            poison(scratch, &live);
        }
    }
}

impl Hooks {
    /// Returns the live scratch bytes after a call of the running method, if they are known.
    fn live(&self, call: usize) -> Option<Vec<Range<u64>>> {
        let live = self.live.as_ref()?.get(self.method)?.get(call)?;
        match self.moving.get(self.method) {
            Some((moving, steps)) if !moving.is_empty() => {
                let step = *steps.get(call)?;
                Some(moving.live(step, steps.get(call + 1) != Some(&step), &self.extents))
            }
            _ => Some(live.clone()),
        }
    }

    /// Copies bytes from the memory of the running call; `None` if they are out of range or in another kind of memory.
    fn read(&self, address: Address, bytes: usize) -> Option<Vec<u8>> {
        let (memory, offset) = match address {
            Address::Scratch(offset) => ((self.scratch.cast_const(), self.scratch_bytes), offset),
            Address::Moving(place, offset) => {
                let bound = self.moving.get(self.method)?.0.places.get(place as usize)?.bound;
                ((self.scratch.cast_const(), self.scratch_bytes), self.places.get(place as usize)? + offset - bound)
            }
            Address::Area(number, offset) => (*self.areas.get(number as usize)?, offset),
            Address::Output(number, offset) => (*self.outputs.get(number as usize)?, offset),
            Address::Variable(_) | Address::Resident(_) | Address::Input(..) | Address::Constant(..) => return None,
        };
        let (start, end) = (offset as usize, (offset as usize).checked_add(bytes)?);
        // SAFETY: start() took the memory from the running call, which waits for this callback and keeps it until its end.
        let memory = unsafe { std::slice::from_raw_parts(memory.0, memory.1) };
        memory.get(start..end).map(<[u8]>::to_vec)
    }
}

/// Updates the least times of tasks. A call with another number of tasks replaces them.
fn least(known: &mut Vec<u64>, times: &[u64]) {
    if known.len() == times.len() {
        known.iter_mut().zip(times).for_each(|(known, &time)| *known = time.min(*known));
    } else {
        *known = times.to_vec();
    }
}

/// Returns address and size of each result of each call of a method.
fn places(method: &Method) -> CallResults {
    let of_call = |call: &crate::program::Call| call.origin.results.iter().map(|w| (w.address, w.bytes as usize)).collect();
    calls(&method.steps).into_iter().map(of_call).collect()
}

/// Fills all bytes outside the ranges.
fn poison(scratch: &mut [u8], live: &[Range<u64>]) {
    let mut from = 0;
    for range in live {
        let (start, end) = (range.start as usize, range.end as usize);
        if let Some(dead) = scratch.get_mut(from..start) {
            dead.fill(POISON);
        }
        from = from.max(end);
    }
    if let Some(dead) = scratch.get_mut(from..) {
        dead.fill(POISON);
    }
}

macro_rules! callback {
    ($abi:literal) => {
        /// `on_kernel` of an instance; `user` points to its hooks.
        extern $abi fn on_kernel(user: *mut Hooks, call: u32, phase: u32) -> i32 {
            // SAFETY: init was given the address of boxed hooks, which live as long as the instance. Instance::run holds the instance alone and
            // touches them only before and after the call.
            let hooks = unsafe { &mut *user };
            match phase {
                BEFORE => {
                    hooks.call = call as usize;
                    hooks.started = Instant::now();
                }
                AFTER => hooks.after(call as usize),
                _ => {}
            }
            0
        }

        /// `parallel_for` of an instance; `user` points to its hooks.
        extern $abi fn parallel_for(user: *mut Hooks, count: u32, task: Task, shared: *mut c_void) {
            // SAFETY: as for on_kernel; the driver calls one of them at a time.
            let hooks = unsafe { &mut *user };
            hooks.parallel_calls += 1;
            if let Some(threads) = &mut hooks.threads {
                // SAFETY: the driver's tasks may run at the same time, and what they share is on its stack until this returns.
                unsafe { threads.run(count, task, shared) };
                if let Some(known) = hooks.task_times.get_mut(hooks.call) {
                    least(known, threads.times());
                }
            }
        }
    };
}
// The calling convention of generated code.
#[cfg(target_arch = "x86_64")]
callback!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
callback!("C");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_runs_at_equal_distances() {
        let mut time = KernelTime::default();
        assert_eq!(time.median(), 0);
        for n in 0..3 * MOST_TIMES as u64 {
            time.add(n);
        }
        assert_eq!((time.runs, time.thinned), (3 * MOST_TIMES as u64, 2));
        assert!(time.times.windows(2).all(|pair| pair[1] - pair[0] == 4), "{:?}", &time.times[..8]);
        assert!(time.median().abs_diff(3 * MOST_TIMES as u64 / 2) <= 4, "{}", time.median());
    }

    #[test]
    fn dead_bytes_are_poisoned_and_live_ones_are_not() {
        let mut scratch = [0; 10];
        poison(&mut scratch, &[2..4, 3..5, 8..9]);
        assert_eq!(scratch, [255, 255, 0, 0, 0, 255, 255, 255, 0, 255]);
        poison(&mut scratch, &[0..3, 3..10]);
        assert_eq!(scratch[2], 0);
        poison(&mut scratch, &[]);
        assert_eq!(scratch, [255; 10]);
    }
}
