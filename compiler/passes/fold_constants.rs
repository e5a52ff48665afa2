//! Instructions on constants alone become constants.
//!
//! Contract: an instruction is evaluated by the interpreter when all that it reads is constant. What it makes must not be larger
//! than what it reads (small results that are no filters excepted), so that compressed weights stay compressed, and the work is capped over the whole module.
//! An instruction that fails on its operands is left to fail when the program runs.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Results of up to this many bytes may be larger than what they are made from.
const SMALL: u64 = 4096;
/// No constant that is made is larger.
const LARGEST: u64 = 64 << 20;
/// Scalar operations that folding may spend on a module.
const WORK: u64 = 1 << 28;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let mut budget = WORK;
    rewrite(module, |edit, inst| fold(edit, inst, &mut budget).map_or(Visit::Keep, Visit::Replace))
}

fn fold(edit: &mut Edit<'_>, inst: Inst, budget: &mut u64) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    if matches!(data.op(), Op::Constant | Op::IndexConstant) {
        return None;
    }
    let is_constant = |v: Value| edit.definition(v).is_some_and(|d| matches!(d.op(), Op::Constant | Op::IndexConstant));
    if !edit.function.uses(inst).all(is_constant) || !data.results.iter().all(|&v| edit.function.values[v].ty.as_tensor().is_some()) {
        return None;
    }
    let bytes = |v: &Value| edit.function.values[*v].ty.as_tensor().map_or(Some(0), TensorType::static_bytes);
    let read = data.operands.iter().try_fold(0u64, |sum, v| sum.checked_add(bytes(v)?))?;
    let made = data.results.iter().try_fold(0u64, |sum, v| sum.checked_add(bytes(v)?))?;
    let work = data.work(edit.module, &edit.function)?;
    let small = made <= SMALL && !edit.function.widens_weights(inst);
    if made > LARGEST || (made > read && !small) || work > *budget {
        return None;
    }
    *budget -= work;
    if let Some(moved) = moved(edit, inst) {
        return Some(vec![insert(edit, moved)?]);
    }
    let results = interpret::evaluate(edit.module, &edit.function, inst).ok()?;
    for operand in &edit.function.insts[inst].operands {
        if let Some(Operation::Constant(constant)) = edit.definition(*operand).map(|data| &data.operation) {
            edit.module.constants[constant.data].data.release();
        }
    }
    results.into_iter().map(|tensor| constant(edit, tensor)).collect()
}

/// What an instruction makes that computes nothing: the bytes of its operand, as they are or in another order. They are not copied.
fn moved(edit: &Edit<'_>, inst: Inst) -> Option<ConstantData> {
    let data = &edit.function.insts[inst];
    let Operation::Constant(operand) = &edit.definition(*data.operands.first()?)?.operation else { return None };
    let operand = &edit.module.constants[operand.data];
    match &data.operation {
        Operation::Transpose(transpose) => operand.permuted(&transpose.permutation),
        Operation::Reshape(_) => {
            let ty = edit.function.tensor(data.results[0]);
            Some(ConstantData { ty: TensorType::of(ty.element, &ty.static_shape()?), data: operand.data.clone() })
        }
        _ => None,
    }
}

/// A tensor as a constant value.
pub(super) fn constant(edit: &mut Edit<'_>, tensor: Tensor) -> Option<Value> {
    let ty = TensorType::of(tensor.element, &tensor.shape);
    insert(edit, ConstantData { ty, data: tensor.bytes.into() })
}

fn insert(edit: &mut Edit<'_>, constant: ConstantData) -> Option<Value> {
    let constant = edit.module.add_constant(constant.ty, constant.data);
    edit.insert_one(operators::Constant { data: constant }, &[])
}
