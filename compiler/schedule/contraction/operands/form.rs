//! Forms in which products hold their operands.

use crate::ir::ElementType;
use crate::kernel::DotOp;
use crate::machine::{DotProduct, Machine};

/// The form in which products hold their operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// 16-bit input minus zero point, in pairs.
    Signed16,
    /// Unsigned bytes in groups of four. The zero point is part of the initial sums.
    Unsigned8,
    /// Signed bytes in groups of four. The zero point is part of the initial sums.
    Signed8,
    /// Signed bytes in groups of sixteen, each for a sum in a register of its own. The zero point is part of the initial sums.
    Sixteens,
    /// Bytes of two pixels and two output channels at a time, in groups of `group` in the panels. Sums of two pixels and two channels are a
    /// square.
    Squares {
        /// `true` if the input's bytes are signed.
        signed: bool,
        /// Eight, as products take them, or four in panels that levels with [`Self::Signed8`] read, too.
        group: u64,
    },
    /// The layout of [`Self::Signed8`], for a machine that adds products of bytes in 16 bits. Neighbours form a pair: a group of four gives two
    /// sums, which are added at the end.
    In16Bits {
        /// Number of groups of four whose sum of products fits 16 bits.
        fours: u64,
    },
    /// The layout of [`Self::Unsigned8`] or [`Self::Signed8`], in 16 bits. It serves a machine without products of bytes that reads the panels
    /// of a machine with them. Neighbours form a pair: a group of four gives two sums, which are added at the end.
    Neighbours {
        /// `true` for the layout of [`Self::Signed8`].
        signed: bool,
    },
    /// As [`Self::Neighbours`], but the even bytes of a group of four are one pair and the odd bytes the other, as shifts separate them. Input
    /// is staged in this order, so every group must begin at a multiple of four elements.
    EvenAndOdd {
        /// `true` for the layout of [`Self::Signed8`].
        signed: bool,
    },
    /// Even and odd pairs like these, if an instruction takes the even and the odd bytes of a word apart. Weights are bytes, and both pairs add to
    /// one sum.
    Apart {
        /// As [`Self::Signed8`].
        signed: bool,
    },
    /// Unsigned bytes, and weights plus 128. A word holds those of two pixels, one in each half, so that one product of words multiplies both.
    /// The zero point is part of the initial sums.
    PixelPairs,
    /// Binary32.
    Float,
    /// Binary32, with two or four neighbours of k in adjacent lanes, if the output channels alone do not fill a vector. Each neighbour has its
    /// own sum, and these are added at the end. A last group of one element is in all of these lanes, each with its share of the weight.
    Floats(u64),
}

/// Formats the name for reports.
impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Signed16 => "16-bit pairs",
            Self::Unsigned8 => "unsigned bytes in fours",
            Self::Signed8 => "signed bytes in fours",
            Self::Sixteens => "signed bytes in sixteens",
            Self::Squares { signed: true, .. } => "signed bytes in squares",
            Self::Squares { .. } => "unsigned bytes in squares",
            Self::In16Bits { .. } => "bytes added in 16 bits",
            Self::Neighbours { .. } => "bytes in neighbouring pairs",
            Self::EvenAndOdd { .. } | Self::Apart { .. } => "bytes in even and odd pairs",
            Self::PixelPairs => "bytes of two pixels in a word",
            Self::Float => "floats",
            Self::Floats(2) => "floats in pairs",
            Self::Floats(_) => "floats in fours",
        })
    }
}

impl Form {
    /// Returns the form of products of bytes, if the machine has them.
    pub fn of_bytes(machine: &Machine) -> Option<Self> {
        match machine.dot {
            DotProduct::UnsignedSigned8 => Some(Self::Unsigned8),
            DotProduct::Signed8 => Some(Self::Signed8),
            DotProduct::Signed16 => None,
        }
    }

    /// Returns the operation of integer products, each sum in a lane of its own.
    pub fn dot(self) -> DotOp {
        match self {
            Self::Unsigned8 | Self::Squares { signed: false, .. } => DotOp::UnsignedSigned8,
            Self::Signed8 | Self::In16Bits { .. } | Self::Squares { .. } => DotOp::Signed8,
            Self::Sixteens => DotOp::SignedSixteens,
            _ => DotOp::Signed16,
        }
    }

    /// Tests whether products are of floats.
    pub fn is_of_floats(self) -> bool {
        matches!(self, Self::Float | Self::Floats(_))
    }

    /// Tests whether products are of bytes.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, Self::Unsigned8 | Self::Signed8 | Self::Sixteens | Self::In16Bits { .. } | Self::Squares { .. })
    }

    /// Tests whether groups of four bytes are multiplied as pairs of 16 bits.
    pub fn is_widened(self) -> bool {
        matches!(self, Self::Neighbours { .. } | Self::EvenAndOdd { .. } | Self::Apart { .. })
    }

    /// Tests whether products are of 16-bit pairs.
    pub fn is_of_pairs(self) -> bool {
        self == Self::Signed16 || self.is_widened()
    }

    /// Tests whether the staged form may add an excess to every element of the input, for which the initial sums compensate.
    pub fn has_excess(self) -> bool {
        self.is_of_bytes() || self.is_widened() || self == Self::PixelPairs
    }

    /// Tests whether bytes are held as signed numbers.
    pub fn is_signed(self) -> bool {
        match self {
            Self::Signed8 | Self::Sixteens | Self::In16Bits { .. } => true,
            Self::Squares { signed, .. } | Self::Neighbours { signed } | Self::EvenAndOdd { signed } | Self::Apart { signed } => signed,
            _ => false,
        }
    }

    /// Returns the value of a padded tap: the zero point of an input of a type, in this form.
    pub fn border(self, element: ElementType, zero_point: i64) -> i64 {
        match element {
            _ if !self.has_excess() => 0,
            ElementType::I8 if !self.is_signed() => zero_point + 128,
            ElementType::U8 if self.is_signed() => zero_point - 128,
            _ => zero_point,
        }
    }

    /// Returns the elements of k that the products of one output take together.
    pub fn group(self) -> u64 {
        match self {
            Self::Signed16 => 2,
            Self::Sixteens => 16,
            Self::Squares { group, .. } => group,
            Self::Unsigned8 | Self::Signed8 | Self::In16Bits { .. } => 4,
            Self::Neighbours { .. } | Self::EvenAndOdd { .. } | Self::Apart { .. } => 4,
            Self::Float | Self::PixelPairs => 1,
            Self::Floats(count) => count,
        }
    }

    /// Returns the lanes of the sums of one output.
    pub fn sums(self) -> u64 {
        match self {
            Self::In16Bits { .. } | Self::Neighbours { .. } => 2,
            Self::Floats(count) => count,
            _ => 1,
        }
    }

    /// True if tables count in fours where segments start, so that loads of words are known to be at multiples of their size.
    pub fn starts_in_fours(self) -> bool {
        matches!(self, Self::Apart { .. })
    }

    /// Returns the number of consecutive vector products for a group of k.
    pub fn products(self) -> u64 {
        if matches!(self, Self::EvenAndOdd { .. }) { 2 } else { 1 }
    }
}
