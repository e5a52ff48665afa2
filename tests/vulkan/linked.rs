//! The program in C: an object and its header, linked, and run here or in emulators.

use super::instances::inputs;
use super::program::{expected, options, program};
use super::software::{assert_silent, printed};
use crate::support::harness::{Needs, Test};
use crate::support::vulkan::SOFTWARE_DEVICE;
use modelc::codegen::vulkan::{FORMAT, GpuOptions, LoaderChoice, RuntimePlace};
use modelc::emit::{ModelInfo, ObjectFiles, ObjectOptions, runtime_object, runtime_options};
use modelc::target::{level, target};
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Requirement for programs on this computer.
pub const HERE: Needs =
    Needs::Tool("x86-64 with Linux and its C compiler", || cfg!(all(target_arch = "x86_64", target_os = "linux")) && answers("cc"));
const HERE_WITH_DEVICE: Needs = Needs::Both(&HERE, &SOFTWARE_DEVICE);
const AARCH64: Needs = Needs::Tool("C compiler and emulator for aarch64", || answers("aarch64-linux-gnu-gcc") && answers("qemu-aarch64"));
const RISCV64: Needs = Needs::Tool("C compiler and emulator for riscv64", || answers("riscv64-linux-gnu-gcc") && answers("qemu-riscv64"));

/// Tests whether a program is installed.
fn answers(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// The tests.
pub const TESTS: &[Test] = &[
    ("a_c_program_of_one_object_runs_on_a_device", HERE_WITH_DEVICE, a_c_program_of_one_object_runs_on_a_device),
    ("the_runtime_can_be_an_object_of_its_own", HERE_WITH_DEVICE, the_runtime_can_be_an_object_of_its_own),
    ("a_c_program_brings_its_own_device", HERE_WITH_DEVICE, a_c_program_brings_its_own_device),
    ("without_a_library_the_cpu_does_the_work", HERE, without_a_library_the_cpu_does_the_work),
    ("without_a_library_the_cpu_does_the_work_on_aarch64", AARCH64, without_a_library_the_cpu_does_the_work_on_aarch64),
    ("without_a_library_the_cpu_does_the_work_on_riscv64", RISCV64, without_a_library_the_cpu_does_the_work_on_riscv64),
    ("an_object_needs_the_loader_of_libraries_and_nothing_else", Needs::Nothing, an_object_needs_the_loader_of_libraries_and_nothing_else),
];

const STRICT: [&str; 6] = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];

/// Returns the path of a file of these tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vulkan").join(name)
}

