//! Real models as objects in a C program, here and under emulators, against recorded outputs; and equal, bit for bit, to the JIT.

mod support;

use modelc::emit::{ModelInfo, ObjectOptions, object};
use modelc::ir::Tensor;
use modelc::jit::Jit;
use modelc::lower::{Options, PlanSource};
use modelc::npz;
use modelc::pipeline;
use modelc::plan::Effort;
use modelc::program::{Method, Port};
use modelc::target::{level, target};
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
const MODELS: &[&str] = &["mlperftiny-", "tflm-hello_world", "tflm-micro_speech_quantized", "tflm-person_detect.tflite"];
/// A sample of each kind for emulators, which are slow: dense, convolutions, depthwise convolutions; int8 and f32.
const SAMPLE: &[&str] = &[
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

fn check(model: &Path, tools: Tools) -> Result<(), String> {
    let target = target(tools.0).unwrap();
    let machine = level(target, None).unwrap();
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let bytes = fs::read(model).map_err(|e| text(&e))?;
    let module = pipeline::read(Arc::new(bytes), "model", &modelc::frontend::LoadOptions::default()).map_err(|e| text(&e))?;
    let options = Options { machine, effort: Effort::Normal, plan: PlanSource::Own };
    let program = pipeline::lower(&module, "model", options).map_err(|e| text(&e))?.program;
    let calls = recorded_inputs(model, &program.methods[0])?;

    let options = ObjectOptions::new("net", target, machine);
    let files = object(&program, &ModelInfo { sha256: [0; 32], file: String::new() }, &options).map_err(|e| text(&e))?;
    let folder = tempfile::tempdir().map_err(|e| text(&e))?;
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).map_err(|e| text(&e));
    write("net.o", &files.object)?;
    write("net.h", files.header.as_bytes())?;
    write("runner.h", runner(&program.methods[0]).as_bytes())?;
    write("inputs", &calls.iter().flatten().flatten().copied().collect::<Vec<_>>())?;
    let outputs = run(folder.path(), tools)?;

    let outputs = split(&outputs, &program.methods[0].outputs);
    compare(model, &program.methods[0], &outputs, calls.len())?;
    if tools.2.is_none() {
        let jit = Jit::new(&program, machine).map_err(|e| text(&e))?;
        let mut instance = jit.instance().map_err(|e| text(&e))?;
        let mut found = Vec::new();
        for (call, expected) in calls.iter().zip(&outputs) {
            let slices: Vec<&[u8]> = call.iter().map(Vec::as_slice).collect();
            instance.call(0, &slices, &mut found).map_err(|e| text(&e))?;
            if found != *expected {
                return Err("the JIT and the object differ".into());
            }
        }
    }
    Ok(())
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
fn run(folder: &Path, (_, compiler, emulator): Tools) -> Result<Vec<u8>, String> {
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
    finish(execute.arg(folder.join("inputs")).arg(folder.join("outputs")))?;
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
