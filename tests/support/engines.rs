//! Recorded models in both engines: the interpreter is compared with the record, and the JIT with the interpreter.

use super::harness;
use modelc::ir::Module;
use modelc::jit::Jit;
use modelc::lower::Options;
use modelc::{passes, pipeline, target};
use std::path::{Path, PathBuf};

/// Tolerance: sums have another order than the reference's; the rest is rounding of the mathematical functions.
const TOLERANCE: f64 = 1e-5;

/// Checks that all models give their recorded outputs, and that the JIT matches the interpreter.
pub fn all_match(models: Vec<PathBuf>) {
    all_within(models, TOLERANCE);
}

/// Checks the same as [`all_match`], to the last bit.
pub fn all_equal(models: Vec<PathBuf>) {
    all_within(models, 0.0);
}

fn all_within(models: Vec<PathBuf>, tolerance: f64) {
    let mut failures = Vec::new();
    for model in models {
        let name = super::stem(&model);
        match both_engines(&model, tolerance) {
            Ok((recorded, compiled)) => {
                harness::progress(|| format!("{name}: {recorded:.1e} from the record, the JIT {compiled:.1e} from the interpreter"));
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the largest differences of the interpreter from the record, and of the JIT from the interpreter.
fn both_engines(model: &Path, tolerance: f64) -> Result<(f64, f64), String> {
    let mut module = super::load(model).map_err(|error| error.to_string())?;
    modelc::ir::verify::verify(&module).map_err(|error| format!("verifier: {error}"))?;
    let runs = super::interpreted(model, &module)?;
    let recorded = super::check_runs(model, &module, &runs, tolerance)?;
    passes::run_all(&mut module);
    Ok((recorded, compiled(&module, &runs, tolerance)?))
}

/// Returns the largest difference of the JIT from the interpreter's results.
fn compiled(module: &Module, runs: &[super::Run], tolerance: f64) -> Result<f64, String> {
    let machine = target::host_machine().map_err(|error| error.to_string())?;
    let options = Options::new(machine);
    let lowered = pipeline::lower(module, "model", options).map_err(|error| error.to_string())?;
    let jit = Jit::new(&lowered.program, machine).map_err(|error| error.to_string())?;
    let mut instance = jit.instance().map_err(|error| error.to_string())?;
    let mut worst = 0f64;
    for (call, run) in runs.iter().enumerate() {
        let outputs = instance.call_tensors(run.method, &run.arguments).map_err(|error| error.to_string())?;
        for (index, (found, expected)) in outputs.iter().zip(&run.outputs).enumerate() {
            let difference = super::compare(found, expected, tolerance);
            worst = worst.max(difference.map_err(|error| format!("output {index} of call {call}, JIT against interpreter: {error}"))?);
        }
    }
    Ok(worst)
}
