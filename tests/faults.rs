//! Search for faults: a wrong kernel is found by name, and inner tensors match the interpreter.

use modelc::bisect::{first_difference, separate_sources};
use modelc::compare::{Difference, Tolerance, compare};
use modelc::frontend::{self, LoadOptions};
use modelc::ir::interpret::Interpreter;
use modelc::ir::{Module, Op, Tensor};
use modelc::kernel::{Inst, Kernel, Region, Statement, Value};
use modelc::lower::{self, Options};
use modelc::npz::Archive;
use modelc::program::{Program, calls};
use modelc::{pipeline, target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

const TOLERANCE: Tolerance = Tolerance { relative: 1e-5, absolute: 0.0 };

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/digits").join(file)
}

fn bytes() -> Vec<u8> {
    std::fs::read(example("digits_int8.tflite")).expect("the example can be read")
}

fn inputs() -> Vec<Tensor> {
    let archive = Archive::read(&example("digits_int8.inputs.npz")).expect("recorded inputs");
    vec![archive.input(0, 0).expect("an input").clone()]
}

fn lowered() -> (Module, Program) {
    let mut module = pipeline::read(Arc::new(bytes()), "digits", &LoadOptions::default()).expect("the example is sound");
    separate_sources(&mut module);
    let machine = target::host_machine().expect("this computer has a machine description");
    let options = Options::new(machine);
    let lowered: lower::Lowered = pipeline::lower(&module, "digits", options).expect("the example compiles");
    (module, lowered.program)
}

/// Makes a kernel store zeros in its last store; earlier ones may be padding.
fn plant_fault(kernel: &mut Kernel) {
    let zero = Value::from_u32(kernel.types.len() as u32);
    let stored = store_zero(&mut kernel.body, zero).expect("the kernel stores something");
    let ty = kernel.ty(stored);
    kernel.types.push(ty);
}

fn store_zero(region: &mut Region, zero: Value) -> Option<Value> {
    for at in (0..region.statements.len()).rev() {
        match &mut region.statements[at].inst {
            Inst::Store { value, .. } => {
                let stored = std::mem::replace(value, zero);
                region.statements.insert(at, Statement { results: vec![zero].into(), inst: Inst::Constant { bits: 0 } });
                return Some(stored);
            }
            Inst::For { body, .. } | Inst::Loop { body, .. } => {
                if let Some(stored) = store_zero(body, zero) {
                    return Some(stored);
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn a_wrong_kernel_is_found_and_named() {
    let (module, sound) = lowered();
    let machine = target::host_machine().expect("a machine");
    let runs = [(0, inputs())];
    let none = first_difference(&module, &sound, machine, &runs, TOLERANCE).expect("it runs");
    assert!(none.is_none(), "{none:?}");
    let count = calls(&sound.methods[0].steps).len();
    assert!(count > 3);
    for number in 0..count {
        let mut program = sound.clone();
        let call = calls(&sound.methods[0].steps)[number];
        // Only the kernel of this call changes, since other calls may share it.
        let mut kernel = program.kernels[call.kernel].clone();
        kernel.name = format!("planted{number}");
        plant_fault(&mut kernel);
        program.kernels.push(kernel);
        let planted = program.kernels.len() - 1;
        let modelc::program::Step::Call(changed) = &mut program.methods[0].steps[number] else { panic!("the example has no branches") };
        changed.kernel = planted;
        let finding = first_difference(&module, &program, machine, &runs, TOLERANCE).expect("it runs");
        let finding = finding.unwrap_or_else(|| panic!("the fault in kernel {number} ({}) is not found", call.origin.schedule));
        assert_eq!((finding.kernel, finding.call), (format!("planted{number}"), 0));
        assert_eq!(finding.operators, call.origin.operators);
        // A tensor that a kernel makes in two steps has the name of the operator's result.
        let written = &call.origin.results[0];
        let source = written.definition.map(|(source, _)| module.sources[source].tensor.clone());
        assert_eq!(Some(finding.tensor), written.name.clone().or(source));
        let Difference::Elements { count, furthest: (_, found, expected), .. } = finding.difference else { panic!("elements differ") };
        assert!(count > 0 && found != expected);
    }
}

fn modelc(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_modelc")).args(arguments).output().expect("the command runs")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the interpreter's value of each named tensor of the file.
fn interpreted() -> BTreeMap<String, Tensor> {
    let module = frontend::load(Arc::new(bytes()), "digits", &LoadOptions::default()).expect("the example is sound");
    let mut values = BTreeMap::new();
    let mut trace = |function, inst, results: &[Tensor]| {
        let function: &modelc::ir::Function = &module.functions[function];
        let data: &modelc::ir::InstData = &function.insts[inst];
        for (&value, tensor) in data.results.iter().zip(results).filter(|_| data.op() != Op::Constant) {
            if let Some(name) = &function.values[value].name {
                values.insert(name.clone(), tensor.clone());
            }
        }
    };
    Interpreter::new(&module).run_with_trace(0, &inputs(), &mut trace).expect("it runs");
    values
}

#[test]
fn taps_are_what_the_interpreter_computes() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("out.npz");
    let model = shown(&example("digits_int8.tflite"));
    let inputs = shown(&example("digits_int8.inputs.npz"));
    let single = folder.path().join("in.npz");
    let first = Archive::read(Path::new(&inputs)).expect("recorded inputs").input(0, 0).expect("an input").clone();
    let alone = Archive { tensors: [("in0_0".to_owned(), first)].into(), ..Archive::default() };
    std::fs::write(&single, alone.to_bytes().expect("an archive")).expect("it can be written");

    let output = modelc(&["run", &model, "--inputs", &shown(&single), "--tap", "all", "--outputs", &shown(&archive)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let found = Archive::read(&archive).expect("the archive was written");
    let expected = interpreted();
    assert!(expected.len() > 3, "{expected:?}");
    for (name, value) in &expected {
        let tap = found.tensors.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", found.tensors.keys()));
        assert!(matches!(compare(tap, value, TOLERANCE), Difference::None { .. }), "{name}");
        assert!(said.contains(&format!("tap {name}: ")), "{said}");
    }
    assert!(said.contains(": compiled") && found.tensors.contains_key("out0_0"), "{said}");

    // One tensor by name, on the screen; and one that does not exist.
    let name = expected.keys().next().expect("a tensor");
    let output = modelc(&["run", &model, "--tap", name]);
    assert!(String::from_utf8_lossy(&output.stdout).contains(name.as_str()));
    assert_eq!(modelc(&["run", &model, "--tap", "no such tensor"]).status.code(), Some(2));
}

#[test]
fn bisecting_a_sound_model_says_so() {
    // Models without and with branches, loops, recurrence and variables.
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let names = ["if_plain", "if_var", "while_nested", "while_var", "lstm_basic", "seq_int_plain", "svdf_hyb", "rnnbi_f32_own"];
    let others = names.iter().map(|name| small.join(name).with_extension("tflite"));
    for model in std::iter::once(example("digits_f32.tflite")).chain(others) {
        let output = modelc(&["verify", &shown(&model), "--bisect"]);
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{}: {said}", model.display());
        assert!(said.contains("every kernel computes what the interpreter does"), "{}: {said}", model.display());
    }
}
