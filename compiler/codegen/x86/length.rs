//! Vector lengths of instructions.

/// The length of a vector instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Length {
    /// 128 bits, and scalars.
    X,
    /// 256 bits.
    Y,
    /// 512 bits.
    Z,
}

impl Length {
    /// Returns the shortest length that holds this number of bytes.
    pub fn of(bytes: u32) -> Self {
        match bytes {
            0..=16 => Self::X,
            17..=32 => Self::Y,
            _ => Self::Z,
        }
    }

    /// Returns the bytes of a register of this length.
    pub fn bytes(self) -> u32 {
        16 << self as u32
    }
}
