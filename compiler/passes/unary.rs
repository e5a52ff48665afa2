//! Maps of one tensor, whatever numbers they read beside it.

use super::edit::Edit;
use crate::ir::*;

/// A map with one operand and one result of its shape.
pub(super) struct Unary<'e> {
    pub operand: Value,
    pub expression: &'e Expression,
}

/// The map of one tensor that computes a value.
pub(super) fn unary<'e>(edit: &'e Edit<'_>, value: Value) -> Option<Unary<'e>> {
    let data = edit.definition(value)?;
    let Operation::Map(map) = &data.operation else { return None };
    let ([operand], [_]) = (&data.operands[..], &data.results[..]) else { return None };
    let shape = |value: Value| &edit.function.tensor(value).shape;
    (shape(*operand) == shape(value)).then_some(Unary { operand: *operand, expression: &map.expression })
}

/// The halves of binary32 that a map widens to it, where it does nothing else.
fn widened(edit: &Edit<'_>, value: Value) -> Option<Value> {
    let Unary { operand, expression } = unary(edit, value)?;
    let &[result] = &expression.results[..] else { return None };
    let node = &expression.nodes[result];
    let reads = matches!(node.operands[..], [x] if expression.nodes[x].op == ScalarOp::Input(0));
    let is_widening = node.op == ScalarOp::Convert && reads && node.ty == ElementType::F32;
    let is_half = edit.function.tensor(operand).element.is_half();
    (is_widening && is_half).then_some(operand)
}

/// A value as the halves of binary32 that it was before it was widened, and perhaps taken for another shape.
pub(super) fn as_halves(edit: &mut Edit<'_>, value: Value) -> Option<Value> {
    let viewed = edit.viewed(value);
    let halves = widened(edit, viewed)?;
    if viewed == value {
        return Some(halves);
    }
    let shape = edit.function.tensor(value).shape.clone();
    edit.insert_one(operators::Reshape { shape }, &[halves])
}
