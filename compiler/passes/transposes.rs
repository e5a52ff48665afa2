//! Transposes move towards the results until they meet their inverse.
//!
//! Contract: a transpose in front of a map, pad, slice, reduction or concat moves behind it, when at least as many transposes
//! go as come. Other operands must be transposed alike, have one element, or be constants, which are then transposed backwards. Where two meet,
//! `simplify` makes them one or none.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| {
        let mark = edit.mark();
        let moved = match edit.function.insts[inst].op {
            Op::Map => through_many(edit, inst),
            Op::Concat => through_many(edit, inst),
            Op::Pad | Op::MirrorPad | Op::Slice | Op::Reduce | Op::ArgReduce => through_one(edit, inst),
            _ => None,
        };
        if moved.is_none() {
            edit.cut_back(mark);
        }
        moved.map_or(Visit::Keep, Visit::Replace)
    })
}

fn permutation_of(edit: &Edit<'_>, value: Value) -> Option<Vec<i64>> {
    edit.defined_by(value, Op::Transpose).map(|data| data.ints("permutation").to_vec())
}

fn inverse(permutation: &[i64]) -> Vec<i64> {
    let mut inverse = vec![0; permutation.len()];
    for (i, &p) in permutation.iter().enumerate() {
        inverse[p as usize] = i as i64;
    }
    inverse
}

/// Items by result dimension, put where the operand in front of the transpose has these dimensions.
fn backwards<T: Clone>(items: &[T], permutation: &[i64]) -> Vec<T> {
    inverse(permutation).into_iter().map(|i| items[i as usize].clone()).collect()
}

/// Behind an instruction with one operand.
fn through_one(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let permutation = permutation_of(edit, data.operands[0])?;
    if edit.uses[data.operands[0]] != 1 {
        return None;
    }
    let source = edit.definition(data.operands[0])?.operands[0];
    let axes = matches!(data.op, Op::Reduce | Op::ArgReduce);
    let attributes: Vec<Attribute> = data
        .attributes
        .iter()
        .zip(data.op.row().attributes)
        .map(|(attribute, (name, _))| match attribute {
            Attribute::Ints(list) if axes => Attribute::Ints(list.iter().map(|&a| permutation[a as usize]).collect()),
            Attribute::Ints(list) => Attribute::Ints(backwards(list, &permutation)),
            // Nothing is said of extents that are known.
            Attribute::Extents(list) if list.is_empty() => attribute.clone(),
            Attribute::Extents(list) => Attribute::Extents(backwards(list, &permutation)),
            Attribute::Int(axis) if *name == "axis" => Attribute::Int(permutation[*axis as usize]),
            other => other.clone(),
        })
        .collect();
    let moved = edit.insert(data.op, &[source], attributes).ok()?;
    behind(edit, &moved, &data.results, permutation)
}

/// Transposes the new results to what the old ones were.
fn behind(edit: &mut Edit<'_>, moved: &[Value], old: &[Value], permutation: Vec<i64>) -> Option<Vec<Value>> {
    let mut results = Vec::with_capacity(moved.len());
    for (&value, &old) in moved.iter().zip(old) {
        let result = edit.insert_one(Op::Transpose, &[value], vec![Attribute::Ints(permutation.clone())])?;
        if edit.function.tensor(result).shape != edit.function.tensor(old).shape {
            return None;
        }
        results.push(result);
    }
    Some(results)
}

/// Behind a map or a concat.
fn through_many(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let rank = edit.function.tensor(data.results[0]).rank();
    let permutations = data.operands.iter().filter_map(|&v| permutation_of(edit, v));
    let permutation = permutations.into_iter().find(|p| p.len() == rank)?;
    let mut ending: Vec<Value> = data.operands.iter().copied().filter(|&v| ends_here(edit, &data, v, &permutation)).collect();
    ending.sort();
    ending.dedup();
    if ending.len() < data.results.len() {
        return None;
    }
    let operands = data.operands.iter().map(|&v| before(edit, v, &permutation, data.op == Op::Map)).collect::<Option<Vec<_>>>()?;
    let mut attributes = data.attributes.clone();
    if let [Attribute::Int(axis), ..] = attributes.as_mut_slice() {
        *axis = permutation[*axis as usize];
    }
    let moved = edit.insert(data.op, &operands, attributes).ok()?;
    behind(edit, &moved, &data.results, permutation)
}

/// Whether a value is a transpose by a permutation that nobody else uses.
fn ends_here(edit: &Edit<'_>, data: &InstData, value: Value, permutation: &[i64]) -> bool {
    let here = data.operands.iter().filter(|&&v| v == value).count();
    edit.uses[value] as usize == here && permutation_of(edit, value).is_some_and(|p| p == permutation)
}

/// The operand as it is in front of the transposes.
fn before(edit: &mut Edit<'_>, value: Value, permutation: &[i64], broadcasts: bool) -> Option<Value> {
    if permutation_of(edit, value).is_some_and(|p| p == permutation) {
        return Some(edit.definition(value)?.operands[0]);
    }
    let shape = edit.static_shape(value)?;
    if broadcasts && shape.iter().all(|&n| n == 1) {
        let scalar = if shape.is_empty() { return Some(value) } else { vec![Attribute::Extents(vec![])] };
        return edit.insert_one(Op::Reshape, &[value], scalar);
    }
    edit.constant_of(value)?;
    let mut whole = vec![Extent::Static(1); permutation.len().checked_sub(shape.len())?];
    whole.extend(shape.into_iter().map(Extent::Static));
    let whole = edit.insert_one(Op::Reshape, &[value], vec![Attribute::Extents(whole)])?;
    edit.insert_one(Op::Transpose, &[whole], vec![Attribute::Ints(inverse(permutation))])
}
