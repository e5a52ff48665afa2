//! What the JIT does between kernels: it takes times, and overwrites scratch memory that nobody may read any more.

use crate::codegen::driver::{AFTER, BEFORE, calls};
use crate::program::Method;
use std::ops::Range;
use std::time::Instant;

/// After each kernel call of a method, the scratch bytes that are needed later, ascending and apart.
pub type LiveRanges = Vec<Vec<Range<u64>>>;

/// What dead memory is filled with: a NaN in every float format, −1 as an integer, far out of range as an index.
const POISON: u8 = 0xff;

/// Time spent in one kernel call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelTime {
    /// How often it ran.
    pub runs: u64,
    /// In all of them together.
    pub nanoseconds: u64,
}

/// State of the callback of one instance.
pub struct Hooks {
    profile: bool,
    times: Vec<KernelTime>,
    started: Instant,
    live: Option<Vec<LiveRanges>>,
    /// The number of each method's first call.
    first_calls: Vec<usize>,
    method: usize,
    /// The scratch memory of the call that is running.
    scratch: *mut u8,
    scratch_bytes: usize,
}

impl Hooks {
    /// Hooks for the methods of a model.
    pub(super) fn new(methods: &[Method], profile: bool, live: Option<Vec<LiveRanges>>) -> Self {
        let mut count = 0;
        let mut first_calls = Vec::new();
        for method in methods {
            first_calls.push(count);
            count += calls(&method.steps).len();
        }
        let times = if profile { vec![KernelTime::default(); count] } else { vec![] };
        let (scratch, started) = (std::ptr::null_mut(), Instant::now());
        Self { profile, times, started, live, first_calls, method: 0, scratch, scratch_bytes: 0 }
    }

    /// The address of the callback; 0 when there is nothing to do.
    pub(super) fn callback(&self) -> u64 {
        if self.profile || self.live.is_some() { on_kernel as *const () as u64 } else { 0 }
    }

    /// Before a method runs.
    pub(super) fn start(&mut self, method: usize, scratch: &mut [u8]) {
        self.method = method;
        if self.live.is_some() {
            scratch.fill(POISON);
            self.scratch = scratch.as_mut_ptr();
            self.scratch_bytes = scratch.len();
        }
    }

    pub(super) fn times(&self) -> &[KernelTime] {
        &self.times
    }

    pub(super) fn clear_times(&mut self) {
        self.times.fill(KernelTime::default());
    }

    fn after(&mut self, call: usize) {
        if let Some(time) = self.times.get_mut(call) {
            time.runs += 1;
            time.nanoseconds += self.started.elapsed().as_nanos() as u64;
        }
        let local = self.first_calls.get(self.method).and_then(|first| call.checked_sub(*first));
        let live = self.live.as_ref().and_then(|live| live.get(self.method)?.get(local?));
        if let Some(live) = live {
            // SAFETY: start() took both from the scratch memory of the running call, which waits for this callback.
            let scratch = unsafe { std::slice::from_raw_parts_mut(self.scratch, self.scratch_bytes) };
            poison(scratch, live);
        }
    }
}

/// Fills all that is outside the ranges.
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
        /// The `on_kernel` of an instance; `user` is its hooks.
        extern $abi fn on_kernel(user: *mut Hooks, call: u32, phase: u32) -> i32 {
            // SAFETY: init was given the address of boxed hooks, which live as long as the instance; Instance::run holds the instance
            // alone and touches them only before and after the call.
            let hooks = unsafe { &mut *user };
            match phase {
                BEFORE => hooks.started = Instant::now(),
                AFTER => hooks.after(call as usize),
                _ => {}
            }
            0
        }
    };
}
// The convention that code is generated for.
#[cfg(target_arch = "x86_64")]
callback!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
callback!("C");

#[cfg(test)]
mod tests {
    use super::*;

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
