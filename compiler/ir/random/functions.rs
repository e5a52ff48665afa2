//! Functions of random modules: calls, branches, loops, and states on the way.

use super::Generator;
use crate::ir::*;

/// The control flow that a function applies to its values before it returns.
enum Inner {
    /// One of two functions.
    Choice(bool, Func, Func),
    /// A counted loop: condition and body.
    Loop(Func, Func),
}

fn counter() -> Type {
    Type::Tensor(TensorType::of(ElementType::I32, &[]))
}

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
        let mut bodies: Vec<Option<Expression>> = types.iter().map(|ty| ty.as_tensor().map(|t| self.endomorphism(&[t.element]))).collect();
        if first.is_some() {
            bodies[0] = first;
        }
        let token = types.iter().position(|ty| *ty == Type::Effect).filter(|_| self.random.one_in(2));
        let state = token.map(|position| (position, self.state()));
        let swaps = self.random.one_in(3);
        let name = format!("f{}", self.b.module.functions.len());
        let mut b = FunctionBuilder::new(self.b.module, name);
        let params: Vec<Value> = types.iter().map(|ty| b.param(ty.clone(), None)).collect();
        let mut results = Vec::new();
        for (param, body) in params.into_iter().zip(bodies) {
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
        if let Some((position, state)) = state {
            let loaded = b.load_state(results[position], state).ok()?;
            let ty = Type::Tensor(b.module.states[state].ty.clone());
            // The contents of the state become a result, and the former result becomes the contents.
            let stored = like(&ty, free).map_or(loaded[1], |i| std::mem::replace(&mut results[i], loaded[1]));
            results[position] = b.store_state(loaded[0], stored, state).ok()?;
        }
        Some(b.finish(results))
    }

    /// Static tensors of the pool, and the token if there is one.
    fn arguments(&mut self) -> Option<(Vec<Value>, Vec<Type>)> {
        let mut operands = vec![self.tensor_where(|ty| ty.static_shape().is_some())?];
        if self.random.one_in(2) {
            operands.push(self.tensor_where(|ty| ty.static_shape().is_some())?);
        }
        operands.extend(self.token);
        let types = operands.iter().map(|&v| self.b.function.values[v].ty.clone()).collect();
        Some((operands, types))
    }

    pub(in crate::ir) fn call(&mut self) -> Option<(Vec<Value>, Func)> {
        let (operands, types) = self.arguments()?;
        let function = self.function(&types, None)?;
        Some((operands, function))
    }

    pub(in crate::ir) fn if_else(&mut self) -> Option<(Vec<Value>, [Func; 2])> {
        let condition = self.leaf(ElementType::Bool, &[])?;
        let (operands, types) = self.arguments()?;
        let (then, otherwise) = (self.function(&types, None)?, self.function(&types, None)?);
        let operands = [condition].into_iter().chain(operands).collect();
        Some((operands, [then, otherwise]))
    }

    /// A loop of a few turns, counted by its first operand.
    pub(in crate::ir) fn while_loop(&mut self) -> Option<(Vec<Value>, [Func; 2])> {
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
        let name = format!("f{}", self.b.module.functions.len());
        let mut b = FunctionBuilder::new(self.b.module, name);
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

    /// The counter plus one.
    fn next_count(&self) -> Expression {
        let mut e = ExpressionBuilder::new(&[ElementType::I32]);
        let (n, one) = (e.input(0), e.constant(Scalar::i32(1)));
        let next = e.op(ScalarOp::Add, &[n, one]).unwrap_or(n);
        e.finish(vec![next])
    }

    /// A state that exists, or a new one with or without initial contents.
    pub(in crate::ir) fn state(&mut self) -> State {
        let states: Vec<State> = self.b.module.states.keys().collect();
        if !states.is_empty() && self.random.one_in(2) {
            return *self.random.pick(&states);
        }
        let (element, shape) = (self.element(), self.shape());
        let ty = TensorType::of(element, &shape);
        let contents = self.tensor(element, &shape);
        let initial = if self.random.one_in(2) { Some(self.b.module.add_constant(ty.clone(), contents.bytes.into())) } else { None };
        let name = format!("state {}", states.len());
        self.b.module.states.push(StateData { name, ty, initial })
    }

    pub(in crate::ir) fn store_state(&mut self) -> Option<(Vec<Value>, State)> {
        let state = self.state();
        let ty = self.b.module.states[state].ty.clone();
        let value = match self.tensor_where(|have| *have == ty) {
            Some(value) => value,
            None => self.leaf(ty.element, &ty.static_shape()?)?,
        };
        Some((vec![self.token?, value], state))
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
