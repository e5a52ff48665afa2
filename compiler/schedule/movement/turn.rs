//! Squares of elements turned around their diagonal in registers.

use crate::kernel::{Buffer, KernelBuilder, Lane, Type, Value};
use crate::schedule::loops::row;
use crate::schedule::quantity::Number;

/// A square of as many vectors as each has units of `unit` lanes, turned around its diagonal: interleaving the first half of the
/// vectors with the second, as often as the number of vectors can be halved.
pub fn turned(b: &mut KernelBuilder, mut vectors: Vec<Value>, unit: u16) -> Vec<Value> {
    let count = vectors.len();
    let all = count as u16 * unit;
    let interleaved = |first: u16| -> Vec<u16> {
        let units = first..first + count as u16 / 2;
        units.flat_map(|u| [u * unit, all + u * unit]).flat_map(|start| start..start + unit).collect()
    };
    for _ in 0..count.ilog2() {
        let half = count / 2;
        let pairs: Vec<[Value; 2]> = (0..half).map(|i| [vectors[i], vectors[i + half]]).collect();
        vectors = pairs
            .into_iter()
            .flat_map(|[x, y]| [b.shuffle(x, y, interleaved(0)), b.shuffle(x, y, interleaved(count as u16 / 2))])
            .collect();
    }
    vectors
}

/// A matrix in memory: its first element, and the elements from one row to the next.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// Where it is.
    pub buffer: Buffer,
    /// The first element.
    pub first: Value,
    /// From one row to the next.
    pub stride: Number,
}

/// Writes a matrix of `rows` × `columns` elements as its transpose. In both, the elements of a row are adjacent.
pub fn transpose(b: &mut KernelBuilder, lane: Lane, (rows, columns): (u64, u64), from: Matrix, to: Matrix) {
    // Instructions interleave vectors of 16 bytes.
    let size = (16 / lane.bytes()) as u16;
    // Reads go down the columns, so that writes go along the rows: a line that is half written costs more than one that is half read.
    row(b, columns, size, |b, column, active_columns| {
        let source = b.add(from.first, column);
        let target = to.stride.scale(b, column);
        let target = b.add(to.first, target);
        row(b, rows, size, |b, first_row, active_rows| {
            let skipped = from.stride.scale(b, first_row);
            let source = b.add(source, skipped);
            let load = |i: u16| {
                if i >= active_rows {
                    return b.int(Type::vector(lane, size), 0);
                }
                let place = from.stride.scale_known(b, i.into());
                let place = b.add(source, place);
                b.load_active(from.buffer, place, 0, size, active_columns)
            };
            let vectors = (0..size).map(load).collect();
            let vectors = turned(b, vectors, 1);
            let target = b.add(target, first_row);
            for (i, vector) in (0..i64::from(active_columns)).zip(vectors) {
                let place = to.stride.scale_known(b, i);
                let place = b.add(target, place);
                b.store_active(to.buffer, place, 0, vector, active_rows);
            }
        });
    });
}
