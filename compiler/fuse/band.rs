//! Which values are computed together with which, where operators are computed part by part.

use crate::ir::Value;
use rustc_hash::FxHashMap;

/// The values that are bands or batches of others, and which.
pub type Bands = FxHashMap<Value, Band>;

/// What a value is computed with: one of the bands, or batches, that a cut makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Band {
    /// The number of the cut.
    pub cut: usize,
    /// The number of the band.
    pub number: u64,
    /// How many bands the cut makes.
    pub count: u64,
}
