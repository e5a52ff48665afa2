//! The error of code that cannot be placed.

use crate::diagnostic::{Diagnostic, codes};

/// Returns the error for code that could not be placed in memory.
pub(super) fn failed(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::PLACEMENT, format!("the code could not be placed in memory: {error}"))
        .help("this is a mistake in modelc; please report it with the model")
}
