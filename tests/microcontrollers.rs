//! The interface of objects for microcontrollers: C programs of `tests/link` run under emulators of processors with 32 bits.
//!
//! A missing tool is a failure; `cargo xtask setup` installs the tools.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod handmade;
mod linked;
#[path = "handmade/many_calls.rs"]
mod many_calls;

use linked::tools::{CORTEX_M0PLUS, CORTEX_M4F, RV32IMC};
use linked::{Tools, alignment};
use modelc::emit::{ModelInfo, ModelRecord, ObjectFiles, ObjectOptions, WeightsPlace, weights_for};
use modelc::ir::Module;
use modelc::program::{Level, Program};
use modelc::target::{level, target};
use modelc::{Model, Settings, lower, pipeline};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Machines without and with instructions for floats, and of each instruction set.
const MACHINES: [Tools; 3] = [CORTEX_M0PLUS, CORTEX_M4F, RV32IMC];

/// A folder with objects, headers, and programs made from them.
struct Bench {
    folder: TempDir,
    tools: Tools,
}

impl Bench {
    fn new(tools: Tools) -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), tools }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn options(&self, name: &str) -> ObjectOptions {
        let target = target(self.tools.target).expect("the target is known");
        ObjectOptions::new(name, target, level(target, self.tools.level).expect("the target has a level"))
    }

    /// Lowers a module for the machine.
    fn lower(&self, module: &Module) -> Program {
        let plan = lower::Options::new(self.options("net").machine);
        pipeline::lower(module, "net", plan).unwrap_or_else(|error| panic!("{}: {error}", self.tools.target)).program
    }

    /// Writes an object and its header.
    fn add(&self, name: &str, files: &ObjectFiles) -> PathBuf {
        let object = self.path(&format!("{name}.o"));
        fs::write(&object, files.object.to_vec()).expect("the object is written");
        fs::write(self.path(&format!("{name}.h")), &files.header).expect("the header is written");
        object
    }

    /// Compiles a program of `tests/link` with warnings of the linker as errors, and without unused parts.
    fn compile(&self, source: &str, flags: &[&str], objects: &[PathBuf]) -> Result<PathBuf, String> {
        let flags = [flags, &["-Wl,--gc-sections,--fatal-warnings"]].concat();
        linked::compile_with(&flags, self.folder.path(), source, objects, self.tools)
    }

    /// Compiles and runs a program of `tests/link`. On machines that trap unaligned accesses, a plugin of the emulator looks for them.
    fn check(&self, source: &str, flags: &[&str], objects: &[PathBuf], arguments: &[&Path]) -> PathBuf {
        let failed = |error: String| -> ! { panic!("{source} on {}: {error}", self.tools.target) };
        let program = self.compile(source, flags, objects).unwrap_or_else(|error| failed(error));
        let emulator = self.tools.emulator.filter(|_| self.tools.is_aligned);
        let checks = emulator.map(|emulator| alignment::arguments(&program, objects, emulator).unwrap_or_else(|error| failed(error)));
        let checks = checks.as_ref().map_or(&[][..], |checks| checks);
        linked::execute_with(checks, &program, arguments, self.tools).unwrap_or_else(|error| failed(error));
        program
    }
}

fn build(program: &Program, options: &ObjectOptions) -> ObjectFiles {
    let model = ModelInfo { sha256: [7; 32], file: "made.tflite".into(), ..ModelInfo::default() };
    modelc::emit::object(program, &model, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Every check of every entry, in code that calls kernels and in code with rows of calls. The record stays in the program.
#[test]
fn a_model_lives_its_life() {
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let rows = ObjectOptions { small: true, ..bench.options("net") };
        for (program, options) in [(handmade::program(), bench.options("net")), (many_calls::program_of_rows(), rows)] {
            let files = build(&program, &options);
            let net = bench.add("net", &files);
            let program = bench.check("lifecycle.c", &[], &[net], &[]);
            assert_eq!(ModelRecord::find_all(&fs::read(program).expect("the program")), [files.record], "{}", tools.target);
        }
    }
}

#[test]
fn hooks_are_called_where_asked_for_and_leave_no_trace_elsewhere() {
    let program = handmade::program();
    let kernels = format!("-DFORWARD_KERNELS={}", program.methods[0].steps.len());
    for (tools, profile_hooks) in MACHINES.into_iter().flat_map(|tools| [(tools, true), (tools, false)]) {
        let bench = Bench::new(tools);
        let net = bench.add("net", &build(&program, &ObjectOptions { profile_hooks, ..bench.options("net") }));
        let flag = if profile_hooks { kernels.as_str() } else { "-DWITHOUT_HOOKS" };
        bench.check("hooks.c", &[flag], &[net], &[]);
    }
}

#[test]
fn a_custom_operator_is_a_function_of_the_program() {
    let text = include_str!("files/external.mt").split(";! ---").next().expect("a module");
    let module = modelc::ir::text::parse_module(text).expect("the module is sound");
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let net = bench.add("net", &build(&bench.lower(&module), &bench.options("net")));
        bench.check("custom.c", &[], &[net], &[]);
    }
}

