//! Real ExecuTorch programs through the interpreter, against outputs recorded with PyTorch.

mod support;

use modelc::frontend::bundled;
use modelc::ir::Tensor;
use modelc::ir::data::Bytes;
use modelc::ir::interpret::Interpreter;
use std::path::PathBuf;
use std::sync::Arc;

/// Sums are taken in another order than PyTorch's; the rest is rounding of the mathematical functions.
const FLOAT_TOLERANCE: f64 = 1e-5;

fn programs(wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Some(folder) = support::corpus("executorch") else { return Vec::new() };
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut programs: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    programs.retain(|path| path.extension().is_some_and(|e| e == "pte"));
    programs.retain(|path| path.file_stem().is_some_and(|stem| wanted(&stem.to_string_lossy())));
    programs.sort();
    programs
}

#[test]
fn portable_programs_match_their_recorded_outputs() {
    let names = ["addmul", "mlp", "lenet", "cond"].map(|name| format!("{name}.portable"));
    let mut failures = Vec::new();
    for program in programs(|name| names.iter().any(|wanted| wanted == name)) {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match support::check_interpreted(&program, FLOAT_TOLERANCE) {
            Ok(worst) => println!("{name}: {worst:.1e}"),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn bundles_hold_a_program_and_cases_that_it_passes() {
    let Some(folder) = support::corpus("executorch") else { return };
    for name in ["mlp", "lenet", "dscnn_kws"] {
        let path = folder.join(format!("{name}.portable.bpte"));
        let bytes: Arc<dyn Bytes> = Arc::new(std::fs::read(&path).expect("the bundle can be read"));
        let (program, suites) = bundled::load(&bytes).expect("the bundle is sound");
        let beside = std::fs::read(path.with_extension("pte")).expect("the program can be read");
        assert_eq!(program.bytes(), beside, "{name}: the program inside");
        let module = support::load(&path).expect("the program loads");
        let cases: Vec<_> = suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (&suite.method, case))).collect();
        assert!(!cases.is_empty(), "{name} has test cases");
        for (method, case) in cases {
            let number = module.methods.iter().position(|m| m.name == *method).expect("the method exists");
            let inputs: Vec<Tensor> = case.inputs.iter().flatten().cloned().collect();
            let outputs = Interpreter::new(&module).run(number, &inputs).expect("the method runs");
            for (output, expected) in outputs.iter().zip(case.outputs.iter().flatten()) {
                support::compare(output, expected, FLOAT_TOLERANCE).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}

#[test]
#[ignore = "measures every portable program; some are not supported yet"]
fn survey_of_portable_programs() {
    for program in programs(|name| name.ends_with(".portable")) {
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match support::check_interpreted(&program, 1e-3) {
            Ok(worst) => println!("{name}: {worst:.1e}"),
            Err(error) => println!("FAILS {name}: {error}"),
        }
    }
}
