//! Grouping: which instructions become one kernel.
//!
//! A [`Group`] is a connected piece of the graph with one loop structure. It is one of these:
//! - a **root** (contraction, window, reduction) with an **epilogue**: one expression over the root's result and other tensors of its
//!   shape or broadcast to it, with as many results as others read;
//! - such an expression alone, with any number of results;
//! - a window or reduction that computes what it reads by another expression, its **prologue**;
//! - **rows** ([`Rowwise`]): reductions along the last dimension, and element-wise work on the same rows and on their results, in the order in
//!   which each row takes them;
//! - an instruction of any other kind alone, such as data movement.
//!
//! Groups are made in two steps. [`chains`] lets a root absorb the map that is the only reader of its result, and that map the next one; this
//! never needs more memory. [`graph`] then merges groups where one reads what the other computes, or both read one tensor.
//! A merge may keep operands live for longer, so each has a name ([`Merge`]) by which whoever plans memory can leave it out ([`Fusions`]).

pub mod band;
pub mod bands;
pub mod batches;
mod chains;
mod channel_planes;
pub mod check;
mod compose;
pub mod flow;
mod fusions;
pub mod gathered;
mod graph;
mod group;
mod grouping;
mod joins;
mod line;
mod memory;
mod node;
mod recomputed;
pub mod rows;
mod rowwise;
mod turned;
pub mod unroll;
mod uses;
mod widened;

pub use channel_planes::{ChannelPlanes, channel_planes};
use compose::MAX_NODES;
pub use fusions::{Fusions, Merge};
use group::takes_epilogue;
pub use group::{Epilogue, Group, Rowwise};
pub use grouping::group;
pub use memory::{is_view, part_of, row_major, viewed};
pub use node::{Grouped, Move, Node};
pub use turned::{TurnedRight, turned_right};
pub use uses::uses_of;

#[cfg(test)]
mod tests;
