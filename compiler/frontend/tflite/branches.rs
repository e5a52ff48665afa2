//! Control flow: IF, CALL, and STABLEHLO_COMPOSITE by its decomposition.

use super::callee::{Argument, Callee, Part, Returned};
use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operator};
use super::subgraph::Slot;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Function, Value};

/// The number of a subgraph in a signed option.
pub(super) fn subgraph_index(index: i32) -> Result<usize, Diagnostic> {
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
    let mut arguments = Vec::new();
    for &slot in &operands {
        arguments.push(Argument::of(operator.graph(), slot, true, true)?);
    }
    let lowering = &mut *operator.lowering;
    let (then, otherwise) = (lowering.callee(then, &arguments, Part::Way)?, lowering.callee(otherwise, &arguments, Part::Way)?);
    let (Some(mut then), Some(mut otherwise)) = (then, otherwise) else {
        operator.poison();
        return Ok(());
    };
    let builder = &mut lowering.graph.builder;
    same_outputs(&builder.function, [&then, &otherwise])?;
    let indices = Callee::common(&[&then, &otherwise]);
    let mut values = vec![condition.value];
    values.extend(indices.iter().copied().chain(Argument::tensors(&arguments)));
    let has_effect = then.has_effect || otherwise.has_effect;
    if has_effect {
        values.push(lowering.effect()?);
        then.take_effect(true);
        otherwise.take_effect(true);
    }
    let outputs = std::mem::take(&mut then.outputs);
    let builder = &mut lowering.graph.builder;
    let then = then.finish(builder.module, &builder.function, &indices, false);
    let otherwise = otherwise.finish(builder.module, &builder.function, &indices, false);
    let results = builder.if_else(&values, then, otherwise)?;
    let slots = finish(operator, &outputs, &results, has_effect);
    operator.bind_slots(&slots)
}

fn same_outputs(around: &Function, [then, otherwise]: [&Callee; 2]) -> Result<(), Diagnostic> {
    if then.outputs.len() != otherwise.outputs.len() {
        let found = otherwise.outputs.len().to_string();
        return Err(
            invalid(codes::OPERAND_COUNT, "the branches differ in their number of outputs").expected(then.outputs.len().to_string(), found)
        );
    }
    let mut types = then.types(around).into_iter().zip(otherwise.types(around));
    for (index, pair) in then.outputs.iter().zip(&otherwise.outputs).enumerate() {
        let pair = match pair {
            (Returned::Value, Returned::Value) => types.next(),
            (Returned::Variable(a), Returned::Variable(b)) if a == b => continue,
            _ => None,
        };
        match pair {
            Some((a, b)) if a == b => {}
            Some((a, b)) if a.element != b.element => {
                let error = invalid(codes::ELEMENT_TYPE, format!("the type of output {index} differs between the two branches"));
                return Err(error.expected(a.element.name(), b.element.name()));
            }
            _ => return Err(unsupported(format!("output {index} has a shape or a variable that depends on the branch taken"))),
        }
    }
    Ok(())
}

/// The results of a call as the contents of outputs; the token after them goes on as this function's.
fn finish(operator: &mut Operator<'_, '_, '_>, outputs: &[Returned], results: &[Value], has_effect: bool) -> Vec<Slot> {
    if has_effect {
        operator.lowering.effect = results.last().copied();
    }
    let mut results = results.iter();
    let slot = |output: &Returned| match output {
        Returned::Value => results.next().map_or(Slot::Unwritten, |&value| Slot::Value(value)),
        Returned::Variable(variable) => Slot::Variable(*variable),
    };
    outputs.iter().map(slot).collect()
}
