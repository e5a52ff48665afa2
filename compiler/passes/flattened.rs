//! Products of flattened images: `conv`, brought to planes, made a row, times a matrix, as PyTorch's classifiers end.
//!
//! The rows keep the image's order, and the matrix gets its columns in this order. The constant matrix is permuted at compile time, so the image is
//! not transposed at run time. Sums of floats are rounded in another order.

use super::edit::{Edit, Visit, rewrite};
use super::through_reshape::Factors;
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| match edit.function.insts[inst].op() {
        Op::Matmul => product(edit, inst).map_or(Visit::Keep, Visit::Replace),
        _ => Visit::Keep,
    })
}

/// Rewrites the product: its rows keep the order before the transpose, and the constant matrix gets its columns in that order.
fn product(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let &[rows, matrix] = &data.operands[..] else { return None };
    let turned = edit.defined_by(rows, Op::Reshape).filter(|_| edit.uses[rows] == 1)?.operands[0];
    let (transpose, source) = edit.transpose(turned)?;
    let shape = |value: Value| edit.function.tensor(value).shape.clone();
    let factors = Factors::between(&shape(turned), &shape(rows))?;
    let in_source = factors.of_source(transpose).concat();
    let (depth, others) = factors.after.split_last()?;
    let (before, columns) = in_source.split_at(in_source.len().checked_sub(depth.len())?);
    // The transpose must keep the order of rows, and permute only within a row.
    let is_within_rows = before == others.concat() && columns.iter().all(|factor| depth.contains(factor)) && columns != &depth[..];
    if !is_within_rows || edit.uses[turned] > 1 {
        return None;
    }
    let whole = shape(rows);
    let matrix = ordered(edit, matrix, &factors, depth, columns)?;
    let rows = edit.insert_one(operators::Reshape { shape: whole }, &[source])?;
    edit.insert(data.operation, &[rows, matrix]).ok()
}

/// Permutes the columns of a constant matrix `[units, depth]` from the order of factors `depth` to the order `columns`.
fn ordered(edit: &mut Edit<'_>, matrix: Value, factors: &Factors, depth: &[usize], columns: &[usize]) -> Option<Value> {
    edit.moved_constant(matrix)?;
    let ty = edit.function.tensor(matrix).clone();
    let &[units, _] = &ty.shape[..] else { return None };
    if ty.element.bits() < 8 {
        return None;
    }
    let apart: Option<Vec<Extent>> = depth.iter().map(|&factor| factors.extent(&[factor])).collect();
    let apart = edit.insert_one(operators::Reshape { shape: [vec![units], apart?].concat() }, &[matrix])?;
    let place = |factor: &usize| depth.iter().position(|other| other == factor).map(|place| place + 1);
    let permutation = std::iter::once(Some(0)).chain(columns.iter().map(place)).collect::<Option<Vec<usize>>>()?;
    let turned = edit.insert_one(operators::Transpose { permutation }, &[apart])?;
    edit.insert_one(operators::Reshape { shape: ty.shape }, &[turned])
}
