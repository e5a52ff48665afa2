//! Properties of every kernel that schedules write, for every machine: its text is read back, and passes preserve its results. The kernels are
//! those of this repository's models and of random modules.

mod support;
#[path = "passes/texts.rs"]
mod texts;

use modelc::ir::Module;
use modelc::ir::Tensor;
use modelc::ir::random::{self, Options};
use modelc::kernel::intervals::Assumed;
use modelc::kernel::passes::{KNOWN, PASSES, Pass, WHOLE, grid, narrow, range};
use modelc::kernel::text::{canonical, parse_kernel, parse_kernels};
use modelc::kernel::verify::verify;
use modelc::kernel::{Buffer, BufferData, BufferKind, Inst, Kernel, Statement, Value};
use modelc::lower;
use modelc::machine::MACHINES;
use modelc::program::Program;
use modelc::{passes, pipeline};
use std::collections::HashSet;
use support::program::Memory;

/// Returns the distinct kernels of modules.
fn kernels(modules: impl Iterator<Item = (String, Module)>) -> Vec<Kernel> {
    let mut known = HashSet::new();
    for (name, module) in modules {
        for machine in MACHINES {
            let Ok(lowered) = pipeline::lower(&module, &name, lower::Options::new(machine)) else { continue };
            known.extend(lowered.program.kernels);
        }
    }
    known.into_iter().collect()
}

/// Returns the models of this repository.
fn models() -> impl Iterator<Item = (String, Module)> {
    let folders = [("tests/models", "tflite"), ("tests/models/executorch", "pte"), ("examples/digits", "tflite")];
    let paths = folders.into_iter().flat_map(|(folder, extension)| support::models_in(&support::own(folder), extension));
    paths.filter_map(|path| Some((support::stem(&path), support::load(&path).ok()?))).map(|(name, mut module)| {
        passes::run_all(&mut module);
        (name, module)
    })
}

/// Returns random modules; `MODELC_SEEDS` sets their number.
fn random_modules() -> impl Iterator<Item = (String, Module)> {
    let seeds = support::harness::variable("MODELC_SEEDS").unwrap_or(150);
    (0..seeds).map(|seed| (format!("seed {seed}"), random::module(seed, &Options::default()).0))
}

/// Checks that the text of a kernel is read back to a kernel with the same text. The kernels are equal except for fields that no text has.
fn check_text(kernel: &Kernel) {
    let text = kernel.to_string();
    let parsed = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(parsed.to_string() == text, "{text}\n---\n{parsed}");
    assert!(canonical(&parsed) == canonical(kernel), "{text}");
}

#[test]
fn kernels_of_models_parse() {
    let kernels = kernels(models());
    assert!(kernels.len() > 200, "{} kernels", kernels.len());
    kernels.iter().for_each(check_text);
    let text: String = kernels.iter().map(|kernel| format!("{kernel}\n")).collect();
    assert_eq!(parse_kernels(&text).map(|parsed| parsed.len()), Ok(kernels.len()));
}

#[test]
fn kernels_of_random_modules_parse() {
    let kernels = kernels(random_modules());
    assert!(kernels.len() > 200, "{} kernels", kernels.len());
    kernels.iter().for_each(check_text);
}

