//! Threads for the kernels of an instance: what `parallel_for` of a configuration does, with threads of the standard library.
//!
//! A call's parts are numbers that the caller and the workers take from one counter. Workers look out for the next call for a short
//! while, for kernels follow each other closely, and then sleep.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How often a worker looks for work before it sleeps: some tens of microseconds.
const LOOKS: u32 = 1 << 12;

macro_rules! part_type {
    ($abi:literal) => {
        /// A part of a kernel call: its context and the part's number.
        pub type Part = unsafe extern $abi fn(*mut c_void, u32);
    };
}
// The convention that code is generated for.
#[cfg(target_arch = "x86_64")]
part_type!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
part_type!("C");

/// One call of `parallel_for`.
#[derive(Clone, Copy)]
struct Job {
    part: Part,
    context: *mut c_void,
    parts: u32,
}

// SAFETY: the context is that of a kernel call made to be run in parts by several threads; it outlives the job, for whoever gives
// the job waits until all parts have run.
unsafe impl Send for Job {}

/// What the threads share.
struct Shared {
    /// The number of the job, counted from 1, in the upper half; parts taken in the lower half.
    taken: AtomicU64,
    /// The job's number in the upper half; parts that have run in the lower half.
    done: AtomicU64,
    job: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    number: u32,
    job: Option<Job>,
    ended: bool,
}

/// Threads that run parts of kernels.
pub struct Threads {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Threads {
    /// So many threads, the caller's own counted.
    pub fn new(count: u32) -> Self {
        let (taken, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let shared = Arc::new(Shared { taken, done, job: Mutex::default(), wake: Condvar::new() });
        let worker = |_| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.work())
        };
        let workers = (1..count).map(worker).collect();
        Self { shared, workers }
    }

    /// Runs every part below `parts`, and returns when all have run.
    ///
    /// # Safety
    /// The part may be called with the context and each of the numbers, by several threads at a time.
    pub unsafe fn run(&mut self, parts: u32, part: Part, context: *mut c_void) {
        let job = Job { part, context, parts };
        let number = {
            let mut state = self.shared.state();
            state.number = state.number.wrapping_add(1);
            state.job = Some(job);
            self.shared.done.store(u64::from(state.number) << 32, Ordering::Release);
            self.shared.taken.store(u64::from(state.number) << 32, Ordering::Release);
            state.number
        };
        self.shared.wake.notify_all();
        self.shared.run_parts(job, number);
        let all = u64::from(number) << 32 | u64::from(parts);
        let mut looks = 0;
        while self.shared.done.load(Ordering::Acquire) != all {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        self.shared.state().job = None;
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker runs generated code alone, which does not panic.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes parts of a job until none is left or the next job has begun.
    fn run_parts(&self, job: Job, number: u32) {
        loop {
            let take = |now: u64| (now >> 32 == u64::from(number) && (now as u32) < job.parts).then_some(now + 1);
            let Ok(taken) = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) else { return };
            // SAFETY: who gave the job promises that each part may run, and waits for the parts that were taken.
            unsafe { (job.part)(job.context, taken as u32) };
            self.done.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// What a worker does.
    fn work(&self) {
        let mut last = 0;
        let mut looks = 0;
        loop {
            let number = (self.taken.load(Ordering::Acquire) >> 32) as u32;
            if number == last && looks < LOOKS {
                looks += 1;
                std::hint::spin_loop();
                continue;
            }
            looks = 0;
            let mut state = self.state();
            while state.number == last && !state.ended {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.ended {
                return;
            }
            last = state.number;
            let job = state.job;
            drop(state);
            if let Some(job) = job {
                self.run_parts(job, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    macro_rules! counting_part {
        ($abi:literal) => {
            unsafe extern $abi fn count(context: *mut c_void, part: u32) {
                // SAFETY: the test gives the address of its counters.
                let counters = unsafe { &*context.cast::<[AtomicU32; 64]>() };
                counters[part as usize].fetch_add(1, Ordering::Relaxed);
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    counting_part!("sysv64");
    #[cfg(not(target_arch = "x86_64"))]
    counting_part!("C");

    #[test]
    fn every_part_runs_once_in_every_job() {
        let mut counters = [const { AtomicU32::new(0) }; 64];
        for threads in [1, 2, 5] {
            let mut pool = Threads::new(threads);
            for job in 0..200u32 {
                let parts = job % 65;
                // SAFETY: the counters outlive the call, there are at least as many as parts, and they are atomic.
                unsafe { pool.run(parts, count, counters.as_mut_ptr().cast()) };
                for (number, counter) in counters.iter().enumerate() {
                    let expected = u32::from((number as u32) < parts);
                    assert_eq!(counter.swap(0, Ordering::Relaxed), expected, "part {number} of {parts}, {threads} threads");
                }
            }
        }
    }
}
