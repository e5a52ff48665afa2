//! Elements that change places within groups of rows: a reshape, a transpose and a reshape that leave the outermost dimension outermost.
//!
//! Pixels from channels (depth to space, pixel shuffle) and channels from pixels are such, and channels shuffled between groups. Group *g* of the
//! result's rows holds what group *g* of the operand's rows held.

use super::window::{RowWindow, image};
use crate::fuse::row_major;
use crate::ir::operators::Transpose;
use crate::ir::{Function, Inst, Op, Operation, Value};
use rustc_hash::FxHashMap;

/// Three operators that together give an image whose rows come in groups from those of another.
pub struct Rearranged {
    /// The reshape and the transpose, whose results nothing else reads.
    pub before: [Inst; 2],
    /// The image that they read.
    pub image: Value,
    /// What rows of the result need of that image.
    pub window: RowWindow,
}

/// The rearrangement that a reshape ends, if it ends one.
pub fn rearranged(function: &Function, last: Inst, uses: &FxHashMap<Value, usize>) -> Option<Rearranged> {
    // What the rearrangement alone reads, and what is no image by which chains could go on.
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

/// What an instruction reshapes.
fn reshaped(function: &Function, inst: Inst) -> Option<Value> {
    let data = &function.insts[inst];
    (data.op() == Op::Reshape).then(|| data.operands[0])
}

/// A dimension, and how many slices there are along it.
pub struct Outermost {
    pub axis: usize,
    pub extent: u64,
}

/// The outermost dimension of more than one slice.
pub fn outermost(function: &Function, value: Value) -> Option<Outermost> {
    let shape = row_major(function, value)?;
    shape.into_iter().enumerate().find(|&(_, extent)| extent > 1).map(|(axis, extent)| Outermost { axis, extent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Extent, FunctionBuilder, Module, TensorType, Type};

    /// The window of an image that is reshaped, transposed and reshaped; `None` where that is no rearrangement of groups of rows.
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
