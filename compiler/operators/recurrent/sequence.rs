//! The steps of a sequence as a loop. Its state is carried from step to step. Its inputs are read, and its output is written, one step at a time. The
//! products of the inputs do not depend on the state and could be computed before the loop, for all steps at once. They would need memory for all
//! gates in all steps, and the loop needs none of it.

use crate::ir::{Combination, Comparison, ElementType, Extent, Func, Function, FunctionBuilder, Scalar, Scatter, TensorType, Type, Value};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph, extents};
use ElementType::I32;

/// The place of a step's instructions: the body of a loop, or the operator's own function if there is only one step.
pub struct Step<'b, 'm> {
    /// The function that holds the step.
    pub graph: &'b mut Graph<'m>,
    /// The function around the loop.
    outer: Option<&'b Function>,
    /// Values of the function around the loop, with their counterparts here.
    known: Vec<(Value, Value)>,
    /// The loop's operands for its parameters so far.
    given: Vec<Value>,
}

impl Step<'_, '_> {
    /// Returns the counterpart of a value of the function around the loop. Constants are inserted again. Others become parameters that no step
    /// changes.
    ///
    /// # Errors
    /// The errors of building the constant or the parameter.
    pub fn value(&mut self, value: Value) -> Result<Value, Error> {
        let Some(outer) = self.outer else { return Ok(value) };
        if let Some((_, inside)) = self.known.iter().find(|(outside, _)| *outside == value) {
            return Ok(*inside);
        }
        let constant = outer.defining_inst(value).and_then(|inst| outer.insts[inst].constant());
        let inside = match constant {
            Some(constant) => self.graph.builder.constant(constant)?,
            _ => {
                let ty = self.ty(outer, value)?;
                self.given.push(value);
                self.graph.builder.param(ty, outer.values[value].name.clone())
            }
        };
        self.known.push((value, inside));
        Ok(inside)
    }

    /// The type of a value of the function around the loop, with the extents of this one.
    fn ty(&mut self, outer: &Function, value: Value) -> Result<Type, Error> {
        let mut ty = outer.values[value].ty.clone();
        if let Type::Tensor(tensor) = &mut ty {
            for extent in &mut tensor.shape {
                *extent = self.extent(outer.resolved(*extent))?;
            }
        }
        Ok(ty)
    }

    /// An extent of the function around the loop.
    fn extent(&mut self, extent: Extent) -> Result<Extent, Error> {
        match extent {
            Extent::Static(n) => Ok(Extent::Static(n)),
            Extent::Value(index) => Ok(Extent::Value(self.value(index)?)),
        }
    }
}

