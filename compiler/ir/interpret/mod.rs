//! The interpreter, which defines the meaning of a module. It is scalar, simple and independent of every back end, and so the oracle for compiled
//! code.
//!
//! Float mathematics is computed in the width of its type through `libm`. Sums of f32 are taken in f32, in order. Sums of other floats are
//! accumulated in binary64 and rounded once. Integers are exact.
//!
//! Functions run on an explicit stack of frames, so nesting costs no native stack. A value is dropped after its last use.

mod array;
pub(crate) mod attention;
mod column;
pub(crate) mod contract;
mod error;
mod evaluation;
pub(crate) mod fourier;
mod map;
pub(crate) mod movement;
pub(crate) mod nines;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod search;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use array::Array;
pub use error::InterpretError;
pub(crate) use error::{Step, fail};
pub(crate) use evaluation::Evaluation;
pub(crate) use values::Slot;

use super::entities::{Func, Inst, State};
use super::module::{Function, Module};
use super::operators::Operation;
use super::scalar::{Expression, NodeData, Scalar, ScalarOp};
use super::tensor::Tensor;
use super::types::{ElementType, Extent, Type};
use cranelift_entity::{EntityRef, SecondaryMap};
use std::rc::Rc;
use values::Values;

/// Bounds on what a program may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations of one `while`; more are an error.
    pub iterations: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterations: u64::MAX }
    }
}

/// Called after each instruction with its results. An index is shown as an `i64` of shape `[]`, an effect token as a `bool` of shape `[0]`.
pub type Trace<'t> = &'t mut dyn FnMut(Func, Inst, &[Tensor]);

/// Runs the methods of one module; its states live as long as it does.
pub struct Interpreter<'m> {
    module: &'m Module,
    /// Bounds, free to change between runs.
    pub limits: Limits,
    states: SecondaryMap<State, Option<Array<'m>>>,
    uses: SecondaryMap<Func, Option<Rc<Vec<u32>>>>,
}

/// Evaluates one instruction for constant folding. All its operands, and the values among its extents, must be defined by `constant` or `index`.
///
/// # Errors
/// When another operand occurs, the operator has control flow or state, or it fails on these operands.
pub fn evaluate(module: &Module, function: &Function, inst: Inst) -> Result<Vec<Tensor>, InterpretError> {
    let mut values = Values::none(function.values.len());
    for value in function.uses(inst) {
        let definition = function.defining_inst(value).map(|d| &function.insts[d]);
        let slot = match definition.map(|d| &d.operation) {
            Some(Operation::Constant(constant)) => Slot::Tensor(evaluation::constant(&module.constants, constant.data)?),
            Some(Operation::IndexConstant(index)) => Slot::Index(index.value),
            _ => return fail(format!("{value} is no constant")),
        };
        values.set(value, slot);
    }
    let data = &function.insts[inst];
    let operands: Vec<Slot<'_>> = data.operands.iter().map(|&v| values.get(v)).collect::<Step<_>>()?;
    let evaluation = Evaluation { constants: &module.constants, values: &values, operands: &operands };
    Ok(data.operation.evaluate(&evaluation)?.iter().filter_map(shown).collect())
}

/// An expression of one result over one tensor; nothing when it fails on an element.
pub fn evaluate_map(module: &Module, expression: &Expression, operand: &Tensor) -> Option<Tensor> {
    let operand = Array::taken_from_packed(operand.element, &operand.shape, &operand.bytes).ok()?;
    Some(map::map(&module.constants, expression, &[&operand]).ok()?.first()?.to_tensor())
}

/// A scalar operation on numbers; `None` when it is not defined on them.
pub fn evaluate_scalar(module: &Module, op: ScalarOp, ty: ElementType, operands: &[Scalar]) -> Option<Scalar> {
    let mut expression = Expression::default();
    let mut push = |op, operands, ty| expression.nodes.push(NodeData { op, operands, ty });
    let constants = operands.iter().map(|&s| push(ScalarOp::Constant(s), vec![], s.element())).collect();
    let result = push(op, constants, ty);
    expression.results.push(result);
    let results = map::map(&module.constants, &expression, &[]).ok()?;
    Some(Scalar::from_bytes(ty, &results.first()?.bytes))
}

