//! The intervals that the integers of an expression lie in.

use crate::ir::{ElementType, Expression, ScalarOp};
use cranelift_entity::EntityRef;

/// An interval of integers that a node's value lies in.
pub type Range = (i128, i128);

/// The interval of every node, from those of the inputs (where they are narrower than their types).
pub fn ranges(expression: &Expression, inputs: &[Option<(i64, i64)>]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::with_capacity(expression.nodes.len());
    for data in expression.nodes.values() {
        let full = type_range(data.ty);
        let operand = |i: usize| ranges[data.operands[i].index()];
        let raw = match data.op {
            _ if !data.ty.is_integer() => full,
            ScalarOp::Input(i) => inputs.get(i as usize).copied().flatten().map_or(full, |(l, h)| (l.into(), h.into())),
            _ => raw_range(data.op, data.ty, &operand, |i| expression.nodes[data.operands[i]].ty).unwrap_or(full),
        };
        ranges.push(if within(raw, full) { raw } else { full });
    }
    ranges
}

/// All numbers of an integer type; of other types, more than any integer.
pub fn type_range(ty: ElementType) -> Range {
    ty.integer_range().unwrap_or((i128::MIN / 4, i128::MAX / 4))
}

/// Whether one interval lies in another.
pub fn within(inner: Range, outer: Range) -> bool {
    inner.0 >= outer.0 && inner.1 <= outer.1
}

/// The range of an operation's exact result, before it wraps to its type; `None` when nothing is known.
pub fn raw_range(
    op: ScalarOp,
    ty: ElementType,
    operand: &dyn Fn(usize) -> Range,
    operand_ty: impl Fn(usize) -> ElementType,
) -> Option<Range> {
    use ScalarOp as S;
    if !ty.is_integer() {
        return None;
    }
    let full = type_range(ty);
    Some(match op {
        S::Constant(value) => (i128::from(value.as_i64()), i128::from(value.as_i64())),
        S::Add => (operand(0).0 + operand(1).0, operand(0).1 + operand(1).1),
        S::Sub => (operand(0).0 - operand(1).1, operand(0).1 - operand(1).0),
        S::Mul => {
            let (a, b) = (operand(0), operand(1));
            // Two numbers of 64 bits without a sign can leave 128 with one.
            let corner = |x: i128, y: i128| x.checked_mul(y);
            let corners = [corner(a.0, b.0)?, corner(a.0, b.1)?, corner(a.1, b.0)?, corner(a.1, b.1)?];
            (*corners.iter().min()?, *corners.iter().max()?)
        }
        S::Min(_) => (operand(0).0.min(operand(1).0), operand(0).1.min(operand(1).1)),
        S::Max(_) => (operand(0).0.max(operand(1).0), operand(0).1.max(operand(1).1)),
        S::Select => (operand(1).0.min(operand(2).0), operand(1).1.max(operand(2).1)),
        S::Neg => (-operand(0).1, -operand(0).0),
        S::Convert if operand_ty(0).is_integer() && within(operand(0), full) => operand(0),
        S::ConvertSaturating if operand_ty(0).is_integer() => (operand(0).0.clamp(full.0, full.1), operand(0).1.clamp(full.0, full.1)),
        S::CountLeadingZeros => (0, i128::from(ty.bits())),
        _ => return None,
    })
}
