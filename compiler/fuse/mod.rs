//! Grouping: which instructions become one kernel.
//!
//! A [`Group`] is a root (contraction, window, reduction, movement) with an element-wise epilogue, or an element-wise
//! expression alone. A root absorbs the `map` that is the only reader of its result, and that map the next one, as long as the
//! shape stays and every other operand exists before the root runs. A root takes its own epilogue before anybody else can, so
//! accumulators never go to memory when an epilogue narrows them.

pub mod bands;
pub mod batches;
mod chains;
mod compose;
pub mod flow;
pub mod gathered;
mod graph;
mod group;
mod memory;
pub mod rows;
mod rowwise;
mod uses;
mod widened;

use crate::ir::{Function, Module, Op, Value};
use flow::{Flow, StateFlow};
pub use graph::{Fusions, Merge};
pub use group::{Epilogue, Group};
pub use memory::{is_view, part_of, row_major, viewed};
pub use rowwise::Rowwise;
pub use uses::uses_of;
pub use widened::widened_constant;

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
    matches!(op, Op::Conv | Op::Matmul | Op::Window | Op::Reduce)
}

/// Cuts a method into groups. Chains become groups whatever happens; of these, those merge that `fusions` lets merge.
pub fn group(flow: Flow, module: &Module, fusions: &Fusions) -> Grouped {
    let uses = uses_of(&flow);
    let mut nodes = chains::chains(&flow, module, &uses);
    let Flow { function, states, .. } = flow;
    let merges = graph::merge(&function, &uses, fusions, &mut nodes);
    Grouped { function, nodes, states, merges }
}
