//! Checks for any input: the answer is a sound result, or diagnostics that are not our fault. Tests of damaged files use them, too.

use modelc::diagnostic::{Diagnostics, Kind};
use modelc::emit::{self, ModelInfo, ObjectOptions};
use modelc::frontend::{self, LoadOptions};
use modelc::ir::interpret::Interpreter;
use modelc::ir::text::{Constants, parse_module, print_module};
use modelc::ir::{Module, Operation, Tensor, verify};
use modelc::lower::Options;
use modelc::machine::{CpuMachine, MACHINES};
use modelc::{kernel, passes, pipeline, target};
use std::sync::Arc;

/// Panics unless the diagnostics say why, and that it is not our fault.
fn refused(diagnostics: &Diagnostics) {
    assert!(!diagnostics.0.is_empty(), "refused without a reason");
    assert!(diagnostics.0.iter().all(|d| d.kind() != Kind::Bug), "{diagnostics}");
}

/// Loops of programs that never end are given up early: they would be most of what runs.
fn options() -> LoadOptions {
    LoadOptions { most_steps: Some(1 << 11), ..LoadOptions::default() }
}

/// A file through its front end and the verifier.
pub fn read(bytes: &[u8]) {
    match frontend::load(Arc::new(bytes.to_vec()), "fuzzed", &options()) {
        Ok(module) => assert_eq!(verify::verify(&module).map(|_| ()), Ok(()), "the front end made unsound code"),
        Err(diagnostics) => refused(&diagnostics),
    }
}

/// One file in 64 is compiled to machine code too: that takes ten times as long as all before it.
const TO_MACHINE_CODE: usize = 64;

/// Lowers a file through front end, rewrites, schedules and memory plan to valid kernels, and now and then to an object. Its bytes choose the
/// machine.
pub fn lower(bytes: &[u8]) {
    let chosen = bytes.iter().fold(0usize, |hash, &byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let outcome = match chosen % TO_MACHINE_CODE {
        0 => object(bytes),
        _ => kernels(bytes, &MACHINES[chosen / TO_MACHINE_CODE % MACHINES.len()]),
    };
    if let Err(diagnostics) = outcome {
        refused(&diagnostics);
    }
}

fn kernels(bytes: &[u8], machine: &'static CpuMachine) -> Result<(), Diagnostics> {
    let module = pipeline::read(Arc::new(bytes.to_vec()), "fuzzed", &options())?;
    let lowered = pipeline::lower(&module, "fuzzed", Options::new(machine))?;
    for kernel in &lowered.program.kernels {
        if let Err(error) = kernel::verify::verify(kernel) {
            panic!("{error}\n{kernel}");
        }
    }
    Ok(())
}

/// A file through the whole compiler, to an object of this computer's default level; whether there is an object.
pub fn compile(bytes: &[u8]) -> bool {
    object(bytes).map_err(|diagnostics| refused(&diagnostics)).is_ok()
}

fn object(bytes: &[u8]) -> Result<(), Diagnostics> {
    let module = pipeline::read(Arc::new(bytes.to_vec()), "fuzzed", &options())?;
    let target = target::host()?;
    let machine = target::level(target, None)?;
    let lowered = pipeline::lower(&module, "fuzzed", Options::new(machine))?;
    let options = ObjectOptions::new("net", target, machine);
    let files = emit::object(&lowered.program, &ModelInfo { sha256: [0; 32], file: "fuzzed".into(), ..ModelInfo::default() }, &options)?;
    assert!(!files.object.is_empty());
    Ok(())
}

/// A text through parser, verifier, rewrites and interpreter.
pub fn text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut module) = parse_module(text) else { return };
    let printed = print_module(&module, Constants::Whole);
    // What is not sound may name values that are not there, and then does not read back.
    if verify::verify(&module).is_err() {
        return;
    }
    let again = parse_module(&printed).unwrap_or_else(|error| panic!("its text does not read back: {error}\n{printed}"));
    assert_eq!(print_module(&again, Constants::Whole), printed);
    if too_large(&module) {
        return;
    }
    run(&module);
    passes::run_all(&mut module);
    assert_eq!(verify::verify(&module).map(|_| ()), Ok(()), "rewrites break the module");
    run(&module);
}

fn run(module: &Module) {
    if module.methods.is_empty() {
        return;
    }
    let mut interpreter = Interpreter::new(module);
    interpreter.limits.iterations = 20;
    let method = &module.methods[0];
    let function = &module.functions[method.function];
    let zeros = function.params.iter().take(method.inputs.len()).map(|&param| {
        let ty = function.values[param].ty.as_tensor()?;
        Tensor::zeros(ty.element, &ty.static_shape()?)
    });
    if let Some(inputs) = zeros.collect::<Option<Vec<_>>>() {
        // An error is an answer too.
        let _ = interpreter.run(0, &inputs);
    }
}

/// Tests whether a module needs too much time: a sound one may ask for any amount of work.
fn too_large(module: &Module) -> bool {
    module.functions.values().any(|function| {
        let mut tensors = function.values.values().filter_map(|value| value.ty.as_tensor());
        tensors.any(|ty| function.bound_bytes(ty).is_none_or(|bytes| bytes > 1 << 16))
            || function
                .insts
                .values()
                .any(|data| matches!(&data.operation, Operation::Window(window) if window.size.iter().any(|&n| n > 1 << 8)))
    })
}
