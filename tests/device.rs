//! GPU parts of programs: the interpreter of kernels simulates the device, so no GPU is needed.

mod residents;
mod support;

use modelc::codegen::vulkan::GpuOptions;
use modelc::frontend::GpuOperators;
use modelc::ir::{ElementType, Module, Tensor};
use modelc::jit::{Jit, JitOptions};
use modelc::kernel::Kernel;
use modelc::kernel::cost::instructions;
use modelc::lower::Lowered;
use modelc::machine::{GPUS, GpuMachine};
use modelc::program::{Call, DeviceStep, calls};
use modelc::{parallel, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::harness::{self, Needs};
use support::program::Memory;

/// Size limit of programs for the interpreter, with one exception.
const SMALL: u64 = 120_000;

/// Tolerance: workgroups that share a row sum in another order.
const FLOAT_TOLERANCE: f64 = 1e-5;

/// A larger program with short calls, whose sizes are run-time extents.
const OF_ANY_SIZE: &str = "llama_tiny_dyn_8da4w.vulkan";

fn lowered(module: &Module, gpu: &'static GpuMachine) -> Lowered {
    residents::lowered(module, gpu, false)
}

/// Runs all recorded calls of a model with a device. Returns the largest difference.
fn check(path: &Path, gpu: &'static GpuMachine, needs_device: bool) -> Result<f64, String> {
    let mut module = support::load(path).map_err(|error| error.to_string())?;
    modelc::passes::run_all(&mut module);
    let lowered = residents::lowered(&module, gpu, needs_device);
    let mut runs = support::interpreted(path, &module)?;
    let mut memory = Memory::with_device(&lowered.program);
    for run in &mut runs {
        let outputs = memory.call(&lowered.program.methods[run.method], &run.arguments)?;
        run.outputs = run.outputs.iter().zip(outputs).map(|(output, bytes)| Tensor { bytes, ..output.clone() }).collect();
    }
    harness::progress(|| described(path, &lowered));
    support::check_runs(path, &module, &runs, support::delegate_tolerance(path))
}

/// Describes regions, dispatches and the calls that stay on the host.
fn described(path: &Path, lowered: &Lowered) -> String {
    let Some(device) = &lowered.program.device else { return format!("{}: no device", path.display()) };
    let steps = || device.regions.iter().flat_map(|region| &region.steps);
    let dispatches: Vec<_> =
        steps().filter_map(|step| if let DeviceStep::Dispatch(dispatch) = step { Some(dispatch) } else { None }).collect();
    let barriers = steps().count() - dispatches.len();
    let counted = dispatches.iter().filter(|dispatch| dispatch.counts.is_some()).count();
    let alone: Vec<String> = dispatches
        .iter()
        .map(|dispatch| &device.kernels[dispatch.kernel].kernel)
        .filter(|kernel| kernel.grid.is_some_and(|grid| grid.positions < 2))
        .map(|kernel| format!("{} {}", kernel.name, instructions(kernel, &[0], 16)))
        .collect();
    let calls_of: Vec<Vec<&Call>> = lowered.program.methods.iter().map(|method| calls(&method.steps)).collect();
    // These run the workgroups of the bound, although they load an extent.
    let loads = |kernel: &Kernel| kernel.buffers.iter().any(|data| data.name.starts_with("extent"));
    let at_bound: Vec<&str> = dispatches
        .iter()
        .filter(|dispatch| dispatch.counts.is_none())
        .map(|dispatch| &device.kernels[dispatch.kernel].kernel)
        .filter(|kernel| loads(kernel))
        .map(|kernel| kernel.name.as_str())
        .collect();
    let on_host = device.host_calls.iter().map(|stays| {
        let call = calls_of[stays.method][stays.call];
        let name = &lowered.program.kernels[call.kernel].name;
        format!("\n  {}.{} {name} of {:?}: {}", stays.method, stays.call, call.origin.operators.first(), stays.reason)
    });
    let on_host: String = on_host.collect();
    let (all, beside) = (calls_of.iter().map(Vec::len).sum::<usize>(), device.host_calls.len());
    format!(
        "{}: {} regions, {} dispatches of which {counted} are counted, {barriers} barriers, {beside} of {all} calls on the host\n  one position: {alone:?}\n  at the bound: {at_bound:?}{on_host}",
        support::stem(path),
        device.regions.len(),
        dispatches.len()
    )
}

/// Returns the programs with a part for Vulkan.
fn all_programs() -> Vec<PathBuf> {
    let mut programs = support::models("executorch", "pte");
    programs.retain(|path| support::stem(path).ends_with(".vulkan"));
    programs
}

fn programs() -> Vec<PathBuf> {
    let mut programs = all_programs();
    let is_small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|data| data.len() < SMALL);
    programs.retain(|path| is_small(path) || support::stem(path) == OF_ANY_SIZE);
    programs
}

