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

pub mod bands;
pub mod batches;
mod chains;
pub mod check;
mod compose;
pub mod flow;
mod fusions;
pub mod gathered;
mod graph;
mod group;
mod joins;
mod line;
mod memory;
mod recomputed;
pub mod rows;
mod rowwise;
mod uses;
mod widened;

use crate::ir::{Function, Module, Op, Value};
use flow::{Flow, StateFlow};
pub use fusions::{Fusions, Merge};
pub use group::{Epilogue, Group};
pub use memory::{is_view, part_of, row_major, viewed};
pub use rowwise::Rowwise;
pub use uses::uses_of;
pub use widened::stored_right;

/// A method cut into groups.
#[derive(Debug)]
pub struct Grouped {
    /// Holds every value.
    pub function: Function,
    /// Groups, branches and loops in order.
    pub nodes: Vec<Node>,
    /// The states that the method reads or writes.
    pub states: Vec<StateFlow>,
    /// The merges of chains that were made, in order.
    pub merges: Vec<Merge>,
}

/// A group, or control flow over groups.
#[derive(Debug)]
pub enum Node {
    /// One kernel's work.
    Group(Box<Group>),
    /// Values that become others, all at once: what leaves a branch, what goes round in a loop. Where both have one place,
    /// nothing is to do.
    Moves(Vec<Move>),
    /// One of two bodies, each of which ends with the moves to the results.
    If {
        /// One truth value.
        condition: Value,
        /// Body when true.
        then: Vec<Node>,
        /// Body when false.
        otherwise: Vec<Node>,
    },
    /// `head`, then while the condition is true: `body`, `head` again. The moves to what it carries stand before it and end its body.
    While {
        /// Computes the condition.
        head: Vec<Node>,
        /// One truth value.
        condition: Value,
        /// One round.
        body: Vec<Node>,
    },
}

/// A value that becomes another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// What it is.
    pub from: Value,
    /// What it becomes.
    pub to: Value,
}

/// Expressions do not grow beyond this many nodes; longer chains become several kernels.
const MAX_NODES: usize = 512;

fn takes_epilogue(op: Op) -> bool {
    matches!(op, Op::Conv | Op::Matmul | Op::BlockMatmul | Op::Window | Op::Reduce)
}

/// Cuts a method into groups. Chains become groups whatever happens; of these, those merge that `fusions` lets merge.
pub fn group(flow: Flow, module: &Module, fusions: &Fusions) -> Grouped {
    let uses = uses_of(&flow);
    let mut nodes = chains::chains(&flow, module, &uses);
    let Flow { function, states, .. } = flow;
    let merges = graph::merge(&function, module, &uses, fusions, &mut nodes);
    Grouped { function, nodes, states, merges }
}

#[cfg(test)]
mod tests;
