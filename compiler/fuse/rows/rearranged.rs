//! Rearrangements: a reshape, a transpose and a reshape that keep the outermost dimension outermost. Elements change places only within groups
//! of rows.
//!
//! Examples are depth to space (pixel shuffle), space to depth, and a shuffle of channels between groups. Group *g* of the result's rows holds
//! the elements of group *g* of the operand's rows.

use super::window::{RowWindow, image};
use crate::fuse::row_major;
use crate::ir::operators::Transpose;
use crate::ir::{Function, Inst, Op, Operation, Value};
use rustc_hash::FxHashMap;

/// Three operators that together rearrange an image within groups of rows.
pub struct Rearranged {
    /// The reshape and the transpose, whose results nothing else reads.
    pub before: [Inst; 2],
    /// The operand of the first reshape.
    pub image: Value,
    /// The rows of `image` that each group of result rows needs.
    pub window: RowWindow,
}

/// Returns the rearrangement that ends with a reshape, if there is one.
pub fn rearranged(function: &Function, last: Inst, uses: &FxHashMap<Value, usize>) -> Option<Rearranged> {
    // An intermediate value has one reader, and is no image through which another chain could go.
    let within = |value: Value| function.defining_inst(value).filter(|_| uses.get(&value) == Some(&1) && image(function, value).is_none());
    let turned = reshaped(function, last)?;
    let transpose = within(turned)?;
    let Operation::Transpose(Transpose { permutation }) = &function.insts[transpose].operation else { return None };
    let split = function.insts[transpose].operands[0];
    let first = within(split)?;
    let source = reshaped(function, first)?;
    let ([rows, ..], [results, ..]) = (image(function, source)?, image(function, function.insts[last].results[0])?);
    let groups = outermost(function, split)?;
    let is_outermost = permutation[outermost(function, turned)?.axis] == groups.axis;
    let divides = |rows: u64| rows.is_multiple_of(groups.extent);
    let window = RowWindow::of_groups(rows, rows / groups.extent, results / groups.extent);
    (is_outermost && divides(rows) && divides(results)).then_some(Rearranged { before: [first, transpose], image: source, window })
}

/// Returns the operand of a reshape.
fn reshaped(function: &Function, inst: Inst) -> Option<Value> {
    let data = &function.insts[inst];
    (data.op() == Op::Reshape).then(|| data.operands[0])
}

/// A dimension and its extent.
pub struct Outermost {
    pub axis: usize,
    pub extent: u64,
}

/// Returns the first dimension with an extent above 1.
pub fn outermost(function: &Function, value: Value) -> Option<Outermost> {
    let shape = row_major(function, value)?;
    shape.into_iter().enumerate().find(|&(_, extent)| extent > 1).map(|(axis, extent)| Outermost { axis, extent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Extent, FunctionBuilder, Module, TensorType, Type};

    /// Returns the window size and results of a reshape, transpose and reshape; `None` if they do not rearrange groups of rows.
    fn window(image: [u64; 4], split: &[u64], permutation: &[usize], result: [u64; 4]) -> Option<(u64, u64)> {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let extents = |shape: &[u64]| shape.iter().map(|&n| Extent::Static(n)).collect();
        let value = builder.param(Type::Tensor(TensorType::of(ElementType::I8, &image)), None);
        let split = builder.reshape(value, extents(split)).expect("as many elements");
        let turned = builder.transpose(split, permutation.to_vec()).expect("a permutation");
        let last = builder.reshape(turned, extents(&result)).expect("as many elements");
        let uses = [(split, 1), (turned, 1)].into_iter().collect();
        let inst = builder.function.defining_inst(last).expect("a reshape");
        rearranged(&builder.function, inst, &uses).map(|found| (found.window.size, found.window.results))
    }

    #[test]
    fn groups_of_rows_are_found() {
        let swapped = [0, 2, 1, 3, 4];
        let pixels = window([1, 8, 6, 12], &[8, 6, 2, 2, 3], &swapped, [1, 16, 12, 3]);
        assert_eq!(pixels, Some((1, 2)), "pixels from channels");
        let channels = window([1, 8, 6, 3], &[4, 2, 3, 2, 3], &swapped, [1, 4, 3, 12]);
        assert_eq!(channels, Some((2, 1)), "channels from pixels");
        let shuffled = window([1, 8, 6, 12], &[1, 8, 6, 3, 4], &[0, 1, 2, 4, 3], [1, 8, 6, 12]);
        assert_eq!(shuffled, Some((1, 1)), "channels in another order");
        let columns_outside = window([1, 8, 6, 12], &[8, 6, 2, 2, 3], &[1, 0, 2, 3, 4], [1, 12, 16, 3]);
        assert_eq!(columns_outside, None, "columns become rows");
        let pixels_outside = window([1, 8, 6, 12], &[48, 2, 2, 3], &[0, 2, 1, 3], [1, 16, 12, 3]);
        assert_eq!(pixels_outside, None, "groups are smaller than rows");
    }
}
