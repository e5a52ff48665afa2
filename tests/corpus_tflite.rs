//! Real TFLite models through the interpreter, against outputs recorded with TFLite's reference kernels.

mod support;

use modelc::diagnostic::Kind;
use modelc::frontend::LoadOptions;
use std::path::{Path, PathBuf};

/// Sums are taken in another order than the reference's; the rest is rounding of the mathematical functions.
const FLOAT_TOLERANCE: f64 = 1e-5;

fn models(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    support::corpus(folder).map_or_else(Vec::new, |folder| in_folder(&folder, wanted))
}

fn in_folder(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut models: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|e| e == "tflite")).collect();
    models.retain(|path| path.file_stem().is_some_and(|stem| wanted(&stem.to_string_lossy())));
    models.sort();
    models
}

/// Every one of the models gives its recorded outputs.
fn all_match(models: Vec<PathBuf>) {
    let mut failures = Vec::new();
    for model in models {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match support::check_interpreted(&model, FLOAT_TOLERANCE) {
            Ok(worst) => println!("{name}: {worst:.1e}"),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn mlperf_tiny_and_micro_examples_match_their_recorded_outputs() {
    let wanted = |name: &str| {
        name.starts_with("mlperftiny-")
            || name.starts_with("tflm-hello_world")
            || matches!(name, "tflm-micro_speech_quantized" | "tflm-person_detect")
    };
    all_match(models("tflite", wanted));
}

#[test]
fn models_with_variables_keep_them_from_call_to_call() {
    all_match(models("tflite", |name| name.starts_with("esphome-") || name.starts_with("pymicrowakeword-")));
}

#[test]
fn recurrent_models_match_their_recorded_outputs() {
    let wanted = |name: &str| name.starts_with("tflm-mnist_lstm") || name.starts_with("dtln-") || name == "tflm-micro_speech_lstm";
    all_match(models("tflite", wanted));
}

/// Recurrent operators and control flow in every variant that real models lack: weights are random, outputs are LiteRT's.
#[test]
fn small_models_made_for_these_tests_match() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    all_match(in_folder(&folder, |_| true));
}

/// A shape that is given goes through all operators; where it does not fit, the error names the operator.
#[test]
fn given_shapes_are_inferred_through_the_model() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/seq_f32_plain.tflite");
    let load = |shape: &[u64]| {
        let bytes = std::fs::read(&model).expect("the model can be read");
        let options = LoadOptions { shapes: vec![(0, shape.to_vec())], ..LoadOptions::default() };
        modelc::frontend::load(std::sync::Arc::new(bytes), "net.tflite", &options)
    };
    let module = load(&[2, 9, 5]).expect("nine steps are as good as four");
    let function = &module.functions[module.methods[0].function];
    assert_eq!(function.tensor(function.results[0]).static_shape(), Some(vec![2, 9, 6]));
    let error = load(&[3, 4, 5]).expect_err("the state has a batch of two").to_string();
    assert!(error.contains("operator 0 UNIDIRECTIONAL_SEQUENCE_LSTM") && error.contains("[2, 6]"), "{error}");
}

/// What became of a case.
enum Outcome {
    Passed,
    /// The operator or its types are not compiled, and the error says so.
    Unsupported(String),
    Failed(String),
}

fn outcome(model: &Path) -> Outcome {
    match support::load(model) {
        Err(error) if error.0.iter().all(|d| d.kind == Kind::Unsupported) => Outcome::Unsupported(error.0[0].message.clone()),
        Err(error) => Outcome::Failed(error.to_string()),
        Ok(_) => support::check_interpreted(model, FLOAT_TOLERANCE).map_or_else(Outcome::Failed, |_| Outcome::Passed),
    }
}

#[test]
fn single_operators_match_or_are_refused() {
    let (mut passed, mut refused, mut failures) = (0, 0, Vec::new());
    for model in models("tflite_ops", |_| true) {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match outcome(&model) {
            Outcome::Passed => passed += 1,
            Outcome::Unsupported(why) => {
                refused += 1;
                println!("refused {name}: {why}");
            }
            Outcome::Failed(error) => failures.push(format!("FAILED {name}: {error}")),
        }
    }
    println!("{passed} passed, {refused} refused, {} failed", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(passed + refused == 0 || passed >= 845, "only {passed} operators pass");
}

#[test]
#[ignore = "runs large models for minutes; shows what is left to do"]
fn survey_of_real_models() {
    for model in models("tflite", |_| true) {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if support::recorded(&model, "expected.npz").is_err() {
            continue;
        }
        match outcome(&model) {
            Outcome::Passed => println!("passed {name}"),
            Outcome::Unsupported(why) => println!("refused {name}: {why}"),
            Outcome::Failed(error) => println!("FAILED {name}: {error}"),
        }
    }
}

/// The models of `examples/` are always there, whatever else is.
#[test]
fn the_digits_examples_match_their_recorded_outputs() {
    for name in ["digits_f32.tflite", "digits_int8.tflite"] {
        let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/digits").join(name);
        if let Err(error) = support::check_interpreted(&model, FLOAT_TOLERANCE) {
            panic!("{name}: {error}");
        }
    }
}
