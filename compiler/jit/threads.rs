//! Threads for the kernels of an instance: an implementation of `parallel_for` with threads of the standard library.
//!
//! The tasks of a step are bits of one word, which the caller and the workers clear as they take them. Each thread prefers the task of its
//! number, so that the next kernel finds its data in the same cache. Workers spin for a short time between calls, because kernels follow each
//! other closely, and then sleep. No lock is taken unless a worker sleeps.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Number of polls before a thread sleeps or yields: a few dozen microseconds.
const LOOKS: u32 = 1 << 12;

/// Limit of open tasks: the bits of half a word.
const OPEN: u32 = 32;

macro_rules! task_type {
    ($abi:literal) => {
        /// The function of the tasks of kernel calls: its context, and the task's number.
        pub type Task = unsafe extern $abi fn(*mut c_void, u32);
    };
}
// The calling convention of generated code.
#[cfg(target_arch = "x86_64")]
task_type!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
task_type!("C");

/// State shared by the threads. The job is written while no task is open. A thread that takes an open task has read the same job, because the
/// word contains the job's number.
struct Shared {
    /// Number of the job in the upper half, and a bit for each open task in the lower half.
    open: AtomicU64,
    /// Number of tasks that have not ended.
    running: AtomicU32,
    /// The job: its function, its context, and the number of the lowest bit's task.
    task: AtomicPtr<()>,
    context: AtomicPtr<c_void>,
    first: AtomicU32,
    ended: AtomicBool,
    /// Number of workers that sleep or are about to.
    sleeping: AtomicU32,
    lock: Mutex<()>,
    wake: Condvar,
}

/// Order in which tasks run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// All threads at once, each taking the next open task.
    #[default]
    Any,
    /// The caller's thread alone, in a shuffled order from a seed. It is for tests that results do not depend on the order.
    Shuffled(u64),
}

/// Threads that run tasks.
pub struct Threads {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    order: Order,
    /// Nanoseconds of each task of the last call, if tasks ran one after the other.
    times: Vec<u64>,
}

