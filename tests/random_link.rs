//! Random graphs as objects in a C program: code for other processors computes what the interpreter computes, under emulators and with guard
//! pages. `MODELC_SEEDS` is the number of graphs for each machine, and `MODELC_FIRST_SEED` selects the first one.

#[allow(dead_code, reason = "other tests use the rest")]
mod chains;
mod linked;
mod support;

use linked::tools::*;
use linked::{Call, Linked, Outputs, Tools, alignment, weights_of};
use modelc::compile::{model_info, object_files};
use modelc::diagnostic::Kind;
use modelc::emit::{ObjectFiles, ObjectOptions};
use modelc::ir::interpret::Interpreter;
use modelc::ir::random::{self, Options};
use modelc::ir::text::{Constants, print_module};
use modelc::ir::{ElementType, Module, Tensor};
use modelc::lower::{self, Goal, Lowered};
use modelc::machine::{CpuMachine, Extension};
use modelc::{passes, pipeline, target};
use support::harness::{self, Needs};

/// Tolerance of floats. Their sums may have another order than the interpreter's, and a difference of large terms leaves a few units in the last
/// place.
const TOLERANCE: f64 = 1e-5;

/// Graphs of one program. Each costs a few objects, and each program a start of the compiler and the emulator.
const GRAPHS_A_PROGRAM: u64 = 50;

/// Calls of each graph: the second one finds the memory that the first one left.
const CALLS: usize = 2;

/// A graph that is compiled, and the outputs of the interpreter.
struct Case {
    seed: u64,
    module: Module,
    lowered: Lowered,
    files: ObjectFiles,
    calls: Vec<Call>,
    expected: Outputs,
}

/// Makes the graph of a seed: operators at random, element-wise work that joins again, rows, batches, or chains of convolutions. Machines with
/// registers of binary64 get this type in addition, and those with vectors of bytes pools of bytes.
fn graph(seed: u64, machine: &CpuMachine) -> (Module, Vec<Tensor>) {
    use ElementType::*;
    let doubles = machine.has(Extension::Doubles);
    let options = Options {
        instructions: 6,
        operators: Options::exact_operators(),
        elements: [&[F32, I8, I32, U8, Bool, I16][..], if doubles { &[F64, I64] } else { &[] }].concat(),
        scalar_operations: Options::exact_operations(),
        dynamic: false,
    };
    let (mut module, inputs) = match seed % 8 {
        0 => chains::graphs::module(seed),
        1 => chains::rows::module(seed),
        2 => chains::batches::module(seed),
        3 => {
            let (module, image) = chains::module(seed);
            (module, vec![image])
        }
        4 if machine.has(Extension::Mve) => {
            let (module, image) = chains::pools::module(seed);
            (module, vec![image])
        }
        _ => random::module(seed, &options),
    };
    module.methods.truncate(1);
    module.methods[0].name = "forward".into();
    passes::run_all(&mut module);
    (module, inputs)
}

/// Compiles the graph of a seed; `None` if it has something unsupported. Every fourth graph is compiled for small code.
fn compile(seed: u64, tools: Tools) -> Result<Option<Case>, String> {
    let machines = target::target(tools.target).and_then(|target| Ok((target, target::level(target, tools.level)?)));
    let (target, machine) = machines.map_err(|error| error.to_string())?;
    let (module, inputs) = graph(seed, machine);
    let goal = if seed / 8 % 4 == 3 { Goal::Size } else { Goal::Speed };
    let lowered = match pipeline::lower(&module, "random", lower::Options { goal, ..lower::Options::new(machine) }) {
        Ok(lowered) => lowered,
        Err(diagnostics) if diagnostics.0.iter().all(|d| d.kind() == Kind::Unsupported) => return Ok(None),
        Err(diagnostics) => return Err(diagnostics.to_string()),
    };
    let options = ObjectOptions::new(format!("g{seed}"), target, machine);
    let files = object_files(&lowered, &module, &model_info(&Vec::new(), "random"), &options).map_err(|error| error.to_string())?;
    let mut interpreter = Interpreter::new(&module);
    let expected = (0..CALLS).map(|_| interpreter.run(0, &inputs)).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let calls = (0..CALLS).map(|_| Call { method: 0, inputs: inputs.clone() }).collect();
    Ok(Some(Case { seed, module, lowered, files, calls, expected }))
}

impl Case {
    fn linked(&self) -> Linked<'_> {
        Linked {
            name: format!("g{}", self.seed),
            files: &self.files,
            methods: &self.lowered.program.methods,
            library: None,
            weights: weights_of(&self.files),
            calls: &self.calls,
        }
    }

    /// Compares the outputs of all calls with the interpreter's.
    fn compare(&self, outputs: &Outputs) -> Result<(), String> {
        for (number, (found, expected)) in outputs.iter().flatten().zip(self.expected.iter().flatten()).enumerate() {
            support::compare(found, expected, TOLERANCE).map_err(|error| format!("output {number} of all calls: {error}"))?;
        }
        Ok(())
    }
}

