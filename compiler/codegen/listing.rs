//! Kernels as text: in Cranelift's language, and as machine instructions.

pub use super::back_end::Listing;
use super::compile::prepared;
use super::failure::{self, guarded};
use super::select::back_end;
use modelc_diagnostic::Diagnostic;
use modelc_program::Level;
use modelc_target::Target;
use std::fmt::Write;

/// Prints all kernels of a program for a CPU level, each below its name.
///
/// # Errors
/// The errors of [`super::compile`].
pub fn listing(level: &Level<'_>, target: &Target, what: Listing) -> Result<String, Diagnostic> {
    let &Level { machine, program } = level;
    let back_end = back_end(machine, target).map_err(|error| failure::diagnostic(&error, "the target"))?;
    let mut text = String::new();
    for (number, kernel) in program.kernels.iter().enumerate() {
        let body = guarded(&kernel.name, || back_end.listing(&prepared(level, number), what))?;
        let _ = writeln!(text, "; {} for {}\n{}", kernel.name, machine.level, body.trim_end());
    }
    Ok(text)
}
