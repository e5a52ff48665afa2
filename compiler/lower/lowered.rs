//! A lowered module, with the data for reports.

use super::possible::Possible;
use crate::machine::CpuMachine;
use crate::plan::Plan;
use crate::program::{HostReason, Level, Program};
use std::ops::Range;

/// A lowered module, with the data for reports.
#[derive(Debug)]
pub struct Lowered {
    /// The machine that the program is for.
    pub machine: &'static CpuMachine,
    /// The program.
    pub program: Program,
    /// The programs for the other machines of an object.
    pub others: Vec<(&'static CpuMachine, Program)>,
    /// The plan of each method.
    pub plans: Vec<Plan>,
    /// The bytes of scratch memory that are live after each kernel call, for each method.
    pub live: Vec<LiveRanges>,
    /// The live tensors of each method at the step that needs most memory.
    pub peaks: Vec<Peak>,
    /// The schedules that were possible in each method. Empty lists unless [`Options::lists_schedules`](super::Options::lists_schedules) is set.
    pub possible: Vec<Vec<Possible>>,
    /// Reasons why no part of the program runs on the GPU. Empty if some part does, or if no GPU was requested.
    pub not_on_device: Vec<HostReason>,
}

impl Lowered {
    /// Returns the programs with their machines, in the order of the request.
    pub fn levels(&self) -> Vec<Level<'_>> {
        let others = self.others.iter().map(|(machine, program)| Level { machine, program });
        std::iter::once(Level { machine: self.machine, program: &self.program }).chain(others).collect()
    }

    /// Limits the number of rounds of every loop in all programs.
    pub fn set_max_iterations(&mut self, rounds: Option<u64>) {
        self.program.max_iterations = rounds;
        self.others.iter_mut().for_each(|(_, program)| program.max_iterations = rounds);
    }
}

/// Live byte ranges after each kernel call of a method.
pub type LiveRanges = Vec<Vec<Range<u64>>>;

/// The tensors that are live at the step that needs most memory.
#[derive(Clone, Debug)]
pub struct Peak {
    /// Live bytes.
    pub bytes: u64,
    /// The tensors, and the scratch memory of the kernel, with their sizes.
    pub tensors: Vec<(String, u64)>,
}
