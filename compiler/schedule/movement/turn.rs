//! Squares of elements turned around their diagonal in registers.

use crate::kernel::{Buffer, KernelBuilder, Lane, Type, Value, orders};
use crate::schedule::elementwise::lanes::join;
use crate::schedule::loops::{row, row_between};
use crate::schedule::quantity::Number;

/// A square of as many vectors as each has units of `unit` lanes, turned around its diagonal.
pub fn turned(b: &mut KernelBuilder, vectors: Vec<Value>, unit: u16) -> Vec<Value> {
    let halvings = vectors.len().ilog2();
    interleaved(b, vectors, unit, halvings)
}

/// Vectors of which the first half is interleaved with the second, unit by unit, some times. Counting the units of all vectors in order by a number of
/// bits, each time takes the highest bit of a unit's number to its low end.
pub fn interleaved(b: &mut KernelBuilder, vectors: Vec<Value>, unit: u16, times: u32) -> Vec<Value> {
    let block = b.ty(vectors[0]).lanes;
    interleaved_within(b, vectors, (unit, block), times)
}

/// [`interleaved`] of each block of so many lanes, as of shorter vectors side by side.
fn interleaved_within(b: &mut KernelBuilder, mut vectors: Vec<Value>, (unit, block): (u16, u16), times: u32) -> Vec<Value> {
    let lanes = b.ty(vectors[0]).lanes;
    let (units, half) = (block / unit, vectors.len() / 2);
    let from = |first: u16| -> Vec<u16> {
        let starts = (0..lanes).step_by(block.into()).flat_map(|block| (first..first + units / 2).map(move |u| block + u * unit));
        starts.flat_map(|start| [start, lanes + start]).flat_map(|start| start..start + unit).collect()
    };
    for _ in 0..times {
        let pairs: Vec<[Value; 2]> = (0..half).map(|i| [vectors[i], vectors[i + half]]).collect();
        vectors = pairs.into_iter().flat_map(|[x, y]| [b.shuffle(x, y, from(0)), b.shuffle(x, y, from(units / 2))]).collect();
    }
    vectors
}

/// As [`interleaved`] with units of one lane, by instructions that give both halves of two interleaved vectors.
pub fn riffled(b: &mut KernelBuilder, vectors: Vec<Value>, times: u32) -> Vec<Value> {
    let order = orders::interleaved(b.ty(vectors[0]).lanes);
    riffled_in(b, vectors, times, &order)
}

/// The same within each 16 lanes of vectors of bytes, where that is what an instruction does.
pub fn riffled_in_blocks(b: &mut KernelBuilder, vectors: Vec<Value>, times: u32) -> Vec<Value> {
    let order = orders::interleaved_of_spread_bytes(b.ty(vectors[0]).lanes);
    riffled_in(b, vectors, times, &order)
}

