//! Errors of the public API.

use crate::diagnostic::{Diagnostic, Diagnostics, Kind};
use std::fmt;

/// Errors with their location in the model and the next step. All unsupported operators of a model are in one error.
///
/// The accessors refer to the first entry; [`Error::all`] has the others. Codes keep their meaning: `docs/DIAGNOSTICS.md` lists them.
///
/// ```
/// let error = modelc::Model::open("missing.tflite").unwrap_err();
/// assert_eq!((error.code().as_str(), error.kind()), ("MC0102", modelc::ErrorKind::Io));
/// assert!(error.to_string().contains("missing.tflite"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Diagnostics>);

impl Error {
    fn first(&self) -> Option<&Diagnostic> {
        self.0.0.first()
    }

    /// Returns the code: `MC0502`.
    pub fn code(&self) -> String {
        self.first().map_or_else(String::new, |first| first.code.to_string())
    }

    /// Returns whose fault it is.
    pub fn kind(&self) -> Kind {
        self.first().map_or(Kind::Bug, Diagnostic::kind)
    }

    /// Returns the message: one sentence without a full stop.
    pub fn message(&self) -> &str {
        self.first().map_or("", |first| &first.message)
    }

    /// Returns the file, with the path as it was given.
    pub fn file(&self) -> Option<&str> {
        self.first()?.location.file.as_deref()
    }

    /// Returns the method or subgraph.
    pub fn method(&self) -> Option<&str> {
        self.first()?.location.function.as_deref()
    }

    /// Returns position and name of the operator.
    pub fn operator(&self) -> Option<(u32, &str)> {
        self.first()?.location.operator.as_ref().map(|(index, name)| (*index, name.as_str()))
    }

    /// Returns the name of the tensor.
    pub fn tensor(&self) -> Option<&str> {
        self.first()?.location.tensor.as_deref()
    }

    /// Returns the expected input.
    pub fn expected(&self) -> Option<&str> {
        self.first()?.expected.as_deref()
    }

    /// Returns the actual input.
    pub fn found(&self) -> Option<&str> {
        self.first()?.found.as_deref()
    }

    /// Returns the next step.
    pub fn help(&self) -> Option<&str> {
        self.first()?.help.as_deref()
    }

    /// Returns every entry as a separate error, including the first one.
    pub fn all(&self) -> impl Iterator<Item = Self> + '_ {
        self.0.0.iter().map(|diagnostic| Self::from(diagnostic.clone()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(Box::new(diagnostic.into()))
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Self {
        Self(Box::new(diagnostics))
    }
}

impl From<Error> for Diagnostics {
    fn from(error: Error) -> Self {
        *error.0
    }
}
