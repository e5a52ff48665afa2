//! Sums of integers that are scaled in binary32, rounded to even and clamped: the requantization of XNNPACK's kernels, and of portable programs, which
//! scale a sum to floats, add a bias to these, and scale them again.

use super::ranges::clamped;
use crate::ir::{ElementType, Expression, NanRule, Node, ScalarOp};

/// `round_even(min(max(low, (float(sum) · factor + added) · outer), high))` as an integer. Numbers are one for all or one a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScaledFloats {
    /// The sum.
    pub sum: Node,
    /// What it is multiplied by.
    pub factors: Node,
    /// What is added then, if something is.
    pub added: Option<Node>,
    /// What that is multiplied by, if it is.
    pub outer: Option<Node>,
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
        // What is combined with numbers, and these.
        let is_number = |node: Node| matches!(expression.nodes[node].op, ScalarOp::Constant(_) | ScalarOp::Input(_));
        let with_numbers = |node: Node, op: ScalarOp| match operands(node, op, ElementType::F32) {
            Some(&[a, b]) if is_number(b) => Some((a, b)),
            Some(&[a, b]) if is_number(a) => Some((b, a)),
            _ => None,
        };
        let sum = |node: Node| match operands(node, ScalarOp::Convert, ElementType::F32) {
            Some(&[sum]) if expression.nodes[sum].ty == ElementType::I32 => Some(sum),
            _ => None,
        };
        let (inner, numbers) = with_numbers(product, ScalarOp::Mul)?;
        let results = (low as i64, high as i64);
        if let Some(sum) = sum(inner) {
            return Some(Self { sum, factors: numbers, added: None, outer: None, results });
        }
        let added = with_numbers(inner, ScalarOp::Add);
        let scaled = added.map_or(inner, |(scaled, _)| scaled);
        let (converted, factors) = with_numbers(scaled, ScalarOp::Mul)?;
        Some(Self { sum: sum(converted)?, factors, added: added.map(|(_, numbers)| numbers), outer: Some(numbers), results })
    }

    /// Whether the sum is multiplied once, and no more.
    pub fn is_product(&self) -> bool {
        self.added.is_none() && self.outer.is_none()
    }
}