#[test]
fn a_dynamic_batch_and_sequence_are_as_the_caller_says() {
    let module = modelc::ir::text::parse_module(include_str!("link/sequence.mt")).expect("the module is sound");
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let net = bench.add("net", &build(&bench.lower(&module), &bench.options("net")));
        bench.check("dynamic.c", &[], &[net], &[]);
    }
}

/// Weights of a file, and others for the same code: three more in each element of the table that `forward` adds.
#[test]
fn weights_of_a_file_are_checked_and_used() {
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let options = ObjectOptions { weights: WeightsPlace::External, ..bench.options("net") };
        let files = build(&handmade::program(), &options);
        let net = bench.add("net", &files);
        let mut other = handmade::program();
        let table: Vec<u8> = other.constants[1].data.bytes().iter().map(|byte| byte + 3).collect();
        other.constants[1].data = table.into();
        let record = modelc::emit::TopologyRecord::find(&files.object.to_vec()).expect("the object has a record");
        let new = weights_for(&[Level { machine: options.machine, program: &other }], &record).unwrap_or_else(|error| panic!("{error}"));
        let places = ["weights", "other"].map(|name| bench.path(name));
        fs::write(&places[0], files.weights.as_ref().expect("weights").to_vec()).expect("they are written");
        fs::write(&places[1], new.file.to_vec()).expect("they are written");
        bench.check("external.c", &[], &[net], &[&places[0], &places[1]]);
    }
}

#[test]
fn two_models_of_a_program_refuse_the_states_of_each_other() {
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let objects = ["net", "other"].map(|name| bench.add(name, &build(&handmade::program(), &bench.options(name))));
        bench.check("two_models.c", &[], &objects, &[]);
    }
}

#[test]
fn a_stale_header_does_not_link() {
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let net = bench.add("net", &build(&handmade::program(), &bench.options("net")));
        let mut changed = handmade::program();
        changed.methods[0].outputs[1].shape = vec![1, 3];
        fs::write(bench.path("net.h"), build(&changed, &bench.options("net")).header).expect("the header is written");
        let error = bench.compile("lifecycle.c", &[], &[net]).expect_err("the header is another object's");
        assert!(error.contains("undefined reference to `net_init_1_"), "{}: {error}", tools.target);
    }
}

/// The object takes no more stack than the header says, and the header says no more than a few registers above that.
#[test]
fn the_stack_of_the_header_is_that_of_calls() {
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let net = bench.add("net", &build(&handmade::program(), &bench.options("net")));
        bench.check("stack.c", &[], &[net], &[]);
    }
}

/// `init` rejects a configuration without the areas in the header.
#[test]
fn init_asks_for_memory_areas() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join("tests/test_program/areas.c").display().to_string();
    for tools in MACHINES {
        let bench = Bench::new(tools);
        let settings = Settings { target: Some(tools.target.into()), name: Some("net".into()), keep_plan: true, ..Settings::default() };
        let model = Model::open(root.join("tests/models/executorch/areas.pte"));
        let compiled = model.and_then(|model| model.compile(&settings)).unwrap_or_else(|error| panic!("{}: {error}", tools.target));
        let net = bench.add("net", &compiled.files);
        bench.check(&source, &[], &[net], &[]);
    }
}
