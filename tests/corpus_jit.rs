//! Real models through the JIT, against recorded outputs.

mod support;

use modelc::diagnostic::{Diagnostics, Kind};
use modelc::jit::Jit;
use modelc::lower::{Options, PlanSource};
use modelc::machine::Machine;
use modelc::npz;
use modelc::plan::Effort;
use modelc::{passes, pipeline, target};
use std::path::Path;

/// As for the interpreter: sums are taken in another order than the reference's.
const FLOAT_TOLERANCE: f64 = 1e-5;

/// What a model takes, and how far off its worst output is.
struct Report {
    worst: f64,
    plan: String,
    /// Scratch memory, variables, inputs and outputs.
    bytes: u64,
}

/// Why a model has no result to compare.
enum Failure {
    /// Something in it is not compiled, and the error says so.
    Unsupported(String),
    Other(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

impl From<Diagnostics> for Failure {
    fn from(error: Diagnostics) -> Self {
        let unsupported = error.0.iter().all(|d| d.kind == Kind::Unsupported);
        if unsupported { Self::Unsupported(error.0[0].message.clone()) } else { Self::Other(error.to_string()) }
    }
}

fn check(model: &Path, machine: &'static Machine) -> Result<Report, Failure> {
    let mut module = support::load(model)?;
    passes::run_all(&mut module);
    let options = Options { machine, effort: Effort::Normal, plan: PlanSource::Own };
    let lowered = pipeline::lower(&module, "model", options)?;
    let jit = Jit::new(&lowered.program, machine).map_err(|e| e.to_string())?;
    let mut instance = jit.instance().map_err(|e| e.to_string())?;
    let read = |what: &str| support::recorded(model, what).map_err(|e| e.to_string());
    let (inputs, expected) = (read("inputs.npz")?, read("expected.npz")?);
    let method = &lowered.program.methods[0];
    let mut worst = 0f64;
    let mut first = Vec::new();
    for call in 0..inputs.calls().max(1) + 1 {
        // Once more from the start: variables have their first contents again.
        let again = call == inputs.calls().max(1);
        let call = if again { 0 } else { call };
        if again {
            instance.reset().map_err(|e| e.to_string())?;
        }
        let mut arguments = Vec::new();
        for (index, port) in method.inputs.iter().enumerate() {
            let array = inputs.input(call, index).ok_or_else(|| "not recorded".to_owned())?;
            arguments.push(npz::conform(array, port.element, &port.shape, "in").map_err(|e| e.to_string())?);
        }
        let slices: Vec<&[u8]> = arguments.iter().map(|t| t.bytes.as_slice()).collect();
        let mut outputs = Vec::new();
        instance.call(0, &slices, &mut outputs).map_err(|e| e.to_string())?;
        if call == 0 && !again {
            first.clone_from(&outputs);
        } else if again && outputs != first {
            return Err(Failure::Other("other outputs after a reset".into()));
        }
        for (index, (bytes, port)) in outputs.into_iter().zip(&method.outputs).enumerate() {
            let found = modelc::ir::Tensor { element: port.element, shape: port.shape.clone(), bytes };
            let array = expected.output(call, index).ok_or_else(|| "not recorded".to_owned())?;
            worst = worst.max(support::compare(&found, array, FLOAT_TOLERANCE).map_err(|e| format!("output {index} of call {call}: {e}"))?);
        }
    }
    let io: u64 = method.inputs.iter().chain(&method.outputs).map(|p| p.bytes).sum();
    let bytes = lowered.program.variable_bytes + lowered.plans[0].arena_bytes + io;
    Ok(Report { worst, plan: lowered.plans[0].to_string(), bytes })
}

/// Checks the models whose names begin so at both CPU levels; gives the bytes of each.
fn check_all(prefixes: &[&str]) -> Vec<(String, u64)> {
    let machine = target::host_machine().expect("the host has a machine description");
    let Some(folder) = support::corpus("tflite") else { return vec![] };
    let mut models: Vec<_> = std::fs::read_dir(folder).unwrap().filter_map(|e| Some(e.ok()?.path())).collect();
    models.retain(|p| {
        let name = p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.ends_with(".tflite") && prefixes.iter().any(|prefix| name.starts_with(prefix))
    });
    models.sort();
    let (mut failures, mut sizes) = (Vec::new(), Vec::new());
    for level in [machine, modelc::machine::default_machine(machine.isa)] {
        for model in &models {
            let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match check(model, level) {
                Ok(report) => {
                    println!("{name} {}: {:.1e}, {} with all {}", level.level, report.worst, report.plan, report.bytes);
                    sizes.push((name, report.bytes));
                }
                Err(Failure::Unsupported(error) | Failure::Other(error)) => failures.push(format!("{name} {}: {error}", level.level)),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    sizes
}

#[test]
fn mlperf_tiny_and_micro_examples_match_in_the_jit() {
    check_all(&["mlperftiny-", "tflm-hello_world", "tflm-micro_speech_quantized", "tflm-person_detect.tflite"]);
}

#[test]
fn models_with_variables_match_in_the_jit_and_stay_small() {
    for (name, bytes) in check_all(&["esphome-", "pymicrowakeword-"]) {
        // The arena that TensorFlow Lite Micro needs for this model, with its variables, inputs and outputs.
        assert!(name != "esphome-v2-okay_nabu" || bytes <= 23_424, "{name} takes {bytes} B");
    }
}

/// GELU at −6.7 alone is −1.2e-11: the reference has the complement of erf, the tensor language 1 + erf, which is 0 there.
const KNOWN: &[&str] = &["gelu.9"];

#[test]
fn single_operators_match_in_the_jit_or_are_refused() {
    let machine = target::host_machine().expect("the host has a machine description");
    let Some(folder) = support::corpus("tflite_ops") else { return };
    let mut models: Vec<_> = std::fs::read_dir(folder).expect("the folder can be read").filter_map(|e| Some(e.ok()?.path())).collect();
    models.retain(|path| path.extension().is_some_and(|e| e == "tflite"));
    models.sort();
    let (mut passed, mut refused, mut failures) = (0, 0, Vec::new());
    for model in &models {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match check(model, machine) {
            Ok(_) => passed += 1,
            Err(Failure::Unsupported(why)) => {
                refused += 1;
                println!("refused {name}: {why}");
            }
            Err(Failure::Other(_)) if KNOWN.contains(&name.as_str()) => {}
            Err(Failure::Other(error)) => failures.push(format!("FAILED {name}: {error}")),
        }
    }
    println!("{passed} passed, {refused} refused, {} failed", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(models.is_empty() || passed >= 780, "only {passed} operators pass");
}
