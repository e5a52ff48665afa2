//! Attention, convolutions and products of matrices read the halves that are widened for them.
//!
//! Contract: keys and values of attention, what a convolution slides over, and operands of a product that are halves of binary32, widened and nothing
//! else, are read as they are before. Kernels widen them on the way. Constants on the right are left: schedules see through their widening. So is what a
//! file gives to a GPU, whose kernels would widen an element in every product, and products of run-time extents.

use super::edit::{Edit, Visit, rewrite};
use super::unary::halves_before;
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| narrow(edit, inst).map_or(Visit::Keep, |value| Visit::Replace(vec![value])))
}

fn narrow(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let operands = match &data.operation {
        Operation::Attention(_) => caches(edit, &data.operands),
        Operation::Conv(_) | Operation::Matmul(_) if data.source.is_some_and(|source| edit.module.sources[source].gpu) => None,
        Operation::Conv(_) => narrowed(edit, &data.operands, &[0]),
        Operation::Matmul(_) if data.operands.iter().all(|&value| edit.function.tensor(value).static_shape().is_some()) => {
            narrowed(edit, &data.operands, &[0, 1])
        }
        _ => None,
    }?;
    let operation = data.operation.clone();
    edit.insert_one(operation, &operands)
}

/// The operands of attention with keys and values in halves, which are both or neither.
fn caches(edit: &Edit<'_>, operands: &[Value]) -> Option<Vec<Value>> {
    let mut operands = operands.to_vec();
    for cache in &mut operands[1..3] {
        *cache = halves_before(edit, *cache)?;
    }
    let alike = edit.function.tensor(operands[1]).element == edit.function.tensor(operands[2]).element;
    alike.then_some(operands)
}

/// Operands of which those at some positions are read in halves where they are widened; none where none is.
fn narrowed(edit: &Edit<'_>, operands: &[Value], positions: &[usize]) -> Option<Vec<Value>> {
    let mut narrowed = operands.to_vec();
    for &position in positions {
        narrowed[position] =
            halves_before(edit, operands[position]).filter(|&halves| edit.moved_constant(halves).is_none()).unwrap_or(operands[position]);
    }
    (narrowed != operands).then_some(narrowed)
}
