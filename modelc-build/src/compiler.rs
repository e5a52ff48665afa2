//! The compiler: a program, or a library in this one.

use crate::Error;
use std::env;
use std::ffi::OsString;
use std::process::Command;

/// The environment variable that names the program.
pub const VARIABLE: &str = "MODELC";

/// Runs the compiler.
///
/// # Errors
/// If there is none, or it refuses the model.
pub fn run(arguments: &[OsString]) -> Result<(), Error> {
    #[cfg(feature = "library")]
    return run_library(arguments);
    #[cfg(not(feature = "library"))]
    run_program(arguments)
}

/// Runs the program.
#[cfg_attr(feature = "library", allow(dead_code, reason = "the library takes its place"))]
fn run_program(arguments: &[OsString]) -> Result<(), Error> {
    let program = env::var_os(VARIABLE).filter(|name| !name.is_empty()).unwrap_or_else(|| "modelc".into());
    let output = Command::new(&program).args(arguments).output();
    let output = output.map_err(|cause| Error::NoCompiler { program: program.to_string_lossy().into_owned(), cause })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::Refused(String::from_utf8_lossy(&output.stderr).trim_end().to_owned())),
    }
}

/// Runs the library as the program's command line does.
#[cfg(any(feature = "library", test))]
pub fn run_library(arguments: &[OsString]) -> Result<(), Error> {
    modelc::cli::embedded::compile(arguments).map(drop).map_err(|error| Error::Refused(error.to_string()))
}
