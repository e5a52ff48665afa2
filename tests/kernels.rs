//! Lowered programs in the interpreter of kernels, for every machine, even if this computer cannot run its code. Each kernel is valid and stays
//! inside its buffers, and outputs match the tensor interpreter.

#[allow(dead_code, reason = "other tests use the rest")]
mod chains;
mod convolutions;
mod hot_loops;
mod integers;
mod rows;
mod support;
mod techniques;

use modelc::ir::interpret::Interpreter;
use modelc::ir::random::{self, Options};
use modelc::ir::text::{Constants, print_module};
use modelc::ir::{ElementType, FunctionBuilder, Module, Op, ScalarOp, Tensor, TensorType, Type};
use modelc::kernel::verify::verify;
use modelc::lower::{self};
use modelc::machine::{CpuMachine, Isa, MACHINES};
use modelc::program::Program;
use modelc::{passes, pipeline};
use std::collections::BTreeMap;
use support::program::Memory;
use support::texts::number;

/// Returns the machines of each object: each machine alone, and all levels of an instruction set together.
fn objects() -> Vec<Vec<&'static CpuMachine>> {
    let mut objects: Vec<Vec<&CpuMachine>> = support::machines().into_iter().map(|machine| vec![machine]).collect();
    for isa in [Isa::X86_64, Isa::Aarch64] {
        objects.push(MACHINES.iter().filter(|machine| machine.isa == isa).collect());
    }
    objects
}

/// Formats the levels of an object.
fn names(machines: &[&CpuMachine]) -> String {
    machines.iter().map(|machine| machine.level).collect::<Vec<_>>().join(",")
}

