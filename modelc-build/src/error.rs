//! Errors of build scripts.

use std::{error, fmt, io};

/// A failure. A build script that returns it from `main` shows its message.
#[non_exhaustive]
pub enum Error {
    /// Cargo did not set an environment variable: this is no build script.
    NoBuildScript {
        /// The variable.
        variable: &'static str,
    },
    /// The compiler could not be started.
    NoCompiler {
        /// Its name or path.
        program: String,
        /// Why it could not.
        cause: io::Error,
    },
    /// The compiler refused the model, and said this.
    Refused(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBuildScript { variable } => write!(f, "{variable} is not set: only a build script of Cargo compiles models this way"),
            Self::NoCompiler { program, cause } => write!(
                f,
                "cannot start {program}: {cause}. Install modelc, or set MODELC to its path, or use the feature `library` of modelc-build"
            ),
            Self::Refused(message) => f.write_str(message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::NoCompiler { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
