//! Weights that a map computes from constants get their final shape before it.
//!
//! Contract: a reshape or transpose of a map that reads only constants, and that nobody else uses, moves to the map's operands. Folding makes new
//! constants there.
//! The reader of the weights then sees the map itself, so compressed weights are widened where they are used.

use super::edit::{Edit, replace};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    replace(module, |edit, inst| match edit.function.insts[inst].op() {
        Op::Reshape | Op::Transpose => Some(vec![through(edit, inst)?]),
        _ => None,
    })
}

fn through(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    let map = edit.defined_by(data.operands[0], Op::Map)?.clone();
    let alone = edit.uses[data.operands[0]] == 1 && map.results.len() == 1;
    if !alone || map.operands.is_empty() || !map.operands.iter().all(|&v| edit.constant_of(v).is_some()) {
        return None;
    }
    let from = edit.static_shape(data.operands[0])?;
    let to = edit.static_shape(data.results[0])?;
    let operands: Option<Vec<Value>> = map.operands.iter().map(|&v| moved(edit, &data, v, &from, &to)).collect();
    let result = edit.insert_one(map.operation, &operands?)?;
    (edit.static_shape(result)? == to).then_some(result)
}

/// Moves an operand of the map, so that the map's result has its new shape directly.
fn moved(edit: &mut Edit<'_>, data: &InstData, operand: Value, from: &[u64], to: &[u64]) -> Option<Value> {
    let shape = edit.static_shape(operand)?;
    if shape.is_empty() {
        return Some(operand);
    }
    if shape.iter().all(|&n| n == 1) {
        return reshape(edit, operand, &[]);
    }
    let mut whole = vec![1; from.len().checked_sub(shape.len())?];
    whole.extend(shape);
    if data.op() == Op::Reshape {
        let new = if whole == from { to.to_vec() } else { respaced(&whole, from, to)? };
        return reshape(edit, operand, &new);
    }
    let whole = reshape(edit, operand, &whole)?;
    edit.insert_one(data.operation.clone(), &[whole])
}

fn reshape(edit: &mut Edit<'_>, value: Value, shape: &[u64]) -> Option<Value> {
    let shape = shape.iter().map(|&n| Extent::Static(n)).collect();
    edit.insert_one(operators::Reshape { shape }, &[value])
}

/// The shape of an operand that broadcasts to `from` when `from` becomes `to` by moving extents of 1 alone.
fn respaced(shape: &[u64], from: &[u64], to: &[u64]) -> Option<Vec<u64>> {
    let large = |list: &[u64]| -> Vec<usize> { (0..list.len()).filter(|&d| list[d] != 1).collect() };
    let (before, after) = (large(from), large(to));
    let same = before.len() == after.len() && before.iter().zip(&after).all(|(&i, &j)| from[i] == to[j]);
    let mut new = vec![1; to.len()];
    before.iter().zip(&after).for_each(|(&i, &j)| new[j] = shape[i]);
    same.then_some(new)
}
