//! Right operands of products that lie turned. Where extents are known only when the program runs, a product of matrices reads the rows of its right
//! operand as well as its columns. So no kernel of its own turns the values of attention, which a decoder would do for the whole cache at each token.

use super::flow::{Item, each_inst};
use crate::ir::{ElementType, Extent, Function, Inst, InstData, Op, Operation, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a product of floats reads in the place of its right operand, which is that with its last two dimensions in turns. None where it reads the operand
/// itself.
pub fn turned_right(function: &Function, data: &InstData) -> Option<Value> {
    let Operation::Matmul(_) = &data.operation else { return None };
    let right = data.operands[1];
    let transpose = &function.insts[function.defining_inst(right)?];
    let Operation::Transpose(operator) = &transpose.operation else { return None };
    let rank = operator.permutation.len();
    let swapped = operator.permutation.iter().enumerate().all(|(d, &from)| match rank - d {
        1 => from + 2 == rank,
        2 => from + 1 == rank,
        _ => from == d,
    });
    let source = transpose.operands[0];
    let is_plain = |value: Value| function.tensor(value).layout.order().is_none();
    let is_float = matches!(function.tensor(source).element, ElementType::F32 | ElementType::F16);
    (swapped && is_float && is_plain(source) && is_plain(right) && mixes_slices(function, data)).then_some(source)
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
    let mut as_rows: FxHashMap<Value, usize> = FxHashMap::default();
    each_inst(items, &mut |inst| {
        let data = &function.insts[inst];
        if data.op() == Op::Matmul && turned_right(function, data).is_some() {
            *as_rows.entry(data.operands[1]).or_default() += 1;
        }
    });
    let only_rows = |(value, count): (&Value, &usize)| function.defining_inst(*value).filter(|_| uses.get(value) == Some(count));
    as_rows.iter().filter_map(only_rows).collect()
}
