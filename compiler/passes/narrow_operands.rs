//! Attention, convolutions and products of matrices read the halves that are widened for them.
//!
//! Contract: an operand that is only halves widened to binary32 is read as halves, and the kernel widens it on the way. This holds for keys and
//! values of attention, inputs of convolutions, and operands of products. Three kinds stay. Constants of products: schedules see through their
//! widening. Operands that a file gives to a GPU: its kernel would widen an element once for every product. Operands of products with run-time
//! extents.

use super::edit::{Edit, replace};
use super::unary::as_halves;
use crate::ir::*;
use std::ops::Range;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    replace(module, |edit, inst| Some(vec![narrow(edit, inst)?]))
}

fn narrow(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    let is_for_gpu = data.source.is_some_and(|source| edit.module.sources[source].gpu);
    let is_static = data.operands.iter().all(|&value| edit.static_shape(value).is_some());
    let operands = match &data.operation {
        Operation::Attention(_) => caches(edit, &data.operands),
        Operation::Conv(_) if !is_for_gpu => narrowed(edit, &data.operands, 0..1),
        Operation::Matmul(_) if !is_for_gpu && is_static => narrowed(edit, &data.operands, 0..2),
        _ => None,
    }?;
    edit.insert_one(data.operation, &operands)
}

/// The operands of attention with keys and values in halves of one type.
fn caches(edit: &mut Edit<'_>, operands: &[Value]) -> Option<Vec<Value>> {
    let mut operands = operands.to_vec();
    for cache in &mut operands[1..3] {
        *cache = as_halves(edit, *cache)?;
    }
    let alike = edit.function.tensor(operands[1]).element == edit.function.tensor(operands[2]).element;
    alike.then_some(operands)
}

/// Returns the operands with those at `positions` replaced by halves where possible. `None` if no operand changes.
fn narrowed(edit: &mut Edit<'_>, operands: &[Value], positions: Range<usize>) -> Option<Vec<Value>> {
    let mut narrowed = operands.to_vec();
    for operand in &mut narrowed[positions] {
        let halves = as_halves(edit, *operand).filter(|&halves| edit.moved_constant(halves).is_none());
        *operand = halves.unwrap_or(*operand);
    }
    (narrowed != operands).then_some(narrowed)
}
