//! The error for what has no kernel.

/// What cannot be lowered: an operation on a type that the back ends do not compute with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} is not compiled yet")]
pub struct Unsupported {
    /// The operation and its types.
    pub what: String,
}

impl Unsupported {
    /// An error that names something.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
