//! Panels of the right operand: their layout, their elements in the model, and their parts that a kernel takes at a time.

pub mod block_panels;
pub mod cuts;
pub mod filling;
mod layout;
pub mod packing;
pub mod sparse;
pub mod storage;
pub mod strips;

pub use layout::{ActiveLanes, Extents, Panels};
