//! Conditions, which aarch64 and Thumb encode alike.

/// A condition on flags, by its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flags {
    /// Equal.
    Equal = 0,
    /// Not equal, or not ordered.
    NotEqual = 1,
    /// Unsigned, at least.
    AtLeast = 2,
    /// Unsigned, below.
    Below = 3,
    /// Of floats, less.
    Minus = 4,
    /// Of floats, not less.
    Plus = 5,
    /// Unsigned, above.
    Above = 8,
    /// Unsigned, at most; of floats, less or equal.
    AtMost = 9,
    /// Greater or equal, with a sign or of floats.
    GreaterOrEqual = 10,
    /// With a sign, less.
    Less = 11,
    /// Greater, with a sign or of floats.
    Greater = 12,
    /// With a sign, less or equal.
    LessOrEqual = 13,
}

impl Flags {
    /// What holds where this does not.
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
