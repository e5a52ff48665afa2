//! What can go wrong between a kernel and its machine code.

/// A kernel that has no machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// The machine or the target cannot be generated for; the user asked for too much.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A mistake of ours: a kernel that breaks a rule of its language, or machine code that may not be.
    #[error("internal error: {0}")]
    Bug(String),
}
