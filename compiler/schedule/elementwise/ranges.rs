//! The intervals that the integers of an expression lie in.

use crate::ir::scalar::interval::Operands;
pub use crate::ir::scalar::interval::{Range, type_range, within};
use crate::ir::{ElementType, Expression, ScalarOp};
use cranelift_entity::EntityRef;

/// The interval of every node, from those of the inputs (where they are narrower than their types).
pub fn ranges(expression: &Expression, inputs: &[Option<(i64, i64)>]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::with_capacity(expression.nodes.len());
    for data in expression.nodes.values() {
        let full = type_range(data.ty);
        let raw = match data.op {
            _ if !data.ty.is_integer() => full,
            ScalarOp::Input(i) => inputs.get(i as usize).copied().flatten().map_or(full, |(l, h)| (l.into(), h.into())),
            _ => {
                let types: Vec<ElementType> = data.operands.iter().map(|&n| expression.nodes[n].ty).collect();
                let known: Vec<Range> = data.operands.iter().map(|n| ranges[n.index()]).collect();
                raw_range(data.op, &Operands { ty: data.ty, types: &types, ranges: &known }).unwrap_or(full)
            }
        };
        ranges.push(if within(raw, full) { raw } else { full });
    }
    ranges
}

/// The range of an operation's exact result, before it wraps to its type; `None` when nothing is known.
pub fn raw_range(op: ScalarOp, operands: &Operands<'_>) -> Option<Range> {
    match op {
        _ if !operands.ty.is_integer() => None,
        ScalarOp::Constant(value) => Some((value.as_i64().into(), value.as_i64().into())),
        _ => op.row().interval?.apply(operands),
    }
}
