//! The steps of a sequence as a loop: its state is carried from step to step, its inputs are read and its output is written one
//! step at a time. The products of the inputs do not depend on the state and could be taken before the loop, of all steps at once; but that is
//! as much memory as all gates have in all steps, and the loop needs none of it.

use super::super::operator::{Operator, extents, unsupported};
use crate::diagnostic::Diagnostic;
use crate::frontend::terms::Terms;
use crate::ir::op::COMBINATIONS;
use crate::ir::{Attribute, Comparison, ElementType, Func, Function, FunctionBuilder, Op, TensorType, Type, Value};
use ElementType::I32;

/// Where the instructions of a step go: the body of a loop, or the operator's own function when there is only one step.
pub(super) struct Step<'b, 'm> {
    /// The builder of that function.
    pub builder: &'b mut FunctionBuilder<'m>,
    /// The function around the loop.
    outer: Option<&'b Function>,
    /// Values of the function around the loop and what they are called here.
    known: Vec<(Value, Value)>,
    /// What the loop is given for each parameter so far.
    given: Vec<Value>,
}

impl Step<'_, '_> {
    /// A value of the function around the loop. Constants are made again; others become parameters that no step changes.
    pub fn value(&mut self, value: Value) -> Result<Value, Diagnostic> {
        let Some(outer) = self.outer else { return Ok(value) };
        if let Some((_, inside)) = self.known.iter().find(|(outside, _)| *outside == value) {
            return Ok(*inside);
        }
        let constant = outer.defining_inst(value).map(|inst| &outer.insts[inst]);
        let inside = match constant.map(|inst| (inst.op, inst.attributes.first())) {
            Some((Op::Constant, Some(Attribute::Constant(constant)))) => self.builder.constant(*constant)?,
            _ => {
                self.given.push(value);
                self.builder.param(outer.values[value].ty.clone(), outer.values[value].name.clone())
            }
        };
        self.known.push((value, inside));
        Ok(inside)
    }
}

/// What a step gives: its output, and the new states.
pub(super) type Stepped = Result<(Value, Vec<Value>), Diagnostic>;

/// Runs `build` over the steps of `inputs`, whose first dimension is time, from the last step to the first if `backward`. Gives the
/// outputs of all steps, time first, and the states after the last.
pub(super) fn sequence(
    operator: &mut Operator<'_, '_, '_>,
    inputs: &[Value],
    states: &[Value],
    backward: bool,
    build: impl FnOnce(&mut Step<'_, '_>, &[Value], &[Value]) -> Stepped,
) -> Stepped {
    let steps = inputs.first().and_then(|&input| operator.builder().tensor(input).static_shape()?.first().copied()).unwrap_or(0);
    match steps {
        0 => Err(unsupported("a sequence without steps is not supported")),
        1 => single(operator.builder(), inputs, states, build),
        _ => {
            let steps = i32::try_from(steps).map_err(|_| unsupported("a sequence of so many steps is not supported"))?;
            looped(operator, steps, inputs, states, backward, build)
        }
    }
}

/// The only step.
fn single(
    builder: &mut FunctionBuilder<'_>,
    inputs: &[Value],
    states: &[Value],
    build: impl FnOnce(&mut Step<'_, '_>, &[Value], &[Value]) -> Stepped,
) -> Stepped {
    let mut step = Step { builder, outer: None, known: Vec::new(), given: Vec::new() };
    let inputs = inputs.iter().map(|&input| without_time(step.builder, input)).collect::<Result<Vec<Value>, _>>()?;
    let (output, states) = build(&mut step, &inputs, states)?;
    Ok((with_time(step.builder, output)?, states))
}

fn without_time(builder: &mut FunctionBuilder<'_>, value: Value) -> Result<Value, Diagnostic> {
    let shape = builder.tensor(value).static_shape().unwrap_or_default();
    Ok(builder.reshape(value, extents(&shape[1..]))?)
}

fn with_time(builder: &mut FunctionBuilder<'_>, value: Value) -> Result<Value, Diagnostic> {
    let mut shape = builder.tensor(value).static_shape().unwrap_or_default();
    shape.insert(0, 1);
    Ok(builder.reshape(value, extents(&shape))?)
}

fn step_number_type() -> Type {
    Type::Tensor(TensorType::of(I32, &[1]))
}

