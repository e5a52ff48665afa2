//! Bands and batches: values that are computed together when operators are computed part by part.

use crate::ir::Value;
use rustc_hash::FxHashMap;

/// The values that are bands or batches of other values.
pub type Bands = FxHashMap<Value, Band>;

/// The band or batch, of one cut, to which a value belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Band {
    /// The number of the cut.
    pub cut: usize,
    /// The number of the band.
    pub number: u64,
    /// Number of bands that the cut makes.
    pub count: u64,
}
