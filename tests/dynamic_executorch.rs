//! ExecuTorch programs with run-time extents: one object serves all sizes.

mod support;

use modelc::diagnostic::Kind;
use modelc::frontend::{self, Bound, LoadOptions};
use modelc::ir::interpret::Interpreter;
use modelc::ir::random::Random;
use modelc::ir::{Extent, Module, Scalar, Tensor};
use modelc::jit::{Instance, Jit};
use modelc::lower::{Lowered, Options};
use modelc::machine::CpuMachine;
use modelc::{pipeline, target};
use std::path::PathBuf;
use std::sync::Arc;
use support::harness::{self, Needs};

/// Tolerance: sums have another order than PyTorch's; the rest is rounding of the mathematical functions.
const FLOAT_TOLERANCE: f64 = 1e-5;

/// Input, dimension, bound.
type Varying = &'static [(usize, usize, i64)];

/// Dynamic dimensions of each program. Operators fix all other extents.
const VARYING: [(&str, Varying); 4] = [
    ("dyn_batch", &[(0, 0, 8)]),
    ("dyn_seq", &[(0, 1, 32)]),
    ("etllama_dyn", &[(0, 1, 127)]),
    ("llama_tiny_dyn", &[(0, 1, 127), (1, 0, 127)]),
];

fn program(name: &str) -> PathBuf {
    support::corpus("executorch").expect("tests that need it are skipped without it").join(format!("{name}.portable.pte"))
}

fn load(path: &PathBuf, options: &LoadOptions) -> Result<Module, modelc::diagnostic::Diagnostics> {
    let bytes = std::fs::read(path).expect("the program can be read");
    frontend::load(Arc::new(bytes), "program.pte", options)
}

fn lowered(module: &Module, machine: &'static CpuMachine) -> Lowered {
    let options = Options::new(machine);
    pipeline::lower(module, "program", options).unwrap_or_else(|error| panic!("{error}"))
}

