//! Transposes of squares of elements in registers.

use crate::kernel::{Buffer, KernelBuilder, Lane, Type, Value, orders};
use crate::schedule::elementwise::lanes::join;
use crate::schedule::loops::{row, row_between};
use crate::schedule::quantity::Number;
use std::ops::Range;

/// Transposes a square: there are as many vectors as each has units of `unit` lanes.
pub fn turned(b: &mut KernelBuilder, vectors: Vec<Value>, unit: u16) -> Vec<Value> {
    let halvings = vectors.len().ilog2();
    interleaved(b, vectors, unit, halvings)
}

/// Interleaves the first half of the vectors with the second half, unit by unit, `times` times. If units are numbered across all vectors, each time
/// moves the highest bit of a unit's number to its low end.
pub fn interleaved(b: &mut KernelBuilder, vectors: Vec<Value>, unit: u16, times: u32) -> Vec<Value> {
    let block = b.ty(vectors[0]).lanes;
    interleaved_within(b, vectors, unit, block, times)
}

/// Interleaves as [`interleaved`] does, but separately in each block of `block` lanes.
fn interleaved_within(b: &mut KernelBuilder, mut vectors: Vec<Value>, unit: u16, block: u16, times: u32) -> Vec<Value> {
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

/// Interleaves as [`interleaved`] does, with units of one lane, by instructions that return both halves of two interleaved vectors.
pub fn riffled(b: &mut KernelBuilder, vectors: Vec<Value>, times: u32) -> Vec<Value> {
    let order = orders::interleaved(b.ty(vectors[0]).lanes);
    riffled_in(b, vectors, times, &order)
}

/// Interleaves as [`riffled`] does, but within each 16 lanes of byte vectors, for machines whose instructions work so.
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

/// The size of a matrix.
#[derive(Clone, Copy)]
pub struct Sides {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub columns: u64,
}

/// A matrix in memory: its first element, and the distance between rows.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// Buffer of the matrix.
    pub buffer: Buffer,
    /// Index of the first element.
    pub first: Value,
    /// Elements from one row to the next.
    pub stride: Number,
}

/// Maximum side of a square that fits in registers.
const MOST_ROWS: u16 = 16;

/// Returns the side of the squares that transpose a matrix: `most`, or less if half of every square would be empty.
fn side(lane: Lane, most: u16, extents: Sides) -> u16 {
    let (least, shorter) = ((16 / lane.bytes()) as u16, extents.rows.min(extents.columns));
    let mut side = most.min(MOST_ROWS.max(least));
    while side > least && shorter <= u64::from(side / 2) {
        side /= 2;
    }
    side
}

/// The machine's way to transpose elements.
#[derive(Clone, Copy)]
pub struct Turn {
    /// Lane type of the elements.
    pub lane: Lane,
    /// Maximum side of a square.
    pub most: u16,
    /// Maximum number of 16-byte squares that instructions transpose side by side; 1 if instructions do not work within 16 bytes.
    pub squares: u16,
}

impl Turn {
    /// Returns the columns of a 16-byte square.
    fn columns(self) -> u16 {
        (16 / self.lane.bytes()) as u16
    }

    /// Returns the number of squares, one below another, that are transposed together for this many rows.
    fn below(self, rows: u64) -> u16 {
        let mut squares = self.squares;
        while squares > 1 && rows < u64::from(squares * self.columns()) {
            squares /= 2;
        }
        squares
    }
}

/// Writes the transpose of a matrix of `rows` × `columns` elements. Both matrices are row-major.
pub fn transpose(b: &mut KernelBuilder, turn: Turn, Sides { rows, columns }: Sides, from: Matrix, to: Matrix) {
    let squares = turn.below(rows);
    let whole = if squares > 1 { rows - rows % u64::from(squares * turn.columns()) } else { 0 };
    if whole > 0 {
        transpose_side_by_side(b, (turn, squares), Sides { rows: whole, columns }, from, to);
    }
    if whole < rows {
        transpose_squares(b, turn, (whole..rows, columns), from, to);
    }
}

/// Writes a range of rows as columns, square by square.
fn transpose_squares(b: &mut KernelBuilder, turn: Turn, (rows, columns): (Range<u64>, u64), from: Matrix, to: Matrix) {
    let most = if rows.start > 0 { turn.columns() } else { turn.most };
    let size = side(turn.lane, most, Sides { rows: rows.end - rows.start, columns });
    // Reads go down the columns, so that writes go along the rows. A partly written cache line costs more than a partly read one.
    row(b, columns, size, |b, column, active_columns| {
        let source = b.add(from.first, column);
        let target = to.stride.scale(b, column);
        let target = b.add(to.first, target);
        row_between(b, rows.clone(), size, |b, first_row, active_rows| {
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

/// Bytes of a cache line.
const LINE: u64 = 64;

/// Writes the transpose of a matrix whose rows fill squares side by side. A vector holds 16 bytes of several rows, so it becomes a longer part of a
/// column. The columns of one cache line are read before the next line.
fn transpose_side_by_side(b: &mut KernelBuilder, (turn, squares): (Turn, u16), Sides { rows, columns }: Sides, from: Matrix, to: Matrix) {
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
                let vectors = interleaved_within(b, vectors, 1, size, size.ilog2());
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
