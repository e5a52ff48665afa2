//! A method's nodes as one list: what the planner sees as steps, one after the other.

use crate::fuse::{Group, Move, Node};
use crate::ir::{Function, Op, Value};

/// One entry of the list. Groups may change places between two others; those are barriers.
#[derive(Clone, Copy)]
pub(in crate::lower) enum Work<'a> {
    /// The method begins: its states hold what they hold.
    Enter,
    /// A kernel call.
    Group(&'a Group),
    /// A custom operator, which has no kernel.
    External(&'a Group),
    /// Values that become others, all at once.
    Moves(&'a [Move]),
    /// The driver reads a condition; what it does when true follows, up to `Else`.
    Test(Value),
    /// The branch for a false condition follows, up to `End`. The moves are those that end what is above.
    Else(&'a [Move]),
    /// A branch ends here.
    End,
    /// The head of a loop follows, up to `Check`.
    Loop,
    /// The driver reads a condition, and leaves the loop or goes on with the body, up to `Repeat`.
    Check(Value),
    /// Back to the head. The moves are those that end the body.
    Repeat(&'a [Move]),
    /// The method ends: its outputs and states are as they are to be.
    Leave,
}

/// The list of a method.
pub(in crate::lower) fn of_method<'a>(function: &Function, nodes: &'a [Node]) -> Vec<Work<'a>> {
    let mut work = vec![Work::Enter];
    linearise(function, nodes, &mut work);
    work.push(Work::Leave);
    work
}

fn linearise<'a>(function: &Function, nodes: &'a [Node], work: &mut Vec<Work<'a>>) {
    for node in nodes {
        match node {
            Node::Group(group) if group.root.is_some_and(|root| function.insts[root].op() == Op::External) => {
                work.push(Work::External(group));
            }
            Node::Group(group) => work.push(Work::Group(group)),
            Node::Moves(moves) => work.push(Work::Moves(moves)),
            Node::If { condition, then, otherwise } => {
                work.push(Work::Test(*condition));
                linearise(function, then, work);
                work.push(Work::Else(last_moves(then)));
                linearise(function, otherwise, work);
                work.push(Work::End);
            }
            Node::While { head, condition, body } => {
                work.push(Work::Loop);
                linearise(function, head, work);
                work.push(Work::Check(*condition));
                linearise(function, body, work);
                work.push(Work::Repeat(last_moves(body)));
            }
        }
    }
}

fn last_moves(nodes: &[Node]) -> &[Move] {
    if let Some(Node::Moves(moves)) = nodes.last() { moves } else { &[] }
}
