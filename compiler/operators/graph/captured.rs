//! Indices that an inner function, a branch or a loop's body, shares with the function around it.
//!
//! An index that is computed from others is computed again inside, so that its form is known there. When the inner function ends, indices that the
//! outer function has as well become parameters ([`settle`]).

use super::integers::{number, operation_of};
use crate::ir::operators::{IndexBinary, IndexConstant};
use crate::ir::{Definition, Extent, Function, IndexOperation, Inst, Interval, Operation, Type, Value, interval};
use rustc_hash::FxHashSet;

/// Pairs of a value of a function and its counterpart in a function inside it.
pub type Captures = Vec<(Value, Value)>;

/// The maximum number of operations on indices that are followed from a function to the next.
const MOST_FOLLOWED: usize = 64;

/// Returns the counterpart of an outer function's extent in an inner function.
pub fn capture_extent(captures: &mut Captures, around: &Function, inside: &mut Function, extent: Extent) -> Extent {
    match around.resolved(extent) {
        Extent::Value(index) => Extent::Value(capture(captures, around, inside, index)),
        known @ Extent::Static(_) => known,
    }
}

/// Returns the counterpart of an outer function's index in an inner function: an operation if it is one outside, else a parameter.
pub fn capture(captures: &mut Captures, around: &Function, inside: &mut Function, index: Value) -> Value {
    capture_within(captures, around, inside, index, MOST_FOLLOWED)
}

fn capture_within(captures: &mut Captures, around: &Function, inside: &mut Function, index: Value, left: usize) -> Value {
    let index = around.index_root(index);
    if let Some((_, inner)) = captures.iter().find(|&&(outer, _)| around.index_root(outer) == index) {
        return *inner;
    }
    let inner = match (number(around, index), operation_of(around, index), left) {
        (Some(n), _, _) => append_constant(inside, n),
        (None, Some((operation, operands)), 1..) => {
            let [a, b] = operands.map(|operand| capture_within(captures, around, inside, operand, left - 1));
            append_operation(inside, operation, [a, b])
        }
        _ => inside.add_param(around.values[index].ty.clone(), None),
    };
    captures.push((index, inner));
    inner
}

/// Returns the counterpart of an inner function's index in the outer function: an index of it, or an operation on such. `None` if only the inner
/// function has the index.
pub fn lift(captures: &mut Captures, around: &mut Function, inside: &Function, index: Value) -> Option<Value> {
    lift_within(captures, around, inside, index, MOST_FOLLOWED)
}

fn lift_within(captures: &mut Captures, around: &mut Function, inside: &Function, index: Value, left: usize) -> Option<Value> {
    let index = inside.index_root(index);
    let same = |&&(_, inner): &&(Value, Value)| matches!(inside.values[inner].ty, Type::Index(_)) && inside.index_root(inner) == index;
    if let Some((outer, _)) = captures.iter().find(same) {
        return Some(*outer);
    }
    let left = left.checked_sub(1)?;
    let outer = match (number(inside, index), operation_of(inside, index)) {
        (Some(n), _) => append_constant(around, n),
        (None, Some((operation, [a, b]))) => {
            let operands = [lift_within(captures, around, inside, a, left)?, lift_within(captures, around, inside, b, left)?];
            append_operation(around, operation, operands)
        }
        (None, None) => return None,
    };
    captures.push((outer, index));
    Some(outer)
}

/// Ends an inner function: each index that the function around it has as well is a parameter. Its place among the parameters is for the caller to say.
pub fn settle(captures: &Captures, inside: &mut Function) {
    let mut computed: FxHashSet<Inst> = FxHashSet::default();
    for &(_, inner) in captures {
        if let (Type::Index(_), Definition::Result(inst, _)) = (&inside.values[inner].ty, inside.values[inner].definition) {
            inside.values[inner].definition = Definition::Param(0);
            computed.insert(inst);
        }
    }
    inside.body.retain(|inst| !computed.contains(inst));
}

/// The values that a function reads, and the indices in the types of its values.
pub fn used(function: &Function) -> FxHashSet<Value> {
    let mut used: FxHashSet<Value> = function.results.iter().copied().collect();
    used.extend(function.body.iter().flat_map(|&inst| function.uses(inst)));
    let named = function.params.iter().chain(function.body.iter().flat_map(|&inst| &function.insts[inst].results)).chain(&function.results);
    let tensors = named.filter_map(|&value| function.values[value].ty.as_tensor());
    used.extend(tensors.flat_map(|ty| &ty.shape).filter_map(|extent| if let Extent::Value(index) = extent { Some(*index) } else { None }));
    used
}

fn append_constant(function: &mut Function, value: i64) -> Value {
    let inst = function.append(IndexConstant { value }, vec![], vec![Type::Index(Interval::exactly(value))], None);
    function.insts[inst].results[0]
}

fn append_operation(function: &mut Function, operation: IndexOperation, operands: [Value; 2]) -> Value {
    let [a, b] = operands.map(|operand| function.interval(Extent::Value(operand)));
    let ty = Type::Index(interval::apply(operation, a, b));
    let inst = function.append(Operation::IndexBinary(IndexBinary { operation }), operands.to_vec(), vec![ty], None);
    function.insts[inst].results[0]
}
