//! Right operands of products that lie turned. Where extents are known only when the program runs, a product of matrices reads the rows of its right
//! operand as well as its columns. So no kernel of its own turns the values of attention, which a decoder would do for the whole cache at each token.

use super::flow::Item;
use super::uses::read_only_so;
use crate::ir::{ElementType, Extent, Function, Inst, InstData, Operation, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A right operand that lies turned: the columns of its matrices are adjacent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnedRight<'f> {
    /// The tensor in memory.
    pub source: Value,
    /// The dimension of it that each dimension of the operand is.
    pub permutation: &'f [usize],
}

/// What a product of floats reads in the place of its right operand, which is a transpose of that. None where it reads the operand itself.
pub fn turned_right<'f>(function: &'f Function, data: &InstData) -> Option<TurnedRight<'f>> {
    let Operation::Matmul(_) = &data.operation else { return None };
    let right = data.operands[1];
    let transpose = &function.insts[function.defining_inst(right)?];
    let Operation::Transpose(operator) = &transpose.operation else { return None };
    let (permutation, source) = (&operator.permutation, transpose.operands[0]);
    let columns = permutation.len().checked_sub(2)?;
    let is_plain = |value: Value| function.tensor(value).layout.order().is_none();
    let is_float = matches!(function.tensor(source).element, ElementType::F32 | ElementType::F16);
    let is_turned = permutation[columns] == columns + 1 && is_float && is_plain(source) && is_plain(right);
    (is_turned && mixes_slices(function, data)).then_some(TurnedRight { source, permutation })
}

/// Whether extents that are known when the program runs stand where no run of slices of static shape computes the product: behind a known one of the
/// result, or as the inner dimension.
fn mixes_slices(function: &Function, data: &InstData) -> bool {
    let shape = |value: Value| function.tensor(value).shape.iter().map(|&extent| function.resolved(extent));
    let inner = shape(data.operands[0]).next_back();
    let mut behind = shape(data.results[0]).skip_while(|extent| extent.as_static().is_none_or(|n| n == 1));
    let is_open = |extent: Extent| extent.as_static().is_none();
    inner.is_some_and(is_open) || behind.any(is_open)
}

/// The transposes that only products read, as rows: no kernel of their own computes them.
pub(super) fn absorbed(function: &Function, items: &[Item], uses: &FxHashMap<Value, usize>) -> FxHashSet<Inst> {
    read_only_so(function, items, uses, |data| turned_right(function, data).map(|_| data.operands[1]))
}
