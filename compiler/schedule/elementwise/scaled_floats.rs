//! Sums of integers that are scaled in binary32, rounded to even and clamped. XNNPACK's kernels requantize in this way. Portable programs do, too:
//! they scale a sum to floats, add a bias, and scale again.

use super::ranges::{Range, clamped};
use crate::ir::{ElementType, Expression, Interval, NanRule, Node, ScalarOp};

/// `round_even(min(max(low, (float(sum) · factor + added) · outer), high))` as an integer. Each number is one for all channels or one for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScaledFloats {
    /// Integer sum.
    pub sum: Node,
    /// Factors of the sum.
    pub factors: Node,
    /// Addends of the product, if there are any.
    pub added: Option<Node>,
    /// Factors after the addition, if there are any.
    pub outer: Option<Node>,
    /// Least and greatest result.
    pub results: Interval,
}

impl ScaledFloats {
    /// Matches a node of an expression. `None` if it computes something else.
    pub fn of(expression: &Expression, node: Node) -> Option<Self> {
        let operands = |node: Node, op: ScalarOp, ty: ElementType| {
            let data = &expression.nodes[node];
            (data.op == op && data.ty == ty).then_some(&data.operands[..])
        };
        let &[rounded] = operands(node, ScalarOp::Convert, ElementType::I32)? else { return None };
        let &[below] = operands(rounded, ScalarOp::RoundEven, ElementType::F32)? else { return None };
        let Range { low, high } = clamped(expression, below)?;
        let &[above, _] = operands(below, ScalarOp::Min(NanRule::First), ElementType::F32)? else { return None };
        let &[_, product] = operands(above, ScalarOp::Max(NanRule::First), ElementType::F32)? else { return None };
        // Operations with a number on either side, and the number.
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
        let results = Interval::new(low as i64, high as i64);
        if let Some(sum) = sum(inner) {
            return Some(Self { sum, factors: numbers, added: None, outer: None, results });
        }
        let added = with_numbers(inner, ScalarOp::Add);
        let scaled = added.map_or(inner, |(scaled, _)| scaled);
        let (converted, factors) = with_numbers(scaled, ScalarOp::Mul)?;
        Some(Self { sum: sum(converted)?, factors, added: added.map(|(_, numbers)| numbers), outer: Some(numbers), results })
    }

    /// Tests whether the sum is multiplied once, with no other step.
    pub fn is_product(&self) -> bool {
        self.added.is_none() && self.outer.is_none()
    }
}
