//! Functions of random modules: calls, branches, loops, and states on the way.

use super::draft::{Body, Exchange, Inner, counter};
use super::supply::Generator;
use crate::entities::{Func, State, Value};
use crate::scalar::{Expression, ExpressionBuilder, Scalar, ScalarOp};
use crate::storage::StateData;
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, Type};

impl Generator<'_> {
    /// A function that computes a value of the same type from each of its parameters. It hands a token through, and may use a state. If
    /// `first` is given, it is computed from the first parameter. Sometimes there is a branch or a loop in the function.
    fn function(&mut self, types: &[Type], first: Option<Expression>) -> Option<Func> {
        let free = &types[usize::from(first.is_some())..];
        let inner = match self.random.below(6) {
            0 => Some(Inner::Choice(self.random.one_in(2), self.straight(free, None, None)?, self.straight(free, None, None)?)),
            1 => {
                let (condition, next) = (self.condition(free)?, self.next_count());
                let counted: Vec<Type> = std::iter::once(counter()).chain(free.iter().cloned()).collect();
                Some(Inner::Loop(condition, self.straight(&counted, Some(next), None)?))
            }
            _ => None,
        };
        self.straight(types, first, inner)
    }

    /// A function like [`Self::function`] with the given control flow. Sometimes two results change places.
    fn straight(&mut self, types: &[Type], first: Option<Expression>, inner: Option<Inner>) -> Option<Func> {
        let free = usize::from(first.is_some());
        let mut values: Vec<Option<Expression>> = types.iter().map(|ty| ty.as_tensor().map(|t| self.endomorphism(&[t.element]))).collect();
        if first.is_some() {
            values[0] = first;
        }
        let token = types.iter().position(|ty| *ty == Type::Effect).filter(|_| self.random.one_in(2));
        let state = token.map(|position| Exchange { position, state: self.state() });
        let swaps = self.random.one_in(3);
        self.draft.body(Body { types: types.to_vec(), values, free, inner, state, swaps })
    }

    /// Static tensors of the pool, and the token if there is one.
    fn arguments(&mut self) -> Option<(Vec<Value>, Vec<Type>)> {
        let mut operands = vec![self.tensor_where(|ty| ty.static_shape().is_some())?];
        if self.random.one_in(2) {
            operands.push(self.tensor_where(|ty| ty.static_shape().is_some())?);
        }
        operands.extend(self.token);
        let types = operands.iter().map(|&v| self.draft.types().values()[v].ty.clone()).collect();
        Some((operands, types))
    }

    pub(crate) fn call(&mut self) -> Option<(Vec<Value>, Func)> {
        let (operands, types) = self.arguments()?;
        let function = self.function(&types, None)?;
        Some((operands, function))
    }

    pub(crate) fn if_else(&mut self) -> Option<(Vec<Value>, [Func; 2])> {
        let condition = self.leaf(ElementType::Bool, &[])?;
        let (operands, types) = self.arguments()?;
        let (then, otherwise) = (self.function(&types, None)?, self.function(&types, None)?);
        let operands = [condition].into_iter().chain(operands).collect();
        Some((operands, [then, otherwise]))
    }

    /// A loop of a few turns, counted by its first operand.
    pub(crate) fn while_loop(&mut self) -> Option<(Vec<Value>, [Func; 2])> {
        let zero = Tensor { element: ElementType::I32, shape: vec![], bytes: 0i32.to_le_bytes().to_vec() };
        let count = self.parameter(zero);
        let (operands, types) = self.arguments()?;
        let (condition, next) = (self.condition(&types)?, self.next_count());
        let counted: Vec<Type> = std::iter::once(counter()).chain(types).collect();
        let body = self.function(&counted, Some(next))?;
        let operands = [count].into_iter().chain(operands).collect();
        Some((operands, [condition, body]))
    }

    /// A condition: the counter, which comes before other parameters, is below a small number.
    fn condition(&mut self, types: &[Type]) -> Option<Func> {
        let turns = self.random.between(0, 4) as i32;
        self.draft.condition(types, turns)
    }

    /// The counter plus one.
    fn next_count(&self) -> Expression {
        let mut e = ExpressionBuilder::new(&[ElementType::I32]);
        let (n, one) = (e.input(0), e.constant(Scalar::i32(1)));
        let next = e.op(ScalarOp::Add, &[n, one]).unwrap_or(n);
        e.finish(vec![next])
    }

    /// A state that exists, or a new one with or without initial contents.
    pub(crate) fn state(&mut self) -> State {
        let states: Vec<State> = self.draft.states().keys().collect();
        if !states.is_empty() && self.random.one_in(2) {
            return *self.random.pick(&states);
        }
        let (element, shape) = (self.element(), self.shape());
        let ty = TensorType::of(element, &shape);
        let contents = self.tensor(element, &shape);
        let initial = if self.random.one_in(2) { Some(self.draft.add_constant(ty.clone(), contents.bytes.into())) } else { None };
        let name = format!("state {}", states.len());
        self.draft.add_state(StateData { name, ty, initial })
    }

    pub(crate) fn store_state(&mut self) -> Option<(Vec<Value>, State)> {
        let state = self.state();
        let ty = self.draft.states()[state].ty.clone();
        let value = match self.tensor_where(|have| *have == ty) {
            Some(value) => value,
            None => self.leaf(ty.element, &ty.static_shape()?)?,
        };
        Some((vec![self.token?, value], state))
    }
}
