//! Real ExecuTorch programs through the interpreter, against outputs recorded with PyTorch.

mod support;

use std::path::PathBuf;

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
