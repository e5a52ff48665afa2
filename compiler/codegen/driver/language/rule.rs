//! The rules of the driver language, as a function breaks them.

use super::types::{Operand, Signature, Value, Width};

/// A broken rule with what breaks it. Its text is a sentence about the mistake.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rule {
    /// Parameters of other widths than the signature has.
    #[error("the parameters are not those of the signature")]
    Parameters,
    /// A signature with widths that C functions do not pass here.
    #[error("{0}: C functions here take and give singles and words")]
    Signature(Signature),
    /// A body that comes to its end.
    #[error("the function does not end by leaving")]
    NoLeave,
    /// A second definition of a value.
    #[error("{0} is defined twice")]
    DefinedTwice(Value),
    /// A value of a width that only memory has.
    #[error("{0} is a cell, and cells are in memory")]
    Cell(Value),
    /// A use of a value that is not visible.
    #[error("{0} is used where it is not defined")]
    NotDefined(Value),
    /// A value of another width than its use wants.
    #[error("{value} is no {width}")]
    Width {
        /// The value.
        value: Value,
        /// The width that the use wants.
        width: Width,
    },
    /// A number with more bits than its use has.
    #[error("{number} does not fit a {width}")]
    Number {
        /// The number.
        number: Operand,
        /// The width of the use.
        width: Width,
    },
    /// An extension to a smaller width.
    #[error("{value} is wider than a {width}")]
    Extend {
        /// The value.
        value: Value,
        /// The width of the result.
        width: Width,
    },
    /// A region that yields another number of operands.
    #[error("{found} operands are yielded where {wanted} are wanted")]
    Yields {
        /// The number of operands.
        found: usize,
        /// The number that the statement wants.
        wanted: usize,
    },
    /// A return with or without a status, against the signature.
    #[error("the function leaves with what it does not return")]
    Leave,
    /// A return of a status from a function without one.
    #[error("a function without a status leaves with one")]
    LeaveWith,
    /// Results of other widths than the instruction defines.
    #[error("{0:?} are not what the instruction defines")]
    Results(Vec<Value>),
    /// A call with another number of arguments.
    #[error("{signature} is given {arguments} arguments")]
    Arguments {
        /// The signature of the callee.
        signature: Signature,
        /// The number of arguments.
        arguments: usize,
    },
    /// A branch whose two ways leave the function.
    #[error("nothing after a branch can be reached")]
    Unreachable,
    /// A loop with another number of initial operands than carried values.
    #[error("{carried} values are carried, of which {initial} begin")]
    Carried {
        /// The number of carried values.
        carried: usize,
        /// The number of initial operands.
        initial: usize,
    },
    /// A head of a loop that returns.
    #[error("the head of a loop leaves")]
    HeadLeaves,
    /// A head of a loop without one value as its condition.
    #[error("the head of a loop yields one value")]
    HeadYields,
}
