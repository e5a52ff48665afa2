//! Removal of instructions, results and constants that nobody uses.
//!
//! Contract: an instruction stays if another one that stays uses a result of it. So does one that may write a state, or is a function of the
//! application.
//! A load whose tensor is not used hands its token through. A `map` loses unused results, nodes and operands as long as its shape stays the same.
//! Unused constants are removed, and the others are numbered anew.

use super::edit::{Edit, Visit, each_constant, rewrite};
use crate::ir::*;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let mut changed = rewrite(module, |edit, inst| match edit.function.insts[inst].op() {
        Op::LoadState => skip_load(edit, inst),
        Op::Map => drop_results(edit, inst),
        _ => Visit::Keep,
    });
    for function in module.functions.values_mut() {
        let before = function.body.len();
        function.body = living(function);
        changed |= function.body.len() != before;
    }
    changed | drop_constants(module)
}

/// Keeps the constants that are named by instructions, by expressions or by states.
fn drop_constants(module: &mut Module) -> bool {
    let mut used: EntitySet<Constant> = EntitySet::with_capacity(module.constants.len());
    each_constant(module, |constant| {
        used.insert(*constant);
    });
    if module.constants.keys().all(|id| used.contains(id)) {
        return false;
    }
    let mut new: SecondaryMap<Constant, Constant> = SecondaryMap::with_default(Constant::from_u32(0));
    let mut kept = PrimaryMap::new();
    for (id, constant) in std::mem::take(&mut module.constants) {
        if used.contains(id) {
            new[id] = kept.push(constant);
        }
    }
    module.constants = kept;
    each_constant(module, |constant| *constant = new[*constant]);
    true
}

/// The instructions that stay, found from the end.
fn living(function: &Function) -> Vec<Inst> {
    let mut used: EntitySet<Value> = EntitySet::with_capacity(function.values.len());
    let param_extents = function.params.iter().filter_map(|&p| function.values[p].ty.as_tensor()).flat_map(|ty| &ty.shape);
    let extents = param_extents.filter_map(|e| if let Extent::Value(v) = e { Some(*v) } else { None });
    used.extend(function.results.iter().copied().chain(extents));
    let mut kept = Vec::with_capacity(function.body.len());
    for &inst in function.body.iter().rev() {
        let data = &function.insts[inst];
        let takes_token = data.operands.iter().any(|&v| function.values[v].ty == Type::Effect);
        let writes = (takes_token && data.op() != Op::LoadState) || data.op() == Op::External;
        if writes || data.results.iter().any(|&v| used.contains(v)) {
            used.extend(function.uses(inst));
            kept.push(inst);
        }
    }
    kept.reverse();
    kept
}

fn skip_load(edit: &mut Edit<'_>, inst: Inst) -> Visit {
    let data = &edit.function.insts[inst];
    let (token, tensor) = (data.operands[0], data.results[1]);
    if edit.uses[tensor] > 0 { Visit::Keep } else { Visit::Replace(vec![token, tensor]) }
}

/// A map with only the results that are used.
fn drop_results(edit: &mut Edit<'_>, inst: Inst) -> Visit {
    let data = &edit.function.insts[inst];
    let used: Vec<usize> = (0..data.results.len()).filter(|&i| edit.uses[data.results[i]] > 0).collect();
    if used.is_empty() || used.len() == data.results.len() {
        return Visit::Keep;
    }
    let mut expression = data.expression().clone();
    expression.results = used.iter().map(|&i| expression.results[i]).collect();
    let (operands, results) = (data.operands.clone(), data.results.clone());
    let Ok(made) = edit.insert(operators::Map { expression }, &operands) else { return Visit::Keep };
    let mut values = results;
    for (&i, value) in used.iter().zip(made) {
        values[i] = value;
    }
    Visit::Replace(values)
}
