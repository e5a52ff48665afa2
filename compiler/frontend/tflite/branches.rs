//! Control flow: IF, CALL, and STABLEHLO_COMPOSITE by its decomposition.

use super::callee::{Argument, Callee, Part, Returned};
use super::error::{invalid, missing_options};
use super::merged::Merged;
use super::operator::{Lowered, Operator};
use super::subgraph::Slot;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Value};

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

/// STABLEHLO_COMPOSITE: translates its decomposition, whatever its name.
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
    let (Some(then), Some(otherwise)) = (then, otherwise) else {
        operator.poison();
        return Ok(());
    };
    let slots = branch(operator, condition.value, &arguments, [then, otherwise])?;
    operator.bind_slots(&slots)
}

/// Builds a branch between two ways. Returns the contents of the operator's outputs.
fn branch(
    operator: &mut Operator<'_, '_, '_>,
    condition: Value,
    arguments: &[Argument],
    mut ways: [Callee; 2],
) -> Result<Vec<Slot>, Diagnostic> {
    let graph = operator.graph();
    let merged = Merged::of(graph.function(), [&ways[0], &ways[1]])?;
    for way in &mut ways {
        Merged::hand_over(graph, way, &merged)?;
    }
    let indices = Callee::common(&[&ways[0], &ways[1]]);
    let mut values = vec![condition];
    values.extend(indices.iter().copied().chain(Argument::tensors(arguments)));
    let has_effect = ways.iter().any(|way| way.has_effect);
    if has_effect {
        values.push(operator.lowering.effect()?);
        ways.iter_mut().for_each(|way| way.take_effect(true));
    }
    let outputs = std::mem::take(&mut ways[0].outputs);
    let builder = operator.builder();
    let [then, otherwise] = ways.map(|way| way.finish(builder.module, &builder.function, &indices, false));
    let results = builder.if_else(&values, then, otherwise)?;
    let results = Merged::taken(operator.graph(), &merged, &results)?;
    Ok(finish(operator, &outputs, &results, has_effect))
}

/// Converts the results of a call to the contents of outputs. The token after them becomes this function's.
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
