//! Products of matrices that are repeated along part of the batch: for example, groups of query heads that share one head of keys and values.
//!
//! Exporters repeat keys and values and merge the repetition into the batch. The product gets the batch of before the merge instead.
//! Its batch dimensions broadcast, so it reads each matrix several times by itself. Only reshapes remain, which move nothing.

use super::edit::Edit;
use super::through_reshape::Factors;
use crate::ir::*;

const ONE: Extent = Extent::Static(1);

/// The result of a product that reads repeated matrices itself.
pub(super) fn in_groups(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    (0..2).find_map(|operand| product(edit, inst, operand))
}

/// An operand whose matrices are repeated.
struct Repeated {
    /// The matrices without repetition, in the dimensions of `batch` and their own two.
    matrices: Value,
    /// The batch before the repetition was merged into it.
    batch: Vec<Extent>,
}

/// Rewrites a product to read an operand's matrices without repetition. The other operand gets the batch of before the merge, which has more
/// dimensions.
fn product(edit: &mut Edit<'_>, inst: Inst, operand: usize) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let whole = edit.function.tensor(data.results[0]).shape.clone();
    let (other, batch) = (data.operands[1 - operand], &whole[..whole.len() - 2]);
    let shape = edit.function.tensor(other).shape.clone();
    if &shape[..shape.len() - 2] != batch {
        return None;
    }
    let repeated = repeated(edit, data.operands[operand], batch)?;
    let shape = [&repeated.batch, &shape[shape.len() - 2..]].concat();
    let mut operands = [repeated.matrices; 2];
    operands[1 - operand] = edit.insert_one(operators::Reshape { shape }, &[other])?;
    let result = edit.insert_one(data.operation, &operands)?;
    Some(vec![edit.insert_one(operators::Reshape { shape: whole }, &[result])?])
}

/// Matches an operand that is a broadcast whose repeated dimensions reshapes merge into the batch.
/// Work on each matrix or element after the broadcast moves before it.
fn repeated(edit: &mut Edit<'_>, operand: Value, batch: &[Extent]) -> Option<Repeated> {
    let (work, broadcast) = work_on_each(edit, operand);
    let source = edit.defined_by(broadcast, Op::Broadcast)?.operands[0];
    let shape = |value: Value| edit.function.tensor(value).shape.clone();
    let (whole, own) = (shape(broadcast), shape(source));
    let own = [vec![ONE; whole.len() - own.len()], own].concat();
    let apart = whole.len().checked_sub(2).filter(|&apart| own[apart..] == whole[apart..] && own != whole)?;
    let factors = Factors::between(&whole[..apart], batch)?;
    if whole[..apart] != *batch && !factors.merge(&(0..apart).collect::<Vec<_>>()) {
        return None;
    }
    let mut matrices = edit.insert_one(operators::Reshape { shape: own }, &[source])?;
    for inst in work.into_iter().rev() {
        let mut data = edit.function.insts[inst].clone();
        data.operands[0] = matrices;
        if let Operation::Transpose(transpose) = &mut data.operation {
            transpose.permutation = (0..apart).chain([apart + 1, apart]).collect();
        }
        matrices = edit.insert_one(data.operation, &data.operands)?;
    }
    Some(Repeated { matrices, batch: whole[..apart].to_vec() })
}

/// Returns the instructions that work on each matrix or element of a tensor separately, the last one first, and the tensor. Their other operands are
/// numbers.
/// Reshapes that keep the matrices may lie between them.
fn work_on_each(edit: &Edit<'_>, mut value: Value) -> (Vec<Inst>, Value) {
    let shape = |value: Value| &edit.function.tensor(value).shape;
    let mut work = Vec::new();
    while let Some(inst) = edit.function.defining_inst(value) {
        let data = &edit.function.insts[inst];
        let Some(&operand) = data.operands.first() else { break };
        let works = match &data.operation {
            Operation::Transpose(transpose) => turns_matrices(transpose),
            Operation::Map(_) => {
                let is_number = |operand: &Value| shape(*operand).is_empty();
                data.results.len() == 1 && edit.uses[value] == 1 && data.operands.iter().skip(1).all(is_number)
            }
            Operation::Reshape(_) if keeps_matrices(shape(operand), shape(value)) => {
                value = operand;
                continue;
            }
            _ => false,
        };
        if !works {
            break;
        }
        work.push(inst);
        value = operand;
    }
    (work, value)
}

/// Tests whether a reshape changes only the batch dimensions, and keeps the last two.
fn keeps_matrices(before: &[Extent], after: &[Extent]) -> bool {
    let matrices = |shape: &[Extent]| shape.len().checked_sub(2).map(|apart| [shape[apart], shape[apart + 1]]);
    matrices(before).is_some_and(|own| matrices(after) == Some(own))
}

/// Tests whether a transpose exchanges exactly the last two dimensions.
fn turns_matrices(transpose: &operators::Transpose) -> bool {
    let permutation = &transpose.permutation;
    let Some(apart) = permutation.len().checked_sub(2) else { return false };
    permutation[..apart].iter().copied().eq(0..apart) && permutation[apart] == apart + 1
}