/// Lowers a module for the levels of an object, and compares each with the tensor interpreter. `Ok(Err(…))` is the reason why it has no
/// lowering.
fn check(module: &Module, inputs: &[Tensor], machines: &[&'static CpuMachine]) -> Result<Result<(), String>, String> {
    let options = lower::Options::new(machines[0]);
    let lowered = match pipeline::lower_levels(module, "module", options, &machines[1..]) {
        Ok(lowered) => lowered,
        Err(diagnostics) => return Ok(Err(diagnostics.to_string())),
    };
    for level in lowered.levels() {
        check_level(module, inputs, level.program).map_err(|error| format!("{}: {error}", level.machine.level))?;
    }
    Ok(Ok(()))
}

/// Lowers and checks a module for every object.
fn check_everywhere(module: &Module, input: &Tensor, what: &str) {
    for machines in objects() {
        let result = check(module, std::slice::from_ref(input), &machines);
        assert_eq!(result, Ok(Ok(())), "{what} on {}", names(&machines));
    }
}

/// Compares two calls of a program with two of the tensor interpreter.
fn check_level(module: &Module, inputs: &[Tensor], program: &Program) -> Result<(), String> {
    for kernel in &program.kernels {
        verify(kernel).map_err(|error| format!("{error}\n{kernel}"))?;
    }
    let method = &program.methods[0];
    let mut memory = Memory::new(program);
    let mut interpreter = Interpreter::new(module);
    for call in 0..2 {
        let wanted = interpreter.run(0, inputs).map_err(|error| error.to_string())?;
        let found = memory.call(method, inputs).map_err(|error| format!("call {call}: {error}"))?;
        for (index, (bytes, wanted)) in found.into_iter().zip(&wanted).enumerate() {
            let found = Tensor { element: wanted.element, shape: wanted.shape.clone(), bytes };
            support::compare(&found, wanted, 1e-5).map_err(|error| format!("output {index} of call {call}: {error}"))?;
        }
    }
    Ok(())
}

/// Returns the number of seeds: `MODELC_SEEDS`.
fn seeds() -> u64 {
    support::harness::variable("MODELC_SEEDS").unwrap_or(3000)
}

#[test]
fn random_modules_match_the_tensor_interpreter() {
    let elements = vec![ElementType::F32, ElementType::I8, ElementType::I32, ElementType::Bool];
    // These do not specify shift counts outside the width, which random operands contain; real models test them.
    let limited = |op: &ScalarOp| matches!(op, ScalarOp::RoundingDivideByPowerOfTwo | ScalarOp::Requantize(_));
    let scalar_operations = Options::exact_operations().into_iter().filter(|op| !limited(op)).collect();
    let operators = Options::exact_operators();
    let options = Options { instructions: 4, dynamic: false, elements, scalar_operations, operators };
    let objects = objects();
    let (mut good, mut unsupported) = (0, BTreeMap::<String, usize>::new());
    for seed in 0..seeds() {
        let (mut module, inputs) = random::module(seed, &options);
        passes::run_all(&mut module);
        let machines = &objects[seed as usize % objects.len()];
        match check(&module, &inputs, machines) {
            Ok(Ok(())) => good += 1,
            Ok(Err(why)) => *unsupported.entry(why.lines().next().unwrap_or_default().into()).or_default() += 1,
            Err(error) => panic!("seed {seed} on {}: {error}\n{}", names(machines), print_module(&module, Constants::Whole)),
        }
    }
    for (why, count) in &unsupported {
        println!("{count} times {why}");
    }
    println!("{good} match");
    // A third compiled when this was written; fewer means that an operator is no longer compiled.
    assert!(good * 5 >= seeds(), "only {good} of {} modules are compiled: {unsupported:#?}", seeds());
}

/// Diamonds, several results, rows.
#[test]
fn random_graphs_match_the_tensor_interpreter() {
    let objects = objects();
    for seed in 0..seeds() / 10 {
        let (mut module, inputs) = chains::graphs::module(seed);
        passes::run_all(&mut module);
        let machines = &objects[seed as usize % objects.len()];
        let checked = check(&module, &inputs, machines).and_then(|compiled| compiled);
        checked.unwrap_or_else(|error| panic!("seed {seed} on {}: {error}\n{}", names(machines), print_module(&module, Constants::Whole)));
    }
}

/// Extremes of saturated values are the same whether the values are stored or not.
#[test]
fn extremes_of_what_saturates_match_on_every_machine() {
    for (name, module, input) in chains::extremes::modules() {
        modelc::ir::verify(&module).unwrap_or_else(|error| panic!("{name}: {error}"));
        check_everywhere(&module, &input, &name);
    }
}

#[test]
fn fourier_transforms_of_every_length_match_on_every_machine() {
    for (op, length) in (0..10).flat_map(|n| [(Op::Fourier, 1u64 << n), (Op::RealFourier, 1 << n)]) {
        let shape = if op == Op::Fourier { vec![3, length, 2] } else { vec![3, length] };
        let count = shape.iter().product::<u64>();
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let input = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape)), None);
        let result = if op == Op::Fourier { builder.fourier(input) } else { builder.real_fourier(input) };
        let result = result.unwrap_or_else(|error| panic!("{length}: {error}"));
        builder.finish_method("forward", vec![result]);
        let bytes = (0..count).flat_map(|i| ((i * i * 7919 % 1000) as f32 / 500.0 - 1.0).to_le_bytes()).collect();
        let inputs = [Tensor { element: ElementType::F32, shape, bytes }];
        for machine in MACHINES {
            let result = check(&module, &inputs, &[machine]);
            assert_eq!(result, Ok(Ok(())), "{op:?} of {length} on {}", machine.level);
        }
    }
}

#[test]
fn small_models_match_the_tensor_interpreter_on_every_machine() {
    let Some(folder) = support::corpus("tflite") else { return };
    for name in ["tflm-hello_world_int8", "tflm-hello_world_float", "tflm-micro_speech_quantized", "mlperftiny-ad01_int8"] {
        let path = folder.join(name).with_extension("tflite");
        let mut module = support::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        passes::run_all(&mut module);
        let recorded = support::recorded(&path, "inputs.npz").expect("recorded inputs");
        let function = &module.functions[module.methods[0].function];
        let inputs: Vec<Tensor> = (0..function.params.len()).filter_map(|i| recorded.input(0, i).cloned()).collect();
        for machines in objects() {
            let result = check(&module, &inputs, &machines);
            assert_eq!(result, Ok(Ok(())), "{name} on {}", names(&machines));
        }
    }
}
