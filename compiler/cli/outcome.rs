//! The outcome of a command.

/// Outcome of a command without an error.
pub enum Outcome {
    /// Success.
    Done,
    /// Outputs differ from the expected ones.
    Differs,
}