/// A `while` in progress.
struct Loop<'m> {
    carried: Vec<Slot<'m>>,
    in_body: bool,
    iterations: u64,
}

/// A function in progress.
struct Frame<'m> {
    func: Func,
    function: &'m Function,
    /// Position in the body of the instruction that runs next, or waits for the frame above.
    position: usize,
    values: Values<'m>,
    /// Uses of each value that are still to come.
    uses_left: Vec<u32>,
    pending: Option<Loop<'m>>,
}

/// The outcome of an instruction: results, or a function to enter.
enum Effect<'m> {
    Results(Vec<Slot<'m>>),
    Enter(Func, Vec<Slot<'m>>),
}

impl<'m> Interpreter<'m> {
    /// An interpreter for a verified module, states at their initial contents.
    pub fn new(module: &'m Module) -> Self {
        Self { module, limits: Limits::default(), states: SecondaryMap::new(), uses: SecondaryMap::new() }
    }

    /// Puts all states back to their initial contents.
    pub fn reset(&mut self) {
        self.states = SecondaryMap::new();
    }

    /// The contents of a state.
    ///
    /// # Errors
    /// When the module has no such state or it exceeds the limit of a tensor.
    pub fn state(&self, state: State) -> Result<Tensor, InterpretError> {
        Ok(self.load_state(state)?.to_tensor())
    }

    /// Runs a method on its inputs; gives its outputs.
    ///
    /// # Errors
    /// When inputs do not fit the method, or the program fails on this data. States may have changed by then.
    pub fn run(&mut self, method: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, InterpretError> {
        self.run_with_trace(method, inputs, &mut |_, _, _| {})
    }

    /// Runs a method like [`Self::run`], and reports the results of every instruction as they come.
    ///
    /// # Errors
    /// The errors of [`Self::run`].
    pub fn run_with_trace(&mut self, method: usize, inputs: &[Tensor], trace: Trace<'_>) -> Result<Vec<Tensor>, InterpretError> {
        let Some(method) = self.module.methods.get(method) else { return fail(format!("there is no method {method}")) };
        for (index, (port, input)) in method.inputs.iter().zip(inputs).enumerate() {
            if port.value.as_ref().is_some_and(|value| value.bytes() != input.bytes) {
                return fail(format!("input {index} has another value than the module was made for"));
            }
        }
        self.run_function(method.function, inputs, Some(trace))
    }

    /// Runs any function whose parameters are tensors, indices and effect tokens. Indices are given as one-element integer tensors. Effect tokens are
    /// not given, and are left out of the results.
    ///
    /// # Errors
    /// The errors of [`Self::run`].
    pub fn run_function(&mut self, func: Func, inputs: &[Tensor], trace: Option<Trace<'_>>) -> Result<Vec<Tensor>, InterpretError> {
        let arguments = self.arguments(func, inputs)?;
        let results = self.execute(func, arguments, trace)?;
        Ok(results.iter().filter_map(shown).collect())
    }

    /// Inputs as parameters, checked against their types.
    fn arguments(&self, func: Func, inputs: &[Tensor]) -> Step<Vec<Slot<'m>>> {
        let Some(function) = self.module.functions.get(func) else { return fail(format!("there is no {func}")) };
        let mut inputs = inputs.iter().enumerate();
        let mut arguments = Vec::with_capacity(function.params.len());
        for &param in &function.params {
            let ty = &function.values[param].ty;
            if *ty == Type::Effect {
                arguments.push(Slot::Effect);
                continue;
            }
            let Some((i, tensor)) = inputs.next() else { return fail("too few inputs") };
            let array = Array::taken_from_packed(tensor.element, &tensor.shape, &tensor.bytes).map_err(|e| of_input(i, e))?;
            match ty {
                Type::Tensor(ty) => {
                    let fits = |(&have, &want): (&u64, &Extent)| {
                        let interval = function.interval(want);
                        i64::try_from(have).is_ok_and(|have| (interval.low..=interval.high).contains(&have))
                    };
                    if ty.element != tensor.element || ty.rank() != tensor.shape.len() || !tensor.shape.iter().zip(&ty.shape).all(fits) {
                        let (element, shape) = (tensor.element, &tensor.shape);
                        return fail(format!("input {i} is {element}{shape:?}, the method takes {ty}"));
                    }
                    arguments.push(Slot::Tensor(array.into_owned()));
                }
                _ => arguments.push(Slot::Index(array.index().map_err(|e| of_input(i, e))?)),
            }
        }
        if inputs.next().is_some() { fail("too many inputs") } else { Ok(arguments) }
    }

    /// Runs a function and whatever it calls.
    fn execute(&mut self, func: Func, arguments: Vec<Slot<'m>>, mut trace: Option<Trace<'_>>) -> Step<Vec<Slot<'m>>> {
        let mut stack = vec![self.enter(func, arguments)?];
        while let Some(frame) = stack.last_mut() {
            if let Some(&inst) = frame.function.body.get(frame.position) {
                let effect = self.step(frame, inst).map_err(|e| self.located(frame, inst, e))?;
                match effect {
                    Effect::Results(results) => frame.finish(inst, results, &mut trace),
                    Effect::Enter(callee, arguments) => {
                        let callee = self.enter(callee, arguments)?;
                        stack.push(callee);
                    }
                }
                continue;
            }
            let results: Step<Vec<_>> = frame.function.results.iter().map(|&v| frame.values.get(v)).collect();
            let results = results?;
            stack.pop();
            let Some(caller) = stack.last_mut() else { return Ok(results) };
            let inst = caller.function.body[caller.position];
            match self.returned(caller, inst, results).map_err(|e| self.located(caller, inst, e))? {
                Effect::Results(results) => caller.finish(inst, results, &mut trace),
                Effect::Enter(callee, arguments) => {
                    let callee = self.enter(callee, arguments)?;
                    stack.push(callee);
                }
            }
        }
        fail("the stack of functions is empty")
    }

    fn enter(&mut self, func: Func, arguments: Vec<Slot<'m>>) -> Step<Frame<'m>> {
        let Some(function) = self.module.functions.get(func) else { return fail(format!("there is no {func}")) };
        if function.params.len() != arguments.len() {
            return fail(format!("@{} takes {} arguments, not {}", function.name, function.params.len(), arguments.len()));
        }
        let uses = self.uses[func].get_or_insert_with(|| Rc::new(count_uses(function)));
        let uses_left = uses.to_vec();
        let mut values = Values::none(function.values.len());
        for (&param, argument) in function.params.iter().zip(arguments) {
            if uses_left[param.index()] > 0 {
                values.set(param, argument);
            }
        }
        Ok(Frame { func, function, position: 0, values, uses_left, pending: None })
    }

    /// Runs one instruction, or says which function it waits for.
    fn step(&mut self, frame: &mut Frame<'m>, inst: Inst) -> Step<Effect<'m>> {
        let data = &frame.function.insts[inst];
        let operands: Vec<Slot<'m>> = data.operands.iter().map(|&v| frame.values.get(v)).collect::<Step<_>>()?;
        match &data.operation {
            Operation::Call(call) => Ok(Effect::Enter(call.function, operands)),
            Operation::If(branch) => {
                let taken = operands[0].tensor()?.truth()?;
                Ok(Effect::Enter(if taken { branch.then } else { branch.otherwise }, operands[1..].to_vec()))
            }
            Operation::While(repeat) => {
                frame.pending = Some(Loop { carried: operands.clone(), in_body: false, iterations: 0 });
                Ok(Effect::Enter(repeat.condition, operands))
            }
            Operation::LoadState(load) => Ok(Effect::Results(vec![Slot::Effect, Slot::Tensor(self.load_state(load.state)?)])),
            Operation::StoreState(store) => {
                let tensor = operands[1].tensor()?.clone();
                self.states[store.state] = Some(tensor);
                Ok(Effect::Results(vec![Slot::Effect]))
            }
            operation => {
                let evaluation = Evaluation { constants: &self.module.constants, values: &frame.values, operands: &operands };
                Ok(Effect::Results(operation.evaluate(&evaluation)?))
            }
        }
    }

    /// Goes on with an instruction whose function returned.
    fn returned(&self, caller: &mut Frame<'m>, inst: Inst, results: Vec<Slot<'m>>) -> Step<Effect<'m>> {
        let Some(mut pending) = caller.pending.take() else { return Ok(Effect::Results(results)) };
        let Operation::While(repeat) = &caller.function.insts[inst].operation else { return fail("it is no loop") };
        if pending.in_body {
            pending.carried = results;
            pending.in_body = false;
            let arguments = pending.carried.clone();
            caller.pending = Some(pending);
            return Ok(Effect::Enter(repeat.condition, arguments));
        }
        let Some(verdict) = results.first() else { return fail("the condition returns nothing") };
        if !verdict.tensor()?.truth()? {
            return Ok(Effect::Results(pending.carried));
        }
        if pending.iterations >= self.limits.iterations {
            return fail(format!("the loop did not end after {} iterations", self.limits.iterations));
        }
        pending.iterations += 1;
        pending.in_body = true;
        let arguments = pending.carried.clone();
        caller.pending = Some(pending);
        Ok(Effect::Enter(repeat.body, arguments))
    }

    fn load_state(&self, state: State) -> Step<Array<'m>> {
        if let Some(array) = &self.states[state] {
            return Ok(array.clone());
        }
        let Some(data) = self.module.states.get(state) else { return fail(format!("there is no {state}")) };
        if let Some(initial) = data.initial {
            return evaluation::constant(&self.module.constants, initial);
        }
        let shape: Option<Vec<usize>> = data.ty.shape.iter().map(|e| usize::try_from(e.as_static()?).ok()).collect();
        let Some(shape) = shape else { return fail("a state has a dynamic shape") };
        let count = array::elements(data.ty.element, &shape)?;
        Ok(Array::new(data.ty.element, shape, vec![0; count * array::width(data.ty.element)]))
    }

    fn located(&self, frame: &Frame<'m>, inst: Inst, mut error: InterpretError) -> InterpretError {
        let data = &frame.function.insts[inst];
        error.op.get_or_insert(data.op().name());
        if error.source.is_none() {
            error.source = data.source.and_then(|s| self.module.sources.get(s)).cloned();
        }
        error
    }
}