impl Threads {
    /// Starts `count` threads, including the caller's.
    pub fn new(count: u32, order: Order) -> Self {
        let shared = Arc::new(Shared {
            open: AtomicU64::new(0),
            running: AtomicU32::new(0),
            task: AtomicPtr::default(),
            context: AtomicPtr::default(),
            first: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            sleeping: AtomicU32::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        });
        let worker = |number| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.work(number))
        };
        let count = if order == Order::Any { count } else { 1 };
        let workers = (1..count).map(worker).collect();
        Self { shared, workers, order, times: vec![] }
    }

    /// Runs all tasks below `tasks`, and returns when all have ended.
    ///
    /// # Safety
    /// The function must accept the context with each of the numbers, on several threads at a time.
    pub unsafe fn run(&mut self, tasks: u32, task: Task, context: *mut c_void) {
        if let Order::Shuffled(state) = &mut self.order {
            self.times = vec![0; tasks as usize];
            let mut left: Vec<u32> = (0..tasks).collect();
            while !left.is_empty() {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let next = left.swap_remove((*state >> 33) as usize % left.len());
                let start = Instant::now();
                // SAFETY: the caller promises that each task may run.
                unsafe { task(context, next) };
                self.times[next as usize] = start.elapsed().as_nanos() as u64;
            }
            return;
        }
        let shared = &*self.shared;
        for first in (0..tasks).step_by(OPEN as usize) {
            let count = (tasks - first).min(OPEN);
            shared.task.store(task as *mut (), Ordering::Relaxed);
            shared.context.store(context, Ordering::Relaxed);
            shared.first.store(first, Ordering::Relaxed);
            shared.running.store(count, Ordering::Relaxed);
            let number = (shared.open.load(Ordering::Relaxed) >> 32).wrapping_add(1);
            // With this order, either a worker that is about to sleep sees the tasks, or this thread sees the worker as sleeping.
            shared.open.store(number << 32 | (u64::MAX >> (64 - count)), Ordering::SeqCst);
            if shared.sleeping.load(Ordering::SeqCst) > 0 {
                drop(shared.lock());
                shared.wake.notify_all();
            }
            while shared.run_task(0) {}
            let mut looks = 0;
            while shared.running.load(Ordering::Acquire) > 0 {
                looks += 1;
                if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
    }

    /// Returns the nanoseconds of each task of the last call, if they ran one after the other; otherwise an empty list.
    pub fn times(&self) -> &[u64] {
        &self.times
    }

    /// Returns the time of a call without work while all threads are awake: the median of several.
    pub fn empty_call(&mut self) -> Duration {
        let tasks = self.workers.len() as u32 + 1;
        let mut times = [Duration::ZERO; 256];
        for time in &mut times {
            let start = Instant::now();
            // SAFETY: the task touches nothing.
            unsafe { self.run(tasks, no_work, std::ptr::null_mut()) };
            *time = start.elapsed();
        }
        times.sort_unstable();
        times[times.len() / 2]
    }
}

macro_rules! no_work {
    ($abi:literal) => {
        unsafe extern $abi fn no_work(_context: *mut c_void, _task: u32) {}
    };
}
#[cfg(target_arch = "x86_64")]
no_work!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
no_work!("C");

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        drop(self.shared.lock());
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker only runs generated code, which does not panic.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tests whether a worker has something to do.
    fn calls(&self) -> bool {
        self.open.load(Ordering::SeqCst) as u32 != 0 || self.ended.load(Ordering::SeqCst)
    }

    /// Takes an open task and runs it: the task of the thread's number, or the lowest one. Returns `false` if none is open.
    fn run_task(&self, thread: u32) -> bool {
        let mut open = self.open.load(Ordering::Acquire);
        loop {
            let left = open as u32;
            if left == 0 {
                return false;
            }
            let own = 1u32.checked_shl(thread).unwrap_or(0);
            let bit = if left & own != 0 { thread } else { left.trailing_zeros() };
            let task = self.task.load(Ordering::Relaxed);
            let (context, first) = (self.context.load(Ordering::Relaxed), self.first.load(Ordering::Relaxed));
            match self.open.compare_exchange_weak(open, open & !(1 << bit), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: a task was open until here, so the job is the one that was read, whose function this is.
                    let task: Task = unsafe { std::mem::transmute(task) };
                    // SAFETY: who gave the job promises that each task may run, and waits for the tasks that were taken.
                    unsafe { task(context, first + bit) };
                    self.running.fetch_sub(1, Ordering::Release);
                    return true;
                }
                Err(now) => open = now,
            }
        }
    }

    /// Runs the loop of a worker.
    fn work(&self, thread: u32) {
        let mut looks = 0;
        while !self.ended.load(Ordering::Relaxed) {
            if self.run_task(thread) {
                looks = 0;
            } else if looks < LOOKS {
                looks += 1;
                std::hint::spin_loop();
            } else {
                looks = 0;
                self.sleep();
            }
        }
    }

    /// Sleeps until there is work.
    fn sleep(&self) {
        let mut guard = self.lock();
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        while !self.calls() {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    macro_rules! counting_task {
        ($abi:literal) => {
            unsafe extern $abi fn count(context: *mut c_void, task: u32) {
                // SAFETY: the test gives the address of its counters.
                let counters = unsafe { &*context.cast::<[AtomicU32; 64]>() };
                counters[task as usize].fetch_add(1, Ordering::Relaxed);
            }
        };
    }
    #[cfg(target_arch = "x86_64")]
    counting_task!("sysv64");
    #[cfg(not(target_arch = "x86_64"))]
    counting_task!("C");

    #[test]
    fn workers_that_sleep_are_woken() {
        let mut counters = [const { AtomicU32::new(0) }; 64];
        let mut pool = Threads::new(3, Order::Any);
        for _ in 0..3 {
            while pool.shared.sleeping.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            // SAFETY: the counters outlive the call, there are at least as many as tasks, and they are atomic.
            unsafe { pool.run(40, count, counters.as_mut_ptr().cast()) };
        }
        assert!(counters[..40].iter().all(|counter| counter.load(Ordering::Relaxed) == 3));
        assert!(pool.empty_call() > Duration::ZERO);
    }

    #[test]
    fn every_part_runs_once_in_every_job() {
        let mut counters = [const { AtomicU32::new(0) }; 64];
        for (threads, order) in [(1, Order::Any), (2, Order::Any), (5, Order::Any), (2, Order::Shuffled(7))] {
            let mut pool = Threads::new(threads, order);
            for job in 0..200u32 {
                let tasks = job % 65;
                // SAFETY: the counters outlive the call, there are at least as many as tasks, and they are atomic.
                unsafe { pool.run(tasks, count, counters.as_mut_ptr().cast()) };
                for (number, counter) in counters.iter().enumerate() {
                    let expected = u32::from((number as u32) < tasks);
                    assert_eq!(counter.swap(0, Ordering::Relaxed), expected, "task {number} of {tasks}, {threads} threads");
                }
            }
        }
    }
}