fn riffled_in(b: &mut KernelBuilder, mut vectors: Vec<Value>, times: u32, order: &[u16]) -> Vec<Value> {
    let (lanes, half) = (b.ty(vectors[0]).lanes, vectors.len() / 2);
    for _ in 0..times {
        let pairs: Vec<[Value; 2]> = (0..half).map(|i| [vectors[i], vectors[i + half]]).collect();
        let both: Vec<Value> = pairs.into_iter().map(|[x, y]| b.shuffle(x, y, order.to_vec())).collect();
        vectors = both.into_iter().flat_map(|both| [0, lanes].map(|first| b.part(both, first, lanes))).collect();
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

/// Squares with longer sides do not fit in registers.
const MOST_ROWS: u16 = 16;

/// Lanes of the vectors of squares in which a matrix is turned: as many as `most`, unless that leaves half of every square empty.
fn side(lane: Lane, most: u16, extents: (u64, u64)) -> u16 {
    let (least, shorter) = ((16 / lane.bytes()) as u16, extents.0.min(extents.1));
    let mut side = most.min(MOST_ROWS.max(least));
    while side > least && shorter <= u64::from(side / 2) {
        side /= 2;
    }
    side
}

/// How elements are turned: their lanes, the most lanes of a vector of a square, and how many squares of 16 bytes instructions turn side by side.
#[derive(Clone, Copy)]
pub struct Turn {
    /// The lane.
    pub lane: Lane,
    /// The most lanes of a square.
    pub most: u16,
    /// Squares side by side; one where instructions do not work within 16 bytes.
    pub squares: u16,
}

impl Turn {
    /// Columns of a square of 16 bytes.
    fn columns(self) -> u16 {
        (16 / self.lane.bytes()) as u16
    }

    /// The squares below each other that are turned at once where there are so many rows.
    fn below(self, rows: u64) -> u16 {
        let mut squares = self.squares;
        while squares > 1 && rows < u64::from(squares * self.columns()) {
            squares /= 2;
        }
        squares
    }
}

/// Writes a matrix of `rows` × `columns` elements as its transpose. In both, the elements of a row are adjacent.
pub fn transpose(b: &mut KernelBuilder, turn: Turn, (rows, columns): (u64, u64), from: Matrix, to: Matrix) {
    let squares = turn.below(rows);
    let whole = if squares > 1 { rows - rows % u64::from(squares * turn.columns()) } else { 0 };
    if whole > 0 {
        transpose_side_by_side(b, (turn, squares), (whole, columns), from, to);
    }
    if whole < rows {
        transpose_squares(b, turn, (whole, rows, columns), from, to);
    }
}

/// Writes rows from one on as columns, square by square.
fn transpose_squares(b: &mut KernelBuilder, turn: Turn, (start, rows, columns): (u64, u64, u64), from: Matrix, to: Matrix) {
    let most = if start > 0 { turn.columns() } else { turn.most };
    let size = side(turn.lane, most, (rows - start, columns));
    // Reads go down the columns, so that writes go along the rows: a line that is half written costs more than one that is half read.
    row(b, columns, size, |b, column, active_columns| {
        let source = b.add(from.first, column);
        let target = to.stride.scale(b, column);
        let target = b.add(to.first, target);
        row_between(b, (start, rows), size, |b, first_row, active_rows| {
            let skipped = from.stride.scale(b, first_row);
            let source = b.add(source, skipped);
            let load = |i: u16| {
                if i >= active_rows {
                    return b.zero(Type::vector(turn.lane, size));
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

/// Bytes of a line of the cache.
const LINE: u64 = 64;

/// Writes a matrix, whose rows fill squares side by side, as its transpose. A vector has 16 bytes of several rows, and gets a longer part of a column. Columns
/// of one line of the cache are read before the next line.
fn transpose_side_by_side(b: &mut KernelBuilder, (turn, squares): (Turn, u16), (rows, columns): (u64, u64), from: Matrix, to: Matrix) {
    let size = turn.columns();
    let line = (LINE / u64::from(turn.lane.bytes())) as u16;
    row(b, columns, line, |b, first, active| {
        b.for_range(0, rows as i64, (squares * size).into(), |b, first_row| {
            let skipped = from.stride.scale(b, first_row);
            let source = b.add(from.first, skipped);
            row(b, active.into(), size, |b, column, active_columns| {
                let column = b.add(first, column);
                let source = b.add(source, column);
                let mut load = |row: u16| {
                    let place = from.stride.scale_known(b, row.into());
                    let place = b.add(source, place);
                    b.load_active(from.buffer, place, 0, size, active_columns)
                };
                let chunks: Vec<Vec<Value>> = (0..size).map(|i| (0..squares).map(|square| load(i + square * size)).collect()).collect();
                let vectors: Vec<Value> = chunks.iter().map(|chunks| join(b, chunks)).collect();
                let vectors = interleaved_within(b, vectors, (1, size), size.ilog2());
                let target = to.stride.scale(b, column);
                let target = b.add(to.first, target);
                let target = b.add(target, first_row);
                for (i, vector) in (0..i64::from(active_columns)).zip(vectors) {
                    let place = to.stride.scale_known(b, i);
                    let place = b.add(target, place);
                    b.store(to.buffer, place, 0, vector);
                }
            });
        });
    });
}
