//! The report by operator: kernels that compute the same operators form one row.

use super::graph::Nodes;
use crate::ir::Module;
use crate::program::{Call, Program, by_operator, calls};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Adds the rows of all methods to a report that already has its kernels.
pub fn add(report: &mut Value, program: &Program, module: &Module) {
    let nodes = Nodes::new(module);
    let mut rows = Vec::new();
    let mut first = 0;
    for method in &program.methods {
        let calls = calls(&method.steps);
        for row in by_operator(&calls, |source| &module.sources[source]) {
            let of_row: Vec<_> = row.calls.iter().map(|&call| calls[call]).collect();
            let numbers: Vec<usize> = row.calls.iter().map(|call| first + call).collect();
            let places = nodes.of(of_row.iter().copied());
            let operators: Vec<_> = row.operators.iter().map(|(index, name)| json!({ "index": index, "name": name })).collect();
            rows.push(json!({
                "method": method.name,
                "operators": operators,
                "nodes": places,
                "kernels": numbers,
                "multiply_accumulates": of_row.iter().map(|call| call.origin.multiply_accumulates).sum::<u64>(),
                "bytes": of_row.iter().map(|call| call.origin.bytes).sum::<u64>(),
                "weights_bytes": constants_bytes(program, of_row.iter().copied()),
                "code_bytes": code_bytes(report, &numbers),
                "parameters": nodes.parameters(&places),
            }));
        }
        first += calls.len();
    }
    report["operators"] = rows.into();
}

/// Returns the bytes of the functions of some kernel calls, each counted once.
fn code_bytes(report: &Value, calls: &[usize]) -> u64 {
    let kernels = calls.iter().map(|&call| &report["kernels"][call]);
    let functions: BTreeMap<_, _> = kernels.map(|kernel| (kernel["symbol"].as_str(), kernel["code_bytes"].as_u64().unwrap_or(0))).collect();
    functions.values().sum()
}

/// Returns the bytes of the constants that calls read, each counted once.
pub fn constants_bytes<'c>(program: &Program, calls: impl IntoIterator<Item = &'c Call>) -> u64 {
    let arguments = calls.into_iter().flat_map(|call| &call.arguments);
    let distinct: BTreeSet<usize> = arguments.filter_map(|&address| program.constant_at(address)).collect();
    distinct.iter().filter_map(|&number| program.constants.get(number)).map(|blob| blob.data.len() as u64).sum()
}
