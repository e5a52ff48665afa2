//! C tests of `--emit test`, linked with the object: they pass here and under emulators, and detect errors.

mod linked;
mod support;

use linked::Tools;
use linked::tools::*;
use modelc::npz::Archive;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::harness::{self, Needs};

/// Objects of all levels on the processor of the emulator that has most instructions.
const AARCH64: Tools = Tools { level: None, processor: None, ..linked::tools::AARCH64 };

const STRICT: [&str; 5] = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];

fn run(program: &str, arguments: &[&str], folder: &Path) -> Output {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask setup` installs what the tests use"))
}

fn done(program: &str, arguments: &[&str], folder: &Path) {
    let output = run(program, arguments, folder);
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Writes object, header and test of a model with the name `net`.
fn write(model: &Path, more: &[&str], tools: Tools, folder: &Path) {
    let model = model.display().to_string();
    let arguments = [&[&*model, "-o", "net.o", "--emit", "test=t.c", "--target", tools.target], more].concat();
    done(env!("CARGO_BIN_EXE_modelc"), &arguments, folder);
}

/// Links and runs a test. Returns its status and its output.
fn verdict(tools: Tools, folder: &Path) -> (Option<i32>, String) {
    let (source, objects) = (folder.join("t.c").display().to_string(), [folder.join("net.o")]);
    let program = linked::compile_with(&["-O2", "-Dmodelc_puts=puts"], folder, &source, &objects, tools);
    let program = program.unwrap_or_else(|error| panic!("{}: {error}", tools.target));
    let output = linked::running(&[], &program, &[], tools).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{:?}: {error}; `cargo xtask setup` installs what the tests use", tools.emulator));
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn passes(model: &Path, more: &[&str], tools: Tools) {
    let folder = tempfile::tempdir().expect("a folder");
    write(model, more, tools, folder.path());
    let (status, said) = verdict(tools, folder.path());
    assert_eq!(status, Some(0), "{} on {}: {said}", model.display(), tools.target);
    assert!(said.trim_end().ends_with("agree"), "{said}");
}

fn own(name: &str) -> PathBuf {
    support::own("tests/models/executorch").join(name)
}

/// Returns the recorded calls of a model as arguments, with outputs of the runtime, if they are recorded.
fn recorded(model: &Path) -> [String; 4] {
    let beside = |what: &str| model.with_extension(what);
    let runtime = beside("runtime.npz");
    let expected = if runtime.exists() { runtime } else { beside("expected.npz") };
    ["--inputs".into(), beside("inputs.npz").display().to_string(), "--expected".into(), expected.display().to_string()]
}

/// Models of this repository with recorded calls: states, dynamic extents, binary64, truth values, int8, branches, several methods.
const OWN: [&str; 10] = ["counter", "attention", "branch", "image", "indices", "wide", "delegated_rows", "decoder", "methods", "shared"];

fn recorded_calls_pass(tools: Tools) {
    for name in OWN.into_iter().filter(|name| harness::is_wanted(name)) {
        let model = own(&format!("{name}.pte"));
        let calls = recorded(&model);
        passes(&model, &calls.each_ref().map(String::as_str), tools);
    }
    let digits = support::own("examples/digits/digits_int8.tflite");
    passes(&digits, &recorded(&digits).each_ref().map(String::as_str), tools);
}

fn recorded_calls_pass_here() {
    recorded_calls_pass(HERE);
}

fn recorded_calls_pass_on_aarch64() {
    recorded_calls_pass(AARCH64);
}

fn recorded_calls_pass_on_riscv64() {
    recorded_calls_pass(RISCV64);
}

/// Cores of Cortex-M with and without floats in registers, and RV32IMC.
const MICROCONTROLLERS: [Tools; 3] = [CORTEX_M0PLUS, CORTEX_M4F, RV32IMC];

fn recorded_calls_pass_on_microcontrollers() {
    MICROCONTROLLERS.into_iter().for_each(recorded_calls_pass);
}

/// A program whose file plans three memory areas, two of them provided by the application.
fn memory_areas_pass() {
    let model = own("areas.pte");
    let calls = recorded(&model);
    for tools in [HERE, AARCH64].into_iter().chain(MICROCONTROLLERS) {
        passes(&model, &[&calls.each_ref().map(String::as_str)[..], &["--plan", "program"]].concat(), tools);
    }
}

/// Returns the microcontrollers with enough memory for a model: less than 1 MB of weights.
fn microcontrollers(model: &Path) -> impl Iterator<Item = Tools> + use<> {
    let is_small = std::fs::metadata(model).is_ok_and(|data| data.len() < 1 << 20);
    MICROCONTROLLERS.into_iter().filter(move |_| is_small)
}

/// Tests two memories of the application. The fast one is never exceeded, at most half of the bytes move in the slow one, and outputs are the same.
fn two_memories_pass() {
    for (model, memory) in [("tflm-person_detect", "dtcm=16K:fast,psram=8M:slow"), ("openmv-yolov8n_192", "sram=64K:fast,psram=8M:slow")] {
        let model = support::corpus("tflite").expect("the corpus").join(model).with_extension("tflite");
        let calls = recorded(&model);
        for copied in [&[][..], &["--copy-weights", "dtcm"]] {
            if !copied.is_empty() && !memory.starts_with("dtcm") {
                continue;
            }
            let options = [&calls.each_ref().map(String::as_str)[..], &["--memory", memory], copied].concat();
            [HERE, AARCH64].into_iter().chain(microcontrollers(&model)).for_each(|tools| passes(&model, &options, tools));
        }
        let said =
            run(env!("CARGO_BIN_EXE_modelc"), &["inspect", &model.display().to_string(), "--json", "--memory", memory], Path::new("."));
        let report: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
        let areas = &report["methods"][0]["areas"]["areas"];
        let number = |area: usize, key: &str| areas[area][key].as_u64().expect("a number");
        assert!(number(0, "bytes") <= number(0, "size_bytes"));
        assert!(2 * number(1, "moved_bytes") <= number(0, "moved_bytes") + number(1, "moved_bytes"), "{areas}");
    }
}

/// `init` rejects a configuration without the areas in the header.
fn init_asks_for_memory_areas() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = own("areas.pte").display().to_string();
    done(env!("CARGO_BIN_EXE_modelc"), &[&model, "-o", "net.o", "--plan", "program"], folder.path());
    let source = support::own("tests/test_program/areas.c").display().to_string();
    done("cc", &[&STRICT[..], &["-I.", &source, "net.o", "-o", "program"]].concat(), folder.path());
    let output = run(&folder.path().join("program").display().to_string(), &[], folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // The minimum of the file's plan for the remaining tensors: two results of relu beside each other, and the two tensors of a product.
    let header = std::fs::read_to_string(folder.path().join("net.h")).expect("the header");
    assert!(header.contains("#define NET_AREA0_BYTES 480\n#define NET_AREA1_BYTES 1280\n"), "{header}");
    let said = run(env!("CARGO_BIN_EXE_modelc"), &["inspect", "program"], folder.path());
    assert!(String::from_utf8_lossy(&said.stdout).contains("; AREA0 480 B, AREA1 1,280 B"));
}

fn bundles_pass() {
    let mut bundles = support::models("executorch", "bpte");
    bundles.retain(|path| !support::stem(path).ends_with(".vulkan"));
    bundles.push(own("perceptron.bpte"));
    for bundle in bundles {
        let large = std::fs::metadata(&bundle).is_ok_and(|data| data.len() > 1 << 20);
        for tools in if large { &[HERE][..] } else { &[HERE, AARCH64] } {
            passes(&bundle, &[], *tools);
        }
    }
}

/// Methods that share a state, scalar inputs and outputs, dimensions in another order, None among the outputs.
fn programs_of_many_kinds_pass() {
    let Some(folder) = support::corpus("executorch") else { return };
    for name in ["multi_method", "mixed_io", "accum_mutable", "chlast_conv", "dyn_seq", "mlp_bf16", "mlp_f16", "intbool", "llm_tiny"] {
        let model = folder.join(format!("{name}.portable.pte"));
        let calls = recorded(&model);
        let methods: &[&str] = if name == "multi_method" { &["--calls", "forward,encode,decode"] } else { &[] };
        passes(&model, &[&calls.each_ref().map(String::as_str)[..], methods].concat(), HERE);
    }
}

/// Without archives the inputs are random, and the interpreter computes the expected outputs.
fn made_up_calls_pass() {
    for name in ["counter", "attention", "delegated_int8", "tables"] {
        passes(&own(&format!("{name}.pte")), &[], HERE);
        passes(&own(&format!("{name}.pte")), &["--method", "forward"], AARCH64);
    }
    passes(&support::own("examples/digits/digits_f32.tflite"), &[], HERE);
    let inputs = support::own("examples/digits/digits_int8.inputs.npz").display().to_string();
    passes(&support::own("examples/digits/digits_int8.tflite"), &["--inputs", &inputs], HERE);
}

/// The application passes external weights.
fn external_weights_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    write(&support::own("examples/digits/digits_int8.tflite"), &["--weights", "external", "--name", "digits"], HERE, folder.path());
    let program = "#include <stdio.h>\n#include \"net.h\"\n_Alignas(64) static unsigned char file[DIGITS_WEIGHTS_BYTES];\n\
                   int modelc_puts(const char *line) { return puts(line); }\n\
                   const void *modelc_test_weights(size_t *bytes)\n{\n  FILE *weights = fopen(\"net.bin\", \"rb\");\n  \
                   *bytes = fread(file, 1, sizeof file, weights);\n  fclose(weights);\n  return file;\n}\n\
                   int modelc_test_digits(void);\nint main(void) { return modelc_test_digits(); }\n";
    std::fs::write(folder.path().join("main.c"), program).expect("the program is written");
    done("cc", &["-O1", "-DMODELC_TEST_NO_MAIN", "main.c", "t.c", "net.o", "-o", "program"], folder.path());
    let output = run(&folder.path().join("program").display().to_string(), &[], folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A value outside the tolerance, and the message of the test about it.
fn a_changed_value_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = own("attention.pte");
    let expected = model.with_extension("expected.npz");
    let mut archive = Archive::read(&expected).unwrap_or_else(|error| panic!("{error}"));
    let name = archive.tensors.keys().next_back().expect("there is an output").clone();
    let tensor = archive.tensors.get_mut(&name).expect("it is there");
    tensor.bytes[..4].copy_from_slice(&1000f32.to_le_bytes());
    let changed = folder.path().join("changed.npz");
    std::fs::write(&changed, archive.to_bytes().expect("the archive is written")).expect("the archive is written");
    let inputs = model.with_extension("inputs.npz").display().to_string();
    for (rtol, status, says) in [("1e-3", Some(1), "element 0 is "), ("1.5", Some(0), "agree")] {
        let changed = changed.display().to_string();
        write(&model, &["--inputs", &inputs, "--expected", &changed, "--rtol", rtol], HERE, folder.path());
        let verdict = verdict(HERE, folder.path());
        assert!(verdict.0 == status && verdict.1.contains(says), "{verdict:?}");
        assert!(status == Some(0) || verdict.1.contains("expected 1.00000000e3\n"), "{verdict:?}");
    }
}

/// A test needs one function beside the object's, independent of how the compiler treats its loops.
fn tests_need_no_library() {
    let folder = tempfile::tempdir().expect("a folder");
    for model in ["wide.pte", "attention.pte"] {
        let calls = recorded(&own(model));
        write(&own(model), &calls.each_ref().map(String::as_str), HERE, folder.path());
        for level in ["-O0", "-O2", "-O3", "-Os"] {
            done("cc", &[&STRICT[..], &[level, "-ffreestanding", "-fno-stack-protector", "-c", "t.c"]].concat(), folder.path());
            let symbols = run("nm", &["-u", "t.o"], folder.path());
            let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
            let foreign = symbols.split_whitespace().filter(|name| name.len() > 1 && !name.starts_with("net_") && *name != "modelc_puts");
            let foreign: Vec<&str> = foreign.filter(|name| *name != "_GLOBAL_OFFSET_TABLE_").collect();
            assert!(foreign.is_empty(), "{level}: {foreign:?}");
        }
    }
}

/// Tests that cannot be written are rejected, and no file is written.
fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let perceptron = own("perceptron.pte");
    let model = perceptron.display().to_string();
    let other = recorded(&own("attention.pte"));
    let own_inputs = recorded(&perceptron);
    let refused: [(&[&str], i32, &str); 5] = [
        (&["--emit", "test=t.c", "--inputs", &other[1], "--expected", &other[3]], 1, "MC0502"),
        (&["--emit", "test=t.c", "--inputs", &own_inputs[1], "--expected", &other[3]], 1, "MC0517"),
        (&["--emit", "test=t.c", "--calls", "forward,backward"], 2, "backward"),
        (&["-o", "net.o", "--inputs", &own_inputs[1]], 2, "--emit test"),
        (&["-o", "net.o", "--rtol", "1"], 2, "--emit test"),
    ];
    for (arguments, status, says) in refused {
        let output = run(env!("CARGO_BIN_EXE_modelc"), &[&[&*model], arguments].concat(), folder.path());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && said.contains(says), "{arguments:?}: {said}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "{arguments:?}");
    }
    std::fs::write(folder.path().join("mine.c"), "int main(void) { return 0; }\n").expect("a file");
    let output = run(env!("CARGO_BIN_EXE_modelc"), &[&model, "--emit", "test=mine.c"], folder.path());
    assert_eq!(output.status.code(), Some(2), "a file of the user is replaced");
}

const ON_LINUX: Needs = Needs::Tool("x86-64 with Linux", || cfg!(all(target_arch = "x86_64", target_os = "linux")));

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("recorded_calls_pass_here", ON_LINUX, recorded_calls_pass_here),
        ("recorded_calls_pass_on_aarch64", Needs::Nothing, recorded_calls_pass_on_aarch64),
        ("recorded_calls_pass_on_riscv64", Needs::Nothing, recorded_calls_pass_on_riscv64),
        ("recorded_calls_pass_on_microcontrollers", Needs::Nothing, recorded_calls_pass_on_microcontrollers),
        ("bundles_pass", ON_LINUX, bundles_pass),
        ("memory_areas_pass", ON_LINUX, memory_areas_pass),
        ("init_asks_for_memory_areas", ON_LINUX, init_asks_for_memory_areas),
        ("two_memories_pass", Needs::Both(&Needs::Corpus("tflite"), &ON_LINUX), two_memories_pass),
        ("programs_of_many_kinds_pass", Needs::Both(&Needs::Corpus("executorch"), &ON_LINUX), programs_of_many_kinds_pass),
        ("made_up_calls_pass", ON_LINUX, made_up_calls_pass),
        ("external_weights_pass", ON_LINUX, external_weights_pass),
        ("a_changed_value_fails", ON_LINUX, a_changed_value_fails),
        ("tests_need_no_library", ON_LINUX, tests_need_no_library),
        ("what_does_not_fit_is_refused", Needs::Nothing, what_does_not_fit_is_refused),
    ])
}
