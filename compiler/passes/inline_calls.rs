//! Calls become the called function's instructions.
//!
//! Contract: every `call`, and every `if` on a constant condition, is replaced by the body of its function, callees first, unless
//! the caller would grow beyond [`LARGEST`] instructions or the body does not fit the operands' types. Sources are kept; placements of an imported plan
//! follow the values of the first copy.

use super::edit::{Edit, Visit, rewrite_function};
use crate::ir::*;
use std::collections::HashMap;

/// Instructions that a function may have after inlining: a chain of functions that each call the next one twice stays finite.
const LARGEST: usize = 100_000;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let order = callees_first(module);
    order.into_iter().fold(false, |changed, func| rewrite_function(module, func, &mut visit) | changed)
}

fn visit(edit: &mut Edit<'_>, inst: Inst) -> Visit {
    let data = &edit.function.insts[inst];
    let (callee, arguments) = match data.op {
        Op::Call => (data.function("function"), data.operands.clone()),
        Op::If => match condition(edit, data.operands[0]) {
            Some(taken) => (data.function(if taken { "then" } else { "otherwise" }), data.operands[1..].to_vec()),
            None => return Visit::Keep,
        },
        _ => return Visit::Keep,
    };
    if edit.mark() + edit.module.functions[callee].body.len() > LARGEST {
        return Visit::Keep;
    }
    let mark = edit.mark();
    match inline(edit, callee, &arguments) {
        Some(values) => Visit::Replace(values),
        None => {
            edit.cut_back(mark);
            Visit::Keep
        }
    }
}

fn condition(edit: &Edit<'_>, value: Value) -> Option<bool> {
    let constant = edit.constant_of(value)?;
    Some(edit.module.constants[constant].data.bytes().iter().any(|&b| b != 0))
}

/// Copies a body; gives what its results are called here.
fn inline(edit: &mut Edit<'_>, func: Func, arguments: &[Value]) -> Option<Vec<Value>> {
    let callee = edit.module.functions[func].clone();
    let mut names: HashMap<Value, Value> = callee.params.iter().copied().zip(arguments.iter().copied()).collect();
    for &inst in &callee.body {
        let data = &callee.insts[inst];
        let operands: Vec<Value> = data.operands.iter().map(|v| names.get(v).copied()).collect::<Option<_>>()?;
        let attributes = data.attributes.iter().map(|a| rename(a, &names)).collect::<Option<Vec<_>>>()?;
        let types = edit.infer(data.op, &operands, &attributes).ok()?;
        let results = edit.insert_typed(data.op, &operands, attributes, types, data.source);
        for (&old, new) in data.results.iter().zip(results) {
            let value = &callee.values[old];
            edit.function.values[new].name = value.name.clone();
            if let (Type::Tensor(from), Type::Tensor(to)) = (&value.ty, &mut edit.function.values[new].ty) {
                to.layout = from.layout.clone();
            }
            names.insert(old, new);
        }
    }
    let results = callee.results.iter().map(|v| names.get(v).copied()).collect::<Option<Vec<_>>>()?;
    move_placements(edit, func, &callee, &names);
    Some(results)
}

/// Lets the placements of an imported plan follow the values; the first copy of a body takes them.
fn move_placements(edit: &mut Edit<'_>, func: Func, callee: &Function, names: &HashMap<Value, Value>) {
    let methods = edit.module.imported_plan.iter_mut().flat_map(|plan| &mut plan.methods);
    for placement in methods.flat_map(|method| &mut method.placements).filter(|p| p.function == func) {
        let is_param = callee.params.contains(&placement.value);
        if let (false, Some(&new)) = (is_param, names.get(&placement.value)) {
            placement.function = edit.func;
            placement.value = new;
        }
    }
}

fn rename(attribute: &Attribute, names: &HashMap<Value, Value>) -> Option<Attribute> {
    let Attribute::Extents(extents) = attribute else { return Some(attribute.clone()) };
    let renamed = extents.iter().map(|e| match e {
        Extent::Static(_) => Some(*e),
        Extent::Value(v) => names.get(v).map(|v| Extent::Value(*v)),
    });
    Some(Attribute::Extents(renamed.collect::<Option<_>>()?))
}

/// Functions so that each comes after all that it calls. The verifier knows that there is no circle.
fn callees_first(module: &Module) -> Vec<Func> {
    let mut order = Vec::new();
    let mut seen = cranelift_entity::EntitySet::new();
    let called = |func: Func| -> Vec<Func> {
        let function = &module.functions[func];
        let functions = function.body.iter().flat_map(|&inst| &function.insts[inst].attributes);
        functions.filter_map(|a| if let Attribute::Function(f) = a { Some(*f) } else { None }).collect()
    };
    for root in module.functions.keys() {
        if !seen.insert(root) {
            continue;
        }
        let mut stack = vec![(root, called(root))];
        while let Some((func, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if seen.insert(next) => stack.push((next, called(next))),
                Some(_) => {}
                None => {
                    order.push(*func);
                    stack.pop();
                }
            }
        }
    }
    order
}
