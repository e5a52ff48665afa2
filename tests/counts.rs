//! Executed instructions of code for aarch64, Cortex-M and RISC-V, held to the recorded ones: see `cargo xtask count`.

#[path = "counts/layers.rs"]
mod layers;
#[path = "counts/page.rs"]
mod page;
#[path = "counts/readme.rs"]
mod readme;
mod support;

use std::path::Path;
use support::harness::{self, Needs};
use xtask::count::table::{Row, differences};
use xtask::count::{Session, TOLERANCE, missing, model, recorded};

/// Tools that counting needs.
const TOOLS: Needs = Needs::Tool("emulators and compilers that count", || missing().is_empty());

/// Models of more instructions are left to `cargo xtask count`: emulating them takes seconds.
const MOST: u64 = 30_000_000;

/// Instructions of `--optimize size`, as a multiple of those of `--optimize speed`.
const MOST_OF_SMALL: f64 = 1.4;

/// Models that are held at least.
const LEAST_MODELS: usize = 10;

fn models_execute_as_many_instructions_as_recorded() {
    let mut record = recorded().unwrap_or_else(|error| panic!("{error}"));
    record.retain(|row| row.counts.all() <= MOST && model(&row.model).is_file() && harness::is_wanted(&row.model));
    let mut models: Vec<&str> = record.iter().map(|row| row.model.as_str()).collect();
    models.dedup();
    harness::at_least(models.len(), LEAST_MODELS, "models are recorded");
    let session = Session::new(Path::new(env!("CARGO_BIN_EXE_modelc"))).unwrap_or_else(|error| panic!("{error}"));
    let count = |row: &Row| {
        let counts = session
            .count(&model(&row.model), &row.level, "speed")
            .unwrap_or_else(|error| panic!("{} at {}: {error}", row.model, row.level));
        harness::progress(|| format!("{} at {}: {}", row.model, row.level, counts.all()));
        Row { counts, ..row.clone() }
    };
    let rows: Vec<Row> = record.iter().map(count).collect();
    let found = differences(&record, &rows, TOLERANCE);
    assert!(found.is_empty(), "if they are to differ, bless `MODELC_BLESS=1 cargo xtask count`:\n{}", found.join("\n"));
}

fn small_code_executes_at_most_two_fifths_more() {
    let mut record = recorded().unwrap_or_else(|error| panic!("{error}"));
    record.retain(|row| !row.level.starts_with("aarch64") && model(&row.model).is_file() && harness::is_wanted(&row.model));
    harness::at_least(record.len(), LEAST_MODELS, "models of microcontrollers are recorded");
    let session = Session::new(Path::new(env!("CARGO_BIN_EXE_modelc"))).unwrap_or_else(|error| panic!("{error}"));
    let mut slow = Vec::new();
    for Row { model: name, level, counts } in &record {
        let small = session.count(&model(name), level, "size").unwrap_or_else(|error| panic!("{name} at {level}: {error}")).all();
        let ratio = small as f64 / counts.all() as f64;
        harness::progress(|| format!("{name} at {level}: {ratio:.2} times"));
        if ratio > MOST_OF_SMALL {
            slow.push(format!("{name} at {level}: {small} instructions with `--optimize size`, {ratio:.2} times those for speed"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

fn main() -> std::process::ExitCode {
    harness::run(&[
        (
            "models_execute_as_many_instructions_as_recorded",
            Needs::Both(&Needs::Corpus("tflite"), &TOOLS),
            models_execute_as_many_instructions_as_recorded,
        ),
        (
            "small_code_executes_at_most_two_fifths_more",
            Needs::Both(&Needs::Corpus("tflite"), &TOOLS),
            small_code_executes_at_most_two_fifths_more,
        ),
        ("the_table_of_readme_holds", Needs::Nothing, readme::the_table_of_readme_holds),
        ("the_page_of_microcontrollers_holds", Needs::Both(&Needs::Corpus("tflite"), &TOOLS), page::the_page_of_microcontrollers_holds),
    ])
}
