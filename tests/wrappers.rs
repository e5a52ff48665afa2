//! Wrappers in Rust and C++: strict compilers accept them for every kind of interface, and programs that use them get the right answers.

use modelc::emit::{ModelInfo, ObjectOptions};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Warnings that firmware teams turn on.
const STRICT_CPP: &[&str] =
    &["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wold-style-cast", "-Wno-missing-field-initializers", "-Werror"];

/// Models with options, each for another kind of interface.
const INTERFACES: &[(&str, &[&str])] = &[
    ("tests/models/composite.tflite", &["--bound", "in0.0=4"]),
    ("tests/models/composite.tflite", &["--weights", "external"]),
    ("tests/models/select_c64.tflite", &[]),
    ("tests/models/softmax_f16.tflite", &[]),
    ("tests/models/if_var.tflite", &[]),
    ("tests/models/executorch/areas.pte", &["--plan", "program"]),
    ("examples/digits/digits_int8.tflite", &["--memory", "sram=64K,dtcm=2K:fast", "--copy-weights", "dtcm"]),
    ("tests/models/executorch/complex_numbers.pte", &[]),
    ("tests/models/executorch/counter.pte", &[]),
    ("tests/models/executorch/decoder.pte", &[]),
    ("tests/models/executorch/vulkan_int8.pte", &["--gpu", "auto"]),
    ("examples/digits/digits_f32.tflite", &["--profile-hooks"]),
];

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

/// Runs a command; a failure shows its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Makes a folder with an object of a model, named `net`, and its wrappers.
fn compiled(model: &str, options: &[&str]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_modelc"));
    command.arg(root().join(model)).arg("-o").arg(folder.path().join("net.o")).args(["--emit", "rust", "--emit", "hpp", "--quiet"]);
    run(command.args(options));
    folder
}

/// Compiles a Rust program with an object.
fn rust_program(folder: &Path, source: &str) -> PathBuf {
    let program = folder.join("rust");
    fs::write(folder.join("main.rs"), source).expect("a file");
    let object = format!("link-arg={}", folder.join("net.o").display());
    run(Command::new("rustc").args(["--edition", "2024", "-D", "warnings", "-C", &object, "-o"]).arg(&program).arg(folder.join("main.rs")));
    program
}

/// Compiles a C++ program with an object.
fn cpp_program(folder: &Path, standard: &str, source: &str) -> PathBuf {
    let program = folder.join(format!("cpp{standard}"));
    fs::write(folder.join("main.cpp"), source).expect("a file");
    let files = [folder.join("main.cpp"), folder.join("net.o")];
    run(Command::new("c++").arg(format!("-std=c++{standard}")).args(STRICT_CPP).arg("-o").arg(&program).args(files));
    program
}

#[test]
fn strict_compilers_take_every_interface() {
    for (model, options) in INTERFACES {
        let folder = compiled(model, options);
        let path = |name: &str| folder.path().join(name);
        run(Command::new("rustc")
            .args(["--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "-D", "warnings", "-o"])
            .args([path("net.rmeta"), path("net.rs")]));
        fs::write(path("user.cpp"), "#include \"net.hpp\"\n#include \"net.hpp\"\n").expect("a file");
        for standard in ["17", "20"] {
            run(Command::new("c++").arg(format!("-std=c++{standard}")).args(STRICT_CPP).arg("-fsyntax-only").arg(path("user.cpp")));
        }
    }
}

#[test]
fn custom_operators_have_a_type_in_rust() {
    let text = include_str!("files/external.mt").split(";! ---").next().expect("a module");
    let module = modelc::ir::text::parse_module(text).expect("a module");
    let target = modelc::target::target("x86_64-linux-gnu").expect("a target");
    let machine = modelc::target::level(target, None).expect("its level");
    let lowered = modelc::pipeline::lower(&module, "text", modelc::lower::Options::new(machine)).expect("an operator that is called");
    let options = ObjectOptions::new("net", target, machine);
    let model = ModelInfo::default();
    let files = modelc::emit::object(&lowered.program, &model, &options).expect("an object");
    let rust = modelc::emit::rust_module(&lowered.program, &model, &files);
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("net.rs"), &rust).expect("a file");
    run(Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "-D", "warnings", "-o"])
        .args([path("net.rmeta"), path("net.rs")]));
    assert!(rust.contains("/// - `app_scale`\n#[allow(dead_code)]\npub type CustomOperator"));
}

#[test]
fn a_dynamic_dimension_is_a_slice_with_its_shape() {
    let folder = compiled("tests/models/composite.tflite", &["--bound", "in0.0=4"]);
    let program = rust_program(folder.path(), include_str!("wrappers/dynamic.rs"));
    assert_eq!(run(&mut Command::new(program)), "right\n");
    for standard in ["17", "20"] {
        let program = cpp_program(folder.path(), standard, include_str!("wrappers/dynamic.cpp"));
        assert_eq!(run(&mut Command::new(program)), "right\n");
    }
}

#[test]
fn a_state_is_saved_and_put_back() {
    let folder = compiled("tests/models/executorch/counter.pte", &[]);
    let program = rust_program(folder.path(), include_str!("wrappers/state.rs"));
    assert_eq!(run(&mut Command::new(program)), "right\n");
    let program = cpp_program(folder.path(), "17", include_str!("wrappers/state.cpp"));
    assert_eq!(run(&mut Command::new(program)), "right\n");
}

#[test]
fn weights_of_another_model_are_an_error() {
    let folder = compiled("examples/digits/digits_int8.tflite", &["--weights", "external"]);
    let program = rust_program(folder.path(), include_str!("wrappers/weights.rs"));
    assert_eq!(run(Command::new(program).arg(folder.path().join("net.bin"))), "right\n");
}

#[test]
fn instances_tell_which_side_runs() {
    let folder = compiled("tests/models/executorch/vulkan_int8.pte", &["--gpu", "auto"]);
    let program = rust_program(folder.path(), include_str!("wrappers/gpu.rs"));
    assert_eq!(run(&mut Command::new(program)), "right\n");
    let program = cpp_program(folder.path(), "17", include_str!("wrappers/gpu.cpp"));
    assert_eq!(run(&mut Command::new(program)), "right\n");
}
