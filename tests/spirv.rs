//! Kernels with grids as SPIR-V modules: they are valid for each profile, and a device computes the same as the interpreter.
//!
//! The reference validator and a device are used if the computer has them; otherwise these tests are reported as ignored.

mod grids;
mod support;

use grids::{Case, as_grid, cases};
use modelc::codegen::CodegenError;
use modelc::codegen::spirv::{groups, module};
use modelc::frontend::GpuOperators;
use modelc::kernel::interpret::interpret_grid;
use modelc::kernel::{ConvertOp, Inst, Kernel, Lane};
use modelc::machine::{GPUS, GpuMachine, MACHINES};
use modelc::program::DeviceKernel;
use modelc::{lower, passes, pipeline};
use rspirv::binary::Disassemble;
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use support::harness::{self, Needs};
use support::vulkan::Device;

const VALIDATOR: Needs = Needs::Tool("spirv-val", || Command::new("spirv-val").arg("--version").stdout(Stdio::null()).status().is_ok());

fn main() -> ExitCode {
    let device = Needs::Tool("device with Vulkan", || Device::find().is_some());
    harness::run(&[
        ("modules_are_read_back", Needs::Nothing, modules_are_read_back),
        ("modules_are_valid", VALIDATOR, modules_are_valid),
        ("modules_of_models_are_valid", VALIDATOR, modules_of_models_are_valid),
        ("modules_of_programs_are_valid", Needs::Both(&Needs::Corpus("executorch"), &VALIDATOR), modules_of_programs_are_valid),
        ("devices_leave_what_the_interpreter_leaves", device, devices_leave_what_the_interpreter_leaves),
        ("devices_run_kernels_of_models", device, devices_run_kernels_of_models),
    ])
}

fn wanted_cases() -> Vec<Case> {
    cases().into_iter().filter(|case| harness::is_wanted(&case.kernel.name)).collect()
}

fn modules_are_read_back() {
    for case in wanted_cases() {
        for machine in GPUS {
            let words = module(&alone(&case.kernel), &machine.limits).unwrap_or_else(|error| panic!("{error}\n{}", case.kernel));
            let read = rspirv::dr::load_words(&words).unwrap_or_else(|error| panic!("{error}\n{}", case.kernel));
            assert!(read.functions.len() == 1 && read.entry_points.len() == 1, "{}", case.kernel);
        }
    }
}