/// The place where a sequence is built: the function, and a generator of unique names for the loop's functions.
pub type LoopPlace<'p, 'm> = (&'p mut Graph<'m>, &'p mut dyn FnMut(&str) -> String);

/// The results of a step: its output, and the new states.
pub type Stepped = Result<(Value, Vec<Value>), Error>;

/// Runs `build` over the steps of `inputs`, whose first dimension is time, from the last step to the first if `backward`. Returns the outputs of all
/// steps, time first, and the states after the last.
///
/// # Errors
/// [`Error::NoSteps`], [`Error::TooManySteps`], and the errors of `build`.
pub fn sequence(
    (g, names): LoopPlace<'_, '_>,
    inputs: &[Value],
    states: &[Value],
    backward: bool,
    build: impl FnOnce(&mut Step<'_, '_>, &[Value], &[Value]) -> Stepped,
) -> Stepped {
    let steps = inputs.first().and_then(|&input| g.extents(input).first().copied()).unwrap_or(Extent::Static(0));
    match steps {
        Extent::Static(0) => Err(Error::NoSteps),
        Extent::Static(1) => single(g, inputs, states, build),
        Extent::Static(n) if i32::try_from(n).is_err() => Err(Error::TooManySteps { steps: n }),
        _ => looped((g, names), steps, inputs, states, backward, build),
    }
}

/// The only step.
fn single(
    g: &mut Graph<'_>,
    inputs: &[Value],
    states: &[Value],
    build: impl FnOnce(&mut Step<'_, '_>, &[Value], &[Value]) -> Stepped,
) -> Stepped {
    let mut step = Step { graph: g, outer: None, known: Vec::new(), given: Vec::new() };
    let inputs = inputs.iter().map(|&input| without_time(step.graph, input)).collect::<Result<Vec<Value>, _>>()?;
    let (output, states) = build(&mut step, &inputs, states)?;
    Ok((with_time(step.graph, output)?, states))
}

fn without_time(g: &mut Graph<'_>, value: Value) -> Result<Value, Error> {
    let shape = g.extents(value);
    Ok(g.builder.reshape(value, shape[1..].to_vec())?)
}

fn with_time(g: &mut Graph<'_>, value: Value) -> Result<Value, Error> {
    let mut shape = g.extents(value);
    shape.insert(0, Extent::Static(1));
    Ok(g.builder.reshape(value, shape)?)
}

fn step_number_type() -> Type {
    Type::Tensor(TensorType::of(I32, &[1]))
}

/// One map of the step number.
fn of_step_number(g: &mut Graph<'_>, number: Value, term: impl FnOnce(&mut Terms, crate::ir::Node) -> Term) -> Result<Value, Error> {
    let mut terms = Terms::new(&[I32]);
    let x = terms.input(0);
    let x = term(&mut terms, x)?;
    g.map(&[number], terms.finish(x))
}

/// A number of steps as one integer.
fn count(g: &mut Graph<'_>, steps: Extent) -> Result<Value, Error> {
    let Extent::Value(index) = steps else {
        let n = steps.as_static().and_then(|n| i32::try_from(n).ok()).unwrap_or(i32::MAX);
        return Ok(g.builder.literal(TensorType::of(I32, &[1]), n.to_le_bytes().to_vec())?);
    };
    let number = g.builder.index_tensor(index, I32)?;
    Ok(g.builder.reshape(number, extents(&[1]))?)
}

/// The number of the first step, and the difference of the next one.
fn first_step(g: &mut Graph<'_>, steps: Extent, backward: bool) -> Result<(Value, i32), Error> {
    if !backward {
        return Ok((g.numbers(I32, &[1], &[Scalar::int(I32, 0)])?, 1));
    }
    let steps = count(g, steps)?;
    let last = of_step_number(g, steps, |terms, x| {
        let one = terms.i32(1);
        terms.sub(x, one)
    })?;
    Ok((last, -1))
}

/// Zeros of a type inside a loop. `outside` returns an extent's counterpart outside the loop.
fn blank(g: &mut Graph<'_>, ty: TensorType, outside: impl Fn(Extent) -> Extent) -> Result<Value, Error> {
    let zero = g.constant(ty.element, &[], vec![0; ty.element.alignment() as usize])?;
    Ok(g.builder.broadcast(zero, ty.shape.into_iter().map(outside).collect())?)
}

fn looped(
    (g, names): LoopPlace<'_, '_>,
    steps: Extent,
    inputs: &[Value],
    states: &[Value],
    backward: bool,
    build: impl FnOnce(&mut Step<'_, '_>, &[Value], &[Value]) -> Stepped,
) -> Stepped {
    let (first, increment) = first_step(g, steps, backward)?;
    let [body_name, condition_name] = ["step", "more_steps"].map(names);
    let FunctionBuilder { module, function: outer, source } = &mut g.builder;
    let outer = &*outer;
    let mut body = Graph::new(module, body_name);
    body.builder.source = *source;
    let number = body.builder.param(step_number_type(), "step_number".to_owned());
    let mut step = Step { graph: &mut body, outer: Some(outer), known: Vec::new(), given: vec![first] };
    let (mut carried, mut places) = (Vec::new(), Vec::new());
    for &state in states {
        let ty = step.ty(outer, state)?;
        places.push(step.given.len());
        // States are no constants here even where they begin as one.
        carried.push(step.graph.builder.param(ty, outer.values[state].name.clone()));
        step.given.push(state);
    }
    let mut inputs_now = Vec::new();
    for &input in inputs {
        let whole = step.value(input)?;
        let now = step.graph.builder.gather(whole, number, 0, 0)?;
        inputs_now.push(without_time(step.graph, now)?);
    }
    let (output, new_states) = build(&mut step, &inputs_now, &carried)?;
    let steps_inside = step.extent(steps)?;
    let Step { given, known, .. } = step;
    let mut whole_type = body.builder.tensor(output).clone();
    whole_type.shape.insert(0, steps_inside);
    let whole = body.builder.param(Type::Tensor(whole_type.clone()), "outputs".to_owned());
    let row = with_time(&mut body, output)?;
    let scatter = Scatter { axis: 0, batch: 0, combination: Combination::Set, skips_negative: false };
    let written = body.builder.scatter([whole, number, row], scatter)?;
    let next = of_step_number(&mut body, number, |terms, x| {
        let increment = terms.i32(increment);
        terms.add(x, increment)
    })?;
    let params: Vec<(Value, Type)> =
        body.builder.function.params.iter().map(|&param| (param, body.builder.function.values[param].ty.clone())).collect();
    // Parameters other than the state keep their values.
    let mut results = body.function().params.clone();
    let last = results.len() - 1;
    (results[0], results[last]) = (next, written);
    places.iter().zip(new_states).for_each(|(&place, state)| results[place] = state);
    let body = body.finish(results);
    let condition = condition(g, &params, condition_name, steps_inside, backward)?;
    let known = |extent: Extent| known.iter().find(|(_, inside)| Extent::Value(*inside) == extent);
    let outside = |extent: Extent| known(extent).map_or(extent, |(outside, _)| Extent::Value(*outside));
    let operands = [given, vec![blank(g, whole_type, outside)?]].concat();
    let results = g.builder.while_loop(&operands, condition, body)?;
    let output = results[results.len() - 1];
    Ok((output, places.iter().map(|&place| results[place]).collect()))
}

/// The loop's condition: the current step exists. `params` are the parameters of the loop's body.
fn condition(g: &mut Graph<'_>, params: &[(Value, Type)], name: String, steps: Extent, backward: bool) -> Result<Func, Error> {
    let mut test = Graph::new(g.builder.module, name);
    let mut own: Vec<Value> = Vec::new();
    // An index parameter stands before the tensors whose extent it is.
    let named = |own: &[Value], extent: Extent| match extent {
        Extent::Value(index) => {
            params.iter().position(|(param, _)| *param == index).and_then(|at| own.get(at)).map_or(extent, |&v| Extent::Value(v))
        }
        Extent::Static(_) => extent,
    };
    for (_, ty) in params {
        let mut ty = ty.clone();
        if let Type::Tensor(tensor) = &mut ty {
            tensor.shape.iter_mut().for_each(|extent| *extent = named(&own, *extent));
        }
        own.push(test.builder.param(ty, None));
    }
    let more = if backward {
        of_step_number(&mut test, own[0], |terms, x| {
            let end = terms.i32(0);
            terms.compare(Comparison::GreaterEqual, x, end)
        })?
    } else {
        let steps = count(&mut test, named(&own, steps))?;
        let mut terms = Terms::new(&[I32, I32]);
        let (x, end) = (terms.input(0), terms.input(1));
        let more = terms.compare(Comparison::Less, x, end)?;
        test.map(&[own[0], steps], terms.finish(more))?
    };
    Ok(test.finish(vec![more]))
}
