//! Grouping: selection of the instructions that become one kernel.
//!
//! A [`Group`] is a connected piece of the graph with one loop structure. It is one of these:
//! - a **root** (contraction, window, reduction) with an **epilogue**: one expression over the root's result and other tensors, with one or more
//!   results. The tensors have its shape or are broadcast to it;
//! - an expression alone, with any number of results;
//! - a window or reduction that computes its operand with another expression, its **prologue**;
//! - **rows** ([`Rowwise`]): reductions along the last dimension, and element-wise work on the same rows and on their results, in the order of a
//!   row's work;
//! - an instruction of any other kind alone, such as data movement.
//!
//! Groups are made in two steps. In [`chains`], a root absorbs the map that is the only reader of its result, then the next such map; this
//! never needs more memory. In [`graph`], two groups merge if one reads results of the other, or if both read one tensor. A merge may keep
//! operands live for longer. So each has a name ([`Merge`]), by which the memory planner can leave it out ([`Fusions`]).

mod accumulation;
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
mod read;
mod recomputed;
pub mod rows;
mod rowwise;
mod turned;
pub mod unroll;
mod uses;
mod widened;

pub use channel_planes::ChannelPlanes;
use compose::MAX_NODES;
pub use fusions::{Fusions, Merge};
use group::takes_epilogue;
pub use group::{Epilogue, Group, Kind, Root, Rowwise};
pub use grouping::group;
pub use memory::{is_view, row_major, subtensor_start, viewed};
pub use node::{Grouped, Move, Node};
pub use read::{Read, Stored, View};
pub use turned::Transposed;
pub use uses::uses_of;

#[cfg(test)]
mod tests;
