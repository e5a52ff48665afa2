//! Products of two small integers that are scaled at once. They are computed in binary32, where they are exact, so that no value is converted twice.
//!
//! `(a + z) · b` is `a · b + (b · z + offset)`. If b is the same in a whole loop, as a channel gate is at all pixels, so is the second sum.

use super::Rewriter;
use crate::ir::{ElementType, Node, RequantizeRule, Scalar, ScalarOp};
use crate::schedule::elementwise::ranges::Range;
use crate::schedule::elementwise::requantize::{OfProduct, Requantizer, Solution};
use cranelift_entity::EntityRef;

/// Bound of products. Binary32 has every sum of two smaller integers.
const MOST: i128 = 1 << 23;

/// Bound of factors.
const MOST_FACTOR: i128 = 1 << 11;

/// A product `(a + added) · b` of old nodes.
struct Product {
    a: Node,
    added: i64,
    b: Node,
}

impl Rewriter<'_> {
    /// Rewrites the requantization `node` of a product of two small integers to binary32, scaled as a solution says. `moved` are the new nodes of
    /// earlier nodes.
    pub(super) fn scaled_product(&mut self, rule: RequantizeRule, node: Node, moved: &[Node], solution: &Solution) -> Option<Node> {
        let of = match solution.requantizer {
            Requantizer::Rounded => OfProduct::Rounded,
            Requantizer::Float { signed, precision } => OfProduct::Float { signed, precision },
            _ => return None,
        };
        let product = self.product(self.old.nodes[node].operands[0])?;
        let [offset] = solution.offsets[..] else { return None };
        let requantizer = Requantizer::ProductOfTwo(of);
        let tables = self.plus_added(node, requantizer, solution.tables.clone());
        let mut operands = vec![moved[product.a.index()], moved[product.b.index()]];
        operands.extend([product.added as f32, offset as f32].map(|number| self.builder.constant(Scalar::f32(number))));
        operands.extend(tables.iter().map(|table| self.table(table)));
        let new = self.builder.raw(ScalarOp::Requantize(rule), operands, ElementType::I32);
        self.requantizers.insert(new, requantizer);
        Some(new)
    }

    /// Matches a product of two small factors. If one factor depends only on the channel, it becomes `b`.
    fn product(&self, node: Node) -> Option<Product> {
        let data = &self.old.nodes[node];
        let [first, second] = data.operands[..] else { return None };
        let is_small = |node: Node| magnitude(self.node_ranges[node.index()]) < MOST_FACTOR;
        if data.op != ScalarOp::Mul || data.ty != ElementType::I32 || ![first, second].into_iter().all(is_small) {
            return None;
        }
        let (a, b) = if self.of_channels[first.index()] { (second, first) } else { (first, second) };
        let (inner, added) = self.without_added(a);
        let most = (magnitude(self.node_ranges[inner.index()]) + i128::from(added.abs())) * magnitude(self.node_ranges[b.index()]);
        (most < MOST).then_some(Product { a: inner, added, b })
    }

    /// Splits a node into another node and a constant that is added to it. The constant is 0 if there is none.
    fn without_added(&self, node: Node) -> (Node, i64) {
        let data = &self.old.nodes[node];
        let [first, second] = data.operands[..] else { return (node, 0) };
        let number = |node: Node| match self.numbers(node).as_deref() {
            Some(&[number]) => Some(number),
            _ => None,
        };
        match (data.op, number(first), number(second)) {
            (ScalarOp::Add, Some(number), None) => (second, number),
            (ScalarOp::Add, None, Some(number)) => (first, number),
            (ScalarOp::Sub, None, Some(number)) => (first, -number),
            _ => (node, 0),
        }
    }
}

/// Returns the greatest magnitude in an interval.
fn magnitude(Range { low, high }: Range) -> i128 {
    low.abs().max(high.abs())
}
