//! Kinds of diagnostics: whose fault an error is.

/// Party whose fault an error is.
///
/// ```
/// # mod modelc { pub use modelc_diagnostic::Kind as ErrorKind; }
/// assert_eq!(modelc::ErrorKind::Unsupported.name(), "unsupported");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The model or data file breaks its own format or contradicts itself.
    Invalid,
    /// The model is valid but uses a feature that this compiler does not support.
    Unsupported,
    /// A file could not be read or written.
    Io,
    /// The command line or an option is wrong.
    Usage,
    /// A mistake in modelc itself.
    Bug,
}

impl Kind {
    /// Returns the word in messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Io => "io",
            Self::Usage => "usage",
            Self::Bug => "bug",
        }
    }
}
