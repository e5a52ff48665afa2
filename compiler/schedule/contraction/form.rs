//! How operands of the products are held.

use crate::ir::ElementType;
use crate::kernel::DotOp;
use crate::machine::{DotProduct, Machine};

/// How operands of the products are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// 16-bit input minus zero point, in pairs.
    Signed16,
    /// Unsigned bytes, in fours; the zero point is folded into the initial sums.
    Unsigned8,
    /// Signed bytes, in fours; the zero point is folded into the initial sums.
    Signed8,
    /// What [`Self::Signed8`] holds, for a machine that adds products of bytes in 16 bits. Neighbours are then a pair: a four gives two sums, which are
    /// added at the end.
    In16Bits {
        /// Fours whose products 16 bits hold the sum of.
        fours: u64,
    },
    /// What [`Self::Unsigned8`] or [`Self::Signed8`] holds, in 16 bits, for a machine without products of bytes that reads the panels of
    /// one that has them. Neighbours are a pair: a four gives two sums, which are added at the end.
    Neighbours {
        /// As [`Self::Signed8`].
        signed: bool,
    },
    /// The same; the even bytes of a four are a pair and the odd ones another, as shifts take them apart. Input is staged in this order, for
    /// which every four must begin at a multiple of four elements.
    EvenAndOdd {
        /// As [`Self::Signed8`].
        signed: bool,
    },
    /// Binary32.
    Float,
    /// Binary32, two or four neighbours of k side by side, where the output channels alone fill no vector: each has as many sums, which are added at
    /// the end. A last group of one element is in all of these lanes, each with its share of the weight.
    Floats(u64),
}

/// For reports.
impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Signed16 => "16-bit pairs",
            Self::Unsigned8 => "unsigned bytes in fours",
            Self::Signed8 => "signed bytes in fours",
            Self::In16Bits { .. } => "bytes added in 16 bits",
            Self::Neighbours { .. } => "bytes in neighbouring pairs",
            Self::EvenAndOdd { .. } => "bytes in even and odd pairs",
            Self::Float => "floats",
            Self::Floats(2) => "floats in pairs",
            Self::Floats(_) => "floats in fours",
        })
    }
}

impl Form {
    /// The form of products of bytes on a machine that has them.
    pub fn of_bytes(machine: &Machine) -> Option<Self> {
        match machine.dot {
            DotProduct::UnsignedSigned8 => Some(Self::Unsigned8),
            DotProduct::Signed8 => Some(Self::Signed8),
            DotProduct::Signed16 => None,
        }
    }

    /// The products of integers.
    pub fn dot(self) -> DotOp {
        match self {
            Self::Unsigned8 => DotOp::UnsignedSigned8,
            Self::Signed8 | Self::In16Bits { .. } => DotOp::Signed8,
            _ => DotOp::Signed16,
        }
    }

    /// Whether products are of floats.
    pub fn is_of_floats(self) -> bool {
        matches!(self, Self::Float | Self::Floats(_))
    }

    /// Whether products are of bytes in fours.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, Self::Unsigned8 | Self::Signed8 | Self::In16Bits { .. })
    }

    /// Whether fours of bytes are multiplied as pairs of 16 bits.
    pub fn is_widened(self) -> bool {
        matches!(self, Self::Neighbours { .. } | Self::EvenAndOdd { .. })
    }

    /// Whether products are of 16 bits in pairs.
    pub fn is_of_pairs(self) -> bool {
        self == Self::Signed16 || self.is_widened()
    }

    /// Whether the staged form may add something to every element of the input, for which the initial sums make up.
    pub fn has_excess(self) -> bool {
        self.is_of_bytes() || self.is_widened()
    }

    /// Whether bytes are held as signed ones.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Signed8 | Self::In16Bits { .. } | Self::Neighbours { signed: true } | Self::EvenAndOdd { signed: true })
    }

    /// The value of a padded tap: the zero point of an input of a type, in this form.
    pub fn border(self, element: ElementType, zero_point: i64) -> i64 {
        match element {
            _ if !self.has_excess() => 0,
            ElementType::I8 if !self.is_signed() => zero_point + 128,
            ElementType::U8 if self.is_signed() => zero_point - 128,
            _ => zero_point,
        }
    }

    /// Elements of k that the products of one output take together.
    pub fn group(self) -> u64 {
        match self {
            Self::Signed16 => 2,
            Self::Unsigned8 | Self::Signed8 | Self::In16Bits { .. } | Self::Neighbours { .. } | Self::EvenAndOdd { .. } => 4,
            Self::Float => 1,
            Self::Floats(count) => count,
        }
    }

    /// Lanes of the sums of one output.
    pub fn sums(self) -> u64 {
        match self {
            Self::In16Bits { .. } | Self::Neighbours { .. } => 2,
            Self::Floats(count) => count,
            _ => 1,
        }
    }

    /// Products of a vector that take a group of k one after the other.
    pub fn products(self) -> u64 {
        if matches!(self, Self::EvenAndOdd { .. }) { 2 } else { 1 }
    }
}
