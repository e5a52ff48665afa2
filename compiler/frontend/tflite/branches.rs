//! Control flow: IF, WHILE, CALL, and STABLEHLO_COMPOSITE by its decomposition.

use super::calls::{Argument, Callee, Returned};
use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operator};
use super::subgraph::Slot;
use crate::diagnostic::{Diagnostic, Kind, codes};
use crate::ir::{ElementType, Module, Op, Type, Value};

/// Rounds of a loop that are written out where it cannot stay one.
const MAX_ROUNDS: usize = 1024;
/// Instructions that a function may have come to by writing out loops.
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// The number of a subgraph in a signed option.
fn subgraph_index(index: i32) -> Result<usize, Diagnostic> {
    usize::try_from(index).map_err(|_| invalid(codes::SUBGRAPH_INDEX, "there is no such subgraph").expected("0 or more", index.to_string()))
}

/// CALL
pub(super) fn call(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_call_options().ok_or_else(missing_options)?;
    let operands = operator.slots(0)?;
    inline(operator, options.subgraph() as usize, &operands)
}

/// STABLEHLO_COMPOSITE: whatever its name promises, its decomposition says what it computes.
pub(super) fn composite(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_2_as_stable_hlo_composite_options().ok_or_else(missing_options)?;
    let index = subgraph_index(options.decomposition_subgraph_index())?;
    let operands = operator.slots(0)?;
    inline(operator, index, &operands)
}

fn inline(operator: &mut Operator<'_, '_, '_>, index: usize, operands: &[Slot]) -> Lowered {
    match operator.lowering.inline(index, operands)? {
        Some(slots) => operator.bind_slots(&slots),
        None => {
            operator.poison();
            Ok(())
        }
    }
}

/// IF: a branch that is known is lowered in place.
pub(super) fn if_else(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_if_options().ok_or_else(missing_options)?;
    let (then, otherwise) = (subgraph_index(options.then_subgraph_index())?, subgraph_index(options.else_subgraph_index())?);
    let condition = operator.input(0)?;
    if condition.element() != ElementType::Bool || condition.elements() != 1 {
        let found = format!("{}{:?}", condition.element(), condition.shape);
        return Err(invalid(codes::ELEMENT_TYPE, "the condition must be one truth value")
            .about_tensor(&condition.info.name)
            .expected("bool[]", found));
    }
    let operands = operator.slots(1)?;
    if let Some(bytes) = operator.constant_bytes(&condition) {
        let taken = if bytes.iter().any(|&byte| byte != 0) { then } else { otherwise };
        return inline(operator, taken, &operands);
    }
    let arguments: Vec<Argument> = operands.iter().map(|&slot| argument(operator, slot, true)).collect();
    let lowering = &mut *operator.lowering;
    let (then, otherwise) = (lowering.callee(then, &arguments)?, lowering.callee(otherwise, &arguments)?);
    let (Some(mut then), Some(mut otherwise)) = (then, otherwise) else {
        operator.poison();
        return Ok(());
    };
    same_outputs(&then, &otherwise)?;
    let mut values = vec![condition.value];
    values.extend(tensors(&operands, &arguments));
    if then.has_effect || otherwise.has_effect {
        values.push(lowering.effect()?);
        for branch in [&mut then, &mut otherwise] {
            branch.take_effect(lowering.graph.builder.module, true);
        }
    }
    let results = lowering.graph.builder.if_else(&values, then.function, otherwise.function)?;
    let slots = finish(operator, &then.outputs, &results, then.has_effect);
    operator.bind_slots(&slots)
}

fn same_outputs(then: &Callee, otherwise: &Callee) -> Result<(), Diagnostic> {
    if then.outputs.len() != otherwise.outputs.len() {
        let found = otherwise.outputs.len().to_string();
        return Err(
            invalid(codes::OPERAND_COUNT, "the branches differ in their number of outputs").expected(then.outputs.len().to_string(), found)
        );
    }
    for (index, pair) in then.outputs.iter().zip(&otherwise.outputs).enumerate() {
        match pair {
            (Returned::Value(a), Returned::Value(b)) if a == b => {}
            (Returned::Variable(a), Returned::Variable(b)) if a == b => {}
            (Returned::Value(a), Returned::Value(b)) if a.element != b.element => {
                let error = invalid(codes::ELEMENT_TYPE, format!("the type of output {index} differs between the two branches"));
                return Err(error.expected(a.element.name(), b.element.name()));
            }
            _ => return Err(unsupported(format!("output {index} has a shape or a variable that depends on the branch taken"))),
        }
    }
    Ok(())
}

