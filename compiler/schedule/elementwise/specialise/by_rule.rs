//! Requantization by constants on machines without lane-wise shifts or suitable floats: the rule's own steps, with as few operations as the
//! constants allow. Machines that have the steps as instructions take them where no shorter sequence fits.
//!
//! On other machines, `requant.tflite_double` divides by 2ⁿ, with a different n in each channel, which needs lane-wise shifts. With N the largest n, `(t + h − s) >> n`
//! equals `((t + h − s) · 2^(N−n)) >> N` if the product fits 32 bits. The accumulator's range, known from the weights, proves that it fits. Then a
//! multiplication by a table and one uniform shift replace the lane-wise shifts.

use super::Rewriter;
use crate::ir::{Node, RequantizeRule, Scalar, ScalarOp};
use cranelift_entity::EntityRef;

impl Rewriter<'_> {
    /// Writes the steps of TFLite's double rounding for a node. `accumulator` is its new operand. `None` if the constants do not allow it.
    pub(super) fn by_rule(&mut self, rule: RequantizeRule, node: Node, accumulator: Node) -> Option<Node> {
        if rule != RequantizeRule::TfliteDouble {
            return None;
        }
        let old = self.old.nodes[node].operands.clone();
        let (multipliers, shifts) = (self.numbers(old[1])?, self.numbers(old[2])?);
        let channels = multipliers.len().max(shifts.len());
        let at = |list: &[i64], c: usize| list[if list.len() == 1 { 0 } else { c }];
        if channels == 0 || [&multipliers, &shifts].iter().any(|l| l.len() != 1 && l.len() != channels) {
            return None;
        }
        let range = self.node_ranges[old[0].index()];
        let magnitude = range.low.unsigned_abs().max(range.high.unsigned_abs()) as i128;
        let all = |f: &dyn Fn(usize) -> i64| -> Vec<i64> { (0..channels).map(f).collect() };
        let left = all(&|c| at(&shifts, c).max(0));
        let right = all(&|c| (-at(&shifts, c)).max(0));
        let largest = *right.iter().max()?;
        if left.iter().any(|&l| l > 30) || largest > 31 || multipliers.iter().any(|&m| m < 0) {
            return None;
        }
        // The largest product of the last multiplication must fit 32 bits.
        let fits = (0..channels).all(|c| {
            let product = (((magnitude << left[c]) * i128::from(at(&multipliers, c))) >> 31) + 2;
            let half = if right[c] > 0 { 1i128 << (right[c] - 1) } else { 0 };
            (product + half) << (largest - right[c]) < 1 << 31
        });
        let mut x = accumulator;
        if left.iter().any(|&l| l > 0) {
            let factors: Vec<i32> = left.iter().map(|&l| 1 << l).collect();
            let factor = self.table(&factors);
            x = self.op(ScalarOp::Mul, &[x, factor]);
        }
        let multipliers: Vec<i32> = all(&|c| at(&multipliers, c)).iter().map(|&m| m as i32).collect();
        let multiplier = self.table(&multipliers);
        let product = self.op(ScalarOp::SaturatingRoundingDoublingHighMul, &[x, multiplier]);
        if largest == 0 {
            return Some(product);
        }
        if !fits || self.steps {
            let exponents: Vec<i32> = right.iter().map(|&r| r as i32).collect();
            let exponent = self.table(&exponents);
            return Some(self.op(ScalarOp::RoundingDivideByPowerOfTwo, &[product, exponent]));
        }
        Some(self.divide(product, &right, largest))
    }

    /// Writes a rounding division by 2^right, ties away from zero, of values proven small enough. After the multiplication, the half to add is the
    /// same in every channel except channels without a division.
    fn divide(&mut self, product: Node, right: &[i64], largest: i64) -> Node {
        let thirty_one = self.builder.constant(Scalar::i32(31));
        let mut sign = self.op(ScalarOp::ShiftRight, &[product, thirty_one]);
        if right.contains(&0) {
            let masks: Vec<i32> = right.iter().map(|&r| if r > 0 { -1 } else { 0 }).collect();
            let mask = self.table(&masks);
            sign = self.op(ScalarOp::And, &[sign, mask]);
        }
        let mut value = self.op(ScalarOp::Add, &[product, sign]);
        if right.iter().any(|&r| r != largest) {
            let factors: Vec<i32> = right.iter().map(|&r| 1 << (largest - r)).collect();
            let factor = self.table(&factors);
            value = self.op(ScalarOp::Mul, &[value, factor]);
        }
        let halves: Vec<i32> = right.iter().map(|&r| if r > 0 { 1 << (largest - 1) } else { 0 }).collect();
        let half = self.table(&halves);
        value = self.op(ScalarOp::Add, &[value, half]);
        let count = self.builder.constant(Scalar::i32(largest as i32));
        self.op(ScalarOp::ShiftRight, &[value, count])
    }
}
