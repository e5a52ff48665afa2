//! Lowering of a module to a [`Program`]: groups, schedules, one memory plan a method, then kernels with all addresses.

mod addresses;
mod alike;
mod areas;
mod bands;
mod checked;
mod chosen;
mod copies;
mod device;
mod emission;
mod extents;
mod frame;
mod fusions;
mod grouped;
mod held;
mod imported;
mod lending;
mod lowered;
mod memory_map;
mod method;
mod moving;
mod needs;
mod options;
mod overwriting;
mod parts;
mod placed;
mod places;
mod planned;
mod pool;
mod resolver;
mod shortened;
mod staged;
mod steps;
mod streams;
mod tensors;
#[cfg(test)]
mod testing;
mod together;
mod trials;
mod values;
mod variables;
mod work;
mod written;

pub use crate::schedule::{Goal, Threads};
pub use lowered::{LiveRanges, Lowered, Peak};
pub use options::{Options, PlanSource};

use crate::diagnostic::Diagnostics;
use crate::ir::Verified;
use crate::machine::Machine;
use crate::program::{Method, Program};
use device::{Lightened, Parts, Sides};
use frame::bug;
use pool::Pool;
use std::sync::Arc;
use variables::Variables;

/// Lowers every method for the machine of the options.
///
/// # Errors
/// The errors of [`lower_levels`].
pub fn lower(module: Verified<'_>, options: Options) -> Result<Lowered, Diagnostics> {
    lower_levels(module, options, &[])
}

/// Lowers every method for the machine of the options, and for `others`, whose code is in the same object. The module's GPU part becomes
/// regions of the program's device, if the options have one.
///
/// # Errors
/// One diagnostic for each operator without a lowering; a bug's diagnostic if a plan does not pass the checker.
pub fn lower_levels(module: Verified<'_>, options: Options, others: &[&'static Machine]) -> Result<Lowered, Diagnostics> {
    let gpu = options.gpu.filter(|_| module.is_for_gpu());
    let options = Options { gpu, ..options };
    let machines: Vec<&'static Machine> = std::iter::once(options.machine).chain(others.iter().copied()).chain(gpu).collect();
    let cpus = 1 + others.len();
    let mut pool = Pool::new(module.open_constants, machines.len());
    let mut variables = Variables::new(module.module(), &mut pool)?;
    let mut methods = Vec::new();
    let (mut plans, mut live, mut peaks, mut marks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut failures = Vec::new();
    for method in &module.methods {
        match method::lower(module, method, (options, &machines), &variables, &mut pool) {
            Ok(lowered) => {
                methods.push(lowered.levels);
                plans.push(lowered.plan);
                live.push(lowered.live);
                peaks.push(lowered.peak);
                marks.push(lowered.marks);
            }
            Err(Diagnostics(list)) => failures.extend(list),
        }
    }
    if !failures.is_empty() {
        failures.dedup();
        return Err(Diagnostics(failures));
    }
    if !module.open_constants {
        for (level, machine) in machines.iter().enumerate().take(cpus) {
            let steps = methods.iter_mut().map(|levels| &mut levels[level].steps[..]).collect();
            alike::join(level, machine, steps, &mut pool);
        }
    }
    let (mut kernels, constants) = pool.finish();
    let device = gpu.map_or(Err(vec![]), |gpu| {
        let sides = methods.iter_mut().zip(marks.iter().zip(&live)).map(|(levels, (marks, live))| Sides { levels, marks, live });
        let of_program = (&mut variables.list, &mut variables.bytes);
        let needs_device = options.needs_device;
        let parts = Parts { machine: gpu, kernels: &kernels, constants: &constants, variables: of_program, needs_device };
        device::device(parts, sides.collect())
    });
    let device = device.map(|mut device| {
        if !options.needs_device {
            let of_level = |level: usize| (machines[level], methods.iter().map(|levels| &levels[level]).collect(), &kernels[level][..]);
            device.estimate = device::estimate::estimate(&device, (0..cpus).map(of_level));
        }
        if options.needs_device {
            let reported = plans.iter_mut().zip(&mut live).zip(&mut peaks);
            let of_methods = methods.iter_mut().map(|levels| &mut levels[..cpus]).zip(reported);
            let lightened = of_methods.map(|(levels, ((plan, live), peak))| Lightened { levels, plan, live, peak });
            device::lighten(&mut device, &mut kernels[..cpus], lightened);
        }
        device
    });
    let (device, not_on_device) = match device {
        Ok(device) => (Some(Arc::new(device)), vec![]),
        Err(reasons) => (None, reasons),
    };
    if together::takes(options) {
        for (level, kernels) in kernels.iter().enumerate() {
            let steps = methods.iter_mut().map(|levels: &mut Vec<Method>| &mut levels[level].steps);
            steps.for_each(|steps| together::join(steps, kernels, options.threads));
        }
    }
    let mut programs = kernels.into_iter().enumerate().take(cpus).map(|(level, kernels)| Program {
        kernels,
        constants: constants.clone(),
        variables: variables.list.clone(),
        variable_bytes: variables.bytes,
        methods: methods.iter().map(|levels: &Vec<Method>| levels[level].clone()).collect(),
        device: device.clone(),
        max_iterations: None,
    });
    let program = programs.next().ok_or_else(|| bug("there is no machine to lower for"))?;
    let others = others.iter().copied().zip(programs).collect();
    Ok(Lowered { machine: options.machine, program, others, plans, live, peaks, not_on_device })
}
