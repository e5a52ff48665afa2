//! Operations of the kernel language on lanes.

use super::types::{Lane, Type};

/// Lane-wise operations on two values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Wrapping integer sum, or float sum.
    Add,
    /// Wrapping integer difference, or float difference.
    Sub,
    /// Wrapping integer product (low half), or float product.
    Mul,
    /// Float quotient.
    FloatDiv,
    /// Signed quotient, truncating; a zero divisor gives 0, the smallest number ÷ −1 wraps.
    SignedDiv,
    /// Unsigned quotient; a zero divisor gives 0.
    UnsignedDiv,
    /// Signed remainder, with the sign of the dividend; a zero divisor gives 0.
    SignedRem,
    /// Unsigned remainder; a zero divisor gives 0.
    UnsignedRem,
    /// Bitwise and; also on masks.
    And,
    /// Bitwise or; also on masks.
    Or,
    /// Bitwise exclusive or; also on masks.
    Xor,
    /// Shift left by the number in the same lane, which must be below the width.
    ShiftLeft,
    /// Arithmetic shift right by the number in the same lane, which must be below the width.
    ShiftRightSigned,
    /// Logical shift right by the number in the same lane, which must be below the width.
    ShiftRightUnsigned,
    /// Signed minimum.
    SignedMin,
    /// Signed maximum.
    SignedMax,
    /// Unsigned minimum.
    UnsignedMin,
    /// Unsigned maximum.
    UnsignedMax,
    /// `b < a ? b : a` (so NaN in either operand gives a).
    FloatMinFirst,
    /// `a < b ? b : a` (so NaN in either operand gives a).
    FloatMaxFirst,
    /// IEEE minimum; NaN wins.
    FloatMinPropagate,
    /// IEEE maximum; NaN wins.
    FloatMaxPropagate,
    /// IEEE minNum; a number beats NaN.
    FloatMinIgnore,
    /// IEEE maxNum; a number beats NaN.
    FloatMaxIgnore,
    /// a · 2ᵇ of binary32, rounded once. b is an integer of at most 1000 in magnitude, or NaN; other results are unspecified. It is only for machines
    /// on which it is one instruction.
    FloatScale,
    /// a · 2ᵇ of i32, rounded to the nearest integer, ties up. b is from −31 to 0; other results are unspecified. It is only for machines on which
    /// it is one instruction.
    ShiftNearest,
    /// Signed sum that is known to fit (else unspecified).
    SignedAddInRange,
    /// Signed sum that saturates (i8, i16).
    SignedAddSaturating,
    /// Signed difference that saturates (i8, i16).
    SignedSubSaturating,
}

impl BinaryOp {
    /// Tests whether the operation is an integer quotient or remainder.
    pub fn is_division(self) -> bool {
        matches!(self, Self::SignedDiv | Self::UnsignedDiv | Self::SignedRem | Self::UnsignedRem)
    }
}

/// Lane-wise operations on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// Integer or float negation.
    Neg,
    /// Integer (wrapping) or float magnitude.
    Abs,
    /// Bitwise complement; also on masks.
    Not,
    /// Float square root.
    Sqrt,
    /// Float, towards −∞.
    Floor,
    /// Float, towards +∞.
    Ceil,
    /// Float, towards zero.
    Trunc,
    /// Float, to nearest even.
    Nearest,
    /// Integer, count of leading zeros.
    CountLeadingZeros,
}

/// The direction in which a float result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rounding {
    /// To the nearest float; a tie goes to the float with an even last bit.
    Nearest,
    /// To the neighbour nearer to zero.
    TowardZero,
}

/// Conversions between lane types; the number of lanes stays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConvertOp {
    /// Integer, wider, sign repeated.
    SignExtend,
    /// Integer, wider, zeros.
    ZeroExtend,
    /// Integer, narrower, high bits cut.
    Wrap,
    /// Signed integer to narrower signed integer, saturating.
    NarrowSigned,
    /// Signed integer to narrower unsigned integer, saturating.
    NarrowUnsigned,
    /// Signed integer to float, to nearest even.
    SignedToFloat,
    /// Unsigned integer to float, to nearest even.
    UnsignedToFloat,
    /// Float to signed integer, towards zero, saturating, NaN to 0.
    FloatToSigned,
    /// Float to unsigned integer, towards zero, saturating, NaN to 0.
    FloatToUnsigned,
    /// Float to signed integer of the same width, towards zero, where the value is known to fit (else unspecified, never a trap).
    FloatToSignedInRange,
    /// Binary32 to binary64.
    Promote,
    /// Binary64 to binary32.
    Demote,
    /// The bits of a binary16 in 16-bit integer lanes to binary32, exact; NaN becomes quiet.
    HalfToFloat,
    /// Binary32 to the bits of a binary16 in 16-bit integer lanes, to nearest even; NaN becomes quiet.
    FloatToHalf,
    /// Reinterpretation of the bits as another type of the same lane width.
    Bitcast,
    /// A mask to an integer: 0 or 1.
    MaskToInteger,
}

