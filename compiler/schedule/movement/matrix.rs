//! Transposes of matrices in memory.

use super::interleave::{are_few, interleave, take_apart};
use super::turn::{Matrix, Sides, Turn, transpose};
use crate::kernel::KernelBuilder;

/// Writes the transpose of a matrix of `rows` × `columns` elements. A few rows or columns are interleaved or split; other matrices are transposed in
/// squares. Both matrices are row-major.
pub fn write_transposed(b: &mut KernelBuilder, turn: Turn, extents: Sides, from: Matrix, to: Matrix) {
    match extents {
        Sides { rows, .. } if are_few(turn.most, rows) && to.stride.is(rows) => {
            interleave(b, turn.most, extents, from, to, |_, value| value)
        }
        Sides { columns, .. } if are_few(turn.most, columns) && from.stride.is(columns) => {
            take_apart(b, (turn.lane, turn.most), extents, from, to)
        }
        _ => transpose(b, turn, extents, from, to),
    }
}
