//! Random scalar expressions.

use super::supply::Generator;
use crate::scalar::{Comparison, Expression, ExpressionBuilder, Node, Scalar, ScalarOp};
use crate::types::{ElementType, TensorType};

impl Generator<'_> {
    /// An expression over inputs of some types, with one or two results.
    pub(crate) fn expression(&mut self, inputs: &[ElementType]) -> Expression {
        let mut builder = ExpressionBuilder::new(inputs);
        let mut nodes: Vec<Node> = (0..inputs.len()).map(|i| builder.input(i)).collect();
        let wanted = nodes.len() + self.random.between(1, 8) as usize;
        for _ in 0..100 {
            if nodes.len() >= wanted {
                break;
            }
            if let Some(node) = self.node(&mut builder, &nodes) {
                nodes.push(node);
            }
        }
        let mut results = vec![*nodes.last().unwrap_or(&Node::from_u32(0))];
        if self.random.one_in(4) {
            results.push(*self.random.pick(&nodes));
        }
        builder.finish(results)
    }

    /// An expression that gives back the types of its inputs, one result an input.
    pub(crate) fn endomorphism(&mut self, inputs: &[ElementType]) -> Expression {
        let expression = self.expression(inputs);
        let mut builder = ExpressionBuilder::new(inputs);
        let own: Vec<Node> = (0..inputs.len()).map(|i| builder.input(i)).collect();
        let made = builder.inline(&expression, &own);
        let results = inputs.iter().map(|&ty| builder.convert(made[0], ty)).collect();
        builder.finish(results)
    }

    fn node(&mut self, builder: &mut ExpressionBuilder, nodes: &[Node]) -> Option<Node> {
        let operand = *self.random.pick(nodes);
        let ty = builder.ty(operand);
        match self.random.below(12) {
            0 => {
                let to = self.element();
                Some(builder.convert(operand, to))
            }
            1 if ty != ElementType::C64 => {
                let to = self.element();
                to.is_integer().then(|| builder.convert_saturating(operand, to))
            }
            2 => {
                let number = self.scalar(ty);
                Some(builder.constant(number))
            }
            3 if ty.is_integer() => {
                let element = self.element();
                let length = self.random.between(1, 256) as u64;
                let table = self.tensor(element, &[length]);
                let constant = self.draft.add_constant(TensorType::of(element, &[length]), table.bytes.into());
                Some(builder.lut(constant, element, operand))
            }
            4 if ty == ElementType::F32 => {
                let narrow = *self.random.pick(&[ElementType::F16, ElementType::Bf16, ElementType::I8]);
                builder.op(ScalarOp::RoundTo(narrow), &[operand]).ok()
            }
            _ => self.plain(builder, nodes),
        }
    }

    /// One of the operations without parameters, on operands of types that it takes.
    fn plain(&mut self, builder: &mut ExpressionBuilder, nodes: &[Node]) -> Option<Node> {
        let op = *self.random.pick(&self.scalar_operations);
        let first = *self.random.pick(nodes);
        let mut operands = vec![first];
        while operands.len() < op.arity() {
            let mut other = *self.random.pick(nodes);
            if op == ScalarOp::Select && operands.len() == 1 {
                operands = vec![builder.op(ScalarOp::Compare(Comparison::Less), &[first, first]).ok()?, first];
            }
            let wanted = builder.ty(operands[operands.len() - 1]);
            if builder.ty(other) != wanted {
                let number = self.scalar(wanted);
                other = builder.constant(number);
            }
            operands.push(other);
        }
        operands.truncate(op.arity());
        // Counts of shifts are defined over a range.
        let range = match op {
            ScalarOp::RoundingDivideByPowerOfTwo => Some((0, 31)),
            ScalarOp::Requantize(_) => Some((-31, 30)),
            _ => None,
        };
        if let (Some((low, high)), Some(last)) = (range, operands.last_mut()) {
            let count = self.random.between(low, high);
            *last = builder.constant(Scalar::i32(count as i32));
        }
        builder.op(op, &operands).ok()
    }
}
