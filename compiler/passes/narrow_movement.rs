//! Movement of elements as bytes if they are bytes before or after. Widened halves are transposed before they are widened.
//!
//! Contract: a map that widens single bytes moves behind the movement of its result. A map that narrows to bytes moves before the movement of its
//! operand.
//! A window or reduction that picks the maximum or minimum counts as movement if the widening is monotone.
//! Transposes of bytes are left to their own pass. Transposes of widened halves are handled here, since that pass leaves them: they then move fewer
//! bytes.
//! Other movement of halves is left alone, since it may need no kernel at all.

use super::byte_chains::at_each_byte;
use super::edit::{Edit, replace};
use super::unary::{Unary, as_halves, unary};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    replace(module, |edit, inst| {
        let moved = match edit.function.insts[inst].op() {
            Op::Map => before_join(edit, inst),
            Op::Transpose => transposed_halves(edit, inst),
            _ => after(edit, inst),
        };
        Some(vec![moved?])
    })
}

fn bits(edit: &Edit<'_>, value: Value) -> u32 {
    edit.function.tensor(value).element.bits()
}

/// Returns the movement on the bytes that a map widens, with the map after it.
fn after(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    let &widened = data.operands.first()?;
    let Unary { operand, expression } = unary(edit, widened)?;
    if bits(edit, operand) != 8 || bits(edit, widened) <= 8 {
        return None;
    }
    let expression = expression.clone();
    let operation = of_bytes(edit, &data, operand, &expression)?;
    let operands: Vec<Value> = std::iter::once(operand).chain(data.operands[1..].iter().copied()).collect();
    let moved = edit.insert_one(operation, &operands)?;
    edit.insert_one(operators::Map { expression }, &[moved])
}

/// The transpose of halves, and their widening after it.
fn transposed_halves(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    let halves = as_halves(edit, data.operands[0])?;
    let from = edit.function.tensor(halves).element;
    let moved = edit.insert_one(data.operation, &[halves])?;
    let mut widening = ExpressionBuilder::new(&[from]);
    let half = widening.input(0);
    let wide = widening.node(ScalarOp::Convert, &[half], ElementType::F32);
    edit.insert_one(operators::Map { expression: widening.finish(vec![wide]) }, &[moved])
}

/// Returns the same movement for bytes, if the map then gives the same result.
fn of_bytes(edit: &Edit<'_>, data: &InstData, operand: Value, expression: &Expression) -> Option<Operation> {
    let element = edit.function.tensor(operand).element;
    match &data.operation {
        Operation::Reshape(_) | Operation::Slice(_) | Operation::Gather(_) => Some(data.operation.clone()),
        Operation::Pad(pad) => {
            let at = at_each_byte(edit.module, element, expression)?.into_iter().position(|result| result == pad.value)?;
            let value = Scalar::int(element, at as i64 + element.integer_range()?.0 as i64);
            Some(operators::Pad { value, ..pad.clone() }.into())
        }
        Operation::Window(window) if is_extreme(window.reduction) && meets_elements(window) => {
            is_monotone(edit, element, expression).then(|| data.operation.clone())
        }
        Operation::Reduce(reduce) if is_extreme(reduce.reduction) => is_monotone(edit, element, expression).then(|| data.operation.clone()),
        _ => None,
    }
}

fn is_extreme(reduction: Reduction) -> bool {
    matches!(reduction, Reduction::Max | Reduction::Min | Reduction::MaxOrNan | Reduction::MinOrNan)
}

/// Tests whether every window covers an element of the input. The extreme of an empty window differs between bytes and floats.
fn meets_elements(window: &operators::Window) -> bool {
    let geometry = &window.geometry;
    let padding = geometry.padding_low.iter().zip(&geometry.padding_high);
    let within = padding.zip(&window.size).zip(&geometry.dilation).all(|(((&low, &high), &size), &dilation)| {
        let most = low.max(high);
        most == 0 || (most < size && dilation == 1)
    });
    within && geometry.positions.is_empty()
}

/// Tests whether a map is monotone: no greater byte becomes a smaller number.
fn is_monotone(edit: &Edit<'_>, element: ElementType, expression: &Expression) -> bool {
    at_each_byte(edit.module, element, expression).is_some_and(|results| results.is_sorted_by(|a, b| a.as_f64() <= b.as_f64()))
}

/// Applies a narrowing map to each operand of a concatenation instead of its result.
fn before_join(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let [result] = edit.function.insts[inst].results[..] else { return None };
    let Unary { operand, expression } = unary(edit, result)?;
    if bits(edit, result) != 8 || bits(edit, operand) <= 8 || edit.uses[operand] != 1 {
        return None;
    }
    let expression = expression.clone();
    let join = edit.defined_by(operand, Op::Concat)?.clone();
    let narrowed: Option<Vec<Value>> =
        join.operands.iter().map(|&value| edit.insert_one(operators::Map { expression: expression.clone() }, &[value])).collect();
    edit.insert_one(join.operation, &narrowed?)
}
