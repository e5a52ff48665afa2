//! Errors of code generation.

/// The reason why a kernel has no machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// A machine or target without a back end, or an instruction that it cannot do. The user asked for too much.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A mistake of ours: a kernel that breaks a rule of its language, or invalid machine code.
    #[error("internal error: {0}")]
    Bug(String),
}
