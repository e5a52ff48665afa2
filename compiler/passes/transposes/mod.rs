//! Transposes move towards the results until they meet their inverse.
//!
//! Contract: an operator with a twin for permuted dimensions is computed in front of the transposes of its operands, and its results are transposed
//! instead. This happens where transposes then move at most as many bytes ([`choose`]). Operands without a transpose get the inverse one; constants
//! are permuted at compile time. `simplify` merges two transposes that meet into one or none. Transposes that meet through a reshape are merged
//! before any of them moves. Otherwise the first that moved would have to come back all the way.

mod before;
mod choose;
mod cut;

use super::edit::{Edit, Visit, rewrite_function};
use super::through_reshape;
use crate::ir::axes::Axis;
use crate::ir::*;
use before::Before;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let mut changed = through_reshape::meet(module);
    let functions: Vec<Func> = module.functions.keys().collect();
    for func in functions {
        for permutation in permutations(&module.functions[func]) {
            let chosen = choose::choose(module, &module.functions[func], &permutation);
            changed |= !chosen.is_empty() && apply(module, func, &permutation, &chosen);
        }
    }
    changed
}

/// The permutations of a function's transposes.
fn permutations(function: &Function) -> BTreeSet<Vec<usize>> {
    let permutation = |&inst: &Inst| match &function.insts[inst].operation {
        Operation::Transpose(transpose) => Some(transpose.permutation.clone()).filter(|_| !transpose.is_identity()),
        _ => None,
    };
    function.body.iter().filter_map(permutation).collect()
}

/// Computes the chosen instructions in front of the transposes.
fn apply(module: &mut Module, func: Func, permutation: &[usize], chosen: &FxHashSet<Inst>) -> bool {
    rewrite_function(module, func, &mut |edit, inst| {
        if !chosen.contains(&inst) {
            return Visit::Keep;
        }
        edit.attempt(|edit| moved(edit, permutation, inst)).map_or(Visit::Keep, Visit::Replace)
    })
}

/// Transposes the new results, so that they replace the old ones.
fn after(edit: &mut Edit<'_>, moved: &[Value], old: &[Value], permutation: &[usize]) -> Option<Vec<Value>> {
    let mut results = Vec::with_capacity(moved.len());
    for (&value, &old) in moved.iter().zip(old) {
        let result = edit.insert_one(operators::Transpose { permutation: permutation.to_vec() }, &[value])?;
        if edit.function.tensor(result).shape != edit.function.tensor(old).shape {
            return None;
        }
        results.push(result);
    }
    Some(results)
}

/// Computes an instruction on the operands in front of their transposes, and transposes its results.
fn moved(edit: &mut Edit<'_>, permutation: &[usize], inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let operation = data.operation.permuted(permutation)?;
    let axes = data.axes(edit.module, &edit.function);
    let operands = data.operands.iter().zip(&axes.operands).enumerate();
    let operands = operands.map(|(i, (&v, axes))| before(edit, (&data.operation, i), v, permutation, axes)).collect::<Option<Vec<_>>>()?;
    let moved = edit.insert(operation, &operands).ok()?;
    after(edit, &moved, &data.results, permutation)
}

/// Returns the operand in front of its transpose.
fn before(edit: &mut Edit<'_>, of: (&Operation, usize), value: Value, permutation: &[usize], axes: &[Axis]) -> Option<Value> {
    if let Some((_, source)) = edit.transpose(value).filter(|(transpose, _)| transpose.permutation == permutation) {
        return Some(source);
    }
    let ty = edit.function.values[value].ty.as_tensor()?.clone();
    let back = operators::Transpose { permutation: permutation.to_vec() }.inverse();
    match Before::in_operation(of, &ty, edit.constant_of(value).is_some(), axes, permutation.len())? {
        Before::Same => Some(value),
        Before::Number if ty.shape.is_empty() => Some(value),
        Before::Number => edit.insert_one(operators::Reshape { shape: vec![] }, &[value]),
        Before::Constant => {
            let mut whole = vec![Extent::Static(1); permutation.len().checked_sub(ty.rank())?];
            whole.extend(&ty.shape);
            let whole = edit.insert_one(operators::Reshape { shape: whole }, &[value])?;
            edit.insert_one(back, &[whole])
        }
        Before::Transposed => edit.insert_one(back, &[value]),
    }
}