fn programs_match_on_a_device_of_each_profile() {
    let mut failures = Vec::new();
    let mut matching = 0;
    for path in programs() {
        for gpu in GPUS {
            // The device with the fewest bindings also simulates an optional one.
            for needs_device in [true, false].into_iter().take(if gpu.level == GPUS[0].level { 2 } else { 1 }) {
                match check(&path, gpu, needs_device) {
                    Ok(_) => matching += 1,
                    Err(error) => failures.push(format!("{} for {}: {error}", path.display(), gpu.level)),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    harness::at_least(matching, 60, "programs and profiles that match");
}

/// Number of regions of programs, if it is not one, for the profile with the fewest bindings. It is the number of submissions, since no region
/// is in a loop.
const REGIONS: [(&str, usize); 3] = [("intbool", 0), ("math", 2), ("multi_method", 3)];

fn submissions_are_few() {
    let mut others = Vec::new();
    for path in all_programs().iter().filter(|path| harness::is_wanted(&support::stem(path))) {
        let mut module = support::load(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        modelc::passes::run_all(&mut module);
        let lowered = lowered(&module, &GPUS[0]);
        harness::progress(|| described(path, &lowered));
        let stem = support::stem(path);
        let regions = lowered.program.device.as_ref().map_or(0, |device| device.regions.len());
        let wanted = REGIONS.iter().find(|known| format!("{}.vulkan", known.0) == stem).map_or(1, |known| known.1);
        if regions != wanted {
            others.push(format!("{stem}: {regions} regions, {wanted} in the table"));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// A program with run-time extents whose operators are all on the device.
struct Open {
    name: &'static str,
    /// Makes its input of a given size.
    input: fn(u64) -> Tensor,
    /// Largest size.
    bound: u64,
    /// Sizes for which no counted workgroup has work.
    none_for: &'static [u64],
}

/// Images are computed in blocks of eight, the remainder in blocks of two: counted workgroups compute the pairs.
const OPEN: [Open; 2] = [
    Open { name: "dyn_batch.portable", input: images, bound: 8, none_for: &[1, 8] },
    Open { name: "dyn_seq.portable", input: tokens, bound: 32, none_for: &[] },
];

fn images(count: u64) -> Tensor {
    let bytes = (0..count * 3 * 16 * 16).flat_map(|i| ((i * 37 % 101) as f32 / 64.0 - 0.75).to_le_bytes()).collect();
    Tensor { element: ElementType::F32, shape: vec![count, 3, 16, 16], bytes }
}

fn tokens(count: u64) -> Tensor {
    let bytes = (0..2 * count).flat_map(|i| (i * 7 % 50).to_le_bytes()).collect();
    Tensor { element: ElementType::I64, shape: vec![2, count], bytes }
}

/// Every size up to the bound gives the same result as without a device, with only the necessary workgroups.
fn every_size_runs_as_many_workgroups_as_it_needs() {
    for Open { name, input, bound, none_for } in OPEN {
        let path = support::corpus("executorch").expect("skipped without it").join(format!("{name}.pte"));
        let mut module = support::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        GpuOperators::All.mark(&mut module).unwrap_or_else(|error| panic!("{name}: {error}"));
        modelc::passes::run_all(&mut module);
        let lowered = lowered(&module, &GPUS[0]);
        harness::progress(|| described(&path, &lowered));
        let method = &lowered.program.methods[0];
        let mut needed = Vec::new();
        for size in 1..=bound {
            let (mut memory, mut host) = (Memory::with_device(&lowered.program), Memory::new(&lowered.program));
            let [found, expected] = [&mut memory, &mut host].map(|memory| memory.call(method, &[input(size)]));
            let [found, expected] = [found, expected].map(|outputs| outputs.unwrap_or_else(|error| panic!("{name} of {size}: {error}")));
            for (number, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                let tensor = |bytes: Vec<u8>| Tensor { element: ElementType::F32, shape: vec![bytes.len() as u64 / 4], bytes };
                let compared = support::compare(&tensor(found), &tensor(expected), FLOAT_TOLERANCE);
                compared.unwrap_or_else(|error| panic!("output {number} of {name} of {size}: {error}"));
            }
            let device = memory.device.expect("the program has a device");
            let (groups, most) = (device.groups, device.most_groups);
            assert!(groups <= most && (size > 1 || groups < most), "{groups} workgroups of {most} of {name} for {size}");
            needed.push(groups);
        }
        harness::progress(|| format!("workgroups for each size of {name}: {needed:?}"));
        let without: Vec<u64> = (1..=bound).zip(&needed).filter(|(_, groups)| **groups == 0).map(|(size, _)| size).collect();
        assert_eq!(without, none_for, "sizes for which {name} counts no workgroups: {needed:?}");
    }
}

/// Runs all recorded calls of a model on a Vulkan device. Returns the largest difference.
fn on_device(path: &Path, gpu: &'static GpuMachine) -> Result<f64, String> {
    let mut module = support::load(path).map_err(|error| error.to_string())?;
    modelc::passes::run_all(&mut module);
    if support::marked::is_marked(path) {
        GpuOperators::All.mark(&mut module).map_err(|error| error.to_string())?;
    }
    let lowered = residents::lowered(&module, gpu, true);
    if lowered.program.device.is_none() && support::stem(path) != "intbool.vulkan" {
        return Err("nothing is for the device".into());
    }
    let required = GpuOptions { required: true, ..GpuOptions::default() };
    let options = JitOptions { gpu: required, ..JitOptions::default() };
    let machine = target::host_machine().map_err(|error| error.to_string())?;
    let jit = Jit::with_options(&lowered.program, machine, options).map_err(|error| error.to_string())?;
    let mut instance = jit.instance().map_err(|error| error.to_string())?;
    let runs = support::run_with(path, &module, |method, inputs| instance.call_tensors(method, inputs).map_err(|error| error.to_string()))?;
    support::check_runs(path, &module, &runs, support::delegate_tolerance(path))
}

/// Returns the programs for a Vulkan device, the slowest first, each with its profile.
fn on_devices() -> Vec<(PathBuf, &'static GpuMachine)> {
    let mut programs: Vec<_> = all_programs().into_iter().map(|path| (path, &GPUS[0])).collect();
    programs.extend(support::marked::models());
    programs.retain(|(path, _)| harness::is_wanted(&support::stem(path)));
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
    // Kernels of integers are the slowest.
    programs.sort_by_key(|(path, _)| std::cmp::Reverse((support::stem(path).contains("q8"), bytes(path))));
    programs
}

/// Runs one program for the test below, and prints the result.
fn child(number: &str) -> std::process::ExitCode {
    let programs = on_devices();
    match number.parse().ok().and_then(|number: usize| programs.get(number)) {
        None => println!("FAILED {number}: there are {} programs", programs.len()),
        Some((path, gpu)) => match on_device(path, gpu) {
            Ok(worst) => println!("matches {}: {worst:.1e}", support::stem(path)),
            Err(error) => println!("FAILED {}: {error}", support::stem(path)),
        },
    }
    std::process::ExitCode::SUCCESS
}

/// Returns the output of a child that runs a program.
fn said(number: usize) -> String {
    let mut child = Command::new(std::env::current_exe().expect("the test is a file"));
    assert!(support::vulkan::with_software_device(&mut child), "the test needs the device");
    let output = child.env(CHILD, number.to_string()).output().expect("the test can be run again");
    let end = if output.status.success() { String::new() } else { format!("FAILED: {}", output.status) };
    format!("{}{}{end}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs all programs on Mesa's software device; the validation layer must not complain. The loader reads the environment, so children run them,
/// two at a time. The device compiles the kernels of a program one after the other.
fn programs_match_on_vulkan() {
    let numbers: Vec<usize> = (0..on_devices().len()).collect();
    let texts = parallel::map(&numbers, |&number| said(number));
    texts.iter().for_each(|text| harness::progress(|| text.clone()));
    let lines = || texts.iter().flat_map(|text| text.lines());
    let complaints: Vec<&str> = lines().filter(|line| ["FAILED", "VUID", "SYNC-HAZARD"].iter().any(|w| line.contains(w))).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    harness::at_least(lines().filter(|line| line.starts_with("matches")).count(), 28, "programs that match");
}

/// Environment variable of the processes that use the device: the number of a program.
const CHILD: &str = "MODELC_TEST_CHILD";

fn main() -> std::process::ExitCode {
    if let Ok(number) = std::env::var(CHILD) {
        return child(&number);
    }
    let tests: [harness::Test; 4] = [
        ("every_size_runs_as_many_workgroups_as_it_needs", Needs::Corpus("executorch"), every_size_runs_as_many_workgroups_as_it_needs),
        ("submissions_are_few", Needs::Corpus("executorch"), submissions_are_few),
        ("programs_match_on_a_device_of_each_profile", Needs::Corpus("executorch"), programs_match_on_a_device_of_each_profile),
        (
            "programs_match_on_vulkan",
            Needs::Both(&Needs::Corpus("executorch"), &support::vulkan::SOFTWARE_DEVICE),
            programs_match_on_vulkan,
        ),
    ];
    harness::run(&[&tests, residents::TESTS].concat())
}
