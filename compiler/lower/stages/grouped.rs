//! The first stage: a method cut into groups, with values for outputs, states and spares.

use super::extents::check_bounds;
use super::frame::Frame;
use super::work::{self, Work};
use crate::diagnostic::Diagnostics;
use crate::fuse::flow::{Flow, StateFlow};
use crate::fuse::{self, Fusions, Group, Move, Node};
use crate::ir::{Function, Value};
use crate::lower::memory::subtensors::{Pinned, Subtensors};
use crate::lower::memory::values::{duplicate, root_of};
use rustc_hash::{FxHashMap, FxHashSet};

/// A method cut into groups: see the module.
pub(in crate::lower) struct Grouped {
    /// The function that defines every value.
    pub function: Function,
    /// Groups, branches and loops in order.
    nodes: Vec<Node>,
    /// The number of the method's inputs; they are the function's first parameters.
    input_count: usize,
    /// The tensor of each output.
    pub outputs: Vec<Value>,
    pub states: Vec<StatePlace>,
    /// A spare value for each destination of simultaneous moves. It holds this value for a time if the moves form a cycle.
    pub spares: FxHashMap<Value, Value>,
    pub subtensors: Subtensors,
}

/// A state of a method: its contents at the start and at the end.
#[derive(Clone, Copy)]
pub(in crate::lower) struct StatePlace {
    pub flow: StateFlow,
    /// The value of the state's last contents, if the method writes the state.
    pub left: Value,
}

impl StatePlace {
    /// Returns the value that the state must contain at the end of the method.
    pub fn last(&self) -> Value {
        if self.flow.exit == self.flow.entry { self.flow.entry } else { self.left }
    }
}

impl Grouped {
    /// Cuts a method into groups, with given merges.
    ///
    /// # Errors
    /// A diagnostic if a tensor has no bound on its size.
    pub fn new(frame: &Frame<'_>, flow: Flow, fusions: &Fusions) -> Result<Self, Diagnostics> {
        let method = frame.method;
        let mut grouped = fuse::group(flow, frame.module, fusions);
        let mut written = Vec::new();
        each(&grouped.nodes, &mut |node| match node {
            Node::Group(group) => written.extend(&group.outputs),
            Node::Moves(moves) => written.extend(moves.iter().map(|m| m.to)),
            Node::If { .. } | Node::While { .. } => {}
        });
        let (outputs, copies) = outputs_of(&mut grouped.function, method.outputs.len(), &written);
        grouped.nodes.extend(copies.into_iter().map(|copy| Node::Group(Box::new(copy))));
        let function = &mut grouped.function;
        let states: Vec<_> = grouped.states.iter().map(|&flow| StatePlace { flow, left: duplicate(function, flow.entry) }).collect();
        let changed = states.iter().filter(|s| s.flow.exit != s.flow.entry);
        grouped.nodes.push(Node::Moves(changed.map(|s| Move { from: s.flow.exit, to: s.left }).collect()));
        let spares = spares(&grouped.nodes, function);
        let outputs_in = outputs.iter().map(|&v| root_of(function, v)).collect();
        let pinned = Pinned { handed_on: handed_on(&grouped.nodes, function), outputs: outputs_in };
        let subtensors = Subtensors::new(&mut grouped, pinned, &written);
        let fuse::Grouped { function, nodes, .. } = grouped;
        check_bounds(frame, &function, &nodes)?;
        Ok(Self { function, nodes, input_count: method.inputs.len(), outputs, states, spares, subtensors })
    }

    /// Returns the method's inputs.
    pub fn inputs(&self) -> &[Value] {
        &self.function.params[..self.input_count]
    }

    /// Returns the groups, branches, loops and moves as one list.
    pub fn work(&self) -> Vec<Work<'_>> {
        work::of_method(&self.function, &self.nodes)
    }
}

/// Calls `see` for every node. Nodes inside a branch or a loop come after it.
fn each(nodes: &[Node], see: &mut impl FnMut(&Node)) {
    for node in nodes {
        see(node);
        if let Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } = node {
            each(first, see);
            each(second, see);
        }
    }
}

/// Makes a spare value for each destination of simultaneous moves.
fn spares(nodes: &[Node], function: &mut Function) -> FxHashMap<Value, Value> {
    let mut spares = FxHashMap::default();
    each(nodes, &mut |node| match node {
        Node::Moves(moves) if moves.len() > 1 => {
            for moved in moves {
                spares.entry(moved.to).or_insert_with(|| duplicate(function, moved.to));
            }
        }
        _ => {}
    });
    spares
}

/// Returns the roots of the values that move to others.
fn handed_on(nodes: &[Node], function: &Function) -> FxHashSet<Value> {
    let mut list = FxHashSet::default();
    each(nodes, &mut |node| {
        if let Node::Moves(moves) = node {
            list.extend(moves.iter().map(|m| root_of(function, m.from)));
        }
    });
    list
}

/// Makes every output a separate tensor that a group or a move writes. Other outputs are copied: an input, a constant, a state, a subtensor, or a value
/// that is returned twice. Returns the tensor of each output, and the copies.
fn outputs_of(function: &mut Function, count: usize, written: &[Value]) -> (Vec<Value>, Vec<Group>) {
    let (mut taken, mut outputs, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    for result in function.results.clone().into_iter().take(count) {
        let root = root_of(function, result);
        if written.contains(&root) && !taken.contains(&root) {
            taken.push(root);
            outputs.push(result);
            continue;
        }
        let copy = duplicate(function, result);
        copies.push(Group::copy(result, copy));
        outputs.push(copy);
    }
    (outputs, copies)
}

#[cfg(test)]
mod tests {
    use super::Work;
    use crate::lower::testing::{input, negated, with_groups};
    use crate::machine::MACHINES;

    #[test]
    fn every_output_is_a_tensor_of_its_own() {
        with_groups(
            &[&MACHINES[0].capabilities],
            |b| {
                let x = input(b, &[4]);
                let y = negated(b, x);
                vec![y, x, y]
            },
            |_, grouped| {
                let [first, second, third] = grouped.outputs[..] else { panic!("three outputs") };
                assert!(first != second && second != third && third != first);
                let copies = |work: &Work<'_>| if let Work::Group(group) = work { Some((group.copied()?, group.outputs[0])) } else { None };
                let copies: Vec<_> = grouped.work().iter().filter_map(copies).collect();
                assert_eq!(copies, [(grouped.inputs()[0], second), (first, third)]);
            },
        );
    }
}
