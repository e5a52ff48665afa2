//! Options of lowering.

pub mod areas;

use crate::machine::{CpuMachine, GpuMachine};
use crate::plan::Effort;
use crate::schedule::{Goal, Techniques, Threads};
use areas::Areas;

/// Options of lowering.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The machine that schedules are chosen for.
    pub machine: &'static CpuMachine,
    /// Search effort of the planner.
    pub effort: Effort,
    /// The memory plan that is used.
    pub plan: PlanSource,
    /// The goal of the code: speed or size.
    pub goal: Goal,
    /// The threads that kernels are divided for.
    pub threads: Threads,
    /// The GPU that computes the operators marked for one, if any.
    pub gpu: Option<&'static GpuMachine>,
    /// `true` if the program always runs with the device. Variables that only the device uses then live there, and the device's calls have no host code.
    pub needs_device: bool,
    /// The memory areas of the application. Without any, all memory is one arena without a limit.
    pub areas: Areas,
    /// The techniques that schedules may use: all but those that are measured.
    pub techniques: Techniques,
    /// `true` to list the schedules that were possible.
    pub lists_schedules: bool,
}

impl Options {
    /// Returns the default options for a machine: fast code, one thread, no GPU, and our own plan with a normal search.
    pub fn new(machine: &'static CpuMachine) -> Self {
        Self {
            machine,
            effort: Effort::Normal,
            plan: PlanSource::Own,
            goal: Goal::Speed,
            threads: Threads::ALONE,
            gpu: None,
            needs_device: false,
            areas: Areas::default(),
            techniques: Techniques::ALL,
            lists_schedules: false,
        }
    }
}

/// Source of the memory plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlanSource {
    /// Our planner.
    #[default]
    Own,
    /// Our planner, with bands of rows and batches wherever they save memory, as with the maximum effort.
    Smallest,
    /// The plan in the program file, for every tensor that survives fusion.
    Program,
}
