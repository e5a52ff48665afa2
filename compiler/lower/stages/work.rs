//! A method's nodes as one list. The planner sees each entry as a step.

use crate::fuse::{Group, Move, Node};
use crate::ir::{Function, Op, Value};

/// One entry of the list. Groups may change their order between two barriers; all other entries are barriers.
#[derive(Clone, Copy)]
pub(in crate::lower) enum Work<'a> {
    /// Start of the method: its states have their contents.
    Enter,
    /// A kernel call.
    Group(&'a Group),
    /// A custom operator, which has no kernel.
    External(&'a Group),
    /// Simultaneous moves.
    Moves(&'a [Move]),
    /// Test of a condition by the driver. The branch for a true condition follows, up to `Else`.
    Test(Value),
    /// Start of the branch for a false condition, up to `End`. The moves are the last ones of the branch above.
    Else(&'a [Move]),
    /// End of a branch.
    End,
    /// Start of a loop. Its head follows, up to `Check`.
    Loop,
    /// Test of a loop's condition by the driver. The body follows, up to `Repeat`.
    Check(Value),
    /// End of a loop's body: the driver returns to the head. The moves are the last ones of the body.
    Repeat(&'a [Move]),
    /// End of the method: its outputs and states have their final contents.
    Leave,
}

/// Makes the list of a method.
pub(in crate::lower) fn of_method<'a>(function: &Function, nodes: &'a [Node]) -> Vec<Work<'a>> {
    let mut work = vec![Work::Enter];
    linearise(function, nodes, &mut work);
    work.push(Work::Leave);
    work
}

fn linearise<'a>(function: &Function, nodes: &'a [Node], work: &mut Vec<Work<'a>>) {
    for node in nodes {
        match node {
            Node::Group(group) if group.root().is_some_and(|root| function.insts[root].op() == Op::External) => {
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