/// Runs graphs in one program. Returns the number of compiled ones and the failures.
fn check(seeds: std::ops::Range<u64>, tools: Tools) -> (usize, Vec<String>) {
    let (mut cases, mut failures) = (Vec::new(), Vec::new());
    for seed in seeds {
        match compile(seed, tools) {
            Ok(case) => cases.extend(case),
            Err(error) => failures.push(format!("seed {seed}: {error}")),
        }
    }
    match linked::run(&cases.iter().map(Case::linked).collect::<Vec<_>>(), tools) {
        Ok(outputs) => {
            for (case, outputs) in cases.iter().zip(&outputs) {
                let failure = case.compare(outputs).err();
                failures
                    .extend(failure.map(|error| format!("seed {}: {error}\n{}", case.seed, print_module(&case.module, Constants::Whole))));
            }
        }
        Err(error) => failures.push(error),
    }
    (cases.len(), failures)
}

/// Runs the graphs of a machine.
fn check_machine(tools: Tools) {
    let first = harness::variable("MODELC_FIRST_SEED").unwrap_or(0);
    let count = harness::variable("MODELC_SEEDS").unwrap_or(GRAPHS_A_PROGRAM);
    let (mut compiled, mut failures) = (0, Vec::new());
    for start in (first..first + count).step_by(GRAPHS_A_PROGRAM as usize) {
        let (good, bad) = check(start..(start + GRAPHS_A_PROGRAM).min(first + count), tools);
        compiled += good;
        harness::progress(|| format!("{}: {} graphs", tools.target, start + GRAPHS_A_PROGRAM - first));
        bad.iter().for_each(|failure| harness::progress(|| failure.clone()));
        failures.extend(bad);
    }
    assert!(failures.is_empty(), "{} of {count} fail on {}; the first:\n{}", failures.len(), tools.target, failures[0]);
    // Three of four were when this was written.
    assert!(compiled as u64 * 2 > count, "only {compiled} of {count} graphs are compiled");
}

/// The check of alignment ends a program with an unaligned access, and only such a program.
fn unaligned_access(tools: Tools) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = linked::compile(folder.path(), "unaligned.c", &[], tools).expect("a program");
    let code = alignment::limits(&program, &["read_word".into()]).expect("its function");
    let checks = alignment::checking(&code, tools.emulator.expect("an emulator")).expect("a plugin");
    assert_eq!(linked::execute_with(&checks, &program, &[], tools), Ok(()));
    let said = linked::execute_with(&checks, &program, &["beside".as_ref()], tools).expect_err("an unaligned access");
    assert!(said.contains("unaligned access of 4 bytes at "), "{said}");
}

/// The machines, and the names of their tests.
const MACHINES: &[(&str, Needs, fn())] = &[
    ("graphs_on_aarch64", AARCH64_TOOLS, || check_machine(AARCH64)),
    ("graphs_on_aarch64_with_dot_products", AARCH64_TOOLS, || check_machine(AARCH64_DOTPROD)),
    ("graphs_on_aarch64_with_products_of_matrices", AARCH64_TOOLS, || check_machine(AARCH64_I8MM)),
    ("graphs_on_riscv64", Needs::Tool("tools for riscv64", || RISCV64.present()), || check_machine(RISCV64)),
    ("graphs_on_cortex_m0plus", ARM_TOOLS, || check_machine(CORTEX_M0PLUS)),
    ("graphs_on_cortex_m3", ARM_TOOLS, || check_machine(CORTEX_M3)),
    ("graphs_on_cortex_m4f", ARM_TOOLS, || check_machine(CORTEX_M4F)),
    ("graphs_on_cortex_m4f_with_aligned_accesses", ARM_TOOLS, || check_machine(CORTEX_M4F_STRICT)),
    ("graphs_on_cortex_m33", ARM_TOOLS, || check_machine(CORTEX_M33)),
    ("graphs_on_cortex_m7_with_doubles", ARM_TOOLS, || check_machine(CORTEX_M7_DP)),
    ("graphs_on_cortex_m7_with_doubles_and_aligned_accesses", ARM_TOOLS, || check_machine(CORTEX_M7_DP_STRICT)),
    ("an_unaligned_access_is_noticed_on_arm", ARM_TOOLS, || unaligned_access(CORTEX_M0PLUS)),
    ("an_unaligned_access_is_noticed_on_rv32", RISCV32_TOOLS, || unaligned_access(RV32IMC)),
    ("graphs_on_cortex_m55", BOARD_TOOLS, || check_machine(CORTEX_M55)),
    ("graphs_on_cortex_m55_with_aligned_accesses", BOARD_TOOLS, || check_machine(CORTEX_M55_STRICT)),
    ("graphs_on_cortex_m55_without_an_fpu", BOARD_TOOLS, || check_machine(CORTEX_M55_NOFP)),
    ("graphs_on_rv32imc", RISCV32_TOOLS, || check_machine(RV32IMC)),
    ("graphs_on_rv32imafc", RISCV32_TOOLS, || check_machine(RV32IMAFC)),
];

/// Requirement: compiler and emulator of aarch64.
const AARCH64_TOOLS: Needs = Needs::Tool("tools for aarch64", || AARCH64.present());
/// Requirement: compiler and emulator of 32-bit Arm.
const ARM_TOOLS: Needs = Needs::Tool("tools for 32-bit Arm", || CORTEX_M4F.present());
/// Requirement: compiler and emulator of a board with Cortex-M55.
const BOARD_TOOLS: Needs = Needs::Tool("tools for Cortex-M55", || CORTEX_M55.present());
/// Requirement: compiler and emulator of 32-bit RISC-V.
const RISCV32_TOOLS: Needs = Needs::Tool("tools for 32-bit RISC-V", || RV32IMC.present());

fn main() -> std::process::ExitCode {
    harness::run(MACHINES)
}
