//! Sums of integers that are scaled in binary32, rounded to even and clamped: the requantization of XNNPACK's kernels.

use super::ranges::clamped;
use crate::ir::{ElementType, Expression, NanRule, Node, ScalarOp};

/// `round_even(min(max(low, float(sum) · factor), high))` as an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScaledFloats {
    /// The sum.
    pub sum: Node,
    /// The factors: one number, or one a channel.
    pub factors: Node,
    /// The least and the greatest result.
    pub results: (i64, i64),
}

impl ScaledFloats {
    /// What a node of an expression computes, if it is of this kind.
    pub fn of(expression: &Expression, node: Node) -> Option<Self> {
        let operands = |node: Node, op: ScalarOp, ty: ElementType| {
            let data = &expression.nodes[node];
            (data.op == op && data.ty == ty).then_some(&data.operands[..])
        };
        let &[rounded] = operands(node, ScalarOp::Convert, ElementType::I32)? else { return None };
        let &[below] = operands(rounded, ScalarOp::RoundEven, ElementType::F32)? else { return None };
        let (low, high) = clamped(expression, below)?;
        let &[above, _] = operands(below, ScalarOp::Min(NanRule::First), ElementType::F32)? else { return None };
        let &[_, product] = operands(above, ScalarOp::Max(NanRule::First), ElementType::F32)? else { return None };
        let &[a, b] = operands(product, ScalarOp::Mul, ElementType::F32)? else { return None };
        let sum = |node: Node| match operands(node, ScalarOp::Convert, ElementType::F32) {
            Some(&[sum]) if expression.nodes[sum].ty == ElementType::I32 => Some(sum),
            _ => None,
        };
        let (sum, factors) = sum(a).map(|sum| (sum, b)).or_else(|| Some((sum(b)?, a)))?;
        Some(Self { sum, factors, results: (low as i64, high as i64) })
    }
}
