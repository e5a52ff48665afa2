//! What the fuzz targets check: the answer to any bytes is a sound result or diagnostics that are not our fault.

use modelc::diagnostic::{Diagnostics, Kind};
use modelc::emit::{self, ModelInfo, ObjectOptions};
use modelc::frontend::{self, LoadOptions};
use modelc::ir::interpret::Interpreter;
use modelc::ir::text::{Constants, parse_module, print_module};
use modelc::ir::{Module, Tensor, random, verify};
use modelc::lower::{Options, PlanSource};
use modelc::plan::Effort;
use modelc::{passes, pipeline, target};
use modelc_damage::{FlatBuffer, damage_text};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Files of TFLite's schema.
pub static TFLITE: LazyLock<FlatBuffer> = LazyLock::new(|| schema("tflite"));
/// Files of ExecuTorch's schema.
pub static EXECUTORCH: LazyLock<FlatBuffer> = LazyLock::new(|| schema("program"));

fn schema(name: &str) -> FlatBuffer {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas");
    FlatBuffer::new(&folder.join(name).with_extension("fbs")).expect("the schema is sound")
}

/// Panics unless the diagnostics say why, and that it is not our fault.
fn refused(diagnostics: &Diagnostics) {
    assert!(!diagnostics.0.is_empty(), "refused without a reason");
    assert!(diagnostics.0.iter().all(|d| d.kind != Kind::Bug), "{diagnostics}");
}

/// A file through its front end and the verifier.
pub fn read(bytes: &[u8]) {
    match frontend::load(Arc::new(bytes.to_vec()), "fuzzed", &LoadOptions::default()) {
        Ok(module) => assert_eq!(verify::verify(&module).map(|_| ()), Ok(()), "the front end made unsound code"),
        Err(diagnostics) => refused(&diagnostics),
    }
}

/// A file through the whole compiler, to an object of this computer's default level.
pub fn compile(bytes: &[u8]) {
    if let Err(diagnostics) = object(bytes) {
        refused(&diagnostics);
    }
}

fn object(bytes: &[u8]) -> Result<(), Diagnostics> {
    let module = pipeline::read(Arc::new(bytes.to_vec()), "fuzzed", &LoadOptions::default())?;
    let target = target::host()?;
    let machine = target::level(target, None)?;
    let lowered = pipeline::lower(&module, "fuzzed", Options { machine, effort: Effort::Normal, plan: PlanSource::Own })?;
    let options = ObjectOptions::new("net", target, machine);
    let files = emit::object(&lowered.program, &ModelInfo { sha256: [0; 32], file: "fuzzed".into() }, &options)?;
    assert!(!files.object.is_empty());
    Ok(())
}

/// A text through parser, verifier, rewrites and interpreter.
pub fn text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut module) = parse_module(text) else { return };
    let printed = print_module(&module, Constants::Whole);
    let again = parse_module(&printed).unwrap_or_else(|error| panic!("its text does not read back: {error}\n{printed}"));
    assert_eq!(print_module(&again, Constants::Whole), printed);
    if verify::verify(&module).is_err() || too_large(&module) {
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

/// Whether a sound module would take long: it may ask for any amount of work.
fn too_large(module: &Module) -> bool {
    module.functions.values().any(|function| {
        let mut tensors = function.values.values().filter_map(|value| value.ty.as_tensor());
        tensors.any(|ty| function.bound_bytes(ty).is_none_or(|bytes| bytes > 1 << 16))
            || function.insts.values().any(|data| data.op.row().name == "window" && data.ints("size").iter().any(|&n| n > 1 << 8))
    })
}

/// Every second mutation is libFuzzer's own; the others follow the schema.
pub fn mutate_file(schema: &FlatBuffer, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    if seed.is_multiple_of(2) || size == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, most);
    }
    let mut numbers = random::Random::new(seed.into());
    schema.damage(&mut data[..size], &mut |bound| numbers.below(bound));
    size
}

/// Every second mutation is libFuzzer's own; the others change words, or now and then start from another random module.
pub fn mutate_text(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut numbers = random::Random::new(seed.into());
    let damaged = match std::str::from_utf8(&data[..size]) {
        _ if seed % 64 == 1 => print_module(&random::module(seed.into(), &random::Options::default()).0, Constants::Whole),
        Ok(text) if seed % 2 == 1 => damage_text(text, &mut |bound| numbers.below(bound)),
        _ => return libfuzzer_sys::fuzzer_mutate(data, size, most),
    };
    let length = damaged.len().min(most).min(data.len());
    data[..length].copy_from_slice(&damaged.as_bytes()[..length]);
    length
}
