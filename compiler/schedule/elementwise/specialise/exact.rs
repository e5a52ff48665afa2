//! Sums that are scaled by factors of binary64 and rounded, halves away from zero. They become a proven sequence, or the exact product in integers.
//!
//! A factor is `M · 2⁻ᵉ` with M of 53 bits, so the product P of M and a sum's magnitude has up to 84 bits. Binary64 rounds P to 53 bits first. This
//! matters only if it lifts P to the middle between two integers. The test is whether P plus half of its last place reaches the middle.

use super::Rewriter;
use crate::ir::{ElementType, NanRule, Node, RequantizeRule, Scalar, ScalarOp};
use crate::schedule::elementwise::requantize::{Rule, Scale, Solution};
use cranelift_entity::EntityRef;

use ElementType::{I32, I64};

/// A sum, as its old node and its new one, and its factors.
struct Scaled {
    sum: (Node, Node),
    factors: Vec<f64>,
}

impl Rewriter<'_> {
    /// Rewrites a sum that is scaled by factors of binary64 to operations of 32 bits. `moved` are the new nodes of earlier nodes.
    pub(super) fn scaled_by_factor(&mut self, node: Node, moved: &[Node]) -> Option<Node> {
        let scaled = self.scaled(node, moved)?;
        let sums = self.intervals(scaled.sum.0, scaled.factors.len());
        let scales: Option<Vec<Scale>> = scaled.factors.iter().zip(sums).map(|(&factor, sums)| Scale::of_double(factor, sums)).collect();
        let solution = scales.and_then(|scales| self.solved.solve(self.problem(Rule::Binary64, node, scaled.sum.0), scales));
        match solution {
            // A sequence ignores the rule.
            Some(solution) => {
                Some(self.fitted(RequantizeRule::TfliteSingle, node, scaled.sum.0, scaled.sum.1, Solution::clone(&*solution)))
            }
            None if self.of_integers() => self.exactly(&scaled),
            None => None,
        }
    }

    /// Matches a node that rounds a 32-bit sum scaled by factors of binary64.
    fn scaled(&self, node: Node, moved: &[Node]) -> Option<Scaled> {
        let operand = |node: Node, op: ScalarOp| {
            let data = &self.old.nodes[node];
            (data.op == op && data.ty == ElementType::F64).then(|| data.operands[0])
        };
        let product = operand(self.old.nodes[node].operands[0], ScalarOp::RoundAway)?;
        let sum = operand(operand(product, ScalarOp::Mul)?, ScalarOp::Convert)?;
        let factors = match self.old.nodes[self.old.nodes[product].operands[1]].op {
            ScalarOp::Constant(factor) => vec![factor.as_f64()],
            ScalarOp::Input(i) if self.of_integers() => self.doubles[i as usize].clone()?,
            _ => return None,
        };
        (self.old.nodes[sum].ty == I32).then(|| Scaled { sum: (sum, moved[sum.index()]), factors })
    }

    /// Writes the rounded product in integers of 64 bits.
    fn exactly(&mut self, scaled: &Scaled) -> Option<Node> {
        let factors: Vec<Factor> = scaled.factors.iter().map(|&factor| Factor::of(factor)).collect::<Option<_>>()?;
        let mut table = |part: fn(&Factor) -> i32| {
            let numbers: Vec<i32> = factors.iter().map(part).collect();
            let node = self.table(&numbers);
            self.wide(ScalarOp::Convert, &[node])
        };
        let [high, low, shift] = [table(|factor| factor.high), table(|factor| factor.low), table(|factor| factor.shift)];
        let low = self.wide_number(ScalarOp::And, low, u32::MAX.into());
        let sum = self.wide(ScalarOp::Convert, &[scaled.sum.1]);
        let sign = self.wide_number(ScalarOp::ShiftRight, sum, 63);
        let magnitude = self.with_sign(sum, sign);
        // P is `top · 2³²` plus `low`.
        let [top, low] = [high, low].map(|part| self.wide(ScalarOp::Mul, &[magnitude, part]));
        let carried = self.wide_number(ScalarOp::ShiftRight, low, 32);
        let whole = self.wide(ScalarOp::Add, &[top, carried]);
        let half = self.half_of_last_place(whole);
        let low = self.wide(ScalarOp::Add, &[low, half]);
        let carried = self.wide_number(ScalarOp::ShiftRight, low, 32);
        let whole = self.wide(ScalarOp::Add, &[top, carried]);
        // Half of the divisor, after a division by 2³².
        let [one, minus_one] = [1, -1].map(|number| self.builder.constant(Scalar::int(I64, number)));
        let before = self.wide(ScalarOp::Add, &[shift, minus_one]);
        let middle = self.wide(ScalarOp::ShiftLeft, &[one, before]);
        let rounded = self.wide(ScalarOp::Add, &[whole, middle]);
        let quotient = self.wide(ScalarOp::ShiftRight, &[rounded, shift]);
        let signed = self.with_sign(quotient, sign);
        let least = self.wide_number(ScalarOp::Max(NanRule::First), signed, i32::MIN.into());
        let result = self.wide_number(ScalarOp::Min(NanRule::First), least, i32::MAX.into());
        Some(self.op(ScalarOp::Convert, &[result]))
    }

    /// Computes half of the last place of P in binary64, in units of 1. `whole` is P divided by 2³². 0 if P has at most 53 bits.
    fn half_of_last_place(&mut self, whole: Node) -> Node {
        let zeros = self.wide(ScalarOp::CountLeadingZeros, &[whole]);
        let [most, one] = [43, 1].map(|number| self.builder.constant(Scalar::int(I64, number)));
        let places = self.wide(ScalarOp::Sub, &[most, zeros]);
        let places = self.wide_number(ScalarOp::Max(NanRule::First), places, 0);
        let last = self.wide(ScalarOp::ShiftLeft, &[one, places]);
        self.wide_number(ScalarOp::ShiftRight, last, 1)
    }

    /// Negates a number if its sign is −1.
    fn with_sign(&mut self, number: Node, sign: Node) -> Node {
        let flipped = self.wide(ScalarOp::Xor, &[number, sign]);
        self.wide(ScalarOp::Sub, &[flipped, sign])
    }

    fn wide(&mut self, op: ScalarOp, operands: &[Node]) -> Node {
        self.builder.raw(op, operands.to_vec(), I64)
    }

    fn wide_number(&mut self, op: ScalarOp, operand: Node, number: i64) -> Node {
        let number = self.builder.constant(Scalar::int(I64, number));
        self.wide(op, &[operand, number])
    }
}

/// A factor `M · 2⁻ᵉ`.
struct Factor {
    /// Bits of M from 32 on.
    high: i32,
    /// Low 32 bits of M.
    low: i32,
    /// Exponent e minus 32.
    shift: i32,
}

impl Factor {
    /// Splits a factor; `None` if it is negative, NaN or too large. A factor that rounds every product to 0 becomes 0.
    fn of(factor: f64) -> Option<Self> {
        let (fraction, exponent) = libm::frexp(factor);
        let (multiplier, shift) = (libm::ldexp(fraction, 53) as i64, 53 - exponent - 32);
        match shift {
            _ if factor.is_nan() || factor < 0.0 => None,
            1..=63 => Some(Self { high: (multiplier >> 32) as i32, low: multiplier as i32, shift }),
            64.. => Some(Self { high: 0, low: 0, shift: 1 }),
            _ => (factor == 0.0).then_some(Self { high: 0, low: 0, shift: 1 }),
        }
    }
}
