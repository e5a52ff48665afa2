//! Branches and loops with functions of tensors.

use super::Program;
use crate::chains::Random;
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{Comparison, ElementType, ExpressionBuilder, Extent, Func, Node, Scalar, ScalarOp, TensorType, Type, Value};

impl Program<'_> {
    /// Adds a branch between two functions of some tensors, or a loop of a few iterations.
    pub fn within(&mut self) {
        let Some(token) = self.token else { return };
        let operands: Vec<Value> = (0..1 + self.below(2)).map(|_| self.pick()).collect();
        let all = |first: Value| [first].into_iter().chain(operands.clone()).chain([token]).collect::<Vec<_>>();
        let mut results = if self.below(2) == 0 {
            let [then, otherwise] = [self.function(&operands, false), self.function(&operands, false)];
            let condition = self.condition();
            self.builder.if_else(&all(condition), then, otherwise).expect("functions of one type")
        } else {
            let (head, body) = (self.head(&operands), self.function(&operands, true));
            let zero = self.builder.literal(TensorType::of(ElementType::I32, &[]), vec![0; 4]).expect("four bytes");
            self.builder.while_loop(&all(zero), head, body).expect("functions of one type").split_off(1)
        };
        self.token = results.pop();
        self.values.extend(results);
    }

    /// Computes a condition: the first element of a tensor is negative.
    fn condition(&mut self) -> Value {
        let exact = self.exact();
        let first = self.part(exact, 0, 0, 1, 1);
        let scalar = self.builder.reshape(first, vec![]).expect("one element");
        let mut e = ExpressionBuilder::new(&[self.element]);
        let number = e.input(0);
        let number = e.convert_saturating(number, ElementType::I32);
        self.compared(scalar, e, number, 0)
    }

    /// Computes a condition: a number made of a scalar is less than `bound`.
    fn compared(&mut self, scalar: Value, mut e: ExpressionBuilder, number: Node, bound: i64) -> Value {
        let bound = e.constant(Scalar::int(ElementType::I32, bound));
        let less = e.op(ScalarOp::Compare(Comparison::Less), &[number, bound]).expect("numbers of one type");
        self.builder.map(&[scalar], e.finish(vec![less])).expect("one number")
    }

    /// Makes the condition of a loop with at most a few iterations.
    fn head(&mut self, operands: &[Value]) -> Func {
        let rounds = self.below(4) as i64;
        let mut head = self.inside(operands, true);
        let mut e = ExpressionBuilder::new(&[ElementType::I32]);
        let number = e.input(0);
        let count = head.values[0];
        let less = head.compared(count, e, number, rounds);
        head.builder.finish(vec![less])
    }

    /// Makes a function of tensors and a token with results of the same types. With `counted`, it also takes a count and increments it.
    fn function(&mut self, operands: &[Value], counted: bool) -> Func {
        let shapes: Vec<Vec<Extent>> = operands.iter().map(|&operand| self.shape_of(operand)).collect();
        let mut inner = self.inside(operands, counted);
        let mut results = Vec::new();
        if counted {
            let count = inner.values.remove(0);
            let mut e = ExpressionBuilder::new(&[ElementType::I32]);
            let (number, one) = (e.input(0), e.constant(Scalar::int(ElementType::I32, 1)));
            let sum = e.op(ScalarOp::Add, &[number, one]).expect("numbers of one type");
            results.push(inner.builder.map(&[count], e.finish(vec![sum])).expect("one number"));
        }
        for _ in 0..inner.below(6) {
            inner.next();
        }
        for shape in shapes {
            let value = inner.pick();
            results.push(inner.reshaped(value, &shape));
        }
        results.extend(inner.token);
        inner.builder.finish(results)
    }

    /// Starts a function of tensors and a token; with `counted`, of a count before them.
    fn inside(&mut self, operands: &[Value], counted: bool) -> Program<'_> {
        let types: Vec<TensorType> = operands.iter().map(|&v| self.builder.tensor(v).clone()).collect();
        let random = Random(self.random.next());
        let (element, count, states, depth) = (self.element, self.count, self.states.clone(), self.depth + 1);
        let name = format!("f{}", self.builder.module.functions.len());
        let mut builder = FunctionBuilder::new(self.builder.module, name);
        let counter = counted.then(|| TensorType::of(ElementType::I32, &[]));
        let values: Vec<Value> = counter.into_iter().chain(types).map(|ty| builder.param(Type::Tensor(ty), None)).collect();
        let token = Some(builder.param(Type::Effect, None));
        let exact = values[values.len() - 1];
        Program { builder, random, element, count, opens: vec![], states, token, exact, values, depth }
    }
}
