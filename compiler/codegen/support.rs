//! What a machine without the instruction does by a function, which an object has once.
//!
//! Arguments and results are words in the first registers of the C convention; numbers of 64 bits take two, the low half first.

/// A function of the object that kernels call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Support {
    /// On integers of 64 bits.
    Long(LongOp),
    /// On floats of a format.
    Float(Format, FloatOp),
    /// A float of the first format as one of the second.
    Convert(Format, Format),
}

/// A division of integers of 64 bits. By 0 it gives 0; the smallest number by −1 is itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LongOp {
    /// The quotient, towards zero.
    DivideSigned,
    /// The quotient of unsigned numbers.
    Divide,
    /// What is left of the first, with its sign.
    RemainderSigned,
    /// What is left of unsigned numbers.
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

/// An operation on floats, rounded to the nearest, ties to even. A NaN that it makes is the quiet one without a sign.
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
    /// 1 if the first is not greater, and both are numbers, else 0.
    LessEqual,
    /// The whole number towards zero.
    Truncate,
    /// The float of a signed integer of 64 bits.
    FromSigned,
    /// The float of an unsigned integer of 64 bits.
    FromUnsigned,
    /// The signed integer of 64 bits towards zero, or the nearest; 0 for a NaN.
    ToSigned,
    /// The unsigned integer of 64 bits towards zero, or the nearest; 0 for a NaN.
    ToUnsigned,
}

impl Format {
    /// Bits after the leading one.
    pub fn fraction(self) -> u32 {
        match self {
            Self::Half => 10,
            Self::Single => 23,
            Self::Double => 52,
        }
    }

    /// The exponent of infinity, as it is stored: all bits set.
    pub fn most(self) -> i32 {
        match self {
            Self::Half => 31,
            Self::Single => 255,
            Self::Double => 2047,
        }
    }

    /// The stored exponent of 1.
    pub fn bias(self) -> i32 {
        self.most() >> 1
    }

    /// Words that hold a float.
    pub fn words(self) -> usize {
        if self == Self::Double { 2 } else { 1 }
    }
}

impl Support {
    /// The words of each argument.
    pub fn arguments(self) -> Vec<usize> {
        match self {
            Self::Long(_) => vec![2, 2],
            Self::Float(format, op) => match op {
                FloatOp::SquareRoot | FloatOp::Truncate | FloatOp::ToSigned | FloatOp::ToUnsigned => vec![format.words()],
                FloatOp::FromSigned | FloatOp::FromUnsigned => vec![2],
                _ => vec![format.words(); 2],
            },
            Self::Convert(from, _) => vec![from.words()],
        }
    }

    /// The words of the result.
    pub fn result(self) -> usize {
        match self {
            Self::Long(_) => 2,
            Self::Float(format, op) => match op {
                FloatOp::Equal | FloatOp::Less | FloatOp::LessEqual => 1,
                FloatOp::ToSigned | FloatOp::ToUnsigned => 2,
                _ => format.words(),
            },
            Self::Convert(_, to) => to.words(),
        }
    }

    /// The function's name in an object.
    pub fn name(self) -> String {
        let words = |text: String| text.to_ascii_lowercase().replace(['(', ')', ',', ' '], "_").trim_matches('_').replace("__", "_");
        words(format!("{self:?}"))
    }
}
