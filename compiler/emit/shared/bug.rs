//! The diagnostic of a library that cannot be written.

use crate::diagnostic::{Diagnostic, codes};

/// Makes the diagnostic of a mistake of modelc.
pub(super) fn bug(what: String) -> Diagnostic {
    Diagnostic::new(codes::OBJECT, format!("the shared library cannot be written: {what}"))
        .help("this is a mistake in modelc; please report it with the model")
}