/// Makes the object of the program for a target.
fn object(triple: &str, gpu: GpuOptions) -> ObjectFiles {
    let target = target(triple).unwrap();
    let options = ObjectOptions { gpu, ..ObjectOptions::new("net", target, level(target, None).unwrap()) };
    let model = ModelInfo { sha256: [7; 32], file: "hand.pte".into(), ..ModelInfo::default() };
    modelc::emit::object(&program(), &model, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Writes the object of the program and its header to a folder, and the runtime's if the object does not contain it. Returns the objects.
pub fn objects(folder: &Path, triple: &str, gpu: GpuOptions) -> Vec<PathBuf> {
    let target = target(triple).unwrap();
    let runtime = (gpu.runtime == RuntimePlace::Linked).then(|| {
        let machine = level(target, None).unwrap();
        runtime_object(target, machine, &runtime_options(target, machine, gpu.loader)).unwrap_or_else(|error| panic!("{error}"))
    });
    let files = object(triple, gpu);
    std::fs::write(folder.join("net.h"), &files.header).unwrap();
    let images = [("net.o", Some(files.object)), ("runtime.o", runtime)];
    let written = images.into_iter().filter_map(|(name, image)| {
        let path = folder.join(name);
        std::fs::write(&path, image?.to_vec()).unwrap();
        Some(path)
    });
    written.collect()
}

/// Runs a compiler, which must print no message.
pub fn compile(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Builds a C program of these tests with the object for a target.
fn linked((main, triple, compiler): (&str, &str, &str), gpu: GpuOptions, flags: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let objects = objects(folder.path(), triple, gpu);
    let program = folder.path().join("program");
    compile(
        Command::new(compiler)
            .args(STRICT)
            .args(flags)
            .arg("-I")
            .arg(folder.path())
            .arg(source(main))
            .args(objects)
            .arg("-o")
            .arg(&program),
    );
    (folder, program)
}

/// A program, its target, and its compiler.
const MAIN: (&str, &str, &str) = ("main.c", "x86_64-linux-gnu", "cc");

/// Returns the expected output of the program.
fn expected_lines() -> String {
    expected(&inputs(-2.0)).iter().map(|y| format!("{y}\n")).collect()
}

/// Splits a program's output into its first line and its results, as this test prints numbers.
fn told(text: &str) -> (String, String) {
    let mut lines = text.lines().skip_while(|line| !line.ends_with(']'));
    let first = lines.next().unwrap_or_default().to_owned();
    (first, lines.filter_map(|line| line.parse::<f32>().ok()).map(|y| format!("{y}\n")).collect())
}

pub fn a_c_program_of_one_object_runs_on_a_device() {
    let (_folder, program) = linked(MAIN, options(true), &[]);
    let text = printed(&mut Command::new(&program));
    assert_silent(&text);
    let (first, found) = told(&text);
    assert!(first.starts_with("0 1 - 0 [llvmpipe"), "{text}");
    assert_eq!(found, expected_lines());
}

pub fn the_runtime_can_be_an_object_of_its_own() {
    let gpu = GpuOptions { runtime: RuntimePlace::Linked, ..options(true) };
    let (_folder, program) = linked(MAIN, gpu, &[]);
    let text = printed(&mut Command::new(&program));
    assert_silent(&text);
    assert_eq!(told(&text).1, expected_lines());
}

pub fn a_c_program_brings_its_own_device() {
    // The object does not load a library, and accepts a software device because the application provides it.
    let gpu = GpuOptions { loader: LoaderChoice::Host, ..options(false) };
    let (_folder, program) = linked(("own_device.c", MAIN.1, MAIN.2), gpu, &[]);
    let text = printed(&mut Command::new(&program));
    assert_silent(&text);
    let (first, found) = told(&text);
    // Constants, two calls of two regions, and the wait before everything is freed.
    assert!(first.starts_with("0 1 6 6 [llvmpipe"), "{text}");
    assert_eq!(found, expected_lines());
}

/// Checks status and output of the program without a library, if a device is required and if not.
fn without_a_library(triple: &str, compiler: &str, emulator: Option<&str>) {
    for required in [false, true] {
        let (_folder, program) = linked(("main.c", triple, compiler), options(required), &["-static", "-DWITHOUT_LIBRARY"]);
        let mut command = Command::new(emulator.map_or(program.as_os_str(), |emulator| emulator.as_ref()));
        let output = command.args(emulator.map(|_| &program)).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{triple}: {} {text}", output.status);
        let (status, answers) = if required { (-9, String::new()) } else { (0, expected_lines()) };
        assert_eq!(told(&text), (format!("{status} 0 dlopen -3 []"), answers), "{triple}");
    }
}

pub fn without_a_library_the_cpu_does_the_work() {
    without_a_library("x86_64-linux-gnu", "cc", None);
}

pub fn without_a_library_the_cpu_does_the_work_on_aarch64() {
    without_a_library("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", Some("qemu-aarch64"));
}

pub fn without_a_library_the_cpu_does_the_work_on_riscv64() {
    without_a_library("riscv64-linux-gnu", "riscv64-linux-gnu-gcc", Some("qemu-riscv64"));
}

pub fn an_object_needs_the_loader_of_libraries_and_nothing_else() {
    let undefined = |gpu: GpuOptions| {
        let bytes = object("aarch64-linux-gnu", gpu).object.to_vec();
        let file = object::File::parse(&*bytes).unwrap();
        assert!(file.section_by_name(".rodata.net_device").is_some_and(|section| section.size() > 0));
        let mut names: Vec<String> = file.symbols().filter(|s| s.is_undefined()).map(|s| s.name().unwrap().to_owned()).collect();
        names.retain(|name| !name.is_empty());
        names
    };
    assert_eq!(undefined(options(false)), ["dlopen", "dlsym"]);
    let entries = ["open", "run", "close", "report"].map(|entry| format!("modelc_vulkan_{entry}_1_{FORMAT:08x}"));
    assert_eq!(undefined(GpuOptions { runtime: RuntimePlace::Linked, ..options(false) }), entries);
    assert_eq!(undefined(GpuOptions { loader: LoaderChoice::Host, ..options(false) }), Vec::<String>::new());
}
