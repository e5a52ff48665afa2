//! Drafts of functions, built by the builder of the tensor language.

use super::draft::{Body, Draft, Exchange, Inner, counter};
use crate::builder::FunctionBuilder;
use crate::data::Data;
use crate::entities::{Constant, Func, State, Value};
use crate::operators::IndexOperation;
use crate::scalar::{Comparison, Expression, ExpressionBuilder, Scalar, ScalarOp};
use crate::storage::StateData;
use crate::surroundings::FunctionTypes;
use crate::types::{ElementType, Interval, TensorType, Type};
use cranelift_entity::PrimaryMap;

impl Draft for FunctionBuilder<'_> {
    fn types(&self) -> &dyn FunctionTypes {
        &self.function
    }

    fn tensor_type(&self, value: Value) -> &TensorType {
        self.tensor(value)
    }

    fn states(&self) -> &PrimaryMap<State, StateData> {
        &self.module.states
    }

    fn param(&mut self, ty: Type) -> Value {
        Self::param(self, ty, None)
    }

    fn add_constant(&mut self, ty: TensorType, data: Data) -> Constant {
        self.module.add_constant(ty, data)
    }

    fn add_state(&mut self, state: StateData) -> State {
        self.module.states.push(state)
    }

    fn body(&mut self, body: Body) -> Option<Func> {
        let name = format!("f{}", self.module.functions.len());
        let mut b = FunctionBuilder::new(self.module, name);
        let Body { types, values, free, inner, state, swaps } = body;
        let params: Vec<Value> = types.iter().map(|ty| b.param(ty.clone(), None)).collect();
        let mut results = Vec::new();
        for (param, body) in params.into_iter().zip(values) {
            results.push(if let Some(body) = body { b.map(&[param], body).ok()? } else { param });
        }
        if let Some(inner) = inner {
            let handed = results.split_off(free);
            results.extend(within(&mut b, inner, handed)?);
        }
        let like = |ty: &Type, from: usize| (from..types.len()).find(|&i| types[i] == *ty);
        if let (true, Some(ty)) = (swaps, types.get(free))
            && let Some(other) = like(ty, free + 1)
        {
            results.swap(free, other);
        }
        if let Some(Exchange { position, state }) = state {
            let loaded = b.load_state(results[position], state).ok()?;
            let ty = Type::Tensor(b.module.states[state].ty.clone());
            // The contents of the state become a result, and the former result becomes the contents.
            let stored = like(&ty, free).map_or(loaded[1], |i| std::mem::replace(&mut results[i], loaded[1]));
            results[position] = b.store_state(loaded[0], stored, state).ok()?;
        }
        Some(b.finish(results))
    }

    fn condition(&mut self, types: &[Type], turns: i32) -> Option<Func> {
        let name = format!("f{}", self.module.functions.len());
        let mut b = FunctionBuilder::new(self.module, name);
        let count = b.param(counter(), None);
        for ty in types {
            b.param(ty.clone(), None);
        }
        let mut e = ExpressionBuilder::new(&[ElementType::I32]);
        let (n, bound) = (e.input(0), e.constant(Scalar::i32(turns)));
        let less = e.op(ScalarOp::Compare(Comparison::Less), &[n, bound]).ok()?;
        let verdict = b.map(&[count], e.finish(vec![less])).ok()?;
        Some(b.finish(vec![verdict]))
    }

    fn constant(&mut self, constant: Constant) -> Option<Value> {
        Self::constant(self, constant).ok()
    }

    fn map(&mut self, operands: &[Value], expression: Expression) -> Option<Value> {
        Self::map(self, operands, expression).ok()
    }

    fn transpose(&mut self, input: Value, permutation: Vec<usize>) -> Option<Value> {
        Self::transpose(self, input, permutation).ok()
    }

    fn pad(&mut self, input: Value, low: Vec<i64>, high: Vec<i64>, value: Scalar) -> Option<Value> {
        Self::pad(self, input, low, high, value).ok()
    }

    fn index_constant(&mut self, value: i64) -> Option<Value> {
        Self::index_constant(self, value).ok()
    }

    fn index_binary(&mut self, operation: IndexOperation, left: Value, right: Value) -> Option<Value> {
        Self::index_binary(self, operation, left, right).ok()
    }

    fn index_load(&mut self, input: Value, interval: Interval) -> Option<Value> {
        Self::index_load(self, input, interval).ok()
    }
}

/// Applies a branch or a loop to values.
fn within(b: &mut FunctionBuilder<'_>, inner: Inner, values: Vec<Value>) -> Option<Vec<Value>> {
    let literal = |b: &mut FunctionBuilder<'_>, element, bytes| b.literal(TensorType::of(element, &[]), bytes).ok();
    match inner {
        Inner::Choice(taken, then, otherwise) => {
            let condition = literal(b, ElementType::Bool, vec![u8::from(taken)])?;
            let operands: Vec<Value> = std::iter::once(condition).chain(values).collect();
            b.if_else(&operands, then, otherwise).ok()
        }
        Inner::Loop(condition, body) => {
            let zero = literal(b, ElementType::I32, 0i32.to_le_bytes().to_vec())?;
            let operands: Vec<Value> = std::iter::once(zero).chain(values).collect();
            let results = b.while_loop(&operands, condition, body).ok()?;
            Some(results[1..].to_vec())
        }
    }
}
