//! Support functions: they replace instructions that a machine lacks. An object has each once.
//!
//! Arguments and results are 32-bit words in the first registers of the C convention. Numbers of 64 bits take two, the low half first.

/// A function of the object that kernels call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Support {
    /// An unsigned quotient of words. Division by 0 gives 0.
    Divide,
    /// A signed quotient of words, rounded towards zero. Division by 0 gives 0; the smallest number divided by −1 gives itself.
    DivideSigned,
    /// An operation on integers of 64 bits.
    Long(LongOp),
    /// An operation on floats of a format.
    Float(Format, FloatOp),
    /// A conversion of a float from the first format to the second.
    Convert(Format, Format),
    /// The high word of a signed product of words.
    HighProduct,
}

/// A division of integers of 64 bits. Division by 0 gives 0; the smallest number divided by −1 gives itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LongOp {
    /// Signed quotient, rounded towards zero.
    DivideSigned,
    /// Unsigned quotient.
    Divide,
    /// Signed remainder, with the sign of the dividend.
    RemainderSigned,
    /// Unsigned remainder.
    Remainder,
}

/// A format of IEEE 754.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Format {
    /// Binary16.
    Half,
    /// Binary32.
    Single,
    /// Binary64.
    Double,
}

/// An operation on floats, rounded to nearest, ties to even. A NaN that it creates is quiet and has no sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FloatOp {
    /// Sum.
    Add,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// Square root.
    SquareRoot,
    /// 1 if both are equal, else 0.
    Equal,
    /// 1 if the first is less, else 0.
    Less,
    /// 1 if the first is less or equal, else 0; 0 if an operand is a NaN.
    LessEqual,
    /// The nearest whole number towards zero.
    Truncate,
    /// A float from a signed integer of 64 bits.
    FromSigned,
    /// A float from an unsigned integer of 64 bits.
    FromUnsigned,
    /// A signed integer of 64 bits, rounded towards zero and saturated; 0 for a NaN.
    ToSigned,
    /// An unsigned integer of 64 bits, rounded towards zero and saturated; 0 for a NaN.
    ToUnsigned,
}

impl Format {
    /// Returns the number of stored bits of the significand.
    pub fn fraction(self) -> u32 {
        match self {
            Self::Half => 10,
            Self::Single => 23,
            Self::Double => 52,
        }
    }

    /// Returns the stored exponent of infinity: all bits set.
    pub fn most(self) -> i32 {
        match self {
            Self::Half => 31,
            Self::Single => 255,
            Self::Double => 2047,
        }
    }

    /// Returns the stored exponent of 1.
    pub fn bias(self) -> i32 {
        self.most() >> 1
    }

    /// Returns the number of words that hold a float.
    pub fn words(self) -> usize {
        if self == Self::Double { 2 } else { 1 }
    }
}

impl Support {
    /// Returns the number of words of each argument.
    pub fn arguments(self) -> &'static [usize] {
        let (count, words) = match self {
            Self::Divide | Self::DivideSigned | Self::HighProduct => (2, 1),
            Self::Long(_) => (2, 2),
            Self::Float(format, op) => match op {
                FloatOp::SquareRoot | FloatOp::Truncate | FloatOp::ToSigned | FloatOp::ToUnsigned => (1, format.words()),
                FloatOp::FromSigned | FloatOp::FromUnsigned => (1, 2),
                _ => (2, format.words()),
            },
            Self::Convert(from, _) => (1, from.words()),
        };
        let all = if words == 2 { &[2, 2] } else { &[1, 1] };
        &all[..count]
    }

    /// Returns the number of words of the result.
    pub fn result(self) -> usize {
        match self {
            Self::Divide | Self::DivideSigned | Self::HighProduct => 1,
            Self::Long(_) => 2,
            Self::Float(format, op) => match op {
                FloatOp::Equal | FloatOp::Less | FloatOp::LessEqual => 1,
                FloatOp::ToSigned | FloatOp::ToUnsigned => 2,
                _ => format.words(),
            },
            Self::Convert(_, to) => to.words(),
        }
    }

    /// Returns the function's name in an object.
    pub fn name(self) -> String {
        let words = |text: String| text.to_ascii_lowercase().replace(['(', ')', ',', ' '], "_").trim_matches('_').replace("__", "_");
        words(format!("{self:?}"))
    }
}
