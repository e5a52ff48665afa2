//! Test programs some of whose tests need what a computer may lack: recorded models, a cross compiler, an emulator.
//!
//! Rust's own harness knows of no test that turns out, when it starts, to have nothing to do: it would pass. These programs list their
//! tests themselves, and one that lacks something is reported as ignored, with what it lacks.

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// What a test needs.
#[derive(Clone, Copy)]
pub enum Needs {
    /// Nothing but this repository.
    Nothing,
    /// A folder of the recorded models; see [`super::corpus`].
    Corpus(&'static str),
    /// Something else, which is there or not: a compiler, an emulator.
    Tool(&'static str, fn() -> bool),
    /// Both of two.
    Both(&'static Needs, &'static Needs),
}

impl Needs {
    /// What is not there of it.
    fn missing(self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Corpus(folder) => super::corpus(folder).is_none().then(|| format!("no recorded models in {folder}")),
            Self::Tool(name, present) => (!present()).then(|| format!("no {name}")),
            Self::Both(one, other) => one.missing().or_else(|| other.missing()),
        }
    }
}

/// A test of a program: its name, what it needs, and what it does.
pub type Test = (&'static str, Needs, fn());

/// Runs the tests as the arguments of this process ask, which are those of Rust's own harness.
pub fn run(tests: &[Test]) -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |&(name, needs, test): &Test| {
        let missing = needs.missing();
        let kind = missing.clone().unwrap_or_default();
        let body = move || {
            // With `--ignored` the test runs all the same.
            test();
            Ok(())
        };
        Trial::test(name, body).with_kind(kind).with_ignored_flag(missing.is_some())
    };
    libtest_mimic::run(&arguments, tests.iter().map(trial).collect()).exit_code()
}

/// Says how far a long test is, if `MODELC_VERBOSE` is set: this harness captures nothing.
pub fn progress(line: impl FnOnce() -> String) {
    if std::env::var_os("MODELC_VERBOSE").is_some() {
        println!("{}", line());
    }
}

/// Whether `MODELC_ONLY`, if it is set, is a part of a case's name: the one to run of many.
pub fn is_wanted(name: &str) -> bool {
    std::env::var("MODELC_ONLY").map_or(true, |only| name.contains(&only))
}

/// Fails if fewer cases were found than there must be; with `MODELC_ONLY` there may be any number.
pub fn at_least(found: usize, least: usize, what: &str) {
    assert!(found >= least || std::env::var_os("MODELC_ONLY").is_some(), "only {found} {what}, there must be {least}");
}