/// Comparisons; unordered operands compare false, except for `NotEqual`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    /// Integer or float.
    Equal,
    /// Integer or float.
    NotEqual,
    /// Signed integer or float.
    Less,
    /// Signed integer or float.
    LessEqual,
    /// Signed integer or float.
    Greater,
    /// Signed integer or float.
    GreaterEqual,
    /// Unsigned integer.
    UnsignedLess,
    /// Unsigned integer.
    UnsignedLessEqual,
}

/// Widening dot products: the lanes of acc plus products of the groups of narrow lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DotOp {
    /// a: unsigned i8×4N, b: signed i8×4N.
    UnsignedSigned8,
    /// a and b: signed i8×4N.
    Signed8,
    /// a and b: signed i16×2N.
    Signed16,
    /// a: unsigned i8×2N, b: signed i8×2N, and acc has lanes of 16 bits. The two products of a lane are added first, saturating.
    UnsignedSigned8To16,
    /// a and b: signed i8×4N. Four lanes of acc and 16 bytes of each factor are a square. Its lane 2i + j takes the products of the eight bytes i of
    /// a with the eight bytes j of b.
    SignedSquares,
    /// As [`Self::SignedSquares`], with unsigned a.
    UnsignedSignedSquares,
    /// a and b: signed i8×16N.
    SignedSixteens,
}

impl DotOp {
    /// Returns the type of both factors of a dot product with this many sums.
    pub const fn operand_type(self, lanes: u16) -> Type {
        Type::vector(self.factor_lane(), lanes.saturating_mul(self.group()))
    }

    /// Returns the lane type of the factors.
    pub const fn factor_lane(self) -> Lane {
        if matches!(self, Self::Signed16) { Lane::I16 } else { Lane::I8 }
    }

    /// Returns the lane type of the sums.
    pub const fn sum_lane(self) -> Lane {
        if matches!(self, Self::UnsignedSigned8To16) { Lane::I16 } else { Lane::I32 }
    }

    /// Returns the lanes of a factor for each sum: the number of its products, or half of it in squares.
    pub const fn group(self) -> u16 {
        match self {
            Self::UnsignedSigned8 | Self::Signed8 | Self::SignedSquares | Self::UnsignedSignedSquares => 4,
            Self::Signed16 | Self::UnsignedSigned8To16 => 2,
            Self::SignedSixteens => 16,
        }
    }

    /// Tests whether `a` is unsigned.
    pub const fn has_unsigned_factor(self) -> bool {
        matches!(self, Self::UnsignedSigned8 | Self::UnsignedSigned8To16 | Self::UnsignedSignedSquares)
    }

    /// Tests whether sums are in squares of two by two.
    pub const fn is_of_squares(self) -> bool {
        matches!(self, Self::SignedSquares | Self::UnsignedSignedSquares)
    }

    /// Tests whether only machines with exactly this instruction compute it: in squares, or sixteen products for a sum.
    pub const fn is_of_few_machines(self) -> bool {
        self.is_of_squares() || matches!(self, Self::SignedSixteens)
    }
}

/// Horizontal reductions of a vector to a scalar. Float sums are taken pairwise by halves: lane i with lane i + n/2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HorizontalOp {
    /// Sum.
    Add,
    /// Signed or float ([`BinaryOp::FloatMaxFirst`]) maximum.
    Max,
    /// Signed or float ([`BinaryOp::FloatMinFirst`]) minimum.
    Min,
}

impl HorizontalOp {
    /// Returns the operation on two lanes of floats or integers.
    pub fn of_two(self, floats: bool) -> BinaryOp {
        match (self, floats) {
            (Self::Add, _) => BinaryOp::Add,
            (Self::Max, true) => BinaryOp::FloatMaxFirst,
            (Self::Max, false) => BinaryOp::SignedMax,
            (Self::Min, true) => BinaryOp::FloatMinFirst,
            (Self::Min, false) => BinaryOp::SignedMin,
        }
    }
}

/// The treatment of an index outside the buffer, in an indexed access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bounds {
    /// The schedule has proved that all indices are inside. Affine accesses are of this kind.
    Proven,
    /// The index is clamped into the buffer.
    Clamp,
}
