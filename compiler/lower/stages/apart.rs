//! Scratch memory of rounds that a device runs at the same time: each gets its own.

use super::calls::extent;
use crate::ir::Function;
use crate::kernel::Buffer;
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::passes::with_copies;
use crate::schedule::Argument;
use crate::schedule::piece::Piece;
use cranelift_entity::EntityRef;

/// Gives independent rounds of a piece their own scratch memory. `bytes` are those of each scratch buffer, and grow.
pub(in crate::lower) fn copy_private(function: &Function, Piece { lowered, extent: rounds, .. }: &mut Piece, bytes: &mut [u64]) {
    let params: Vec<Buffer> = lowered.kernel.pointer_params().map(|(buffer, _)| buffer).collect();
    let extents = params.iter().zip(&lowered.arguments).filter_map(|(buffer, argument)| {
        let [low, high] = extent(function, argument)?;
        Some((buffer.index(), Interval { low, high }))
    });
    let integers = rounds.map_or(vec![], |rounds| vec![0, rounds as i64]);
    with_copies(&mut lowered.kernel, &integers, &Assumed { elements: extents.collect(), ..Assumed::default() });
    for (&buffer, argument) in params.iter().zip(&lowered.arguments) {
        if let Argument::Scratch(number) = argument {
            bytes[*number] = bytes[*number].max(lowered.kernel.buffer(buffer).bytes());
        }
    }
}