fn sound(name: &str, options: &LoadOptions) -> (PathBuf, Module) {
    let path = program(name);
    let module = load(&path, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    modelc::ir::verify::verify(&module).unwrap_or_else(|error| panic!("{name}: {error}"));
    (path, module)
}

fn only_what_varies_is_left_open() {
    for (name, expected) in VARYING {
        let (_, module) = sound(name, &LoadOptions::default());
        let function = &module.functions[module.methods[0].function];
        let mut varying = Vec::new();
        for (input, &param) in function.params.iter().take(module.methods[0].inputs.len()).enumerate() {
            for (dimension, &extent) in function.tensor(param).shape.iter().enumerate() {
                if let Extent::Value(_) = function.resolved(extent) {
                    varying.push((input, dimension, function.interval(extent).high));
                }
            }
        }
        assert_eq!(varying, expected, "{name}");
    }
}

fn every_recorded_size_matches_in_the_interpreter_and_in_the_jit() {
    for (name, _) in VARYING {
        let (path, module) = sound(name, &LoadOptions::default());
        let runs = support::interpreted(&path, &module).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(runs.len() >= 3, "{name} has several calls");
        support::check_runs(&path, &module, &runs, FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("{name}: {error}"));
        for machine in target::host_machines() {
            let lowered = lowered(&module, machine);
            let jit = Jit::new(&lowered.program, machine).unwrap_or_else(|error| panic!("{error}"));
            let mut instance = jit.instance().unwrap_or_else(|error| panic!("{error}"));
            let compiled = runs.iter().map(|run| {
                let outputs = instance.call_tensors(run.method, &run.arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
                support::Run { method: run.method, arguments: run.arguments.clone(), outputs }
            });
            let compiled: Vec<_> = compiled.collect();
            let checked = support::check_runs(&path, &module, &compiled, FLOAT_TOLERANCE);
            checked.unwrap_or_else(|error| panic!("{name} {}: {error}", machine.level));
        }
    }
}

/// Makes the input tensors of a call. `size` is the dynamic extent, one for a program; integers are tokens and positions.
fn inputs(name: &str, size: u64, position: i64, random: &mut Random) -> Vec<Tensor> {
    let mut floats = |shape: &[u64]| {
        let numbers = (0..shape.iter().product::<u64>()).map(|_| (random.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0);
        tensor(shape, numbers.map(Scalar::f32))
    };
    if name == "dyn_batch" {
        return vec![floats(&[size, 3, 16, 16])];
    }
    let long = |n: i64| Scalar::int(modelc::ir::ElementType::I64, n);
    let vocabulary = if name == "dyn_seq" { 50 } else { 512 };
    let shape = if name == "dyn_seq" { [2, size] } else { [1, size] };
    let count = shape[0] * size;
    let tokens = tensor(&shape, (0..count).map(|_| long(random.below(vocabulary) as i64)));
    match name {
        "dyn_seq" => vec![tokens],
        "etllama_dyn" => vec![tokens, tensor(&[1], [long(position)])],
        _ => vec![tokens, tensor(&[size], (0..size as i64).map(|i| long(position + i)))],
    }
}

fn tensor(shape: &[u64], numbers: impl IntoIterator<Item = Scalar>) -> Tensor {
    let numbers: Vec<Scalar> = numbers.into_iter().collect();
    let bytes = numbers.iter().flat_map(|n| n.to_bytes()).collect();
    Tensor { element: numbers[0].element(), shape: shape.to_vec(), bytes }
}

fn random_sizes_within_the_bound_match_the_interpreter() {
    let machine = target::host_machine().expect("the host has a machine description");
    for (name, varying) in VARYING {
        let (_, module) = sound(name, &LoadOptions::default());
        let lowered = lowered(&module, machine);
        let jit = Jit::new(&lowered.program, machine).unwrap_or_else(|error| panic!("{error}"));
        let (mut random, most) = (Random::new(7), varying[0].2 as usize);
        for round in 0..6 {
            // A sequence of calls on one instance fills the caches.
            let mut instance = jit.instance().unwrap_or_else(|error| panic!("{error}"));
            let mut interpreter = Interpreter::new(&module);
            let mut position = 0;
            for call in 0..3 {
                // The largest size once, and then the rest of a cache of 128.
                let room = most.min(128 - position as usize);
                let size = if round == 0 && call == 0 { room } else { 1 + random.below(room) } as u64;
                let inputs = inputs(name, size, position, &mut random);
                let found = instance.call_tensors(0, &inputs).unwrap_or_else(|error| panic!("{name} of {size}: {error}"));
                let expected = interpreter.run(0, &inputs).unwrap_or_else(|error| panic!("{name} of {size}: {error}"));
                for (found, expected) in found.iter().zip(&expected) {
                    let compared = support::compare(found, expected, FLOAT_TOLERANCE);
                    compared.unwrap_or_else(|error| panic!("{name} of {size} at {position}: {error}"));
                }
                position += size as i64;
                if position >= 128 || round == 0 {
                    break;
                }
            }
        }
    }
}

fn refused(instance: &mut Instance, inputs: &[Tensor], word: &str) {
    let error = instance.call_tensors(0, inputs).expect_err("the call is refused");
    assert!(error.code.number() == 502 || error.message.contains(word), "{error}");
}

fn what_cannot_be_is_refused_before_anything_is_written() {
    let machine = target::host_machine().expect("the host has a machine description");
    let (_, module) = sound("llama_tiny_dyn", &LoadOptions::default());
    let lowered_one = lowered(&module, machine);
    let jit = Jit::new(&lowered_one.program, machine).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = jit.instance().unwrap_or_else(|error| panic!("{error}"));
    let mut random = Random::new(1);
    // There are as many tokens as positions, at most 127 and at least one.
    let (three, two) = (inputs("llama_tiny_dyn", 3, 0, &mut random), inputs("llama_tiny_dyn", 2, 0, &mut random));
    refused(&mut instance, &[three[0].clone(), two[1].clone()], "MODELC_E_SHAPE");
    refused(&mut instance, &inputs("llama_tiny_dyn", 128, 0, &mut random), "MODELC_E_SHAPE");
    // A position after the end of the cache.
    refused(&mut instance, &inputs("llama_tiny_dyn", 2, 127, &mut random), "MODELC_E_INDEX");

    let (_, module) = sound("etllama_dyn", &LoadOptions::default());
    let lowered_two = lowered(&module, machine);
    let jit = Jit::new(&lowered_two.program, machine).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = jit.instance().unwrap_or_else(|error| panic!("{error}"));
    for (size, position) in [(2, 127), (1, 128), (1, -1), (3, i64::MAX), (1, i64::MIN)] {
        refused(&mut instance, &inputs("etllama_dyn", size, position, &mut random), "MODELC_E_INDEX");
    }
    let last = inputs("etllama_dyn", 2, 126, &mut random);
    instance.call_tensors(0, &last).unwrap_or_else(|error| panic!("the last two positions: {error}"));
}

fn bounds_narrow_and_shapes_fix() {
    let bound = |port, dimension, most| Bound { is_output: false, port, dimension, most };
    let narrow = LoadOptions { bounds: vec![bound(0, 1, 16)], ..LoadOptions::default() };
    // The other input has the same length, so its bound follows.
    let (path, module) = sound("llama_tiny_dyn", &narrow);
    let function = &module.functions[module.methods[0].function];
    let highs: Vec<i64> =
        function.params.iter().take(2).map(|&p| function.interval(*function.tensor(p).shape.last().unwrap()).high).collect();
    assert_eq!(highs, [16, 16]);
    for (port, dimension, most) in [(0, 1, 128), (0, 1, 0), (0, 2, 4), (2, 0, 4)] {
        let options = LoadOptions { bounds: vec![bound(port, dimension, most)], ..LoadOptions::default() };
        let error = load(&path, &options).expect_err("the bound is refused");
        assert!(error.0.iter().all(|d| d.kind() == Kind::Usage), "{error}");
    }
    let fixed = LoadOptions { shapes: vec![(0, vec![1, 5]), (1, vec![5])], ..LoadOptions::default() };
    let (_, module) = sound("llama_tiny_dyn", &fixed);
    let function = &module.functions[module.methods[0].function];
    assert!(function.params.iter().take(2).all(|&p| function.tensor(p).static_shape().is_some()));
    let different = LoadOptions { shapes: vec![(0, vec![1, 5]), (1, vec![4])], ..LoadOptions::default() };
    assert!(load(&path, &different).is_err(), "five tokens at four positions");
}

fn main() -> std::process::ExitCode {
    let corpus = Needs::Corpus("executorch");
    harness::run(&[
        ("only_what_varies_is_left_open", corpus, only_what_varies_is_left_open),
        (
            "every_recorded_size_matches_in_the_interpreter_and_in_the_jit",
            corpus,
            every_recorded_size_matches_in_the_interpreter_and_in_the_jit,
        ),
        ("random_sizes_within_the_bound_match_the_interpreter", corpus, random_sizes_within_the_bound_match_the_interpreter),
        ("what_cannot_be_is_refused_before_anything_is_written", corpus, what_cannot_be_is_refused_before_anything_is_written),
        ("bounds_narrow_and_shapes_fix", corpus, bounds_narrow_and_shapes_fix),
    ])
}
