//! Errors of a verified module at run time.

use crate::source::SourceData;
use std::fmt;

/// The beginning of the message where there is no memory. A field of its own would make every result of a step larger.
const NO_MEMORY: &str = "there is no memory for a tensor";

/// A failure that depends on the data, or a limit that was reached. It names where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterpretError {
    /// The operator of the tensor language; `None` for a mistake in the inputs.
    pub op: Option<&'static str>,
    /// The origin of the instruction, if it has one.
    pub source: Option<SourceData>,
    /// The message.
    pub message: String,
}

impl InterpretError {
    /// A mistake that belongs to no instruction yet.
    pub fn new(message: impl Into<String>) -> Self {
        Self { op: None, source: None, message: message.into() }
    }

    /// The error of a tensor for which there is no memory.
    pub(crate) fn no_memory(tensor: impl fmt::Display) -> Self {
        Self::new(format!("{NO_MEMORY} {tensor}"))
    }

    /// Tests whether the error is that there was no memory for a tensor.
    pub fn is_out_of_memory(&self) -> bool {
        self.message.starts_with(NO_MEMORY)
    }
}

impl fmt::Display for InterpretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = self.op {
            write!(f, "{op}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(source) = &self.source {
            let SourceData { function, operator, operator_name, tensor, .. } = source;
            write!(f, " (in {function}, operator {operator} {operator_name}, tensor {tensor:?})")?;
        }
        Ok(())
    }
}

impl std::error::Error for InterpretError {}

/// The result of a step of the interpreter.
pub(crate) type Step<T> = Result<T, InterpretError>;

/// A failure with a message.
pub(crate) fn fail<T>(message: impl Into<String>) -> Step<T> {
    Err(InterpretError::new(message))
}
