//! Merges of groups: element-wise work fuses over any connected piece of graph.
//!
//! Two groups merge if the second reads, element by element, what the first computes, and no third group must run between them. A diamond's
//! shared value is then computed once and never stored. A result that other groups read is stored beside the second group's results. In both
//! cases the second group does not load its operand again.
//!
//! Groups merge within straight lines of code: nothing moves past a branch, a loop or a custom operator. A merged group runs as early as
//! what it reads allows, and groups that it overtakes keep their order.

use super::fusions::{Fusions, Merge};
use super::line::{Line, Method, Rule};
use super::{Group, Node};
use crate::ir::{Function, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Merges the groups of each straight line, and returns the merges. `uses` counts the uses of each value.
pub(super) fn merge(
    function: &Function,
    module: &Module,
    uses: &FxHashMap<Value, usize>,
    fusions: &Fusions,
    nodes: &mut Vec<Node>,
) -> Vec<Merge> {
    if fusions.is_empty() {
        return vec![];
    }
    let mut computed = FxHashSet::default();
    collect_computed(nodes, &mut computed);
    let method = Method { function, module, uses, computed, fusions };
    let mut merges = Vec::new();
    method.body(nodes, &mut merges);
    merges
}

fn collect_computed(nodes: &[Node], list: &mut FxHashSet<Value>) {
    for node in nodes {
        match node {
            Node::Group(group) => list.extend(&group.outputs),
            Node::Moves(_) => {}
            Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                collect_computed(first, list);
                collect_computed(second, list);
            }
        }
    }
}

/// Returns the ways in which groups merge, the one that saves most first.
fn rules<'a>() -> [Rule<'a>; 4] {
    [
        Rule { candidates: Line::makers, join: Line::elements },
        Rule { candidates: Line::makers, join: Line::rows },
        Rule { candidates: Line::readers_of_same, join: Line::rows },
        Rule { candidates: Line::readers_of_same, join: Line::siblings },
    ]
}

impl Method<'_> {
    /// Merges the groups of a body and of nested bodies.
    fn body(&self, nodes: &mut Vec<Node>, merges: &mut Vec<Merge>) {
        let mut done = Vec::with_capacity(nodes.len());
        let mut line = Vec::new();
        for node in nodes.drain(..) {
            let mut node = match node {
                Node::Group(group) if !self.is_custom(&group) => {
                    line.push(*group);
                    continue;
                }
                other => other,
            };
            match &mut node {
                Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                    self.body(first, merges);
                    self.body(second, merges);
                }
                Node::Group(_) | Node::Moves(_) => {}
            }
            done.extend(merged(self, std::mem::take(&mut line), merges));
            done.push(node);
        }
        done.extend(merged(self, line, merges));
        *nodes = done;
    }

    fn is_custom(&self, group: &Group) -> bool {
        group.root().is_some_and(|root| self.function.insts[root].op() == Op::External)
    }
}

/// Merges a straight line of groups.
fn merged<'a>(method: &'a Method<'a>, groups: Vec<Group>, merges: &mut Vec<Merge>) -> impl Iterator<Item = Node> + use<> {
    let mut line = Line::new(method, groups);
    for rule in rules() {
        merges.extend(line.merge_all(rule));
    }
    merges.extend(line.recompute());
    line.finish().map(|group| Node::Group(Box::new(group)))
}
