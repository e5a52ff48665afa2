//! Dot products. Vectors run along the inner dimension, in which both operands are contiguous. A tile of rows × columns shares its loads.

use super::{Body, Lowering, tiles};
use crate::ir::ElementType;
use crate::kernel::{Active, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::elementwise::lanes::widen;
use crate::schedule::elementwise::positions::OutputPosition;
use crate::schedule::loops::for_values;
use crate::schedule::unsupported::Unsupported;
use std::ops::Range;

/// A tile: first elements of its rows and columns, its first output pixel and channel, and the numbers of rows and columns.
struct Tile {
    left: Value,
    right: Value,
    pixel: Value,
    channel: Value,
    size: [i64; 2],
}

/// A loop over tiles.
type ForTiles<'f> = dyn Fn(&mut KernelBuilder, &mut Body<'_>) -> Result<(), Unsupported> + 'f;

impl Lowering<'_> {
    /// Computes the product of two matrices. `bases` are their first elements, and the number of the product.
    pub(super) fn by_dots(&self, b: &mut KernelBuilder, bases: [Value; 3]) -> Result<(), Unsupported> {
        let size = self.schedule.tile[1];
        self.dots(b, bases, &|b, body| tiles(b, self.columns, size, body))
    }

    /// Computes some columns of a product, one by one.
    pub(super) fn dots_of_columns(&self, b: &mut KernelBuilder, bases: [Value; 3], columns: Range<Value>) -> Result<(), Unsupported> {
        self.dots(b, bases, &|b, body| for_values(b, columns.clone(), 1, |b, column| body(b, column, 1)))
    }

    /// Computes the columns of a product over which `for_columns` loops.
    fn dots(&self, b: &mut KernelBuilder, [left, right, number]: [Value; 3], for_columns: &ForTiles<'_>) -> Result<(), Unsupported> {
        let first_pixel = self.rows.scale(b, number);
        tiles(b, self.rows, self.schedule.tile[0], &mut |b, row, rows| {
            let offset = self.inner.scale(b, row);
            let left = b.add(left, offset);
            let pixel = b.add(first_pixel, row);
            for_columns(b, &mut |b, column, columns| {
                let offset = self.inner.scale(b, column);
                let right = b.add(right, offset);
                self.tile(b, &Tile { left, right, pixel, channel: column, size: [rows, columns] })
            })
        })
    }

    fn sum_lane(&self) -> Lane {
        match self.schedule.accumulator {
            ElementType::F32 => Lane::F32,
            ElementType::I64 => Lane::I64,
            _ => Lane::I32,
        }
    }

    fn tile(&self, b: &mut KernelBuilder, tile: &Tile) -> Result<(), Unsupported> {
        let lanes = self.schedule.cx.machine.lanes(4);
        let [rows, columns] = tile.size;
        let starts = [(tile.left, rows), (tile.right, columns)].map(|(first, count)| self.starts(b, first, count));
        let (zero, whole, end) = (b.index(0), self.inner.whole(b, lanes), self.inner.value(b));
        let neutral = |b: &mut KernelBuilder, lanes: u16| {
            let ty = Type::vector(self.sum_lane(), lanes);
            if ty.lane == Lane::F32 { b.float(ty, 0.0) } else { b.int(ty, 0) }
        };
        let first = vec![neutral(b, lanes); (rows * columns) as usize];
        let mut sums =
            b.for_carry(zero, whole, i64::from(lanes), &first, |b, k, sums| self.step(b, &starts, k, (lanes, lanes.into()), sums));
        if self.masks_rest(lanes) {
            let step = |b: &mut KernelBuilder, k, mask| Ok(self.step(b, &starts, k, (lanes, Active::Where(mask)), &sums));
            sums = self.inner.with_rest(b, lanes, &sums, step)?;
        }
        sums = sums.into_iter().map(|sum| b.horizontal(HorizontalOp::Add, sum)).collect();
        if !self.masks_rest(lanes) {
            sums = b.for_carry(whole, end, 1, &sums, |b, k, sums| self.step(b, &starts, k, (1, 1.into()), sums));
        }
        for (i, sum) in (0..).zip(sums) {
            let (row, column) = (b.index(i / columns), b.index(i % columns));
            let (pixel, channel) = (b.add(tile.pixel, row), b.add(tile.channel, column));
            let base = self.columns.scale(b, pixel);
            let flat = b.add(base, channel);
            let place = OutputPosition { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
            self.writer.emit(b, &place, Some(sum), &self.hoisted, 1, 1)?;
        }
        Ok(())
    }

    /// Tests whether the elements after whole vectors are multiplied in one more vector. Its other lanes are zeros, which add nothing without
    /// zero points.
    fn masks_rest(&self, lanes: u16) -> bool {
        self.inner.masks_rest(lanes, self.schedule.cx.machine.masked_lanes) && self.schedule.zero_points == [0, 0]
    }

    /// Adds the products of some elements of the inner dimension to the sums of a tile.
    fn step(
        &self,
        b: &mut KernelBuilder,
        starts: &[Vec<Value>; 2],
        k: Value,
        (lanes, active): (u16, Active),
        sums: &[Value],
    ) -> Vec<Value> {
        let tensors = [self.schedule.left, self.schedule.right];
        let [rows, columns] = [0, 1].map(|side: usize| -> Vec<Value> {
            let element = self.schedule.cx.element(tensors[side]);
            starts[side]
                .iter()
                .map(|&start| {
                    let place = b.add(start, k);
                    let raw = b.load_active(self.buffers[side], place, 0, lanes, active);
                    let wide = widen(b, raw, element);
                    self.less_zero_point(b, wide, side)
                })
                .collect()
        });
        let pairs = rows.iter().flat_map(|&row| columns.iter().map(move |&column| (row, column)));
        pairs.zip(sums).map(|((row, column), &sum)| self.product(b, row, column, sum)).collect()
    }

    fn less_zero_point(&self, b: &mut KernelBuilder, value: Value, side: usize) -> Value {
        if self.schedule.zero_points[side] == 0 {
            return value;
        }
        let ty = b.ty(value);
        let zero_point = b.int(ty, self.schedule.zero_points[side]);
        b.sub(value, zero_point)
    }

    pub(super) fn product(&self, b: &mut KernelBuilder, x: Value, y: Value, sum: Value) -> Value {
        if self.sum_lane() == Lane::F32 && self.fuses {
            return b.fma(x, y, sum);
        }
        let mut product = b.mul(x, y);
        if self.sum_lane() == Lane::I64 {
            product = b.convert(ConvertOp::SignExtend, product, Lane::I64);
        }
        b.add(product, sum)
    }
}