/// One map of the step number.
fn of_step_number(
    builder: &mut FunctionBuilder<'_>,
    number: Value,
    term: impl FnOnce(&mut Terms, crate::ir::Node) -> crate::frontend::terms::Term,
) -> Result<Value, Diagnostic> {
    let mut terms = Terms::new(&[I32]);
    let x = terms.input(0);
    let x = term(&mut terms, x)?;
    Ok(builder.map(&[number], terms.finish(x))?)
}

fn looped(
    operator: &mut Operator<'_, '_, '_>,
    steps: i32,
    inputs: &[Value],
    states: &[Value],
    backward: bool,
    build: impl FnOnce(&mut Step<'_, '_>, &[Value], &[Value]) -> Stepped,
) -> Stepped {
    let (first, increment) = if backward { (steps - 1, -1) } else { (0, 1) };
    let first = operator.constant_i32(&[1], &[first])?;
    let body_name = operator.lowering.shared.function_name("step");
    let condition_name = operator.lowering.shared.function_name("more_steps");
    let FunctionBuilder { module, function: outer, source } = operator.builder();
    let outer = &*outer;
    let mut builder = FunctionBuilder::new(module, body_name);
    builder.source = *source;
    let number = builder.param(step_number_type(), "step_number".to_owned());
    let mut step = Step { builder: &mut builder, outer: Some(outer), known: Vec::new(), given: vec![first] };
    let mut carried = Vec::new();
    for &state in states {
        // States are no constants here even where they begin as one.
        carried.push(step.builder.param(outer.values[state].ty.clone(), outer.values[state].name.clone()));
        step.given.push(state);
    }
    let mut inputs_now = Vec::new();
    for &input in inputs {
        let whole = step.value(input)?;
        let now = step.builder.inst(Op::Gather, &[whole, number], vec![Attribute::Int(0), Attribute::Int(0)])?[0];
        inputs_now.push(without_time(step.builder, now)?);
    }
    let (output, new_states) = build(&mut step, &inputs_now, &carried)?;
    let Step { given, known, .. } = step;
    let mut whole_shape = builder.tensor(output).static_shape().unwrap_or_default();
    whole_shape.insert(0, steps as u64);
    let whole_type = TensorType::of(builder.tensor(output).element, &whole_shape);
    let whole = builder.param(Type::Tensor(whole_type.clone()), "outputs".to_owned());
    let row = with_time(&mut builder, output)?;
    let set = COMBINATIONS.iter().position(|word| *word == "set").unwrap_or_default() as u8;
    let attributes = vec![Attribute::Int(0), Attribute::Int(0), Attribute::Word(set), Attribute::Bool(false)];
    let written = builder.inst(Op::Scatter, &[whole, number, row], attributes)?[0];
    let next = of_step_number(&mut builder, number, |terms, x| {
        let increment = terms.i32(increment);
        terms.add(x, increment)
    })?;
    let unchanged = builder.function.params[1 + states.len()..builder.function.params.len() - 1].to_vec();
    debug_assert!(unchanged.iter().all(|param| known.iter().any(|(_, inside)| inside == param)));
    let params: Vec<Type> = builder.function.params.iter().map(|&param| builder.function.values[param].ty.clone()).collect();
    let results = [vec![next], new_states, unchanged, vec![written]].concat();
    let body = builder.finish(results);
    let condition = condition(operator, &params, condition_name, steps, backward)?;
    let zero = operator.constant(whole_type.element, &[], vec![0; whole_type.element.alignment() as usize])?;
    let blank = operator.inst(Op::Broadcast, &[zero], vec![Attribute::Extents(whole_type.shape)])?;
    let operands = [given, vec![blank]].concat();
    let attributes = vec![Attribute::Function(condition), Attribute::Function(body)];
    let results = operator.builder().inst(Op::While, &operands, attributes)?;
    let output = results[results.len() - 1];
    Ok((output, results[1..=states.len()].to_vec()))
}

/// Whether there is a step of the number that the loop has come to.
fn condition(operator: &mut Operator<'_, '_, '_>, params: &[Type], name: String, steps: i32, backward: bool) -> Result<Func, Diagnostic> {
    let mut builder = FunctionBuilder::new(operator.builder().module, name);
    let params: Vec<Value> = params.iter().map(|ty| builder.param(ty.clone(), None)).collect();
    let more = of_step_number(&mut builder, params[0], |terms, x| {
        let (end, comparison) = if backward { (terms.i32(0), Comparison::GreaterEqual) } else { (terms.i32(steps), Comparison::Less) };
        terms.compare(comparison, x, end)
    })?;
    Ok(builder.finish(vec![more]))
}