/// Checks a module with the validator.
fn validate(words: &[u32], machine: &GpuMachine, kernel: &Kernel) {
    let target = if machine.level.starts_with("vulkan1.3") { "vulkan1.3" } else { "vulkan1.1" };
    let mut command = Command::new("spirv-val");
    command.args(["--target-env", target, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the validator starts");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    child.stdin.take().expect("a pipe").write_all(&bytes).expect("the validator reads");
    let output = child.wait_with_output().expect("the validator ends");
    let text = || rspirv::dr::load_words(words).map_or_else(|error| error.to_string(), |module| module.disassemble());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}\n{kernel}\n{}", machine.level, text());
}

fn modules_are_valid() {
    for case in wanted_cases() {
        let mut known = HashSet::new();
        for machine in GPUS {
            let words = module(&alone(&case.kernel), &machine.limits).unwrap_or_else(|error| panic!("{error}\n{}", case.kernel));
            if known.insert(words.clone()) {
                validate(&words, machine, &case.kernel);
            }
        }
    }
}

/// Returns the kernels of this repository's models for a GPU's machine, with a grid of one position.
fn kernels_of_models() -> Vec<Kernel> {
    let folders = [("tests/models", "tflite"), ("tests/models/executorch", "pte"), ("examples/digits", "tflite")];
    let paths = folders.into_iter().flat_map(|(folder, extension)| support::models_in(&support::own(folder), extension));
    let mut known = HashSet::new();
    for path in paths {
        let Ok(mut module) = support::load(&path) else { continue };
        passes::run_all(&mut module);
        let Ok(lowered) = pipeline::lower(&module, &support::stem(&path), lower::Options::new(support::as_cpu(&GPUS[0]))) else { continue };
        known.extend(lowered.program.kernels.iter().filter_map(as_grid));
    }
    let mut kernels: Vec<Kernel> = known.into_iter().collect();
    kernels.sort_by(|a, b| (&a.name, a.to_string()).cmp(&(&b.name, b.to_string())));
    kernels
}

fn modules_of_models_are_valid() {
    let mut random = grids::Random(3);
    let (mut valid, mut refused) = (0, Vec::new());
    for (kernel, machine) in kernels_of_models().iter().zip(GPUS.iter().cycle()) {
        let case = Case::new(kernel, &mut random);
        match module(&alone(&case.kernel), &machine.limits) {
            Ok(words) => {
                validate(&words, machine, &case.kernel);
                valid += 1;
            }
            Err(CodegenError::Unsupported(what)) => refused.push(what),
            Err(error) => panic!("{error}\n{kernel}"),
        }
    }
    println!("{valid} modules, {} refused", refused.len());
    harness::at_least(valid, 100.max(refused.len()), "modules");
}

/// Modules of programs with GPU parts are valid for each profile, and no kernel for a device is rejected.
fn modules_of_programs_are_valid() {
    let mut programs = support::models("executorch", "pte");
    programs.retain(|path| support::stem(path).ends_with(".vulkan"));
    programs.extend(support::marked::models().into_iter().map(|(path, _)| path));
    let mut known = HashSet::new();
    for path in &programs {
        let mut loaded = support::load(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if support::marked::is_marked(path) {
            GpuOperators::All.mark(&mut loaded).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        passes::run_all(&mut loaded);
        for machine in GPUS {
            let options = lower::Options { gpu: Some(machine), ..lower::Options::new(&MACHINES[0]) };
            let lowered = pipeline::lower(&loaded, &support::stem(path), options).unwrap_or_else(|error| panic!("{error}"));
            for on_device in lowered.program.device.iter().flat_map(|device| &device.kernels) {
                let words = module(on_device, &machine.limits);
                let kernel = &on_device.kernel;
                let words = words.unwrap_or_else(|error| panic!("{}: {error}\n{kernel}", path.display()));
                if known.insert(words.clone()) {
                    validate(&words, machine, kernel);
                }
            }
        }
        harness::progress(|| format!("{}: {} modules by now", support::stem(path), known.len()));
    }
    harness::at_least(known.len(), 300, "modules");
}

/// Makes a kernel whose operands have separate ranges.
fn alone(kernel: &Kernel) -> DeviceKernel {
    DeviceKernel::alone(kernel.clone())
}

/// Returns the bits of infinity in the 16-bit float type that a kernel produces; `None` if it produces none.
fn infinity(kernel: &Kernel) -> Option<u16> {
    let makes = |made: ConvertOp| grids::has(&kernel.body, &|inst| matches!(inst, Inst::Convert { op, .. } if *op == made));
    if makes(ConvertOp::FloatToHalf) {
        return Some(0x7c00);
    }
    // The upper half of a float is a bfloat16.
    makes(ConvertOp::Bitcast).then_some(0x7f80)
}

/// Tests whether two elements are equal. All NaNs are equal, because SPIR-V does not specify which NaN an operation returns.
fn equal(lane: Lane, infinity: Option<u16>, a: &[u8], b: &[u8]) -> bool {
    let is_nan = |bytes: &[u8]| match (lane, bytes) {
        (Lane::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
        (Lane::I16, &[a, b]) => infinity.is_some_and(|infinity| u16::from_le_bytes([a, b]) & 0x7fff > infinity),
        _ => false,
    };
    a == b || is_nan(a) && is_nan(b)
}

/// Compares the results of a device with the interpreter's.
fn compare(case: &Case, machine: &GpuMachine, device: &Device, words: &[u32]) -> Result<(), String> {
    let mut wanted = case.buffers.clone();
    interpret_grid(&case.kernel, &mut wanted, 1).map_err(|error| format!("{error}\n{}", case.kernel))?;
    let mut found = case.buffers.clone();
    let grid = case.kernel.grid.expect("a grid");
    let text = || rspirv::dr::load_words(words).map_or_else(|error| error.to_string(), |module| module.disassemble());
    device.run(words, groups(&grid), &mut found).map_err(|error| format!("{error}\n{}\n{}", case.kernel, text()))?;
    let infinity = infinity(&case.kernel);
    for ((_, data), (wanted, found)) in case.kernel.pointer_params().zip(wanted.iter().zip(&found)) {
        let width = data.lane.bytes() as usize;
        for (i, (w, f)) in wanted.chunks(width).zip(found.chunks(width)).enumerate() {
            if !equal(data.lane, infinity, w, f) {
                let what = format!("{} on {} for {}: {}[{i}]", case.kernel.name, device.name, machine.level, data.name);
                return Err(format!("{what} is {f:x?}, not {w:x?}\n{}\n{}", case.kernel, text()));
            }
        }
    }
    Ok(())
}

fn devices_leave_what_the_interpreter_leaves() {
    let device = Device::find().expect("there is a device");
    let (mut count, mut wrong) = (0, Vec::new());
    for case in &wanted_cases() {
        let mut known = HashSet::new();
        for machine in GPUS.iter().filter(|machine| device.has(&machine.limits)) {
            let words = module(&alone(&case.kernel), &machine.limits).unwrap_or_else(|error| panic!("{error}\n{}", case.kernel));
            if !known.insert(words.clone()) {
                continue;
            }
            count += 1;
            wrong.extend(compare(case, machine, &device, &words).err().map(|what| (case.kernel.name.clone(), what)));
        }
    }
    let names: Vec<_> = wrong.iter().map(|(name, _)| name.as_str()).collect();
    let first = wrong.first().map(|(_, what)| what.as_str()).unwrap_or_default();
    assert!(wrong.is_empty(), "{} of {count}: {}\n{first}", wrong.len(), names.join(", "));
}

fn devices_run_kernels_of_models() {
    let device = Device::find().expect("there is a device");
    let mut random = grids::Random(5);
    let (mut count, mut wrong) = (0, Vec::new());
    let machines = || GPUS.iter().filter(|machine| device.has(&machine.limits)).cycle();
    // Every third kernel only, because a software device compiles slowly.
    for (kernel, machine) in kernels_of_models().iter().step_by(3).zip(machines()) {
        let case = Case::new(kernel, &mut random);
        let Ok(words) = module(&alone(&case.kernel), &machine.limits) else { continue };
        // Random numbers may be invalid indices.
        if interpret_grid(&case.kernel, &mut case.buffers.clone(), 1).is_err() {
            continue;
        }
        count += 1;
        wrong.extend(compare(&case, machine, &device, &words).err().map(|what| (case.kernel.name.clone(), what)));
    }
    let names: Vec<_> = wrong.iter().map(|(name, _)| name.as_str()).collect();
    let first = wrong.first().map(|(_, what)| what.as_str()).unwrap_or_default();
    assert!(wrong.is_empty(), "{} of {count}: {}\n{first}", wrong.len(), names.join(", "));
    harness::at_least(count, 60, "kernels");
}