/// What a subgraph is given for an operand. Constants are known inside where every call gives the same one.
fn argument(operator: &Operator<'_, '_, '_>, slot: Slot, same_in_every_call: bool) -> Argument {
    match slot {
        Slot::Value(value) => match operator.lowering.graph.constant_of(value).filter(|_| same_in_every_call) {
            Some(constant) => Argument::Constant(constant),
            None => Argument::Tensor(operator.lowering.graph.builder.tensor(value).clone()),
        },
        Slot::Variable(variable) => Argument::Variable(variable),
        Slot::Unwritten | Slot::Poisoned => unreachable!("operands are values or handles"),
    }
}

/// The operands that become parameters.
fn tensors(operands: &[Slot], arguments: &[Argument]) -> Vec<Value> {
    let value = |(slot, argument): (&Slot, &Argument)| match (slot, argument) {
        (Slot::Value(value), Argument::Tensor(_)) => Some(*value),
        _ => None,
    };
    operands.iter().zip(arguments).filter_map(value).collect()
}

/// The results of a call as the contents of outputs; the token after them goes on as this function's.
fn finish(operator: &mut Operator<'_, '_, '_>, outputs: &[Returned], results: &[Value], has_effect: bool) -> Vec<Slot> {
    if has_effect {
        operator.lowering.effect = results.last().copied();
    }
    let mut results = results.iter();
    let slot = |output: &Returned| match output {
        Returned::Value(_) => results.next().map_or(Slot::Unwritten, |&value| Slot::Value(value)),
        Returned::Variable(variable) => Slot::Variable(*variable),
    };
    outputs.iter().map(slot).collect()
}

impl Callee {
    /// Gives the function an effect token to take, and to return if `returns`, where it has none of its own.
    fn take_effect(&mut self, module: &mut Module, returns: bool) {
        let function = &mut module.functions[self.function];
        match (self.has_effect, returns) {
            (false, _) => {
                let token = function.add_param(Type::Effect, None);
                function.results.extend(returns.then_some(token));
            }
            (true, false) => {
                function.results.pop();
            }
            (true, true) => {}
        }
        self.has_effect = true;
    }
}

/// WHILE: a loop of the tensor language; one whose shapes or shape operands change from round to round is written out, if its
/// condition can be computed here.
pub(super) fn while_loop(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_while_options().ok_or_else(missing_options)?;
    let condition = subgraph_index(options.cond_subgraph_index())?;
    let body = subgraph_index(options.body_subgraph_index())?;
    let operands = operator.slots(0)?;
    if operator.output_count() != operands.len() {
        let expected = operands.len().to_string();
        return Err(
            invalid(codes::OPERAND_COUNT, "a loop has as many outputs as inputs").expected(expected, operator.output_count().to_string())
        );
    }
    let first = operator.lowering.diagnostics.len();
    let looped = as_loop(operator, condition, body, &operands);
    if let Ok(Some(slots)) = looped {
        return operator.bind_slots(&slots);
    }
    // What was wrong is told unless writing the loop out goes better.
    let kept = operator.lowering.diagnostics.split_off(first);
    let only_unsupported = kept.iter().chain(looped.as_ref().err()).all(|diagnostic| diagnostic.kind() == Kind::Unsupported);
    if only_unsupported {
        if let Ok(Some(slots)) = written_out(operator, condition, body, &operands) {
            return operator.bind_slots(&slots);
        }
        operator.lowering.diagnostics.truncate(first);
    }
    operator.lowering.diagnostics.extend(kept);
    operator.poison();
    looped.map(|_| ())
}

