//! Real models: their text can be read back, and rewrites change no output.

mod support;

use modelc::ir::interpret::Interpreter;
use modelc::ir::text::{Constants, parse_module, print_module};
use modelc::ir::{Module, Tensor, verify};
use modelc::passes;
use std::path::{Path, PathBuf};
use std::time::Instant;
use support::harness::{self, Needs};

/// Size limit of files; other tests cover larger ones without running each model three times.
const LARGEST_FILE: u64 = 400_000;

/// Rewrites may change the order of a float sum, whose terms are as large as the sum here. Sixteen units in the last place are far more than a
/// reordered sum of these models differs by.
const TOLERANCE: f64 = 16.0 * f32::EPSILON as f64;

fn models(folder: &str, extension: &str) -> Vec<PathBuf> {
    let largest = std::env::var("MODELC_LARGEST").ok().and_then(|n| n.parse().ok()).unwrap_or(LARGEST_FILE);
    let small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|data| data.len() <= largest);
    support::models(folder, extension).into_iter().filter(small).collect()
}

fn outputs(module: &Module, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    Interpreter::new(module).run(0, inputs).map_err(|error| error.to_string())
}

fn instructions(module: &Module) -> usize {
    module.functions.values().map(|function| function.body.len()).sum()
}

/// Returns an error if rewriting a model fails; succeeds for a model that a front end rejects.
fn check(path: &Path) -> Result<(), String> {
    let Ok(mut module) = support::load(path) else { return Ok(()) };
    verify(&module).map_err(|error| error.to_string())?;
    let text = print_module(&module, Constants::Whole);
    let read = parse_module(&text).map_err(|error| format!("its text: {error}"))?;
    verify(&read).map_err(|error| format!("read back: {error}"))?;
    if print_module(&read, Constants::Whole) != text {
        return Err("its text reads back as another module".into());
    }
    drop(read);
    if !path.with_extension("inputs.npz").exists() {
        // No recorded inputs exist for it.
        passes::run_all(&mut module);
        return verify(&module).map(drop).map_err(|error| format!("rewritten: {error}"));
    }
    let method = &module.methods[0];
    let archive = support::recorded(path, "inputs.npz").map_err(|error| error.to_string())?;
    // The first recorded call of a program with several methods may use another method.
    let several = module.methods.len() > 1;
    let inputs = match support::arguments(&module, method, &archive, 0) {
        Err(_) if several => return Ok(()),
        inputs => inputs?,
    };
    let expected = outputs(&module, &inputs)?;
    let (before, start) = (instructions(&module), Instant::now());
    passes::run_all(&mut module);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    harness::progress(|| format!("{name}: {before} to {} instructions in {:?}", instructions(&module), start.elapsed()));
    verify(&module).map_err(|error| format!("rewritten: {error}"))?;
    let found = outputs(&module, &inputs)?;
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        support::compare(found, expected, TOLERANCE).map_err(|error| format!("output {index}: {error}"))?;
    }
    Ok(())
}

fn check_all(models: Vec<PathBuf>) {
    let failures: Vec<String> = models.iter().filter_map(|path| Some(format!("{}: {}", path.display(), check(path).err()?))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn tflite() {
    check_all(models("tflite", "tflite"));
}

fn executorch() {
    check_all(models("executorch", "pte"));
}

fn main() -> std::process::ExitCode {
    harness::run(&[("tflite", Needs::Corpus("tflite"), tflite), ("executorch", Needs::Corpus("executorch"), executorch)])
}
