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

/// Numbers that products read of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    /// Binary32.
    Floats,
    /// 16 bits.
    Pairs,
    /// Bytes.
    Bytes { signed: bool },
    /// Bytes that become pairs of 16 bits.
    Widened { signed: bool },
    /// Bytes of two pixels in a word.
    Pixels,
}

/// Properties of a form.
struct Row {
    name: &'static str,
    held: Held,
    /// Operation of integer products, each sum in a lane of its own.
    dot: DotOp,
    /// Elements of k that the products of one output take together.
    group: u64,
    /// Lanes of the sums of one output.
    sums: u64,
    /// Consecutive vector products for a group of k.
    products: u64,
}

/// Makes the row of a form with one sum and one product for a group.
const fn row(name: &'static str, held: Held, dot: DotOp, group: u64) -> Row {
    Row { name, held, dot, group, sums: 1, products: 1 }
}

/// Formats the name for reports.
impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.row().name)
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

    /// Returns the row of the form. A new form is a row here.
    const fn row(self) -> Row {
        use DotOp::{Signed8, Signed16, SignedSixteens, UnsignedSigned8};
        use Held::{Bytes, Floats, Pairs, Pixels, Widened};
        match self {
            Self::Signed16 => row("16-bit pairs", Pairs, Signed16, 2),
            Self::Unsigned8 => row("unsigned bytes in fours", Bytes { signed: false }, UnsignedSigned8, 4),
            Self::Signed8 => row("signed bytes in fours", Bytes { signed: true }, Signed8, 4),
            Self::Sixteens => row("signed bytes in sixteens", Bytes { signed: true }, SignedSixteens, 16),
            Self::Squares { signed: true, group } => row("signed bytes in squares", Bytes { signed: true }, Signed8, group),
            Self::Squares { signed: false, group } => row("unsigned bytes in squares", Bytes { signed: false }, UnsignedSigned8, group),
            Self::In16Bits { .. } => Row { sums: 2, ..row("bytes added in 16 bits", Bytes { signed: true }, Signed8, 4) },
            Self::Neighbours { signed } => Row { sums: 2, ..row("bytes in neighbouring pairs", Widened { signed }, Signed16, 4) },
            Self::EvenAndOdd { signed } => Row { products: 2, ..row("bytes in even and odd pairs", Widened { signed }, Signed16, 4) },
            Self::Apart { signed } => row("bytes in even and odd pairs", Widened { signed }, Signed16, 4),
            Self::PixelPairs => row("bytes of two pixels in a word", Pixels, Signed16, 1),
            Self::Float => row("floats", Floats, Signed16, 1),
            Self::Floats(2) => Row { sums: 2, ..row("floats in pairs", Floats, Signed16, 2) },
            Self::Floats(count) => Row { sums: count, ..row("floats in fours", Floats, Signed16, count) },
        }
    }

    /// Returns the operation of integer products, each sum in a lane of its own.
    pub fn dot(self) -> DotOp {
        self.row().dot
    }

    /// Tests whether products are of floats.
    pub fn is_of_floats(self) -> bool {
        self.row().held == Held::Floats
    }

    /// Tests whether products are of bytes.
    pub fn is_of_bytes(self) -> bool {
        matches!(self.row().held, Held::Bytes { .. })
    }

    /// Tests whether groups of four bytes are multiplied as pairs of 16 bits.
    pub fn is_widened(self) -> bool {
        matches!(self.row().held, Held::Widened { .. })
    }

    /// Tests whether products are of 16-bit pairs.
    pub fn is_of_pairs(self) -> bool {
        matches!(self.row().held, Held::Pairs | Held::Widened { .. })
    }

    /// Tests whether the staged form may add an excess to every element of the input, for which the initial sums compensate.
    pub fn has_excess(self) -> bool {
        matches!(self.row().held, Held::Bytes { .. } | Held::Widened { .. } | Held::Pixels)
    }

    /// Tests whether bytes are held as signed numbers.
    pub fn is_signed(self) -> bool {
        matches!(self.row().held, Held::Bytes { signed: true } | Held::Widened { signed: true })
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
        self.row().group
    }

    /// Returns the lanes of the sums of one output.
    pub fn sums(self) -> u64 {
        self.row().sums
    }

    /// True if tables count in fours where segments start, so that loads of words are known to be at multiples of their size.
    pub fn starts_in_fours(self) -> bool {
        matches!(self, Self::Apart { .. })
    }

    /// Returns the number of consecutive vector products for a group of k.
    pub fn products(self) -> u64 {
        self.row().products
    }
}
