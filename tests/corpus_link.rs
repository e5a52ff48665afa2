//! Real models as objects in a C program, here and under emulators, against recorded outputs; and equal, bit for bit, to the JIT.

mod support;

use modelc::emit::{Image, ObjectFiles, TopologyRecord, weights_for};
use modelc::ir::Tensor;
use modelc::jit::Jit;
use modelc::npz;
use modelc::program::{Method, Port};
use modelc::{Compiler, Settings};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// As for the interpreter: sums are taken in another order than the reference's.
const FLOAT_TOLERANCE: f64 = 1e-5;

/// A way to compile C programs and to run them: target, compiler with its flags, emulator.
type Tools = (&'static str, &'static str, Option<&'static str>);

/// All models the objects of which are run here.
const MODELS: &[&str] =
    &["mlperftiny-", "esphome-", "pymicrowakeword-", "tflm-hello_world", "tflm-micro_speech_quantized", "tflm-person_detect.tflite"];
/// A sample of each kind for emulators, which are slow: dense, convolutions, depthwise convolutions; int8 and f32; variables.
const SAMPLE: &[&str] = &[
    "esphome-v2-vad",
    "tflm-hello_world",
    "tflm-micro_speech_quantized",
    "mlperftiny-ad01_int8",
    "mlperftiny-kws_ref_model.tflite",
    "mlperftiny-pretrainedResnet_quant",
];

#[test]
fn objects_answer_as_recorded_and_as_the_jit_does() {
    if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        check_all(MODELS, ("x86_64-linux-gnu", "cc", None));
    }
}

#[test]
fn aarch64_objects_answer_as_recorded() {
    check_all(SAMPLE, ("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", Some("qemu-aarch64")));
}

#[test]
fn riscv64_objects_answer_as_recorded() {
    check_all(SAMPLE, ("riscv64-linux-gnu", "riscv64-linux-gnu-gcc", Some("qemu-riscv64")));
}

fn check_all(names: &[&str], tools: Tools) {
    let Some(folder) = support::corpus("tflite") else { return };
    let mut models: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let wanted = |name: &str| name.ends_with(".tflite") && names.iter().any(|prefix| name.starts_with(prefix));
    models.retain(|path| path.file_name().is_some_and(|name| wanted(&name.to_string_lossy())));
    models.sort();
    assert!(models.len() >= names.len(), "the corpus lacks models");
    let failures: Vec<_> =
        models.iter().filter_map(|model| check(model, tools).err().map(|e| format!("{}: {e}", model.display()))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn text(error: &dyn std::fmt::Display) -> String {
    error.to_string()
}

fn check(model: &Path, tools: Tools) -> Result<(), String> {
    let compiler = Compiler::new().target(tools.0).name("net");
    let (_, machine) = compiler.settings.machine().map_err(|e| text(&e))?;
    let bytes = fs::read(model).map_err(|e| text(&e))?;
    let compiled = compiler.compile(Arc::new(bytes), "model").map_err(|e| text(&e))?;
    let program = &compiled.lowered.program;
    let calls = recorded_inputs(model, &program.methods[0])?;
    let outputs = run_object(&compiled.files, None, &program.methods[0], &calls, tools)?;
    compare(model, &program.methods[0], &outputs, calls.len())?;
    if tools.2.is_none() {
        let jit = Jit::new(program, machine).map_err(|e| text(&e))?;
        equal_to_jit(&jit, &calls, &outputs)?;
    }
    Ok(())
}

fn equal_to_jit(jit: &Jit, calls: &[Vec<Vec<u8>>], outputs: &[Vec<Vec<u8>>]) -> Result<(), String> {
    let mut instance = jit.instance().map_err(|e| text(&e))?;
    let mut found = Vec::new();
    for (call, expected) in calls.iter().zip(outputs) {
        let slices: Vec<&[u8]> = call.iter().map(Vec::as_slice).collect();
        instance.call(0, &slices, &mut found).map_err(|e| text(&e))?;
        if found != *expected {
            return Err("the JIT and the object differ".into());
        }
    }
    Ok(())
}

/// Objects without weights, given those of a retrained model: other weights, other scales, other zero points.
#[test]
fn weights_of_a_retrained_model_fit_the_object() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return;
    }
    let Some(folder) = support::corpus("tflite") else { return };
    for model in ["mlperftiny-kws_ref_model.tflite", "mlperftiny-pretrainedResnet_quant.tflite", "tflm-person_detect.tflite"] {
        retrain(&folder.join(model), ("x86_64-linux-gnu", "cc", None)).unwrap_or_else(|error| panic!("{model}: {error}"));
    }
}

fn retrain(model: &Path, tools: Tools) -> Result<(), String> {
    let old = fs::read(model).map_err(|e| text(&e))?;
    let new = Arc::new(support::retrained(&old));
    let settings = Settings { external_weights: true, target: Some(tools.0.into()), name: Some("net".into()), ..Settings::default() };
    let (_, machine) = settings.machine().map_err(|e| text(&e))?;
    let compiler = Compiler { settings };
    let compiled = compiler.compile(Arc::new(old), "old").map_err(|e| text(&e))?;
    let method = &compiled.lowered.program.methods[0];
    let calls = recorded_inputs(model, method)?;
    let outputs = run_object(&compiled.files, compiled.files.weights.as_ref().map(Image::to_vec), method, &calls, tools)?;
    compare(model, method, &outputs, calls.len())?;

    let (_, lowered) = compiler.lower(new.clone(), "new").map_err(|e| text(&e))?;
    let record = TopologyRecord::find(&compiled.files.object.to_vec()).ok_or("the object has no record")?;
    let weights = weights_for(&lowered.program, machine, &record).map_err(|e| text(&e))?;
    if weights.rescaled.is_empty() {
        return Err("the scales are the same".into());
    }
    let retrained = run_object(&compiled.files, Some(weights.file.to_vec()), method, &calls, tools)?;
    if retrained == outputs {
        return Err("the outputs are the same".into());
    }
    // The retrained model on its own, its weights known when it is compiled.
    let (_, lowered) = Compiler::new().lower(new, "new").map_err(|e| text(&e))?;
    equal_to_jit(&Jit::new(&lowered.program, machine).map_err(|e| text(&e))?, &calls, &retrained)
}

