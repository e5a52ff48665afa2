//! Errors of translating an instruction.

use crate::diagnostic::{Diagnostic, codes};
use crate::ir::scalar::ExpressionError;
use crate::ir::{Extent, TypeError};
use crate::operators::Error;

/// The reason why an instruction has no translation.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A diagnostic to report.
    Reported(Diagnostic),
    /// Two extents that must be equal, but are not known to be.
    Unequal(Extent, Extent),
    /// A consequence of an instruction already reported.
    Consequence,
}

impl Fault {
    /// Reports a program that contradicts itself.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Reported(Diagnostic::new(codes::ARGUMENTS, message))
    }

    /// Reports a sound program that uses an unsupported feature.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::Reported(Diagnostic::new(codes::PROGRAM_UNSUPPORTED, message))
    }

    /// Adds the node of a delegate's graph in which the error is.
    pub fn at_node(self, index: usize, name: &str) -> Self {
        match self {
            Self::Reported(diagnostic) => {
                let message = format!("{name}, node {index} of the delegate: {}", diagnostic.message);
                Self::Reported(Diagnostic { message, ..diagnostic })
            }
            other => other,
        }
    }

    /// Adds the expected and the actual value.
    pub fn expected(self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        match self {
            Self::Reported(diagnostic) => Self::Reported(diagnostic.expected(expected, found)),
            other => other,
        }
    }

    /// Adds advice.
    pub fn help(self, help: impl Into<String>) -> Self {
        match self {
            Self::Reported(diagnostic) => Self::Reported(diagnostic.help(help)),
            other => other,
        }
    }
}

impl From<Diagnostic> for Fault {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Reported(diagnostic)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let fault = match &error {
            Error::Type(error) => return error.clone().into(),
            Error::Expression(error) => return error.clone().into(),
            Error::FixedExtent { extent, must_be } => return Self::Unequal(*extent, Extent::Static(*must_be)),
            Error::UnrelatedExtents { a, b } => return Self::Unequal(*a, *b),
            _ if error.is_limit() => Self::unsupported(error.to_string()),
            _ => Self::invalid(error.to_string()),
        };
        let fault = match error.expectation() {
            Some((expected, found)) => fault.expected(expected, found),
            None => fault,
        };
        match error.help() {
            Some(help) => fault.help(help),
            None => fault,
        }
    }
}

impl From<TypeError> for Fault {
    fn from(error: TypeError) -> Self {
        Self::invalid(format!("the operands do not match each other: {}", error.misfit))
    }
}

impl From<ExpressionError> for Fault {
    fn from(error: ExpressionError) -> Self {
        Self::unsupported(format!("not defined on these element types: {error}"))
    }
}
