//! From a module to a [`Program`]: groups, schedules, one memory plan a method, then kernels with every address decided.

mod alike;
mod bands;
mod emission;
mod extents;
mod fusions;
mod imported;
mod memory_map;
mod method;
mod needs;
mod parts;
mod places;
mod pool;
mod tensors;
mod variables;
mod work;

use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::Verified;
use crate::machine::Machine;
use crate::plan::{Effort, Plan};
use crate::program::{Level, Method, Program};
pub use crate::schedule::Goal;
use pool::Pool;
use variables::Variables;

/// What lowering is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The machine that schedules are chosen for.
    pub machine: &'static Machine,
    /// How far the planner searches.
    pub effort: Effort,
    /// Which plan is used.
    pub plan: PlanSource,
    /// What the code is to be like.
    pub goal: Goal,
}

impl Options {
    /// Fast code for a machine, with a plan of our own and no long search for it.
    pub fn new(machine: &'static Machine) -> Self {
        Self { machine, effort: Effort::Normal, plan: PlanSource::Own, goal: Goal::Speed }
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

/// A lowered module with what the reports say about it.
#[derive(Debug)]
pub struct Lowered {
    /// The machine that the program is for.
    pub machine: &'static Machine,
    /// The program.
    pub program: Program,
    /// The programs for the other machines of an object.
    pub others: Vec<(&'static Machine, Program)>,
    /// The plan of each method.
    pub plans: Vec<Plan>,
    /// For each method, the bytes of scratch memory that are live after each kernel call.
    pub live: Vec<LiveRanges>,
    /// For each method, what is live where most is.
    pub peaks: Vec<Peak>,
}

impl Lowered {
    /// The programs with their machines, in the order in which they were asked for.
    pub fn levels(&self) -> Vec<Level<'_>> {
        let others = self.others.iter().map(|(machine, program)| Level { machine, program });
        std::iter::once(Level { machine: self.machine, program: &self.program }).chain(others).collect()
    }

    /// Bounds the rounds of every loop.
    pub fn set_max_iterations(&mut self, rounds: Option<u64>) {
        self.program.max_iterations = rounds;
        self.others.iter_mut().for_each(|(_, program)| program.max_iterations = rounds);
    }
}

/// Live byte ranges after each kernel call of a method.
pub type LiveRanges = Vec<Vec<std::ops::Range<u64>>>;

/// What is live at the step that needs most memory.
#[derive(Clone, Debug)]
pub struct Peak {
    /// Live bytes.
    pub bytes: u64,
    /// The tensors, and the scratch memory of the kernel, with their sizes.
    pub tensors: Vec<(String, u64)>,
}

/// Lowers every method for the machine of the options.
///
/// # Errors
/// As [`lower_levels`].
pub fn lower(module: Verified<'_>, options: Options) -> Result<Lowered, Diagnostics> {
    lower_levels(module, options, &[])
}

/// Lowers every method for the machine of the options and for others, whose code is to be in the same object.
///
/// # Errors
/// One diagnostic for each operator that has no lowering; a bug if a plan does not pass the checker.
pub fn lower_levels(module: Verified<'_>, options: Options, others: &[&'static Machine]) -> Result<Lowered, Diagnostics> {
    let machines: Vec<&'static Machine> = std::iter::once(options.machine).chain(others.iter().copied()).collect();
    let mut pool = Pool::new(module.open_constants, machines.len());
    let variables = Variables::new(module.module(), &mut pool)?;
    let mut methods = Vec::new();
    let (mut plans, mut live, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    let mut failures = Vec::new();
    for method in &module.methods {
        match method::lower(module, method, (options, &machines), &variables, &mut pool) {
            Ok(lowered) => {
                methods.push(lowered.levels);
                plans.push(lowered.plan);
                live.push(lowered.live);
                peaks.push(lowered.peak);
            }
            Err(Diagnostics(list)) => failures.extend(list),
        }
    }
    if !failures.is_empty() {
        failures.dedup();
        return Err(Diagnostics(failures));
    }
    if !module.open_constants {
        for (level, machine) in machines.iter().enumerate() {
            let steps = methods.iter_mut().map(|levels| &mut levels[level].steps[..]).collect();
            alike::join(level, machine, steps, &mut pool);
        }
    }
    let (kernels, constants) = pool.finish();
    let mut programs = kernels.into_iter().enumerate().map(|(level, kernels)| Program {
        kernels,
        constants: constants.clone(),
        variables: variables.list.clone(),
        variable_bytes: variables.bytes,
        methods: methods.iter().map(|levels: &Vec<Method>| levels[level].clone()).collect(),
        max_iterations: None,
    });
    let program = programs.next().ok_or_else(|| bug("there is no machine to lower for"))?;
    let others = others.iter().copied().zip(programs).collect();
    Ok(Lowered { machine: options.machine, program, others, plans, live, peaks })
}

/// A mistake of ours, found by a check.
fn bug(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::OWN_CHECK, message).help("please report this, with the model if you can share it")
}
