//! Intervals of the integers in an expression.

use crate::ir::scalar::interval::Operands;
pub use crate::ir::scalar::interval::{Range, type_range, within};
use crate::ir::{ElementType, Expression, Interval, NanRule, Node, ScalarOp};
use cranelift_entity::EntityRef;

/// Returns the interval of every node. `inputs` are the inputs' intervals, if narrower than their types.
pub fn ranges(expression: &Expression, inputs: &[Option<Interval>]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::with_capacity(expression.nodes.len());
    for data in expression.nodes.values() {
        let full = type_range(data.ty);
        let raw = match data.op {
            _ if !data.ty.is_integer() => full,
            ScalarOp::Convert if expression.nodes[data.operands[0]].ty.is_float() => clamped(expression, data.operands[0]).unwrap_or(full),
            ScalarOp::Input(i) => {
                inputs.get(i as usize).copied().flatten().map_or(full, |given| Range::new(given.low.into(), given.high.into()))
            }
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

/// Returns the integers that a float can round or truncate to, if a clamp bounds it: `min(max(low, x), high)`, rounded or not. The maximum of a
/// number and NaN is the number if the number comes first.
pub fn clamped(expression: &Expression, node: Node) -> Option<Range> {
    let data = &expression.nodes[node];
    let number = |node: Node| if let ScalarOp::Constant(number) = expression.nodes[node].op { Some(number.as_f64()) } else { None };
    match data.op {
        ScalarOp::RoundEven => clamped(expression, data.operands[0]),
        ScalarOp::Min(NanRule::First) => {
            let (below, high) = (&expression.nodes[data.operands[0]], number(data.operands[1])?);
            let low = if below.op == ScalarOp::Max(NanRule::First) { number(below.operands[0])? } else { return None };
            let range = Range::new(low.floor() as i128, high.ceil() as i128);
            (low <= high && within(range, type_range(ElementType::I32))).then_some(range)
        }
        _ => None,
    }
}

/// Returns the range of an operation's exact result, before it wraps to its type; `None` if unknown.
pub fn raw_range(op: ScalarOp, operands: &Operands<'_>) -> Option<Range> {
    match op {
        _ if !operands.ty.is_integer() => None,
        ScalarOp::Constant(value) => Some(Range::exactly(value.as_i64().into())),
        _ => op.row().interval?.apply(operands),
    }
}
