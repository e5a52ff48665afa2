//! Inputs and outputs that are sequences: batches, steps, and two directions.

use super::super::error::invalid;
use super::super::operator::{Lowered, Operand, Operator};
use super::common::swapped;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Value;

/// The second input of a bidirectional operator has the steps and batches of the first.
pub(super) fn same_sequence(operator: &mut Operator<'_, '_, '_>, second: &mut Operand, first: &mut Operand) -> Result<(), Diagnostic> {
    operator.require_known(second, 2)?;
    let wanted = first.extents[..2].to_vec();
    if second.rank() == 3 && operator.require_first(second, &wanted)? {
        *first = operator.operand(first.value, first.info.clone());
        return Ok(());
    }
    let error = invalid(codes::SHAPES_DIFFER, "the second input has other steps or batches than the first").about_tensor(&second.info.name);
    Err(error.expected(format!("{:?}", first.shape), format!("{:?}", second.shape)))
}

/// An input `[batch, steps, depth]` or `[steps, batch, depth]`; batch and steps may be known only when the model runs.
pub(super) fn sequence_input(operator: &mut Operator<'_, '_, '_>, index: usize) -> Result<Operand, Diagnostic> {
    let input = operator.any_input(index)?;
    if input.rank() != 3 {
        return Err(wrong_rank(&input, 3));
    }
    operator.require_known(&input, 2)?;
    Ok(input)
}

/// The error for an input of another rank.
pub(super) fn wrong_rank(input: &Operand, rank: usize) -> Diagnostic {
    let error = invalid(codes::RANK, format!("the input must have {rank} dimensions")).about_tensor(&input.info.name);
    error.expected(format!("rank {rank}"), format!("{:?}", input.shape))
}

/// Binds the outputs of two directions, time first: one beside the other in one result, or a result each.
pub(super) fn bind_directions(operator: &mut Operator<'_, '_, '_>, outputs: [Value; 2], time_major: bool, merged: bool) -> Lowered {
    let expected = if merged { 1 } else { 2 };
    operator.arity(0..=usize::MAX, expected..=expected)?;
    let g = operator.graph();
    let mut results = outputs.to_vec();
    if merged {
        results = vec![g.builder.concat(&outputs, 2)?];
    }
    if !time_major {
        results = results.into_iter().map(|output| swapped(g, output)).collect::<Result<_, _>>()?;
    }
    for (index, result) in results.into_iter().enumerate() {
        operator.bind(index, result)?;
    }
    Ok(())
}