impl<'m> Frame<'m> {
    /// Ends an instruction: keeps its results and drops values without further use.
    fn finish(&mut self, inst: Inst, results: Vec<Slot<'m>>, trace: &mut Option<Trace<'_>>) {
        if let Some(trace) = trace {
            trace(self.func, inst, &results.iter().map(|slot| shown(slot).unwrap_or_else(token)).collect::<Vec<_>>());
        }
        for (&value, slot) in self.function.insts[inst].results.iter().zip(results) {
            if self.uses_left[value.index()] > 0 {
                self.values.set(value, slot);
            }
        }
        for value in self.function.uses(inst) {
            let left = &mut self.uses_left[value.index()];
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.values.forget(value);
            }
        }
        self.position += 1;
    }
}

fn count_uses(function: &Function) -> Vec<u32> {
    let mut uses = vec![0; function.values.len()];
    let operands = function.body.iter().flat_map(|&inst| function.uses(inst));
    for value in operands.chain(function.results.iter().copied()) {
        uses[value.index()] += 1;
    }
    uses
}

/// A slot as a tensor; none for an effect token.
fn shown(slot: &Slot<'_>) -> Option<Tensor> {
    match slot {
        Slot::Tensor(array) => Some(array.to_tensor()),
        Slot::Index(n) => Some(Tensor { element: ElementType::I64, shape: vec![], bytes: n.to_le_bytes().to_vec() }),
        Slot::Effect => None,
    }
}

fn token() -> Tensor {
    Tensor { element: ElementType::Bool, shape: vec![0], bytes: vec![] }
}

fn of_input(index: usize, mut error: InterpretError) -> InterpretError {
    error.message = format!("input {index}: {}", error.message);
    error
}
