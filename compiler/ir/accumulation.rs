//! Rounding of the sums of contractions.

use crate::operators::Word;

/// Rounding of the sums of float products.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Accumulation {
    /// Not decided yet. The number of products decides.
    #[default]
    Undecided,
    /// A product and its sum are rounded together, on machines with such an instruction.
    Fused,
    /// Each product is rounded, and each sum.
    Separate,
}

/// Minimum number of products for fused sums. Smaller contractions sum exactly as the reference does: they take no time, and in small models
/// cancellation makes a rounding visible.
const FEWEST_FUSED: u64 = 4096;

impl Accumulation {
    /// Returns the rounding for a contraction with a number of products.
    pub fn of_products(products: u64) -> Self {
        if products >= FEWEST_FUSED { Self::Fused } else { Self::Separate }
    }

    /// Returns the rounding that was decided, or the one for a number of products.
    pub fn or_of_products(self, products: u64) -> Self {
        if self == Self::Undecided { Self::of_products(products) } else { self }
    }
}

impl Word for Accumulation {
    const ALL: &'static [Self] = &[Self::Undecided, Self::Fused, Self::Separate];
    const WORDS: &'static [&'static str] = &["undecided", "fused", "separate"];
    const LEFT_OUT: Option<Self> = Some(Self::Undecided);
}
