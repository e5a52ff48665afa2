//! Calls of a piece: their division, and the bounds of their arguments. Both follow from the piece, wherever its tensors are.

use crate::ir::{Extent, Function, Type, Value};
use crate::program::{Address, Blocks, Division, Ranges};
use crate::schedule::Argument;
use crate::schedule::piece::PieceSlices;

/// Returns the smallest and the largest possible value of an index.
fn interval(function: &Function, index: Value) -> [i64; 2] {
    let interval = function.interval(Extent::Value(index));
    [interval.low, interval.high]
}

/// Returns the bounds of an argument, if it is a run-time extent.
pub(super) fn extent(function: &Function, argument: &Argument) -> Option<[i64; 2]> {
    let Argument::Tensor(value) = *argument else { return None };
    let is_index = matches!(function.values[value].ty, Type::Index(_));
    (is_index && function.interval(Extent::Value(value)).is_bounded()).then(|| interval(function, value))
}

/// Returns the bounds of the arguments that are run-time extents, each with its position.
pub(in crate::lower) fn bounds(function: &Function, arguments: &[Argument]) -> Vec<(usize, [i64; 2])> {
    let bound = |(position, argument)| Some((position, extent(function, argument)?));
    arguments.iter().enumerate().filter_map(bound).collect()
}

/// Returns the division of a piece's calls. `place` returns the address of an extent.
pub(in crate::lower) fn division(
    function: &Function,
    slices: Option<PieceSlices>,
    ranges: Option<Ranges>,
    mut place: impl FnMut(Value) -> Address,
) -> Division {
    let Some(PieceSlices { extents, most, block, after_blocks_of: after, strides }) = slices else {
        return ranges.map_or(Division::Whole, Division::Ranges);
    };
    let extents = extents.into_iter().map(|extent| (place(extent), interval(function, extent))).collect();
    Division::Blocks(Blocks { extents, most, block, after, strides, ranges })
}
