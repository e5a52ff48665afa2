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
