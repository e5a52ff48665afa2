//! Lowering of a module to a [`Program`]: groups, schedules, one memory plan a method, then kernels with all addresses.

mod copied;
mod device;
mod division;
mod lowered;
mod memory;
mod method;
mod options;
mod pool;
pub mod possible;
mod search;
mod stages;
#[cfg(test)]
mod testing;

pub use crate::schedule::{Goal, TECHNIQUES, Technique, Techniques, Threads};
pub use lowered::{LiveRanges, Lowered, Peak};
pub use options::areas::{Area, Areas, Rank};
pub use options::{Options, PlanSource};

use crate::diagnostic::Diagnostics;
use crate::ir::Verified;
use crate::kernel::Kernel;
use crate::machine::{CpuMachine, Machine};
use crate::program::{Blob, Device, HostReason, Program};
use device::OfProgram;
use division::ranges;
use memory::variables::Variables;
use pool::{Pool, alike};
use stages::frame::bug;
use stages::written::LoweredMethod;
use std::sync::Arc;

/// Lowers every method for the machine of the options.
///
/// # Errors
/// The errors of [`lower_levels`].
pub fn lower(module: Verified<'_>, options: Options) -> Result<Lowered, Diagnostics> {
    lower_levels(module, options, &[])
}

/// Lowers every method for the machine of the options, and for `others`, whose code is in the same object. If the options have a GPU, the module's
/// part for a GPU becomes regions of the program's device.
///
/// # Errors
/// One diagnostic for each operator without a lowering; a bug's diagnostic if a plan does not pass the checker.
pub fn lower_levels(module: Verified<'_>, options: Options, others: &[&'static CpuMachine]) -> Result<Lowered, Diagnostics> {
    let gpu = options.gpu.filter(|_| module.is_for_gpu());
    let options = Options { gpu, ..options };
    let cpus: Vec<&'static CpuMachine> = std::iter::once(options.machine).chain(others.iter().copied()).collect();
    let machines: Vec<&'static Machine> = cpus.iter().map(|cpu| &cpu.capabilities).chain(gpu.map(|gpu| &gpu.capabilities)).collect();
    let mut pool = Pool::new(module.open_constants, machines.len());
    let mut variables = Variables::new(module.module(), options.machine.alignment(), &mut pool)?;
    let mut methods = lower_methods(module, (options, &machines), &variables, &mut pool)?;
    if !module.open_constants {
        for (level, machine) in cpus.iter().enumerate() {
            let steps = methods.iter_mut().map(|method| &mut method.levels[level].steps[..]).collect();
            alike::join(level, (&machine.capabilities, alike::Over::of(&options)), steps, &mut pool);
        }
    }
    let (mut kernels, constants) = pool.finish();
    let copies = copied::weights(&options.areas, &constants, &mut variables, &mut methods);
    let (device, not_on_device) = match on_device(options, &cpus, (&mut kernels, &constants), &mut variables, &mut methods) {
        Ok(device) => (Some(Arc::new(device)), vec![]),
        Err(reasons) => (None, reasons),
    };
    if ranges::takes(options) {
        for (level, kernels) in kernels.iter().enumerate() {
            methods.iter_mut().for_each(|method| ranges::join(&mut method.levels[level].steps, kernels, options.threads));
        }
    }
    let mut programs = kernels.into_iter().enumerate().take(cpus.len()).map(|(level, kernels)| Program {
        kernels,
        constants: constants.clone(),
        variables: variables.list.clone(),
        alignment: variables.alignment,
        variable_bytes: variables.bytes,
        copies: copies.clone(),
        methods: methods.iter().map(|method| method.levels[level].clone()).collect(),
        device: device.clone(),
        max_iterations: None,
    });
    let program = programs.next().ok_or_else(|| bug("there is no machine to lower for"))?;
    let others = others.iter().copied().zip(programs).collect();
    let mut lowered =
        Lowered { machine: options.machine, program, others, plans: vec![], live: vec![], peaks: vec![], possible: vec![], not_on_device };
    for LoweredMethod { plan, live, peak, possible, .. } in methods {
        lowered.plans.push(plan);
        lowered.live.push(live);
        lowered.peaks.push(peak);
        lowered.possible.push(possible);
    }
    Ok(lowered)
}

/// Lowers every method for some machines.
///
/// # Errors
/// The diagnostics of all methods, each once.
fn lower_methods(
    module: Verified<'_>,
    of_options: (Options, &[&'static Machine]),
    variables: &Variables,
    pool: &mut Pool,
) -> Result<Vec<LoweredMethod>, Diagnostics> {
    let (mut methods, mut failures) = (Vec::new(), Vec::new());
    for method in &module.methods {
        match method::lower(module, method, of_options, variables, pool) {
            Ok(lowered) => methods.push(lowered),
            Err(Diagnostics(list)) => failures.extend(list),
        }
    }
    failures.dedup();
    if failures.is_empty() { Ok(methods) } else { Err(Diagnostics(failures)) }
}

/// Moves work to the device of the options: regions replace runs of calls in the steps of `methods`. `kernels` has a list for each machine, with
/// the device last.
///
/// # Errors
/// The reasons why the device does no work; an empty list if the options have no device.
fn on_device(
    options: Options,
    cpus: &[&'static CpuMachine],
    (kernels, constants): (&mut [Vec<Kernel>], &[Blob]),
    variables: &mut Variables,
    methods: &mut [LoweredMethod],
) -> Result<Device, Vec<HostReason>> {
    let machine = options.gpu.ok_or_else(Vec::new)?;
    let (of_program, needs_device) = ((&mut variables.list, &mut variables.bytes), options.needs_device);
    let program = OfProgram { machine, kernels, constants, variables: of_program, needs_device };
    let mut device = device::device(program, methods)?;
    if needs_device {
        device::lighten(&mut device, &mut kernels[..cpus.len()], methods);
    } else {
        let of_level = |(level, machine): (usize, &&'static CpuMachine)| {
            (&machine.capabilities, methods.iter().map(|method| &method.levels[level]).collect(), &kernels[level][..])
        };
        device.estimate = Some(device::estimate::estimate(&device, cpus.iter().enumerate().map(of_level)));
    }
    Ok(device)
}
