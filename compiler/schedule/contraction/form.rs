//! How operands of the products are held.

/// How operands of the products are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// 16-bit input minus zero point, in pairs.
    Signed16,
    /// Unsigned bytes, in fours; the zero point is folded into the initial sums.
    Unsigned8,
    /// Signed bytes, in fours; the zero point is folded into the initial sums.
    Signed8,
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
}

/// For reports.
impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Neighbours { .. } => f.write_str("Bytes in neighbouring pairs"),
            Self::EvenAndOdd { .. } => f.write_str("Bytes in even and odd pairs"),
            form => write!(f, "{form:?}"),
        }
    }
}

impl Form {
    /// Whether products are of bytes in fours.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, Self::Unsigned8 | Self::Signed8)
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

    /// Elements of k that the products of one output take together.
    pub fn group(self) -> u64 {
        match self {
            Self::Signed16 => 2,
            Self::Unsigned8 | Self::Signed8 | Self::Neighbours { .. } | Self::EvenAndOdd { .. } => 4,
            Self::Float => 1,
        }
    }

    /// Lanes of the sums of one output.
    pub fn sums(self) -> u64 {
        if matches!(self, Self::Neighbours { .. }) { 2 } else { 1 }
    }

    /// Products of a vector that take a group of k one after the other.
    pub fn products(self) -> u64 {
        if matches!(self, Self::EvenAndOdd { .. }) { 2 } else { 1 }
    }
}
