//! Index values that a region has computed.

use super::function::Block;
use modelc_kernel::Buffer;
use modelc_kernel::indices::Sum;
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// A constant plus multiples of registers.
pub type Linear = Sum<VReg>;

/// The terms of a sum: registers with their factors.
pub type Terms = Vec<(VReg, i64)>;

/// Maximum number of terms of a sum. A longer sum is computed as it is written, and its result is one term.
pub const MOST_TERMS: usize = 6;

/// Values that are computed in a region, and may be reused in it and in regions inside it.
#[derive(Default)]
pub struct Scope {
    /// The block before a nested region. Values that the nested region needs can be computed there.
    pub outlet: Option<Block>,
    /// `true` for a loop that carries values to its next round.
    pub carries: bool,
    /// Products of a register and a constant.
    pub products: FxHashMap<(VReg, i64), VReg>,
    /// Registers that hold sums.
    pub sums: FxHashMap<Linear, VReg>,
    /// Registers that hold the address of a buffer plus terms.
    pub addresses: FxHashMap<(Buffer, Terms), VReg>,
}

impl Scope {
    /// Makes the scope of a new region.
    pub fn new(carries: bool) -> Self {
        Self { carries, ..Self::default() }
    }
}
