//! Numbers of elements where extents are known only when the program runs.

use super::entities::Value;

/// A product: a known factor times extents that are known when the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Size {
    /// The product of all that is known.
    pub known: u64,
    /// Index values, each as often as it is a factor, in order.
    pub extents: Vec<Value>,
}
