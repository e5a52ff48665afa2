//! Sums of rows. Vectors run along the columns, and each row of the right operand is added to the sums of several left rows. Every sum takes
//! its products in the order of the inner dimension.
//!
//! The rows are those of a transposed operand, or of a panel into which columns are transposed.

use super::{Lowering, tiles};
use crate::kernel::{Active, BinaryOp, Buffer, KernelBuilder, Lane, Type, Value};
use crate::schedule::contraction::table::dynamic::OUTER;
use crate::schedule::elementwise::lanes::widen;
use crate::schedule::elementwise::positions::OutputPosition;
use crate::schedule::loops::for_values;
use crate::schedule::movement::turn::turned;
use crate::schedule::quantity::{Number, RowVectors};
use crate::schedule::unsupported::Unsupported;

/// A block of columns.
struct Columns {
    /// First column.
    first: Value,
    /// Number of vectors.
    vectors: i64,
    /// Lanes of a vector that hold columns.
    active: Active,
}

/// Rows of the right operand in a block of columns.
struct Rows {
    buffer: Buffer,
    /// First element of the first row.
    first: Value,
    /// Elements from one row to the next.
    stride: Number,
}

impl Lowering<'_> {
    /// Computes the product of two matrices with a transposed right operand. The arguments are their first elements, and the number of the
    /// product.
    pub(super) fn by_rows(&self, b: &mut KernelBuilder, [left, right, number]: [Value; 3]) -> Result<(), Unsupported> {
        let lanes = self.lanes();
        let body = |b: &mut KernelBuilder, columns: Columns| {
            let first = b.add(right, columns.first);
            let rows = Rows { buffer: self.buffers[1], first, stride: self.right_step };
            self.block(b, [left, number], &columns, &rows)
        };
        let wide = |b: &mut KernelBuilder, first| body(b, Columns { first, vectors: OUTER.wide, active: lanes.into() });
        let start = self.columns.whole_tiles(b, lanes * OUTER.wide as u16, wide)?;
        self.columns.row_after(b, start, RowVectors { lanes, masked: self.masked_lanes() }, 1, |b, first, active| {
            body(b, Columns { first, vectors: 1, active })
        })
    }

    /// Computes the product of two matrices. A vector of columns of the right matrix at a time is transposed into a panel.
    pub(super) fn by_panels(&self, b: &mut KernelBuilder, panel: Buffer, bases: [Value; 3]) -> Result<(), Unsupported> {
        let [left, right, number] = bases;
        let lanes = self.lanes();
        let body = |b: &mut KernelBuilder, columns: Columns| {
            b.rounds(true, |b| {
                self.turn(b, panel, right, columns.first);
                let rows = Rows { buffer: panel, first: b.index(0), stride: Number::Known(lanes.into()) };
                self.block(b, [left, number], &columns, &rows)
            })
        };
        if matches!(self.columns, Number::Known(_)) || self.columns.masks_rest(lanes, self.masked_lanes()) {
            return self.columns.row(b, lanes, self.masked_lanes(), |b, first, active| body(b, Columns { first, vectors: 1, active }));
        }
        let (zero, whole, end) = (b.index(0), self.columns.whole(b, lanes), self.columns.value(b));
        for_values(b, zero..whole, lanes.into(), |b, first| body(b, Columns { first, vectors: 1, active: lanes.into() }))?;
        b.rounds(true, |b| self.dots_of_columns(b, bases, whole..end))
    }

    fn lanes(&self) -> u16 {
        self.schedule.cx.machine.lanes(4)
    }

    fn masked_lanes(&self) -> u16 {
        self.schedule.cx.machine.masked_lanes
    }

    /// Transposes a vector of columns into a panel, with a row for each element of the inner dimension. Missing columns are replaced by the last
    /// one.
    fn turn(&self, b: &mut KernelBuilder, panel: Buffer, right: Value, column: Value) {
        let lanes = self.lanes();
        let last = self.columns.less_one(b);
        let starts: Vec<Value> = (0..i64::from(lanes))
            .map(|i| {
                let i = b.index(i);
                let column = b.add(column, i);
                let column = b.binary(BinaryOp::SignedMin, column, last);
                let offset = self.inner.scale(b, column);
                b.add(right, offset)
            })
            .collect();
        self.inner.row(b, lanes, self.masked_lanes(), |b, k, active| {
            let load = |&start: &Value| {
                let place = b.add(start, k);
                b.load_active(self.buffers[1], place, 0, lanes, active)
            };
            let vectors = starts.iter().map(load).collect();
            let rows = turned(b, vectors, 1);
            let count = if let Active::First(count) = active { count } else { lanes };
            let first = b.scale_index(k, lanes.into(), 0);
            for (i, row) in (0..i64::from(count)).zip(rows) {
                b.store(panel, first, i * i64::from(lanes), row);
            }
        });
    }

    /// Computes the sums of a block of columns.
    fn block(&self, b: &mut KernelBuilder, [left, number]: [Value; 2], columns: &Columns, rows: &Rows) -> Result<(), Unsupported> {
        let first_pixel = self.rows.scale(b, number);
        tiles(b, self.rows, OUTER.sums / columns.vectors, &mut |b, row, count| {
            let offset = self.inner.scale(b, row);
            let left = b.add(left, offset);
            let sums = self.sums(b, (left, count), columns, rows);
            let pixel = b.add(first_pixel, row);
            self.emit(b, pixel, columns, &sums)
        })
    }

    /// Computes the sums of some rows of the left operand, row by row. The first row begins at `left`.
    fn sums(&self, b: &mut KernelBuilder, (left, count): (Value, i64), columns: &Columns, rows: &Rows) -> Vec<Value> {
        let starts = self.starts(b, left, count);
        let neutral = b.float(Type::vector(Lane::F32, self.lanes()), 0.0);
        let first = vec![neutral; (count * columns.vectors) as usize];
        let (zero, whole, end) = (b.index(0), self.inner.whole(b, OUTER.round), self.inner.value(b));
        let round = |b: &mut KernelBuilder, k, sums: &[Value]| self.add_rows(b, (&starts, k, OUTER.round.into()), columns, rows, sums);
        let sums = b.for_carry(zero, whole, OUTER.round.into(), &first, round);
        b.for_carry(whole, end, 1, &sums, |b, k, sums| self.add_rows(b, (&starts, k, 1), columns, rows, sums))
    }

    /// Adds the products of some rows of the right operand, from one on, to sums.
    fn add_rows(
        &self,
        b: &mut KernelBuilder,
        (starts, k, count): (&[Value], Value, i64),
        columns: &Columns,
        rows: &Rows,
        sums: &[Value],
    ) -> Vec<Value> {
        let lanes = self.lanes();
        let elements = [self.schedule.left, self.schedule.right].map(|tensor| self.schedule.cx.element(tensor));
        let places: Vec<Value> = starts.iter().map(|&start| b.add(start, k)).collect();
        let offset = rows.stride.scale(b, k);
        let mut row = b.add(rows.first, offset);
        let mut sums = sums.to_vec();
        for i in 0..count {
            let load = |v| {
                let raw = b.load_active(rows.buffer, row, v * i64::from(lanes), lanes, columns.active);
                widen(b, raw, elements[1])
            };
            let vectors: Vec<Value> = (0..columns.vectors).map(load).collect();
            for (&place, sums) in places.iter().zip(sums.chunks_mut(vectors.len())) {
                let raw = b.load_splat(self.buffers[0], place, i, lanes);
                let factor = widen(b, raw, elements[0]);
                for (sum, &vector) in sums.iter_mut().zip(&vectors) {
                    *sum = self.product(b, factor, vector, *sum);
                }
            }
            if i + 1 < count {
                row = rows.stride.plus(b, row);
            }
        }
        sums
    }

    /// Writes the sums of some rows. The first row is at `pixel` of the output.
    fn emit(&self, b: &mut KernelBuilder, pixel: Value, columns: &Columns, sums: &[Value]) -> Result<(), Unsupported> {
        let lanes = self.lanes();
        for (row, sums) in (0..).zip(sums.chunks(columns.vectors as usize)) {
            let row = b.index(row);
            let pixel = b.add(pixel, row);
            let base = self.columns.scale(b, pixel);
            for (v, &sum) in (0..).zip(sums) {
                let skipped = b.index(v * i64::from(lanes));
                let channel = b.add(columns.first, skipped);
                let flat = b.add(base, channel);
                let place = OutputPosition { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
                self.writer.emit(b, &place, Some(sum), &self.wide, lanes, columns.active)?;
            }
        }
        Ok(())
    }
}
