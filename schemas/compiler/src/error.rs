//! Errors of schemas, with position and reason.

use std::fmt;
use std::path::{Path, PathBuf};

/// A position in a schema: both numbers count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The first character of a file.
    pub(crate) const START: Position = Position { line: 1, column: 1 };
}

/// An error in a schema; printed as `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// File of the schema.
    pub file: PathBuf,
    /// Position in the file.
    pub position: Position,
    /// Text found, and text expected.
    pub message: String,
}

impl Error {
    /// Makes an error at `position` of `file`.
    pub(crate) fn new(file: &Path, position: Position, message: impl Into<String>) -> Error {
        Error { file: file.to_path_buf(), position, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(formatter, "{}:{line}:{column}: {}", self.file.display(), self.message)
    }
}

impl std::error::Error for Error {}
