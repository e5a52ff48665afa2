//! Barriers of recorded programs: without any one of them, the validation layer reports a hazard.
//!
//! The layer follows commands while they are recorded, so the programs are opened and not run.

use super::software::printed;
use crate::support;
use crate::support::harness::{Needs, Test, progress};
use crate::support::vulkan::SOFTWARE_DEVICE;
use modelc::codegen::vulkan::GpuOptions;
use modelc::frontend::GpuOperators;
use modelc::jit::{Jit, JitOptions};
use modelc::lower::Options;
use modelc::machine::{GPUS, MACHINES};
use modelc::program::{Bound, Device, DeviceStep, Program};
use modelc::target::host_machine;
use modelc::{parallel, pipeline};
use std::process::Command;
use std::sync::Arc;

/// The tests.
pub const TESTS: &[Test] = &[(
    "a_barrier_of_a_recorded_program_is_missed_by_the_layer",
    Needs::Both(&Needs::Corpus("executorch"), &SOFTWARE_DEVICE),
    a_barrier_of_a_recorded_program_is_missed_by_the_layer,
)];

/// The children, with their names.
pub const CHILDREN: [(&str, fn()); 1] = [(CHILD, child_leaves_out_a_barrier)];

const CHILD: &str = "child_leaves_out_a_barrier";

/// Environment variable with the program of a child, and the barrier to leave out.
const LEFT_OUT: &str = "MODELC_TEST_LEFT_OUT";

/// An image network, and programs with run-time extents.
const PROGRAMS: [&str; 3] = ["mobilenet_v2_w35_96.vulkan", "llama_tiny_dyn.vulkan", "dyn_seq.portable"];

/// Limit of the barriers of a program that are left out, one at a time.
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

/// Returns the barriers: the region of each, and the step in it.
fn barriers(device: &Device) -> Vec<(usize, usize)> {
    let of_region = |number: usize| {
        let steps = device.regions[number].steps.iter().enumerate();
        steps.filter(|(_, step)| !matches!(step, DeviceStep::Dispatch(_))).map(move |(step, _)| (number, step))
    };
    (0..device.regions.len()).flat_map(of_region).collect()
}

/// Tests whether the layer can miss a barrier: only if one side reads a range and the other writes it. If kernels on both sides write a range,
/// the layer assumes that they write different elements, and ignores the range.
fn is_missed(device: &Device, (region, step): (usize, usize)) -> bool {
    let steps = &device.regions[region].steps;
    let is_between = |step: &&DeviceStep| **step != DeviceStep::Barrier;
    let accesses = |steps: Vec<&DeviceStep>| -> (Vec<Bound>, Vec<Bound>) {
        let dispatches = steps.into_iter().filter_map(|step| if let DeviceStep::Dispatch(dispatch) = step { Some(dispatch) } else { None });
        let bounds = dispatches.flat_map(|dispatch| dispatch.bindings.iter().copied().zip(device.kernels[dispatch.kernel].writes()));
        let (writes, reads): (Vec<_>, Vec<_>) = bounds.partition(|(_, writes)| *writes);
        let only = |list: Vec<(Bound, bool)>| list.into_iter().map(|(bound, _)| bound).collect();
        (only(reads), only(writes))
    };
    let (read_before, written_before) = accesses(steps[..step].iter().rev().take_while(is_between).collect());
    let (read_after, written_after) = accesses(steps[step + 1..].iter().take_while(is_between).collect());
    let meets = |range: &Bound, list: &[Bound]| {
        let overlap = |other: &Bound| range.offset < other.offset + other.bytes && other.offset < range.offset + range.bytes;
        list.iter().any(|other| other.memory == range.memory && overlap(other))
    };
    let is_read = read_after.iter().any(|range| meets(range, &written_before));
    let is_written = written_after.iter().any(|range| meets(range, &read_before) && !meets(range, &written_before));
    steps[step] == DeviceStep::CountBarrier || is_read || is_written
}

/// Returns some numbers below a count, from first to last, as far apart as possible.
fn spread(count: usize) -> Vec<usize> {
    let some = count.min(MOST);
    (0..some).map(|number| number * (count - 1) / some.saturating_sub(1).max(1)).collect()
}

fn a_barrier_of_a_recorded_program_is_missed_by_the_layer() {
    let mut silent = Vec::new();
    for name in PROGRAMS {
        let program = program(name);
        let device = program.device.as_ref().expect("a device");
        let barriers = barriers(device);
        let missed: Vec<usize> = (0..barriers.len()).filter(|&number| is_missed(device, barriers[number])).collect();
        assert!(missed.len() > 1, "{name} has barriers");
        let numbers: Vec<usize> = spread(missed.len()).into_iter().map(|number| missed[number]).collect();
        let texts = parallel::map(&numbers, |number| {
            let mut command = Command::new(std::env::current_exe().expect("the test is a file"));
            printed(command.env(super::software::CHILD, CHILD).env(LEFT_OUT, format!("{name} {number}")))
        });
        let unheard = numbers.iter().zip(&texts).filter(|(_, text)| !text.contains("SYNC-HAZARD"));
        let unheard: Vec<String> = unheard.map(|(number, text)| format!("barrier {number} of {name}: {text}")).collect();
        let counts = [numbers.len(), missed.len(), barriers.len()];
        progress(|| format!("{name}: {counts:?} barriers left out, with a read, in all; {} unheard", unheard.len()));
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
