//! What can be wrong with the operands of an operator: variants with their data, of which a front end makes its diagnostic.

use crate::ir::scalar::ExpressionError;
use crate::ir::{Extent, TypeError};

/// Why an operator cannot be built.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// A rule of the tensor language.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// A scalar operation that is not defined on its operand's types.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// An extent, or a number computed from extents, that 64 bits do not hold.
    #[error("the dimension is too large")]
    DimensionTooLarge,
    /// A number of elements that 64 bits do not hold.
    #[error("the result has too many elements")]
    TooManyElements,
    /// A permutation that is none of the operand's dimensions.
    #[error("the permutation does not fit the rank")]
    Permutation,
    /// An extent that must be known at compile time is not.
    #[error("a shape that is known only when the model runs is not supported here")]
    DynamicExtent,
    /// An extent that is known only at run time would always have to be one number.
    #[error("an extent that is known only when the model runs would always have to be {must_be}")]
    FixedExtent {
        /// The extent.
        extent: Extent,
        /// That number.
        must_be: u64,
    },
    /// Two extents that are known only at run time have to be equal, and nothing says so.
    #[error("two extents that are known only when the model runs have to be equal, which is not known")]
    UnrelatedExtents {
        /// One.
        a: Extent,
        /// The other one.
        b: Extent,
    },
}

impl Error {
    /// Whether the operands are sound, and it is the compiler that does not go so far.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Expression(_) | Self::DynamicExtent | Self::FixedExtent { .. } | Self::UnrelatedExtents { .. })
    }

    /// What the operator takes, and what it was given, where a number or a word says it.
    pub fn expectation(&self) -> Option<(String, String)> {
        None
    }

    /// What a user may do.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::UnrelatedExtents { .. } => Some("extents of inputs that are always equal need the same bound"),
            _ => None,
        }
    }
}
