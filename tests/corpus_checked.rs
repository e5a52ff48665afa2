//! Real models in the JIT's checking mode. Caller's buffers, state and scratch memory are at inaccessible pages or at odd addresses. After
//! every kernel, all scratch bytes that are dead by the plan are overwritten. The results equal a plain run's bit for bit.

mod support;

use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::lower::{Lowered, Options};
use modelc::machine::CpuMachine;
use modelc::{pipeline, target};
use std::path::Path;
use std::sync::Arc;
use support::harness::{self, Needs};

/// Size limit of files; larger ones test no other addresses and take long.
const LARGEST_FILE: u64 = 700_000;

/// Returns inputs that are the same in every run and contain every byte value.
fn inputs(lowered: &Lowered, method: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9u32;
    let mut bytes = |count: u64, float: bool| -> Vec<u8> {
        (0..count)
            .map(|index| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Floats of moderate size: the highest byte of each is from a number near one.
                if float && index % 4 == 3 { 0x3e | (state >> 24 & 0x81) as u8 } else { (state >> 24) as u8 }
            })
            .collect()
    };
    let ports = &lowered.program.methods[method].inputs;
    ports.iter().map(|port| bytes(port.bytes, port.element == modelc::ir::ElementType::F32)).collect()
}

/// Returns all outputs of two calls of every method.
fn answers(lowered: &Lowered, machine: &CpuMachine, options: JitOptions) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let jit = Jit::with_options(&lowered.program, machine, options).map_err(|error| error.to_string())?;
    let mut instance = jit.instance().map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for method in 0..lowered.program.methods.len() {
        let inputs = inputs(lowered, method);
        let slices: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        for _ in 0..2 {
            instance.write_inputs(method, &slices).map_err(|error| error.to_string())?;
            let status = instance.run(method).map_err(|error| error.to_string())?;
            let mut outputs = instance.outputs(method);
            // An invalid index may be rejected, the same in each run; the contents of the outputs then do not matter.
            if status != 0 {
                outputs = vec![status.to_le_bytes().to_vec()];
            }
            all.push(outputs);
        }
    }
    Ok(all)
}

/// Returns `true` if a model was compiled and run; an error if the runs differ.
fn check(model: &Path, machine: &'static CpuMachine) -> Result<bool, String> {
    let bytes = std::fs::read(model).map_err(|error| error.to_string())?;
    let Ok(module) = pipeline::read(Arc::new(bytes), "model", &modelc::frontend::LoadOptions::default()) else { return Ok(false) };
    let options = Options::new(machine);
    let Ok(lowered) = pipeline::lower(&module, "model", options) else { return Ok(false) };
    if lowered.program.methods.iter().flat_map(|m| m.inputs.iter().chain(&m.outputs)).any(|port| port.dynamic.contains(&true)) {
        return Ok(false);
    }
    let plain = answers(&lowered, machine, JitOptions::default())?;
    for placement in [Placement::AgainstGuard, Placement::Odd] {
        harness::progress(|| format!("{} {placement:?}", model.display()));
        let options = JitOptions { placement, live: Some(lowered.live.clone()), ..JitOptions::default() };
        if answers(&lowered, machine, options)? != plain {
            return Err(format!("other answers with {placement:?}"));
        }
    }
    Ok(true)
}

fn check_all(folder: &str, extension: &str, at_least: usize) {
    let machine = target::host_machine().expect("the host has a machine description");
    let mut models = support::models(folder, extension);
    models.retain(|path| path.metadata().is_ok_and(|m| m.len() <= LARGEST_FILE));
    let mut checked = 0;
    let mut failures = Vec::new();
    for model in &models {
        match check(model, machine) {
            Ok(compiled) => checked += usize::from(compiled),
            Err(error) => failures.push(format!("{}: {error}", model.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    harness::at_least(checked, at_least, "models that compile");
}

fn tflite_models_touch_only_what_is_theirs() {
    check_all("tflite", "tflite", 10);
}

fn executorch_models_touch_only_what_is_theirs() {
    check_all("executorch", "pte", 3);
}

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("tflite_models_touch_only_what_is_theirs", Needs::Corpus("tflite"), tflite_models_touch_only_what_is_theirs),
        ("executorch_models_touch_only_what_is_theirs", Needs::Corpus("executorch"), executorch_models_touch_only_what_is_theirs),
    ])
}