/// A change of kernels, by name.
type Change = (&'static str, Box<dyn Fn(&Kernel) -> Kernel>);

/// The passes that need nothing but the kernel, and those that not every kernel needs.
fn passes() -> impl Iterator<Item = Pass> {
    PASSES.into_iter().chain([KNOWN, WHOLE])
}

/// Tests whether a kernel reads an operand that starts inside its output. It is copied from front to back, before its place is overwritten.
fn slides(kernel: &Kernel) -> bool {
    let stem = kernel.name.trim_start_matches("op").trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start_matches('_');
    let moves = MOVEMENTS.iter().any(|name| stem.starts_with(name));
    let stores = |buffer: Buffer| kernel.statements().any(|s| matches!(s.inst, Inst::Store { buffer: stored, .. } if stored == buffer));
    moves && kernel.pointer_params().any(|(buffer, data)| data.kind == BufferKind::Output && !stores(buffer))
}

/// Names of kernels that only move elements.
const MOVEMENTS: [&str; 8] = ["bitcast", "broadcast", "concat", "copy", "pad", "reshape", "slice", "transpose"];

/// Returns the counter of the loop at which a search for ranges ends because it is not marked. It is the first loop that accesses an output, or that
/// loop inside marked ones.
fn first_in_order(kernel: &Kernel) -> Option<Value> {
    let is_output = |inst: &Inst| inst.buffer().is_some_and(|buffer| kernel.buffer(buffer).kind == BufferKind::Output);
    let works = |statement: &&Statement| {
        let mut works = false;
        statement.for_each(&mut |inst| works |= is_output(inst));
        works
    };
    let mut region = &kernel.body;
    while let Some(Statement { inst: Inst::For { each, body, .. }, .. }) = region.statements.iter().find(works) {
        if !each {
            return body.params.first().copied();
        }
        region = body;
    }
    None
}

/// Returns the loop of a kernel that ranges would divide if its schedule marked it: it is independent by its indices. Outputs overlap if one is only
/// read.
fn unmarked(kernel: &Kernel) -> Option<String> {
    let counter = first_in_order(kernel).filter(|_| kernel.integers == 0 && !slides(kernel))?;
    let is_output = |data: &BufferData| data.kind == BufferKind::Output;
    let overlap = kernel.pointer_params().any(|(buffer, data)| is_output(data) && !kernel.writes(buffer));
    let first = kernel.pointer_params().position(|(_, data)| is_output(data)).unwrap_or(0);
    let place = |(number, (_, data))| if overlap && is_output(data) { (first, 0) } else { (number, 0) };
    let places = kernel.pointer_params().enumerate().map(place).collect();
    let independent = grid::unmarked(kernel, &[], &Assumed::default(), &places).contains(&counter);
    let mut marked = kernel.clone();
    marked.body.for_each_statement_mut(&mut |statement| {
        if let Inst::For { each, body, .. } = &mut statement.inst {
            *each |= body.params.first() == Some(&counter);
        }
    });
    (independent && range::of_rounds(&marked, &places).is_some()).then(|| format!("rounds of {counter} in\n{kernel}"))
}

#[test]
fn schedules_mark_independent_rounds() {
    let kernels = kernels(models().chain(random_modules()));
    let unmarked: Vec<String> = kernels.iter().flat_map(unmarked).collect();
    assert!(unmarked.is_empty(), "{}", unmarked.join("\n"));
    let marks = |kernel: &&Kernel| kernel.statements().any(|statement| matches!(statement.inst, Inst::For { each: true, .. }));
    assert!(kernels.iter().filter(marks).count() > 50);
}

/// Returns each pass alone, and all passes one after the other.
fn changes() -> Vec<Change> {
    let mut changes: Vec<Change> = vec![("narrow", Box::new(|kernel| narrow(kernel, &Assumed::default())))];
    for pass in passes() {
        changes.push((pass.name, Box::new(move |kernel| pass.of(kernel))));
    }
    let all = |kernel: &Kernel| PASSES.iter().fold(kernel.clone(), |kernel, pass| pass.of(&kernel));
    changes.push(("all", Box::new(move |kernel| narrow(&all(kernel), &Assumed::default()))));
    changes
}

/// Returns the outputs of two calls as bytes.
fn outputs(program: &Program, inputs: &[Tensor]) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let mut memory = Memory::new(program);
    (0..2).map(|_| memory.call(&program.methods[0], inputs)).collect()
}

/// Checks that changed kernels are valid, are read back from their text, and compute the same. Returns `false` if nothing can be compared: a
/// driver sets extents, and random numbers may be invalid shift counts.
fn check_changes(name: &str, module: &Module, inputs: &[Tensor], machine: &'static modelc::machine::CpuMachine) -> bool {
    let Ok(lowered) = pipeline::lower(module, name, lower::Options::new(machine)) else { return false };
    let mut program = lowered.program;
    let kernels = std::mem::take(&mut program.kernels);
    let run = |program: &mut Program, kernels: Vec<Kernel>| {
        program.kernels = kernels;
        outputs(program, inputs)
    };
    let wanted = run(&mut program, kernels.clone());
    for (change, apply) in changes() {
        let changed: Vec<Kernel> = kernels.iter().map(&*apply).collect();
        for (kernel, changed) in kernels.iter().zip(&changed) {
            assert_eq!(verify(changed), Ok(()), "{change} of {name} on {}\n{kernel}\n{changed}", machine.level);
            check_text(changed);
        }
        if wanted.is_ok() {
            let found = run(&mut program, changed);
            assert!(found == wanted, "{change} of {name} on {}: {found:?} instead of {wanted:?}", machine.level);
        }
    }
    wanted.is_ok()
}

#[test]
fn passes_leave_what_random_modules_compute() {
    let options = Options::default();
    let seeds = support::harness::variable("MODELC_SEEDS").unwrap_or(150);
    let mut checked = 0;
    for seed in 0..seeds {
        let (mut module, inputs) = random::module(seed, &options);
        passes::run_all(&mut module);
        let machine = &MACHINES[seed as usize % MACHINES.len()];
        checked += u64::from(check_changes(&format!("seed {seed}"), &module, &inputs, machine));
    }
    assert!(checked * 5 > seeds, "{checked} of {seeds} modules are compiled");
}

#[test]
fn passes_leave_what_models_compute() {
    let mut checked = 0;
    let folders = [("tests/models", "tflite"), ("tests/models/executorch", "pte")];
    let paths: Vec<_> = folders.into_iter().flat_map(|(folder, extension)| support::models_in(&support::own(folder), extension)).collect();
    for (number, path) in paths.iter().enumerate() {
        let Ok(mut module) = support::load(path) else { continue };
        let Ok(recorded) = support::recorded(path, "inputs.npz") else { continue };
        let Ok(inputs) = support::arguments(&module, &module.methods[0], &recorded, 0) else { continue };
        passes::run_all(&mut module);
        checked += usize::from(check_changes(&support::stem(path), &module, &inputs, &MACHINES[number % MACHINES.len()]));
    }
    assert!(checked > 40, "{checked} models");
}
