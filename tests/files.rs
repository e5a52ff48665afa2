//! Text tests: each `tests/files/*.mt` and `tests/schedules/*.mt` has directives, a module, and after `;! ---` the expected output.
//!
//! Directives are carried out in order:
//!
//! - `;! print`: the module's text;
//! - `;! pass = NAME, …`: rewrites applied (`all` for the whole pipeline); with inputs given, outputs must stay the same;
//! - `;! input TENSOR`: the next input of the module's first method;
//! - `;! run`: the outputs on these inputs, or the error;
//! - `;! kernels = LEVEL`: the schedule and the kernel of each call, for the machine of this name.
//!
//! The output for a text that does not parse or verify is the error. `MODELC_BLESS=1` rewrites the expected outputs.

mod support;

use modelc::ir::text::{Constants, parse_module, parse_tensor, print_module, print_tensor};
use modelc::ir::{Module, Tensor, interpret::Interpreter, verify};
use modelc::lower::Options;
use modelc::machine::{GPUS, machine};
use modelc::program::calls;
use modelc::{passes, pipeline};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const SEPARATOR: &str = ";! ---\n";

#[test]
fn files() {
    check_folder("tests/files");
}

#[test]
fn schedules() {
    check_folder("tests/schedules");
}

fn check_folder(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "mt"));
    paths.sort();
    assert!(!paths.is_empty(), "there are text tests");
    let bless = std::env::var_os("MODELC_BLESS").is_some_and(|v| v == "1");
    let mut failures = String::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (test, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let output = run(test);
        if bless {
            std::fs::write(&path, format!("{test}{SEPARATOR}{output}")).unwrap();
        } else if output != expected {
            let _ = writeln!(failures, "{}:\n{}", path.display(), difference(expected, &output));
        }
    }
    assert!(failures.is_empty(), "MODELC_BLESS=1 accepts what is found:\n{failures}");
}

/// Formats the first lines that differ.
fn difference(expected: &str, found: &str) -> String {
    let (mut expected, mut found) = (expected.lines(), found.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (expected.next(), found.next()) {
            (None, None) => return "line ends differ".into(),
            (a, b) if a == b => {}
            (a, b) => return format!("  output line {number}\n  expected: {}\n     found: {}", a.unwrap_or(""), b.unwrap_or("")),
        }
    }
}

fn run(test: &str) -> String {
    let mut module = match parse_module(test) {
        Ok(module) => module,
        Err(error) => return format!("parse error: {error}\n"),
    };
    if let Err(error) = verify(&module) {
        return format!("verify error: {error}\n");
    }
    check_round_trip(&module);
    let mut output = String::new();
    let mut inputs: Vec<Tensor> = Vec::new();
    for directive in test.lines().filter_map(|line| line.strip_prefix(";! ")) {
        let (word, rest) = directive.split_once([' ', '=']).unwrap_or((directive, ""));
        let rest = rest.trim_start_matches([' ', '=']);
        match word {
            "print" => output.push_str(&print_module(&module, Constants::Whole)),
            "input" => inputs.push(parse_tensor(rest).unwrap_or_else(|e| panic!("{directive}: {e}"))),
            "run" => output.push_str(&outputs(&module, &inputs)),
            "kernels" => output.push_str(&kernels(&module, rest)),
            "pass" => {
                let before = outputs(&module, &inputs);
                rest.split(',').for_each(|name| apply(&mut module, name.trim()));
                assert_eq!(outputs(&module, &inputs), before, "{directive} changes what this computes:\n{test}");
                check_round_trip(&module);
            }
            _ => panic!("unknown directive {directive:?}"),
        }
    }
    output
}

fn apply(module: &mut Module, name: &str) {
    if name == "all" {
        passes::run_all(module);
    } else {
        let pass = passes::PASSES.iter().find(|pass| pass.name == name).unwrap_or_else(|| panic!("there is no pass {name:?}"));
        (pass.run)(module);
    }
    if let Err(error) = verify(module) {
        panic!("{name} breaks the module: {error}\n{}", print_module(module, Constants::Elided));
    }
}

/// Lowers the module for a machine; each kernel stands once, below the schedule of its first call.
fn kernels(module: &Module, level: &str) -> String {
    let of_gpu = || GPUS.iter().find(|gpu| gpu.level == level).map(support::as_cpu);
    let machine = machine(level).or_else(of_gpu).unwrap_or_else(|| panic!("no machine {level:?}"));
    let lowered = match pipeline::lower(module, "module", Options::new(machine)) {
        Ok(lowered) => lowered,
        Err(errors) => return format!("; error: {errors}\n"),
    };
    let mut shown = BTreeSet::new();
    let mut text = String::new();
    for call in lowered.program.methods.iter().flat_map(|method| calls(&method.steps)) {
        if shown.insert(call.kernel) {
            let _ = write!(text, "; {level}: {}\n{}", call.origin.schedule, lowered.program.kernels[call.kernel]);
        }
    }
    text
}

fn outputs(module: &Module, inputs: &[Tensor]) -> String {
    if module.methods.is_empty() {
        return String::new();
    }
    match Interpreter::new(module).run(0, inputs) {
        Ok(outputs) => outputs.iter().map(|tensor| format!("; {}\n", print_tensor(tensor))).collect(),
        Err(error) => format!("; error: {error}\n"),
    }
}

/// Checks that printed text parses to a module with the same text.
fn check_round_trip(module: &Module) {
    let text = print_module(module, Constants::Whole);
    let again = parse_module(&text).unwrap_or_else(|e| panic!("what was printed does not parse: {e}\n{text}"));
    verify(&again).unwrap_or_else(|e| panic!("what was parsed again does not verify: {e}\n{text}"));
    assert_eq!(print_module(&again, Constants::Whole), text);
}
