//! What has been computed of the indices of a region.

use super::function::Block;
use crate::kernel::Buffer;
use crate::kernel::indices::{Sum, Term};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// A sum of multiples of registers.
pub type Linear = Sum<VReg>;

/// The terms of a sum.
pub type Terms = Vec<(VReg, i64)>;

/// Sums of more terms are computed.
pub const MOST_TERMS: usize = 6;

impl Term for VReg {
    fn order(self) -> usize {
        self.vreg()
    }
}

/// What has been computed in a region and may be used again in it and in regions inside it.
#[derive(Default)]
pub struct Scope {
    /// The block in which what is wanted inside a nested region can be computed.
    pub outlet: Option<Block>,
    /// Whether it is a loop that hands values to its next round.
    pub carries: bool,
    /// Registers times a number.
    pub products: FxHashMap<(VReg, i64), VReg>,
    /// Sums in registers.
    pub sums: FxHashMap<Linear, VReg>,
    /// Addresses in registers: of a buffer, some terms further on.
    pub addresses: FxHashMap<(Buffer, Terms), VReg>,
}

impl Scope {
    /// A region of which nothing is computed yet.
    pub fn new(carries: bool) -> Self {
        Self { carries, ..Self::default() }
    }
}
