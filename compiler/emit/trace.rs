//! The trace of each operator, for certification: its kernels, functions, and their positions and bytes in the object. It also lists the inputs
//! of the compilation.
//!
//! Hashes are of functions in the object, before a linker fills in distances. Addresses are relative to the object's sections.

use super::object::ObjectFiles;
use crate::diagnostic::{Diagnostic, codes};
use object::read::{File, Object, ObjectSection, ObjectSymbol};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Returns the trace of an object, schema `modelc.trace/1`. `settings` are the options of the compilation.
///
/// # Errors
/// A bug's diagnostic if the object cannot be read back.
pub fn trace(files: &ObjectFiles, settings: &Value) -> Result<Value, Diagnostic> {
    let report = &files.report;
    let object = files.object.to_vec();
    let functions = functions(&object, report)?;
    let weights = files.weights.as_ref().map(|weights| json!({ "sha256": hash(&weights.to_vec()), "bytes": weights.len() }));
    Ok(json!({
        "schema": "modelc.trace/1",
        "modelc": report["modelc"],
        "model": report["model"],
        "name": report["name"],
        "target": report["target"],
        "cpu_levels": report["cpu_levels"],
        "abi": report["abi"],
        "abi_hash": report["abi_hash"],
        "options": settings,
        "object": { "sha256": hash(&object), "bytes": object.len() },
        "header": { "sha256": hash(files.header.as_bytes()), "bytes": files.header.len() },
        "weights": weights,
        "memory": report["memory"],
        "plans": items(&report["methods"]).map(plan).collect::<Vec<_>>(),
        "operators": operators(report),
        "calls": items(&report["kernels"]).map(|kernel| call(kernel, report)).collect::<Vec<_>>(),
        "functions": functions,
    }))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn hash(bytes: &[u8]) -> String {
    super::info::hex(&Sha256::digest(bytes))
}

/// Returns a method's memory with its proof: a lower bound that is reached, or an exhaustive search.
fn plan(method: &Value) -> Value {
    let (bytes, bound) = (&method["scratch_bytes"], &method["lower_bound_bytes"]);
    let proof = match method["optimal"].as_bool() {
        _ if bytes == bound => "equal to the lower bound",
        Some(true) => "exhaustive search",
        _ => "none",
    };
    json!({ "method": method["name"], "scratch_bytes": bytes, "lower_bound_bytes": bound, "proof": proof, "occupants": method["memory_map"]["occupants"] })
}

/// Returns every operator of the file, with the numbers of its kernel calls. Rewrites removed an operator without calls.
fn operators(report: &Value) -> Vec<Value> {
    let mut calls: BTreeMap<(u64, u64), Vec<&Value>> = BTreeMap::new();
    for kernel in items(&report["kernels"]) {
        for place in items(&kernel["nodes"]) {
            let key = (place[0].as_u64().unwrap_or(0), place[1].as_u64().unwrap_or(0));
            calls.entry(key).or_default().push(&kernel["number"]);
        }
    }
    let of_graph = |(number, graph): (usize, &Value)| {
        let operator = |(node, operator): (usize, &Value)| {
            let calls = calls.get(&(number as u64, node as u64)).cloned().unwrap_or_default();
            json!({ "graph": graph["name"], "index": operator["index"], "name": operator["name"], "tensor": operator["tensor"],
                    "type": operator["type"], "parameters": operator["parameters"], "calls": calls })
        };
        items(&graph["operators"]).enumerate().map(operator).collect::<Vec<_>>()
    };
    items(&report["graphs"]).enumerate().flat_map(of_graph).collect()
}

/// Returns a kernel call with its function at each CPU level.
fn call(kernel: &Value, report: &Value) -> Value {
    let number = kernel["number"].as_u64().unwrap_or(0) as usize;
    let of_level = |level: &Value| (level["cpu_level"].as_str().unwrap_or_default().to_owned(), level["kernels"][number]["symbol"].clone());
    json!({ "number": number, "method": kernel["method"], "tensors": kernel["tensors"], "schedule": kernel["schedule"],
            "functions": items(&report["levels"]).map(of_level).collect::<BTreeMap<_, _>>() })
}

/// Returns every function of the object: section, address, size, hash, and the stack of a kernel.
fn functions(object: &[u8], report: &Value) -> Result<Vec<Value>, Diagnostic> {
    let broken = |what: &dyn std::fmt::Display| Diagnostic::new(codes::OWN_CHECK, format!("the object cannot be read back: {what}"));
    let file = File::parse(object).map_err(|error| broken(&error))?;
    let kernels = items(&report["levels"]).flat_map(|level| items(&level["kernels"]));
    let kernels: BTreeMap<&str, &Value> = kernels.filter_map(|kernel| Some((kernel["symbol"].as_str()?, kernel))).collect();
    let mut found = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.is_definition()) {
        let name = symbol.name().map_err(|error| broken(&error))?;
        let Some(section) = symbol.section_index().and_then(|index| file.section_by_index(index).ok()) else { continue };
        let (offset, data) = (symbol.address() - section.address(), section.data().map_err(|error| broken(&error))?);
        // Apple's formats put an underscore in front of C names.
        let kernel = kernels.get(name).or_else(|| kernels.get(name.strip_prefix('_')?));
        let own = kernel.and_then(|kernel| kernel["code_bytes"].as_u64()).filter(|_| symbol.size() == 0);
        let bytes = own.unwrap_or(symbol.size());
        let code =
            usize::try_from(offset).ok().zip(usize::try_from(bytes).ok()).and_then(|(at, bytes)| data.get(at..at.checked_add(bytes)?));
        found.push(json!({ "symbol": name, "section": section.name().unwrap_or_default(), "offset": offset, "bytes": bytes,
                           "sha256": code.filter(|code| !code.is_empty()).map(hash), "stack_bytes": kernel.map(|kernel| &kernel["stack_bytes"]) }));
    }
    Ok(found)
}