/// The outputs of each call of an object in a C program.
fn run_object(
    files: &ObjectFiles,
    weights: Option<Vec<u8>>,
    method: &Method,
    calls: &[Vec<Vec<u8>>],
    tools: Tools,
) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let folder = tempfile::tempdir().map_err(|e| text(&e))?;
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).map_err(|e| text(&e));
    write("net.o", &files.object.to_vec())?;
    write("net.h", files.header.as_bytes())?;
    write("runner.h", runner(method).as_bytes())?;
    write("inputs", &calls.iter().flatten().flatten().copied().collect::<Vec<_>>())?;
    if let Some(weights) = &weights {
        write("weights", weights)?;
    }
    let outputs = run(folder.path(), weights.is_some(), tools)?;
    Ok(split(&outputs, &method.outputs))
}

/// The inputs of each recorded call.
fn recorded_inputs(model: &Path, method: &Method) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let inputs = support::recorded(model, "inputs.npz").map_err(|e| e.to_string())?;
    let mut calls = Vec::new();
    for call in 0..inputs.calls().max(1) {
        let mut arguments = Vec::new();
        for (index, port) in method.inputs.iter().enumerate() {
            let array = inputs.input(call, index).ok_or("an input is not recorded")?;
            arguments.push(npz::conform(array, port.element, &port.shape, "in").map_err(|e| e.to_string())?.bytes);
        }
        calls.push(arguments);
    }
    Ok(calls)
}

/// The model's part of the C program.
fn runner(method: &Method) -> String {
    let mut text = String::new();
    for (direction, ports) in [("in", &method.inputs), ("out", &method.outputs)] {
        for (index, port) in ports.iter().enumerate() {
            let _ = writeln!(text, "static long long {direction}{index}[{} / 8 + 1];", port.bytes);
        }
    }
    let _ = writeln!(text, "static int runner_read(FILE *file, net_forward_inputs *in)\n{{");
    for (index, port) in method.inputs.iter().enumerate() {
        let _ = writeln!(text, "  if (fread(in{index}, 1, {0}, file) != {0}) return 0;\n  in->in{index} = (void *)in{index};", port.bytes);
    }
    let _ = writeln!(text, "  return 1;\n}}\nstatic void runner_prepare(net_forward_outputs *out)\n{{");
    for index in 0..method.outputs.len() {
        let _ = writeln!(text, "  out->out{index} = (void *)out{index};");
    }
    let _ = writeln!(text, "}}\nstatic void runner_write(FILE *file)\n{{");
    for (index, port) in method.outputs.iter().enumerate() {
        let _ = writeln!(text, "  CHECK(fwrite(out{index}, 1, {0}, file) == {0});", port.bytes);
    }
    text.push_str("}\n");
    text
}

/// Compiles and runs; the bytes of all outputs.
fn run(folder: &Path, has_weights: bool, (_, compiler, emulator): Tools) -> Result<Vec<u8>, String> {
    let advice = "`cargo xtask setup` installs what the tests use";
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link");
    let finish = |command: &mut Command| {
        let output = command.output().map_err(|error| format!("{command:?}: {error}; {advice}"))?;
        if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))) }
    };
    let mut compile = Command::new(compiler);
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-static", "-I"]).arg(folder).arg("-I").arg(&sources);
    finish(compile.arg(sources.join("runner.c")).arg(folder.join("net.o")).arg("-o").arg(folder.join("runner")))?;
    let mut execute = Command::new(emulator.map_or(folder.join("runner"), Into::into));
    if emulator.is_some() {
        execute.arg(folder.join("runner"));
    }
    execute.arg(folder.join("inputs")).arg(folder.join("outputs"));
    if has_weights {
        execute.arg(folder.join("weights"));
    }
    finish(&mut execute)?;
    fs::read(folder.join("outputs")).map_err(|error| error.to_string())
}

/// The bytes of each output of each call.
fn split(mut bytes: &[u8], ports: &[Port]) -> Vec<Vec<Vec<u8>>> {
    let mut calls = Vec::new();
    while !bytes.is_empty() {
        let mut outputs = Vec::new();
        for port in ports {
            let (output, rest) = bytes.split_at((port.bytes as usize).min(bytes.len()));
            outputs.push(output.to_vec());
            bytes = rest;
        }
        calls.push(outputs);
    }
    calls
}

fn compare(model: &Path, method: &Method, outputs: &[Vec<Vec<u8>>], calls: usize) -> Result<(), String> {
    let expected = support::recorded(model, "expected.npz").map_err(|e| e.to_string())?;
    if outputs.len() != calls {
        return Err(format!("{} calls of {calls} answered", outputs.len()));
    }
    for (call, outputs) in outputs.iter().enumerate() {
        for (index, (bytes, port)) in outputs.iter().zip(&method.outputs).enumerate() {
            let found = Tensor { element: port.element, shape: port.shape.clone(), bytes: bytes.clone() };
            let array = expected.output(call, index).ok_or("an output is not recorded")?;
            support::compare(&found, array, FLOAT_TOLERANCE).map_err(|e| format!("output {index} of call {call}: {e}"))?;
        }
    }
    Ok(())
}
