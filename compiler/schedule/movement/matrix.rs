//! A matrix written as its transpose.

use super::interleave::{are_few, interleave, take_apart};
use super::turn::{Matrix, transpose};
use crate::kernel::{KernelBuilder, Lane};

/// Writes a matrix of `rows` × `columns` elements of `lane` as its transpose, by vectors of `size` lanes at most: a few rows or columns are interleaved or
/// taken apart, others are turned in squares. In both matrices the elements of a row are adjacent.
pub fn write_transposed(b: &mut KernelBuilder, (lane, size): (Lane, u16), extents: (u64, u64), from: Matrix, to: Matrix) {
    match extents {
        (rows, _) if are_few(size, rows) && to.stride.is(rows) => interleave(b, size, extents, (from, to), |_, value| value),
        (_, columns) if are_few(size, columns) && from.stride.is(columns) => take_apart(b, (lane, size), extents, from, to),
        _ => transpose(b, lane, size, extents, from, to),
    }
}
