//! Transposed right operands of matrix products. Products with run-time extents can read either the rows or the columns of the right operand.
//! So no kernel transposes the values of attention; a decoder would otherwise transpose its whole cache at each token.

use super::flow::Item;
use super::uses::read_only_so;
use crate::ir::{ElementType, Extent, Function, Inst, InstData, Operation, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A transposed right operand: the columns of its matrices are contiguous in `source`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Transposed {
    /// The tensor in memory.
    pub source: Value,
    /// Dimensions of `source`, one for each dimension of the operand.
    pub permutation: Vec<usize>,
}

/// Returns the source of a float product's right operand, if this operand is a transpose that need not be computed. `None` if the product reads
/// the operand itself.
pub(super) fn transposed_right(function: &Function, data: &InstData) -> Option<Transposed> {
    let Operation::Matmul(_) = &data.operation else { return None };
    let right = data.operands[1];
    let transpose = &function.insts[function.defining_inst(right)?];
    let Operation::Transpose(operator) = &transpose.operation else { return None };
    let (permutation, source) = (&operator.permutation, transpose.operands[0]);
    let columns = permutation.len().checked_sub(2)?;
    let is_plain = |value: Value| function.tensor(value).layout.order().is_none();
    let is_float = matches!(function.tensor(source).element, ElementType::F32 | ElementType::F16);
    let is_turned = permutation[columns] == columns + 1 && is_float && is_plain(source) && is_plain(right);
    (is_turned && mixes_slices(function, data)).then(|| Transposed { source, permutation: permutation.clone() })
}

/// Tests whether run-time extents rule out a run of slices of static shape: as the inner dimension, or after a static result dimension above 1.
fn mixes_slices(function: &Function, data: &InstData) -> bool {
    let shape = |value: Value| function.tensor(value).shape.iter().map(|&extent| function.resolved(extent));
    let inner = shape(data.operands[0]).next_back();
    let mut behind = shape(data.results[0]).skip_while(|extent| extent.as_static().is_none_or(|n| n == 1));
    let is_open = |extent: Extent| extent.as_static().is_none();
    inner.is_some_and(is_open) || behind.any(is_open)
}

/// Returns the transposes that only products read, in place. They get no kernel of their own.
pub(super) fn absorbed(function: &Function, items: &[Item], uses: &FxHashMap<Value, usize>) -> FxHashSet<Inst> {
    read_only_so(function, items, uses, |data| transposed_right(function, data).map(|_| data.operands[1]))
}
