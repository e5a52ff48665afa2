//! Barriers of recorded programs: where any one of them is left out, the validation layer hears of a hazard.
//!
//! The layer follows commands when they are recorded, so the programs are opened and not run.

use super::software::printed;
use crate::support;
use crate::support::harness::{Needs, Test, progress};
use crate::support::vulkan::SOFTWARE_DEVICE;
use modelc::codegen::vulkan::GpuOptions;
use modelc::frontend::GpuOperators;
use modelc::jit::{Jit, JitOptions};
use modelc::lower::Options;
use modelc::machine::{GPUS, MACHINES};
use modelc::program::{Bound, Device, DeviceStep, Dispatch, Program};
use modelc::target::host_machine;
use modelc::{parallel, pipeline};
use std::process::Command;
use std::sync::Arc;

/// The tests.
pub const TESTS: &[Test] = &[(
    "every_barrier_of_a_recorded_program_is_missed",
    Needs::Both(&Needs::Corpus("executorch"), &SOFTWARE_DEVICE),
    every_barrier_of_a_recorded_program_is_missed,
)];

/// The children, with their names.
pub const CHILDREN: [(&str, fn()); 1] = [(CHILD, child_leaves_out_a_barrier)];

const CHILD: &str = "child_leaves_out_a_barrier";

/// Tells a child which program, and which of its barriers.
const LEFT_OUT: &str = "MODELC_TEST_LEFT_OUT";

/// An image network, and programs of run-time extents.
const PROGRAMS: [&str; 3] = ["mobilenet_v2_w35_96.vulkan", "llama_tiny_dyn.vulkan", "dyn_seq.portable"];

/// As many barriers of a program are left out, one at a time.
const MOST: usize = 12;

fn program(name: &str) -> Program {
    let path = support::corpus("executorch").expect("skipped without it").join(format!("{name}.pte"));
    let mut module = support::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    if !name.ends_with(".vulkan") {
        GpuOperators::All.mark(&mut module).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    modelc::passes::run_all(&mut module);
    let options = Options { gpu: Some(&GPUS[0]), ..Options::new(&MACHINES[0]) };
    pipeline::lower(&module, "model", options).unwrap_or_else(|error| panic!("{name}: {error}")).program
}

/// Where barriers are: the region, and the step in it.
fn barriers(device: &Device) -> Vec<(usize, usize)> {
    let of_region = |number: usize| {
        let steps = device.regions[number].steps.iter().enumerate();
        steps.filter(|(_, step)| !matches!(step, DeviceStep::Dispatch(_))).map(move |(step, _)| (number, step))
    };
    (0..device.regions.len()).flat_map(of_region).collect()
}

/// What waits at a barrier: the accesses of bytes before it and after it, up to the barriers around, that meet.
fn waits(device: &Device, (region, step): (usize, usize)) -> Vec<String> {
    let steps = &device.regions[region].steps;
    let is_dispatch = |step: &&DeviceStep| matches!(step, DeviceStep::Dispatch(_));
    let accesses = |steps: Vec<&DeviceStep>| -> Vec<(String, Bound, bool)> {
        let dispatches = steps.into_iter().filter_map(|step| if let DeviceStep::Dispatch(dispatch) = step { Some(dispatch) } else { None });
        let of = |dispatch: &Dispatch| {
            let kernel = &device.kernels[dispatch.kernel];
            let bounds = dispatch.bindings.iter().copied().zip(kernel.writes());
            bounds.map(|(bound, writes)| (kernel.kernel.name.clone(), bound, writes)).collect::<Vec<_>>()
        };
        dispatches.flat_map(of).collect()
    };
    let before = accesses(steps[..step].iter().rev().take_while(is_dispatch).collect());
    let after = accesses(steps[step + 1..].iter().take_while(is_dispatch).collect());
    let mut list = Vec::new();
    for (first, one, writes) in &before {
        for (second, other, also_writes) in &after {
            let apart = one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset;
            if one.memory == other.memory && !apart && (*writes || *also_writes) {
                let what = match (writes, also_writes) {
                    (true, true) => "writes after",
                    (true, false) => "reads after",
                    _ => "writes what is read by",
                };
                list.push(format!("{second} {what} {first}: {}+{}, {}+{}", other.offset, other.bytes, one.offset, one.bytes));
            }
        }
    }
    list
}

/// Some numbers below a count, from the first to the last, as far apart as they can be.
fn spread(count: usize) -> Vec<usize> {
    let some = count.min(MOST);
    (0..some).map(|number| number * (count - 1) / some.saturating_sub(1).max(1)).collect()
}

fn every_barrier_of_a_recorded_program_is_missed() {
    let mut silent = Vec::new();
    for name in PROGRAMS {
        let program = program(name);
        let device = program.device.as_ref().expect("a device");
        let barriers = barriers(device);
        let count = barriers.len();
        assert!(count > 1, "{name} has barriers");
        let numbers = spread(count);
        let texts = parallel::map(&numbers, |number| {
            let mut command = Command::new(std::env::current_exe().expect("the test is a file"));
            printed(command.env(super::software::CHILD, CHILD).env(LEFT_OUT, format!("{name} {number}")))
        });
        let unheard = numbers.iter().zip(&texts).filter(|(_, text)| !text.contains("SYNC-HAZARD"));
        let unheard: Vec<String> = unheard.map(|(number, text)| format!("barrier {number} of {count} of {name}: {:?}\n{text}", waits(device, barriers[*number]))).collect();
        progress(|| format!("{name}: {} of {count} barriers left out, {} unheard", numbers.len(), unheard.len()));
        silent.extend(unheard);
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

fn child_leaves_out_a_barrier() {
    let text = std::env::var(LEFT_OUT).expect("the test says which");
    let (name, number) = text.split_once(' ').expect("a program and a number");
    let mut program = program(name);
    let device = Arc::make_mut(program.device.as_mut().expect("a device"));
    let (region, step) = barriers(device)[number.parse::<usize>().expect("a number")];
    device.regions[region].steps.remove(step);
    let options = JitOptions { gpu: GpuOptions { required: true, ..GpuOptions::default() }, ..JitOptions::default() };
    let jit = Jit::with_options(&program, host_machine().expect("a machine"), options).unwrap_or_else(|error| panic!("{error}"));
    jit.instance().unwrap_or_else(|error| panic!("{error}"));
}
