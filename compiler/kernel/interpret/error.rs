//! Errors of running kernels.

/// Error of a running kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpretError {
    /// An access to an element that the buffer does not have.
    #[error("kernel {kernel}: {access} of element {index} of buffer {buffer}, which has {elements}")]
    OutOfBounds {
        /// The kernel's name.
        kernel: String,
        /// The access: a load or a store.
        access: &'static str,
        /// The buffer's name.
        buffer: String,
        /// The first element outside.
        index: i64,
        /// The number of elements.
        elements: u64,
    },
    /// A store to an input buffer.
    #[error("kernel {kernel}: a store to the input {buffer}")]
    ReadOnly {
        /// The kernel's name.
        kernel: String,
        /// The buffer's name.
        buffer: String,
    },
    /// A race of two positions of a grid: one of them writes an element that the other accesses.
    #[error("kernel {kernel}: positions {} and {} meet in element {index} of buffer {buffer}", positions[0], positions[1])]
    Race {
        /// The kernel's name.
        kernel: String,
        /// The positions. The one that ran later is last.
        positions: [u32; 2],
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: u64,
    },
    /// A race of two independent rounds or ranges: one of them writes an element that the other accesses.
    #[error("kernel {kernel}: rounds {} and {} meet in element {index} of buffer {buffer}", rounds[0], rounds[1])]
    Meeting {
        /// The kernel's name.
        kernel: String,
        /// The counters of the rounds, or the first rounds of the ranges. The one that ran later is last.
        rounds: [i64; 2],
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: u64,
    },
    /// Arguments that do not fit the kernel's parameters.
    #[error("kernel {kernel}: {message}")]
    Arguments {
        /// The kernel's name.
        kernel: String,
        /// Description of the mistake.
        message: String,
    },
    /// A broken rule of the language.
    #[error("kernel {kernel}: {value}: {message}")]
    Rule {
        /// The kernel's name.
        kernel: String,
        /// The defined value, or `-`.
        value: String,
        /// Description of the mistake.
        message: String,
    },
}
