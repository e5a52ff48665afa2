//! Solutions of equations about indices that follow from the extents of inputs.

use super::integers::{number, operation_of};
use crate::ir::{Function, IndexOperation, Op, Value, interval};
use std::collections::HashSet;

/// Solves `index = n` for the only operand that is no constant. Returns this operand and its value.
pub fn undone(function: &Function, index: Value, n: i64) -> Option<(Value, i64)> {
    let (operation, [a, b]) = operation_of(function, index)?;
    match (operation, number(function, a), number(function, b)) {
        (IndexOperation::Add, None, Some(c)) => Some((a, n.checked_sub(c)?)),
        (IndexOperation::Add, Some(c), None) => Some((b, n.checked_sub(c)?)),
        (IndexOperation::Subtract, None, Some(c)) => Some((a, n.checked_add(c)?)),
        (IndexOperation::Multiply, None, Some(c)) if c > 0 && n % c == 0 => Some((a, n / c)),
        (IndexOperation::Multiply, Some(c), None) if c > 0 && n % c == 0 => Some((b, n / c)),
        (IndexOperation::Maximum, None, Some(c)) if n > c => Some((a, n)),
        _ => None,
    }
}

/// Tests whether an index depends on the minimum of another one and a number. It then reaches its maximum before its inputs do.
pub fn is_limited(function: &Function, index: Value) -> bool {
    let (mut open, mut seen) = (vec![index], HashSet::new());
    while let Some(index) = open.pop() {
        let index = function.index_root(index);
        if !seen.insert(index) {
            continue;
        }
        let Some((operation, operands)) = operation_of(function, index) else { continue };
        if operation == IndexOperation::Minimum && operands.iter().any(|&operand| number(function, operand).is_some()) {
            return true;
        }
        open.extend(operands);
    }
    false
}

/// The extents that must be equal for an index to be `n` in every call. They are x and y of (n·c·x) ÷ (c·y), the open size of a reshape.
pub fn cancelling(function: &Function, index: Value, n: i64) -> Option<[Value; 2]> {
    let (IndexOperation::FloorDivide, [dividend, divisor]) = operation_of(function, index)? else { return None };
    let ((x, above), (y, below)) = (multiple(function, dividend)?, multiple(function, divisor)?);
    (below.checked_mul(n)? == above).then_some([x, y])
}

/// The indices that one is a product and a quotient of, numbers left out.
#[derive(Default)]
pub struct Ratio {
    /// Factors of the dividend.
    pub above: Vec<Value>,
    /// Factors of the divisor.
    pub below: Vec<Value>,
}

impl Ratio {
    /// Returns the factors of an index. `None` if this takes too many steps.
    pub fn of(function: &Function, index: Value) -> Option<Self> {
        let mut ratio = Self::default();
        let mut open = vec![(index, true)];
        for _ in 0..MOST_FOLLOWED {
            let Some((index, is_above)) = open.pop() else { return Some(ratio) };
            let index = function.index_root(index);
            match operation_of(function, index) {
                _ if number(function, index).is_some() => {}
                Some((IndexOperation::Multiply, [a, b])) => open.extend([(a, is_above), (b, is_above)]),
                Some((IndexOperation::FloorDivide, [a, b])) => open.extend([(a, is_above), (b, !is_above)]),
                _ => (if is_above { &mut ratio.above } else { &mut ratio.below }).push(index),
            }
        }
        None
    }
}

/// An index as a multiple of another one.
fn multiple(function: &Function, index: Value) -> Option<(Value, i64)> {
    let mut factor = 1i64;
    let mut index = function.index_root(index);
    while let Some((IndexOperation::Multiply, [a, b])) = operation_of(function, index) {
        let (rest, number) = match (number(function, a), number(function, b)) {
            (None, Some(c)) => (a, c),
            (Some(c), None) => (b, c),
            _ => return None,
        };
        factor = factor.checked_mul(number)?;
        index = function.index_root(rest);
    }
    Some((index, factor))
}

/// Operations that are followed at most to evaluate an index.
pub const MOST_FOLLOWED: usize = 256;

/// Evaluates an index for a value of the only input that it depends on. `None` if it depends on others, or takes too many operations.
pub fn value_at(function: &Function, index: Value, input: (Value, i64), left: &mut usize) -> Option<i64> {
    let index = function.index_root(index);
    if index == function.index_root(input.0) {
        return Some(input.1);
    }
    if let Some(number) = number(function, index) {
        return Some(number);
    }
    *left = left.checked_sub(1)?;
    let (operation, [a, b]) = operation_of(function, index)?;
    Some(interval::evaluate(operation, value_at(function, a, input, left)?, value_at(function, b, input, left)?))
}

/// The extents of inputs, or the integers read from tensors, that an index depends on, if it never falls when one of them grows. `None` if it depends
/// on others.
pub fn grows_with(function: &Function, index: Value, source: Op) -> Option<Vec<Value>> {
    use IndexOperation::{Add, CeilingDivide, FloorDivide, Maximum, Minimum, Multiply, Remainder, Subtract};
    let (mut open, mut seen, mut inputs) = (vec![index], HashSet::new(), Vec::new());
    while let Some(index) = open.pop() {
        let index = function.index_root(index);
        if number(function, index).is_some() || !seen.insert(index) {
            continue;
        }
        let Some((operation, [a, b])) = operation_of(function, index) else {
            let is_source = function.defining_inst(index).is_some_and(|inst| function.insts[inst].op() == source);
            inputs.push(is_source.then_some(index)?);
            continue;
        };
        match operation {
            Add | Multiply | Minimum => {}
            Subtract | FloorDivide | CeilingDivide | Maximum if number(function, b).is_some() => {}
            Subtract | FloorDivide | CeilingDivide | Maximum | Remainder => return None,
        }
        open.extend([a, b]);
    }
    Some(inputs)
}