fn as_loop(operator: &mut Operator<'_, '_, '_>, condition: usize, body: usize, operands: &[Slot]) -> Result<Option<Vec<Slot>>, Diagnostic> {
    let unchanged = operator.lowering.shared.open(body).map(|subgraph| {
        let list = |list: Option<flatbuffers::Vector<'_, i32>>| list.into_iter().flatten().collect::<Vec<i32>>();
        let (inputs, outputs) = (list(subgraph.record.inputs()), list(subgraph.record.outputs()));
        inputs.iter().zip(&outputs).map(|(input, output)| input == output).collect::<Vec<bool>>()
    })?;
    operator.lowering.shared.close();
    let same = |index: usize| unchanged.get(index).copied().unwrap_or(false);
    let arguments: Vec<Argument> = operands.iter().enumerate().map(|(index, &slot)| argument(operator, slot, same(index))).collect();
    let lowering = &mut *operator.lowering;
    let (condition, body) = (lowering.callee(condition, &arguments)?, lowering.callee(body, &arguments)?);
    let (Some(mut condition), Some(mut body)) = (condition, body) else { return Ok(None) };
    keeps_types(&arguments, &body)?;
    let mut values = tensors(operands, &arguments);
    drop_constants(lowering.graph.builder.module, &arguments, &mut body);
    if condition.has_effect || body.has_effect {
        values.push(lowering.effect()?);
        let module = &mut *lowering.graph.builder.module;
        let function = &module.functions[condition.function];
        if function
            .body
            .iter()
            .any(|&inst| matches!(function.insts[inst].op(), Op::StoreState | Op::If | Op::While) && condition.has_effect)
        {
            return Err(unsupported("a loop's condition that may write variables is not supported"));
        }
        condition.take_effect(module, false);
        body.take_effect(module, true);
    }
    let results = lowering.graph.builder.while_loop(&values, condition.function, body.function)?;
    if body.has_effect {
        lowering.effect = results.last().copied();
    }
    let mut results = results.iter();
    let slot = |(argument, &slot): (&Argument, &Slot)| match argument {
        Argument::Tensor(_) => results.next().map_or(slot, |&value| Slot::Value(value)),
        Argument::Constant(_) | Argument::Variable(_) => slot,
    };
    Ok(Some(arguments.iter().zip(operands).map(slot).collect()))
}

/// Each output of the body fits the input of the next round.
fn keeps_types(arguments: &[Argument], body: &Callee) -> Result<(), Diagnostic> {
    if body.outputs.len() != arguments.len() {
        let found = body.outputs.len().to_string();
        return Err(
            invalid(codes::OPERAND_COUNT, "a loop's body has as many outputs as inputs").expected(arguments.len().to_string(), found)
        );
    }
    for (index, (argument, output)) in arguments.iter().zip(&body.outputs).enumerate() {
        let fits = match (argument, output) {
            (Argument::Tensor(before), Returned::Value(after)) => before == after,
            (Argument::Constant(_), Returned::Value(_)) => true,
            (Argument::Variable(before), Returned::Variable(after)) => before == after,
            _ => false,
        };
        if !fits {
            return Err(unsupported(format!("the shape of output {index} of the loop body differs from its input")));
        }
    }
    Ok(())
}

/// Constants are no parameters of the body, so they are no results either.
fn drop_constants(module: &mut Module, arguments: &[Argument], body: &mut Callee) {
    let function = &mut module.functions[body.function];
    let mut results = function.results.iter().copied();
    let mut kept = Vec::new();
    for (argument, output) in arguments.iter().zip(&body.outputs) {
        if let Returned::Value(_) = output {
            let value = results.next();
            kept.extend(value.filter(|_| matches!(argument, Argument::Tensor(_))));
        }
    }
    kept.extend(results);
    function.results = kept;
}

/// The rounds of a loop one after the other; `None` or an error where that cannot be done.
fn written_out(
    operator: &mut Operator<'_, '_, '_>,
    condition: usize,
    body: usize,
    operands: &[Slot],
) -> Result<Option<Vec<Slot>>, Diagnostic> {
    let mut carried = operands.to_vec();
    for _ in 0..MAX_ROUNDS {
        let Some(verdict) = operator.lowering.inline(condition, &carried)? else { return Ok(None) };
        let known = match verdict.first() {
            Some(Slot::Value(value)) => operator.graph().constant_of(*value),
            _ => None,
        };
        let Some(known) = known else { return Ok(None) };
        if operator.lowering.graph.builder.module.constants[known].data.bytes().iter().all(|&byte| byte == 0) {
            return Ok(Some(carried));
        }
        match operator.lowering.inline(body, &carried)? {
            Some(next) if next.len() == carried.len() => carried = next,
            _ => return Ok(None),
        }
        if operator.lowering.graph.builder.function.body.len() > MAX_INSTRUCTIONS {
            return Ok(None);
        }
    }
    Ok(None)
}
