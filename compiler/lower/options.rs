//! Options of lowering.

use crate::machine::Machine;
use crate::plan::Effort;
use crate::schedule::{Goal, Threads};

/// Options of lowering.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The machine that schedules are chosen for.
    pub machine: &'static Machine,
    /// How far the planner searches.
    pub effort: Effort,
    /// The plan that is used.
    pub plan: PlanSource,
    /// The goal of the code: speed or size.
    pub goal: Goal,
    /// The threads that kernels are cut for.
    pub threads: Threads,
    /// The GPU that does what is marked for one, if any does.
    pub gpu: Option<&'static Machine>,
    /// True if the program runs with a device only. Variables that only the device touches then live there, and its work has no code for the host.
    pub needs_device: bool,
}

impl Options {
    /// Fast code for a machine, with a plan of our own and no long search for it.
    pub fn new(machine: &'static Machine) -> Self {
        Self {
            machine,
            effort: Effort::Normal,
            plan: PlanSource::Own,
            goal: Goal::Speed,
            threads: Threads::ALONE,
            gpu: None,
            needs_device: false,
        }
    }
}

/// Whose memory plan is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlanSource {
    /// Ours.
    #[default]
    Own,
    /// Ours, with chains in bands of rows and regions batch by batch wherever that saves anything, as with the greatest effort.
    Smallest,
    /// The one in the program file, for every tensor that survives fusion.
    Program,
}
