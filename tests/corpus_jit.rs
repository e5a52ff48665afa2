//! Real models through the JIT, against recorded outputs.

mod support;

use modelc::jit::Jit;
use modelc::lower::{Options, PlanSource};
use modelc::machine::Machine;
use modelc::npz::{self, Archive};
use modelc::plan::Effort;
use modelc::{pipeline, target};
use std::path::Path;
use std::sync::Arc;

/// As for the interpreter: sums are taken in another order than the reference's.
const FLOAT_TOLERANCE: f64 = 1e-5;

fn check(model: &Path, machine: &'static Machine) -> Result<String, String> {
    let bytes = std::fs::read(model).map_err(|e| e.to_string())?;
    let module = pipeline::read(Arc::new(bytes), "model", &modelc::frontend::LoadOptions::default()).map_err(|e| e.to_string())?;
    let options = Options { machine, effort: Effort::Normal, plan: PlanSource::Own };
    let lowered = pipeline::lower(&module, "model", options).map_err(|e| e.to_string())?;
    let jit = Jit::new(&lowered.program, machine).map_err(|e| e.to_string())?;
    let mut instance = jit.instance().map_err(|e| e.to_string())?;
    let stem = model.with_extension("");
    let read = |what: &str| Archive::read(Path::new(&format!("{}.{what}", stem.display()))).map_err(|e| e.to_string());
    let (inputs, expected) = (read("inputs.npz")?, read("expected.npz")?);
    let method = &lowered.program.methods[0];
    let mut worst = 0f64;
    for call in 0..inputs.calls().max(1) {
        let mut arguments = Vec::new();
        for (index, port) in method.inputs.iter().enumerate() {
            let array = inputs.input(call, index).ok_or("not recorded")?;
            arguments.push(npz::conform(array, port.element, &port.shape, "in").map_err(|e| e.to_string())?);
        }
        let slices: Vec<&[u8]> = arguments.iter().map(|t| t.bytes.as_slice()).collect();
        let mut outputs = Vec::new();
        instance.call(0, &slices, &mut outputs).map_err(|e| e.to_string())?;
        for (index, (bytes, port)) in outputs.into_iter().zip(&method.outputs).enumerate() {
            let found = modelc::ir::Tensor { element: port.element, shape: port.shape.clone(), bytes };
            let array = expected.output(call, index).ok_or("not recorded")?;
            worst = worst.max(support::compare(&found, array, FLOAT_TOLERANCE).map_err(|e| format!("output {index} of call {call}: {e}"))?);
        }
    }
    let io: u64 = method.inputs.iter().chain(&method.outputs).map(|p| p.bytes).sum();
    Ok(format!("{worst:.1e}, {} with inputs and outputs {}", lowered.plans[0], lowered.plans[0].arena_bytes + io))
}

#[test]
fn mlperf_tiny_and_micro_examples_match_in_the_jit() {
    let machine = target::host_machine().expect("the host has a machine description");
    let Some(folder) = support::corpus("tflite") else { return };
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().filter_map(|e| Some(e.ok()?.path())).collect();
    names.retain(|p| {
        let name = p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.ends_with(".tflite")
            && (name.starts_with("mlperftiny-")
                || name.starts_with("tflm-hello_world")
                || name.starts_with("tflm-micro_speech_quantized")
                || name == "tflm-person_detect.tflite")
    });
    names.sort();
    let mut failures = Vec::new();
    for level in [machine, modelc::machine::default_machine(machine.isa)] {
        for model in &names {
            let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match check(model, level) {
                Ok(text) => println!("{name} {}: {text}", level.level),
                Err(error) => failures.push(format!("{name} {}: {error}", level.level)),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
