//! Errors of running kernels.

use super::visits::Race;
use crate::Value;

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
    /// A race of two independent rounds, ranges or positions: one of them writes an element that the other accesses.
    #[error("kernel {kernel}: {} {} and {} meet in element {} of buffer {buffer}", race.racers, race.numbers[0], race.numbers[1], race.element)]
    Race {
        /// The kernel's name.
        kernel: String,
        /// The buffer's name.
        buffer: String,
        /// The two and the element.
        race: Race,
    },
    /// Arguments that do not fit the kernel's parameters.
    #[error("kernel {kernel}: {fault}")]
    Arguments {
        /// The kernel's name.
        kernel: String,
        /// The mistake.
        fault: ArgumentFault,
    },
    /// A broken rule of the language.
    #[error("kernel {kernel}: {}: {fault}", value.map_or("-".into(), |value| value.to_string()))]
    Rule {
        /// The kernel's name.
        kernel: String,
        /// The defined value. `None` for an instruction without one.
        value: Option<Value>,
        /// The mistake.
        fault: RuleFault,
    },
}

/// Arguments that do not fit the kernel's parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentFault {
    /// Another number of integers.
    #[error("{given} integers for {parameters} parameters")]
    Integers {
        /// The number of arguments.
        given: usize,
        /// The number of parameters.
        parameters: usize,
    },
    /// Another number of buffers.
    #[error("{given} buffers for {parameters} parameters")]
    Buffers {
        /// The number of arguments.
        given: usize,
        /// The number of parameters.
        parameters: usize,
    },
    /// A parameter without a buffer.
    #[error("no buffer for {0}")]
    NoBuffer(String),
    /// A buffer with too few bytes.
    #[error("{given} bytes for {buffer}, which needs {needed}")]
    Bytes {
        /// The buffer's name.
        buffer: String,
        /// Bytes of the argument.
        given: usize,
        /// Bytes of the parameter.
        needed: usize,
    },
    /// A buffer with more bytes than an address counts.
    #[error("buffer {0} is too large")]
    TooLarge(String),
    /// One call of a kernel that runs for the positions of a grid.
    #[error("one call of a kernel with a grid")]
    Grid,
    /// Positions for a kernel without a grid.
    #[error("positions for a kernel without a grid")]
    NoGrid,
}

/// A rule of the language that only a running kernel shows as broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleFault {
    /// A shift by a number of bits that the type does not have.
    #[error("a shift by {count} of {bits} bits")]
    Shift {
        /// The count.
        count: i64,
        /// Bits of the type.
        bits: u64,
    },
    /// An instruction without one result where one is computed.
    #[error("an instruction without one result")]
    NoResult,
    /// A barrier that some positions miss.
    #[error("a barrier to which not all positions come")]
    Barrier,
    /// A barrier in a region that positions come to one by one.
    #[error("a barrier under a condition")]
    BarrierUnderCondition,
    /// A barrier in a branch that positions take differently.
    #[error("a barrier under a condition that differs from position to position")]
    BarrierInBranch,
    /// A barrier in a loop of which positions run different rounds.
    #[error("a barrier in a loop that counts differently at each position")]
    BarrierInLoop,
}
