//! Error for work that has no kernel.

/// An operation that cannot be lowered, for example on a type that the back ends do not compute with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} is not compiled yet")]
pub struct Unsupported {
    /// Operation and its types.
    pub what: String,
}

impl Unsupported {
    /// Makes the error for the named work.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
