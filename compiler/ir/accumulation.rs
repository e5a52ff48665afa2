//! Rounding of the sums of contractions.

/// Rounding of the sums of float products.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Accumulation {
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
}
