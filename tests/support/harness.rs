//! Test programs with tests that need optional things: recorded models, a cross compiler, an emulator.
//!
//! Rust's own harness passes a test that finds nothing to do. These programs list their tests themselves. A test that lacks something is
//! reported as ignored, with the reason.

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// Requirement of a test.
#[derive(Clone, Copy)]
pub enum Needs {
    /// This repository alone.
    Nothing,
    /// A folder of the recorded models; see [`super::corpus`].
    Corpus(&'static str),
    /// A tool that may be present: a compiler, an emulator.
    Tool(&'static str, fn() -> bool),
    /// Two requirements.
    Both(&'static Needs, &'static Needs),
}

impl Needs {
    /// Returns the missing part of the requirement.
    fn missing(self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Corpus(folder) => super::corpus(folder).is_none().then(|| format!("no recorded models in {folder}")),
            Self::Tool(name, present) => (!present()).then(|| format!("no {name}")),
            Self::Both(one, other) => one.missing().or_else(|| other.missing()),
        }
    }
}

/// A test: its name, its requirement, and its function.
pub type Test = (&'static str, Needs, fn());

/// Runs the tests that the process arguments select; they are those of Rust's harness.
pub fn run(tests: &[Test]) -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |&(name, needs, test): &Test| {
        let missing = needs.missing();
        let kind = missing.clone().unwrap_or_default();
        let body = move || {
            // With `--ignored` the test runs in any case.
            test();
            Ok(())
        };
        Trial::test(name, body).with_kind(kind).with_ignored_flag(missing.is_some())
    };
    libtest_mimic::run(&arguments, tests.iter().map(trial).collect()).exit_code()
}

/// Prints the progress of a long test, if `MODELC_VERBOSE` is set; this harness captures no output.
pub fn progress(line: impl FnOnce() -> String) {
    if std::env::var_os("MODELC_VERBOSE").is_some() {
        println!("{}", line());
    }
}

/// Tests whether a case is selected: its name contains `MODELC_ONLY`, or that is not set.
pub fn is_wanted(name: &str) -> bool {
    std::env::var("MODELC_ONLY").map_or(true, |only| name.contains(&only))
}

/// Fails if fewer cases were found than required; with `MODELC_ONLY`, any number is accepted.
pub fn at_least(found: usize, least: usize, what: &str) {
    assert!(found >= least || std::env::var_os("MODELC_ONLY").is_some(), "only {found} {what}, there must be {least}");
}

/// Returns a number of the environment: of seeds, for example.
pub fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
