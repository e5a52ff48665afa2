//! From a module to a [`Program`]: groups, schedules, one memory plan a method, then kernels with every address decided.

mod bands;
mod emission;
mod extents;
mod imported;
mod memory_map;
mod method;
mod parts;
mod places;
mod pool;
mod tensors;
mod variables;
mod work;

use crate::diagnostic::{Diagnostic, Diagnostics, Kind};
use crate::ir::Module;
use crate::machine::Machine;
use crate::plan::{Effort, Plan};
use crate::program::Program;
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
}

/// Whose memory plan is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlanSource {
    /// Ours.
    #[default]
    Own,
    /// Ours, with chains in bands of rows wherever that saves anything, as with the greatest effort.
    Smallest,
    /// The one in the program file, for every tensor that survives fusion.
    Program,
}

/// A lowered module with what the reports say about it.
#[derive(Debug)]
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// The plan of each method.
    pub plans: Vec<Plan>,
    /// For each method, the bytes of scratch memory that are live after each kernel call.
    pub live: Vec<LiveRanges>,
    /// For each method, what is live where most is.
    pub peaks: Vec<Peak>,
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

/// Lowers every method.
///
/// # Errors
/// One diagnostic for each operator that has no lowering; a bug if a plan does not pass the checker.
pub fn lower(module: &Module, options: Options) -> Result<Lowered, Diagnostics> {
    let mut pool = Pool::new(module.open_constants);
    let variables = Variables::new(module, &mut pool)?;
    let mut methods = Vec::new();
    let (mut plans, mut live, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    let mut failures = Vec::new();
    for method in &module.methods {
        match method::lower(module, method, options, &variables, &mut pool) {
            Ok(lowered) => {
                methods.push(lowered.method);
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
    let (kernels, constants) = pool.finish();
    let program = Program { kernels, constants, variables: variables.list, variable_bytes: variables.bytes, methods, max_iterations: None };
    Ok(Lowered { program, plans, live, peaks })
}

/// A mistake of ours, found by a check.
fn bug(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(901, Kind::Bug, message).help("please report this, with the model if you can share it")
}
