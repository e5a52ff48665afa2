//! How long vectors of instructions are.

/// Bits of a vector instruction.
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
    /// The shortest that holds some bytes.
    pub fn of(bytes: u32) -> Self {
        match bytes {
            0..=16 => Self::X,
            17..=32 => Self::Y,
            _ => Self::Z,
        }
    }

    /// Bytes of the register.
    pub fn bytes(self) -> u32 {
        16 << self as u32
    }
}
