//! Inlining of calls.
//!
//! Contract: the body of its function replaces every `call`, and every `if` on a constant condition, callees first.
//! A call stays if the caller would exceed [`LARGEST`] instructions, or if the body does not fit the operands' types.
//! Sources are kept. Placements of an imported plan follow the values of the first copy.

use super::edit::{Edit, Visit, rewrite_function};
use crate::ir::*;
use rustc_hash::FxHashMap;

/// Instructions that a function may have after inlining: a chain of functions that each call the next one twice stays finite.
const LARGEST: usize = 100_000;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let order = callees_first(module);
    order.into_iter().fold(false, |changed, func| rewrite_function(module, func, &mut visit) | changed)
}

fn visit(edit: &mut Edit<'_>, inst: Inst) -> Visit {
    let data = &edit.function.insts[inst];
    let (callee, arguments) = match &data.operation {
        Operation::Call(call) => (call.function, data.operands.clone()),
        Operation::If(branch) => match condition(edit, data.operands[0]) {
            Some(taken) => (if taken { branch.then } else { branch.otherwise }, data.operands[1..].to_vec()),
            None => return Visit::Keep,
        },
        _ => return Visit::Keep,
    };
    if edit.length() + edit.module.functions[callee].body.len() > LARGEST {
        return Visit::Keep;
    }
    edit.attempt(|edit| inline(edit, callee, &arguments)).map_or(Visit::Keep, Visit::Replace)
}

fn condition(edit: &Edit<'_>, value: Value) -> Option<bool> {
    let constant = edit.constant_of(value)?;
    Some(edit.module.constants[constant].data.bytes().iter().any(|&b| b != 0))
}

/// Copies the body of a function. Returns the caller's values for its results.
fn inline(edit: &mut Edit<'_>, func: Func, arguments: &[Value]) -> Option<Vec<Value>> {
    let callee = edit.module.functions[func].clone();
    let mut names: FxHashMap<Value, Value> = callee.params.iter().copied().zip(arguments.iter().copied()).collect();
    for &inst in &callee.body {
        let data = &callee.insts[inst];
        let operands: Vec<Value> = data.operands.iter().map(|v| names.get(v).copied()).collect::<Option<_>>()?;
        let operation = renamed(&data.operation, &names)?;
        let types = edit.infer(&operation, &operands).ok()?;
        let results = edit.insert_typed(operation, &operands, types, data.source);
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
fn move_placements(edit: &mut Edit<'_>, func: Func, callee: &Function, names: &FxHashMap<Value, Value>) {
    let methods = edit.module.imported_plan.iter_mut().flat_map(|plan| &mut plan.methods);
    for placement in methods.flat_map(|method| &mut method.placements).filter(|p| p.function == func) {
        let is_param = callee.params.contains(&placement.value);
        if let (false, Some(&new)) = (is_param, names.get(&placement.value)) {
            placement.function = edit.func;
            placement.value = new;
        }
    }
}

/// Returns an operator with the callee's index values in its fields replaced by the caller's. `None` if one of them has no value here.
fn renamed(operation: &Operation, names: &FxHashMap<Value, Value>) -> Option<Operation> {
    let mut renamed = operation.clone();
    let mut known = true;
    renamed.each_extent(|extent| {
        if let Extent::Value(value) = extent {
            match names.get(value) {
                Some(name) => *value = *name,
                None => known = false,
            }
        }
    });
    known.then_some(renamed)
}

/// Functions so that each comes after all that it calls. The verifier knows that there is no circle.
fn callees_first(module: &Module) -> Vec<Func> {
    let mut order = Vec::new();
    let mut seen = cranelift_entity::EntitySet::new();
    let called = |func: Func| -> Vec<Func> {
        let function = &module.functions[func];
        function.body.iter().flat_map(|&inst| function.insts[inst].operation.functions()).collect()
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
