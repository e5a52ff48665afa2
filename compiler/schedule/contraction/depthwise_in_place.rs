//! Depthwise windows of floats that are read from the input. They are used if the rows of a window are longer than the first-level cache. Staging
//! them would copy the image once more, through the second level. Taps outside of the image are left out. Rows of taps are a loop, which begins later
//! and ends earlier at the border; so all rows of the output share their code. Columns at the border have code of their own.

use super::depthwise::{Block, Lowering, Tap};
use super::depthwise_columns::Columns;
use crate::kernel::{BinaryOp, KernelBuilder, Value};
use crate::schedule::contraction::operands::panels::cuts::Cut;
use crate::schedule::quantity::Number;
use crate::schedule::unsupported::Unsupported;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A row of the output.
struct Row {
    /// The rows of taps inside of the image.
    taps: (Value, Value),
    /// The element that the first tap of the first column reads, where it is inside.
    input: Value,
    /// The first pixel of the output.
    pixel: Value,
}

/// Some pixels of a row, and the columns of taps inside of the image for all of them.
struct Tile {
    x: Value,
    pixels: u64,
    taps: Range<u64>,
}

impl Lowering<'_> {
    /// All images.
    pub(super) fn images_in_place(&self, b: &mut KernelBuilder, columns: &Columns) -> Result<(), Unsupported> {
        let numbers = &self.numbers;
        numbers.batch.repeat(b, |b, image| {
            let zero = b.index(0);
            let (start, end) = self.range.unwrap_or_else(|| (zero, numbers.output[1].value(b)));
            let mut outcome = Ok(());
            b.for_values(start, end, 1, |b, y| {
                let row = self.row_in_place(b, image, y);
                outcome = self.columns_in_place(b, &row, columns);
            });
            outcome
        })
    }

    fn row_in_place(&self, b: &mut KernelBuilder, image: Value, y: Value) -> Row {
        let (geometry, numbers) = (&self.schedule.work.geometry, &self.numbers);
        let [rows, columns] = [1, 2].map(|axis: usize| geometry.phases[axis].padding_low as i64);
        let top = b.scale_index(y, geometry.strides[0] as i64, -rows);
        let (zero, window, height) = (b.index(0), b.index(geometry.window[0] as i64), b.index(geometry.input_size[0] as i64));
        let above = b.sub(zero, top);
        let below = b.sub(height, top);
        let taps = (b.binary(BinaryOp::SignedMax, above, zero), b.binary(BinaryOp::SignedMin, below, window));
        let first = numbers.plane_elements.scale(b, image);
        let before = numbers.row_elements.scale(b, top);
        let input = b.add(first, before);
        let input = b.scale_index(input, 1, -columns * geometry.channels as i64);
        let pixel = numbers.output_pixels.scale(b, image);
        let first = numbers.output[2].scale(b, y);
        Row { taps, input, pixel: b.add(pixel, first) }
    }

    /// The columns of a row, in order.
    fn columns_in_place(&self, b: &mut KernelBuilder, row: &Row, columns: &Columns) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let in_block = |b: &mut KernelBuilder, cut: Cut| {
            let weights = self.panel(b, cut);
            let block = Block { rows: vec![], weights, first: self.first_sum(b, cut), cut };
            self.border_in_place(b, row, &block, 0..columns.inside.start)?;
            let count = Number::Known((columns.inside.end - columns.inside.start) as i64);
            let tile = |b: &mut KernelBuilder, x: Value, pixels: u64| {
                let x = b.scale_index(x, 1, columns.inside.start as i64);
                self.tile_in_place(b, row, &block, &Tile { x, pixels, taps: 0..schedule.work.geometry.window[1] })
            };
            b.rounds(self.apart, |b| count.tiles(b, schedule.pixels(), tile))?;
            self.border_in_place(b, row, &block, columns.inside.end..columns.all)
        };
        b.rounds(self.apart && schedule.has_blocks_apart(), |b| schedule.cuts.for_each(b, in_block))
    }

    /// Columns whose windows are cut off.
    fn border_in_place(&self, b: &mut KernelBuilder, row: &Row, block: &Block, columns: Range<u64>) -> Result<(), Unsupported> {
        let geometry = &self.schedule.work.geometry;
        for column in columns {
            let left = (column * geometry.strides[1]) as i64 - geometry.phases[2].padding_low as i64;
            let first = (-left).max(0) as u64;
            let end = (geometry.input_size[1] as i64 - left).clamp(0, geometry.window[1] as i64) as u64;
            let x = b.index(column as i64);
            self.tile_in_place(b, row, block, &Tile { x, pixels: 1, taps: first..end })?;
        }
        Ok(())
    }

    fn tile_in_place(&self, b: &mut KernelBuilder, row: &Row, block: &Block, tile: &Tile) -> Result<(), Unsupported> {
        let (geometry, panels) = (&self.schedule.work.geometry, &self.schedule.panels);
        let offset = b.scale_index(tile.x, (geometry.strides[1] * geometry.channels) as i64, 0);
        let input = b.add(row.input, offset);
        let input = b.add(input, block.cut.first);
        let step = panels.place(block.cut.width, geometry.window[1], 0);
        let first = vec![block.first; tile.pixels as usize];
        let sums = b.for_carry(row.taps.0, row.taps.1, 1, &first, |b, tap, sums| {
            let from = self.numbers.row_elements.scale(b, tap);
            let from = b.add(input, from);
            let moved = b.scale_index(tap, step, 0);
            let weights = b.add(block.weights, moved);
            let block = Block { rows: vec![from], weights, first: block.first, cut: block.cut };
            self.row_of_taps(b, &block, tile, sums.to_vec())
        });
        let pixel = b.add(row.pixel, tile.x);
        self.store(b, block, pixel, sums)
    }

    /// Sums with the products of a row of taps.
    fn row_of_taps(&self, b: &mut KernelBuilder, block: &Block, tile: &Tile, mut sums: Vec<Value>) -> Vec<Value> {
        let shares = self.schedule.shares_taps(block.cut.width, tile.pixels);
        let mut loaded: FxHashMap<u64, Value> = FxHashMap::default();
        for tap in tile.taps.clone() {
            let weights = self.weights_of(b, block, tap);
            for (pixel, sum) in (0..).zip(&mut sums) {
                let load = |b: &mut KernelBuilder| self.tap(b, &block.rows, Tap { row: 0, column: tap }, pixel, block.cut);
                let x = match shares {
                    true => *loaded.entry(self.schedule.column(tap, pixel)).or_insert_with(|| load(b)),
                    false => load(b),
                };
                *sum = self.add_product(b, weights, x, *sum);
            }
        }
        sums
    }
}
