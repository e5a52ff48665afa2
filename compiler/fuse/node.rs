//! A method cut into groups.

use super::flow::StateFlow;
use super::fusions::Merge;
use super::group::Group;
use crate::ir::{Function, Value};

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
