//! Grouping in two steps: chains, then merges.

use super::flow::Flow;
use super::{Fusions, Grouped, chains, graph, uses_of};
use crate::ir::Module;

/// Cuts a method into groups. Chains always become groups; then the merges that `fusions` allows are made.
pub fn group(flow: Flow, module: &Module, fusions: &Fusions) -> Grouped {
    let uses = uses_of(&flow);
    let mut nodes = chains::chains(&flow, module, &uses);
    let Flow { function, states, .. } = flow;
    let merges = graph::merge(&function, module, &uses, fusions, &mut nodes);
    Grouped { function, nodes, states, merges }
}
