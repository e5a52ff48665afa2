//! Alignment of the memory that a program gives to generated code.

/// Alignment in bytes, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alignment(u64);

impl Alignment {
    /// A cache line, and the widest vector.
    pub const LINE: Self = Self(64);
    /// The longest load of a machine of words, and of its vectors if it has any.
    pub const WORDS: Self = Self(16);
    /// A pair of words.
    pub const PAIR: Self = Self(8);

    /// Alignment of the tensors in memory with this alignment: at most a vector register of the narrowest machine. Kernels do not rely on the
    /// alignment of subtensors, so these are only aligned to their elements.
    pub const fn of_tensors(self) -> Self {
        if self.0 < Self::WORDS.0 { self } else { Self::WORDS }
    }

    /// Returns the bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Rounds a size or an offset up to a multiple.
    pub const fn up(self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.0)
    }

    /// Rounds a size or an offset down to a multiple.
    pub const fn down(self, bytes: u64) -> u64 {
        bytes / self.0 * self.0
    }
}

impl Default for Alignment {
    fn default() -> Self {
        Self::LINE
    }
}
