//! Conditions of branches and selects, which aarch64 and Thumb encode alike.

use modelc_kernel::CompareOp;

/// A condition on the flags; its discriminant is the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flags {
    /// Equal.
    Equal = 0,
    /// Not equal, or not ordered.
    NotEqual = 1,
    /// At least (unsigned).
    AtLeast = 2,
    /// Below (unsigned).
    Below = 3,
    /// Less (floats).
    Minus = 4,
    /// Not less, or not ordered (floats).
    Plus = 5,
    /// Above (unsigned).
    Above = 8,
    /// At most (unsigned); less or equal (floats).
    AtMost = 9,
    /// Greater or equal (signed integers, floats).
    GreaterOrEqual = 10,
    /// Less (signed).
    Less = 11,
    /// Greater (signed integers, floats).
    Greater = 12,
    /// Less or equal (signed).
    LessOrEqual = 13,
}

impl Flags {
    /// Returns the condition that holds after a comparison of integers, or of floats.
    pub fn of(op: CompareOp, floats: bool) -> Self {
        match op {
            CompareOp::Equal => Self::Equal,
            CompareOp::NotEqual => Self::NotEqual,
            CompareOp::Less if floats => Self::Minus,
            CompareOp::LessEqual if floats => Self::AtMost,
            CompareOp::Less => Self::Less,
            CompareOp::LessEqual => Self::LessOrEqual,
            CompareOp::Greater => Self::Greater,
            CompareOp::GreaterEqual => Self::GreaterOrEqual,
            CompareOp::UnsignedLess => Self::Below,
            CompareOp::UnsignedLessEqual => Self::AtMost,
        }
    }

    /// Returns the condition that holds exactly where this one does not.
    pub fn inverse(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::AtLeast => Self::Below,
            Self::Below => Self::AtLeast,
            Self::Minus => Self::Plus,
            Self::Plus => Self::Minus,
            Self::Above => Self::AtMost,
            Self::AtMost => Self::Above,
            Self::GreaterOrEqual => Self::Less,
            Self::Less => Self::GreaterOrEqual,
            Self::Greater => Self::LessOrEqual,
            Self::LessOrEqual => Self::Greater,
        }
    }
}
