//! A method cut into groups.

use super::flow::StateFlow;
use super::fusions::Merge;
use super::group::Group;
use crate::ir::{Function, Value};

/// A method cut into groups.
#[derive(Debug)]
pub struct Grouped {
    /// Function that holds every value.
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
    /// Parallel moves at the edge of a branch or of a loop iteration. A move between values with the same address does nothing.
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
    /// `head`, then `body` and `head` again while the condition is true. Moves to the loop-carried values stand before the loop and at the end
    /// of its body.
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
    /// The value before the move.
    pub from: Value,
    /// The value after it.
    pub to: Value,
}
