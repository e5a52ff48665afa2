//! Sums that are scaled in binary32 and clamped: their requantization, and the clamps after it, merged into one.

use super::{Clamp, Rewriter};
use crate::ir::{ElementType, Interval, NanRule, Node, RequantizeRule, Scalar, ScalarOp};
use crate::schedule::elementwise::ranges::{Range, type_range, within};
use crate::schedule::elementwise::requantize::{ROOM, Requantizer, Rule, Scale, Solution};
use crate::schedule::elementwise::scaled_floats::ScaledFloats;
use cranelift_entity::EntityRef;

impl Rewriter<'_> {
    /// Rewrites a sum that is scaled by factors of binary32 and clamped to operations of 32 bits. The clamp becomes the last step, so that narrowing
    /// does most of it.
    pub(super) fn scaled_by_floats(&mut self, node: Node, moved: &[Node]) -> Option<Node> {
        let found = ScaledFloats::of(self.old, node)?;
        let scales = self.scales(&found)?;
        let mut problem = self.problem(Rule::Binary32, node, found.sum);
        let is_exact = found.is_product() && problem.narrows && scales.iter().all(Scale::fits_low_half);
        problem.results = Interval::new(problem.results.low.max(found.results.low), problem.results.high.min(found.results.high));
        let (sum, added) = (moved[found.sum.index()], self.added(node));
        let root = match self.solved.solve(problem, scales) {
            // A sequence ignores the rule.
            Some(solution) => self.fitted(RequantizeRule::TfliteSingle, node, found.sum, sum, Solution::clone(&*solution)),
            None if is_exact => {
                let operands = vec![sum, moved[found.factors.index()]];
                let new = self.builder.raw(ScalarOp::Requantize(RequantizeRule::TfliteSingle), operands, ElementType::I32);
                self.requantizers.insert(new, Requantizer::RoundedProduct);
                new
            }
            None => return None,
        };
        let merged = added.filter(|(reader, _)| self.merged.contains(reader));
        let number = merged.map_or(0, |(_, number)| number);
        let clamp = Clamp { node: root, low: found.results.low + number, high: found.results.high + number };
        self.clamps.insert(node, clamp);
        if let Some((reader, _)) = merged {
            self.clamps.insert(reader, clamp);
        }
        Some(self.clamp(node))
    }

    /// Returns the scale of each channel.
    fn scales(&self, found: &ScaledFloats) -> Option<Vec<Scale>> {
        let numbers = [self.floats_or(Some(found.factors), 1.0)?, self.floats_or(found.added, 0.0)?, self.floats_or(found.outer, 1.0)?];
        let channels = numbers.iter().map(Vec::len).max()?;
        if numbers.iter().any(|list| list.len() != 1 && list.len() != channels) {
            return None;
        }
        let sums = self.intervals(found.sum, channels);
        let floats = |c: usize| numbers.each_ref().map(|list| list[if list.len() == 1 { 0 } else { c }]);
        (0..channels).map(|c| Scale::of_floats(floats(c), sums[c])).collect()
    }

    /// Returns the constant binary32 numbers of a node: one, or one for each channel.
    fn numbers_of_floats(&self, node: Node) -> Option<Vec<f32>> {
        match self.old.nodes[node].op {
            ScalarOp::Constant(value) => Some(vec![value.as_f64() as f32]),
            ScalarOp::Input(i) => self.floats[i as usize].clone(),
            _ => None,
        }
    }

    /// Returns the constant numbers of an optional node, or one default number.
    fn floats_or(&self, node: Option<Node>, number: f32) -> Option<Vec<f32>> {
        node.map_or_else(|| Some(vec![number]), |node| self.numbers_of_floats(node))
    }

    /// Records the clamp of a node that changes a clamped node only by its interval. Such a node is an addition of a number, a lossless narrowing, or
    /// another clamp. Returns `false` for other nodes.
    pub(super) fn clamps_clamped(&mut self, node: Node) -> bool {
        let data = &self.old.nodes[node];
        let known = data.operands.iter().find_map(|&operand| Some((operand, *self.clamps.get(&operand)?)));
        let Some((operand, clamp)) = known.filter(|_| !self.clamps.contains_key(&node)) else { return false };
        let Clamp { node: root, low, high } = clamp;
        let found = match (data.op, self.number_beside(node, operand)) {
            (ScalarOp::Convert, _) if data.ty.is_integer() => {
                within(Range::new(low.into(), high.into()), type_range(data.ty)).then_some(clamp)
            }
            (ScalarOp::Add, Some(number)) if data.ty == ElementType::I32 && number.abs() < ROOM => {
                let number_node = self.builder.constant(Scalar::i32(number as i32));
                Some(Clamp { node: self.op(ScalarOp::Add, &[root, number_node]), low: low + number, high: high + number })
            }
            (ScalarOp::Max(_), Some(number)) => Some(Clamp { low: low.max(number), high: high.max(number), ..clamp }),
            (ScalarOp::Min(_), Some(number)) => Some(Clamp { low: low.min(number), high: high.min(number), ..clamp }),
            _ => None,
        };
        found.is_some_and(|found| self.clamps.insert(node, found).is_none())
    }

    /// Writes the recorded clamp of a node, in its old type.
    pub(super) fn clamp(&mut self, node: Node) -> Node {
        let (Clamp { node: root, low, high }, ty) = (self.clamps[&node], self.old.nodes[node].ty);
        let [low, high] = [low, high].map(|number| self.builder.constant(Scalar::i32(number as i32)));
        let raised = self.op(ScalarOp::Max(NanRule::First), &[root, low]);
        let clamped = self.op(ScalarOp::Min(NanRule::First), &[raised, high]);
        if ty == ElementType::I32 { clamped } else { self.builder.raw(ScalarOp::Convert, vec![clamped], ty) }
    }
}
