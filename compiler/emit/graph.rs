//! The graphs of a model's file in the report, with the kernels of each operator.

use crate::ir::{End, Module, Outline, OutlineOperator, SourceData, Wire};
use crate::program::{Call, Program, calls};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The position of an operator in a report: the number of its graph, and its number there.
pub type Place = [usize; 2];

/// Maps operators of the file to their positions in the graphs.
pub struct Nodes<'m> {
    module: &'m Module,
    numbers: HashMap<&'m SourceData, Place>,
}

impl<'m> Nodes<'m> {
    /// Collects the operators of a module.
    pub fn new(module: &'m Module) -> Self {
        let mut numbers = HashMap::new();
        for (graph, outline) in module.outlines.iter().enumerate() {
            for (node, operator) in outline.operators.iter().enumerate() {
                numbers.entry(&module.sources[operator.source]).or_insert([graph, node]);
            }
        }
        Self { module, numbers }
    }

    /// Returns the operators that calls compute: graph and node, each once, in order.
    pub fn of<'c>(&self, calls: impl IntoIterator<Item = &'c Call>) -> Vec<Place> {
        let sources = calls.into_iter().flat_map(|call| &call.origin.sources);
        let mut nodes: Vec<_> = sources.filter_map(|&source| self.numbers.get(&self.module.sources[source]).copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Counts the elements of the constants that operators read.
    pub fn parameters(&self, nodes: &[Place]) -> u64 {
        nodes.iter().map(|&[graph, node]| self.module.outlines[graph].operators[node].parameters).sum()
    }
}

/// Adds the graphs to a report, and positions in them to its methods and kernels.
pub fn add(report: &mut Value, program: &Program, module: &Module) {
    let nodes = Nodes::new(module);
    report["graphs"] = module.outlines.iter().map(|outline| graph(outline, module)).collect();
    for (number, method) in module.methods.iter().enumerate() {
        report["methods"][number]["graph"] = json!(method.function.as_u32());
    }
    let calls = program.methods.iter().flat_map(|method| calls(&method.steps));
    for (number, call) in calls.enumerate() {
        report["kernels"][number]["nodes"] = json!(nodes.of([call]));
    }
}

fn graph(outline: &Outline, module: &Module) -> Value {
    let input = |(tensor, ty): &(String, String)| json!({ "tensor": tensor, "type": ty });
    json!({
        "name": outline.name,
        "inputs": outline.inputs.iter().map(input).collect::<Vec<_>>(),
        "operators": outline.operators.iter().map(|operator| node(operator, module)).collect::<Vec<_>>(),
        "outputs": outline.outputs.iter().map(wire).collect::<Vec<_>>(),
    })
}

fn node(operator: &OutlineOperator, module: &Module) -> Value {
    let place = &module.sources[operator.source];
    let mut node = json!({
        "index": place.operator,
        "name": place.operator_name,
        "tensor": place.tensor,
        "type": operator.ty,
        "parameters": operator.parameters,
        "inputs": operator.inputs.iter().map(wire).collect::<Vec<_>>(),
    });
    if !operator.functions.is_empty() {
        node["graphs"] = operator.functions.iter().map(|function| function.as_u32()).collect();
    }
    node
}

fn wire(wire: &Wire) -> Value {
    let (kind, number) = match wire.from {
        End::Input(number) => ("input", number),
        End::Operator(number) => ("node", number),
    };
    json!({ kind: number, "tensor": wire.tensor, "type": wire.ty })
}
