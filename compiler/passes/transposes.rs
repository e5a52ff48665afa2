//! Transposes move towards the results until they meet their inverse.
//!
//! Contract: a transpose in front of an operator that has a twin for other orders of the dimensions moves after it, when at least as many
//! transposes go as come; also when others read the transpose too, if all that reads the result transposes it back. Other operands must be
//! transposed alike, have one element, or be constants, which are then transposed backwards. Where two meet, `simplify` makes them one or
//! none.

use super::edit::{Edit, Visit, rewrite_function};
use crate::ir::axes::Axis;
use crate::ir::*;
use std::collections::HashMap;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let functions: Vec<Func> = module.functions.keys().collect();
    let mut changed = false;
    for func in functions {
        let readers = Readers::of(&module.functions[func]);
        changed |= rewrite_function(module, func, &mut |edit, inst| {
            let mark = edit.mark();
            let moved = moved(edit, &readers, inst);
            if moved.is_none() {
                edit.cut_back(mark);
            }
            moved.map_or(Visit::Keep, Visit::Replace)
        });
    }
    changed
}

/// Which values nothing reads but transposes by one permutation.
struct Readers(HashMap<Value, Option<Vec<usize>>>);

impl Readers {
    fn of(function: &Function) -> Self {
        let mut readers: HashMap<Value, Option<Vec<usize>>> = HashMap::new();
        for &inst in &function.body {
            let transpose = match &function.insts[inst].operation {
                Operation::Transpose(transpose) => Some(transpose.permutation.clone()),
                _ => None,
            };
            for value in function.uses(inst) {
                let known = readers.entry(value).or_insert_with(|| transpose.clone());
                if *known != transpose {
                    *known = None;
                }
            }
        }
        function.results.iter().for_each(|&result| {
            readers.insert(result, None);
        });
        Self(readers)
    }

    /// Whether all that reads these values transposes them back.
    fn undo(&self, values: &[Value], permutation: &[usize]) -> bool {
        let inverse = operators::Transpose { permutation: permutation.to_vec() }.inverse().permutation;
        values.iter().all(|value| matches!(self.0.get(value), Some(Some(back)) if *back == inverse))
    }
}

fn permutation_of(edit: &Edit<'_>, value: Value) -> Option<Vec<usize>> {
    edit.transpose(value).map(|(transpose, _)| transpose.permutation.clone())
}

/// Transposes the new results to what the old ones were.
fn after(edit: &mut Edit<'_>, moved: &[Value], old: &[Value], permutation: Vec<usize>) -> Option<Vec<Value>> {
    let mut results = Vec::with_capacity(moved.len());
    for (&value, &old) in moved.iter().zip(old) {
        let result = edit.insert_one(operators::Transpose { permutation: permutation.clone() }, &[value])?;
        if edit.function.tensor(result).shape != edit.function.tensor(old).shape {
            return None;
        }
        results.push(result);
    }
    Some(results)
}

/// What an instruction computes of the operands in front of their transposes, transposed after it.
fn moved(edit: &mut Edit<'_>, readers: &Readers, inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let rank = edit.function.values[*data.results.first()?].ty.as_tensor()?.rank();
    let mut permutations = data.operands.iter().filter_map(|&v| permutation_of(edit, v));
    let permutation = permutations.find(|p| p.len() == rank)?;
    let operation = data.operation.permuted(&permutation)?;
    let mut ending: Vec<Value> = data.operands.iter().copied().filter(|&v| ends_here(edit, &data, v, &permutation)).collect();
    ending.sort();
    ending.dedup();
    if ending.len() < data.results.len() && !readers.undo(&data.results, &permutation) {
        return None;
    }
    let axes = data.axes(edit.module, &edit.function);
    let operands = data.operands.iter().zip(&axes.operands);
    let operands = operands.map(|(&v, axes)| before(edit, v, &permutation, axes)).collect::<Option<Vec<_>>>()?;
    let moved = edit.insert(operation, &operands).ok()?;
    after(edit, &moved, &data.results, permutation)
}

/// Whether a value is a transpose by a permutation that nobody else uses.
fn ends_here(edit: &Edit<'_>, data: &InstData, value: Value, permutation: &[usize]) -> bool {
    let here = data.operands.iter().filter(|&&v| v == value).count();
    edit.uses[value] as usize == here && permutation_of(edit, value).is_some_and(|p| p == permutation)
}

/// The operand as it is in front of the transposes.
fn before(edit: &mut Edit<'_>, value: Value, permutation: &[usize], axes: &[Axis]) -> Option<Value> {
    if permutation_of(edit, value).is_some_and(|p| p == permutation) {
        return Some(edit.definition(value)?.operands[0]);
    }
    let shape = edit.static_shape(value)?;
    let meets_all = axes.iter().all(|axis| matches!(axis, Axis::Kept(_) | Axis::Broadcast(_)));
    if meets_all && shape.iter().all(|&n| n == 1) {
        return if shape.is_empty() { Some(value) } else { edit.insert_one(operators::Reshape { shape: vec![] }, &[value]) };
    }
    edit.constant_of(value)?;
    let mut whole = vec![Extent::Static(1); permutation.len().checked_sub(shape.len())?];
    whole.extend(shape.into_iter().map(Extent::Static));
    let whole = edit.insert_one(operators::Reshape { shape: whole }, &[value])?;
    edit.insert_one(operators::Transpose { permutation: permutation.to_vec() }.inverse(), &[whole])
}
