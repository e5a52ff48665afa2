//! The tiles of a depthwise convolution of bytes in paired rows: some pixels of the rows that are computed together, in a block of channels.

use super::tile::join;
use crate::ir::ElementType;
use crate::kernel::{ConvertOp, DotOp, KernelBuilder, Lane, Type, Value, orders};
use crate::schedule::contraction::depthwise_rows::{Block, DepthwiseRows, FOUR, Lowering};
use crate::schedule::contraction::operands::paired_products::Products;
use crate::schedule::contraction::operands::panels::ActiveLanes;
use crate::schedule::contraction::operands::panels::cuts::{Cut, Width};
use crate::schedule::contraction::table::depthwise::paired;
use crate::schedule::elementwise::neighbours::Neighbours;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::unsupported::Unsupported;
use rustc_hash::FxHashMap;

/// Values loaded before the epilogues of a tile.
type Channels = Vec<Option<Hoisted>>;

/// The vectors of sums in a row of a tile.
pub(in crate::schedule::contraction) struct Run {
    /// Number of vectors.
    pub pixels: u64,
    /// Columns from one vector to the next.
    pub stride: u64,
    /// Pixels of a vector.
    side_by_side: u64,
    /// Columns of the window. `dilation` is the distance between them.
    pub window: u64,
    pub dilation: u64,
}

/// Weights of a tile that stay in registers: all products of each row. Empty if they do not fit.
type Kept = Vec<Value>;

/// A pixel that uses an operand.
#[derive(Clone, Copy)]
struct Meeting {
    /// Number of the pixel.
    pixel: u64,
    /// Column of its window.
    tap: u64,
}

/// Some lanes of a block of channels.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct Lanes {
    /// First lane.
    pub first: u64,
    /// Number of lanes.
    pub count: u64,
}

/// An operand of a column: one of the parts that products of a window take.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::schedule::contraction) struct ColumnPart {
    pub column: u64,
    pub part: u64,
}

/// Place of weights: an output row of the tile, a column of the window, and a part of it.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct TapPart {
    pub row: u64,
    pub tap: u64,
    pub part: u64,
}

/// Stored weights of a product, or half of them.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct StoredHalf {
    pub product: u64,
    pub half: u64,
}

/// An operand of a column, and the pixels that use it.
type Met = (Value, Vec<Meeting>);

impl Run {
    /// Returns the last column that a window reads, relative to the first.
    fn last_column(&self) -> u64 {
        (self.pixels - 1) * self.stride + (self.window - 1) * self.dilation
    }

    /// Returns the pixels whose windows read a column, each with the column of its window.
    fn meetings(&self, column: u64) -> impl Iterator<Item = Meeting> + '_ {
        let all = (0..self.window).flat_map(|tap| (0..self.pixels).map(move |pixel| Meeting { pixel, tap }));
        all.filter(move |&Meeting { pixel, tap }| pixel * self.stride + tap * self.dilation == column)
    }

    /// Returns the columns that windows read.
    pub fn columns(&self) -> Vec<u64> {
        (0..=self.last_column()).filter(|&column| self.meetings(column).next().is_some()).collect()
    }

    /// Repeats a value that is equal for all pixels of a vector.
    fn repeat(&self, b: &mut KernelBuilder, one: Value) -> Value {
        join(b, &vec![one; self.side_by_side as usize])
    }
}

/// Corrections for moved weights: a vector for each pixel of a tile.
struct Lacking {
    by: i64,
    dot: DotOp,
    pixels: Vec<Option<Value>>,
}

impl Lacking {
    fn of(schedule: &DepthwiseRows<'_>, pixels: u64) -> Option<Self> {
        let by = schedule.panels.moved_by().filter(|_| schedule.products == Products::Fours)?;
        Some(Self { by, dot: schedule.form.dot(), pixels: vec![None; pixels as usize] })
    }

    /// Adds the correction for a column to the pixels that read it. It is one product for all of them, and one addition for each.
    fn meet(&mut self, b: &mut KernelBuilder, x: Value, met: &[Meeting]) {
        let ty = b.ty(x);
        let (none, by) = (b.int(Type::vector(Lane::I32, ty.lanes / 4), 0), b.int(ty, self.by));
        let column = b.dot(self.dot, none, x, by);
        for meeting in met {
            let pixel = &mut self.pixels[meeting.pixel as usize];
            *pixel = Some(pixel.map_or(column, |before| b.add(before, column)));
        }
    }

    /// Adds the corrections of the pixels to the sums of all rows.
    fn complete(&self, b: &mut KernelBuilder, sums: &mut [Value]) {
        for (sum, lacks) in sums.iter_mut().zip(self.pixels.iter().cycle()) {
            *sum = lacks.map_or(*sum, |lacks| b.add(*sum, lacks));
        }
    }
}

impl Lowering<'_> {
    /// Computes some pixels of the rows, from `x` on.
    pub(in crate::schedule::contraction) fn tile(
        &self,
        b: &mut KernelBuilder,
        block: &Block,
        first_pixel: Value,
        x: Value,
        pixels: u64,
    ) -> Result<(), Unsupported> {
        let geometry = &self.schedule.work.geometry;
        let offset = b.scale_index(x, (2 * geometry.strides[1] * geometry.channels) as i64, 0);
        let pairs: Vec<Value> = block.pairs.iter().map(|&pair| b.add(pair, offset)).collect();
        let counts = self.counts(&block.cut, pixels);
        let side_by_side = self.schedule.side_by_side();
        let side_by_side = if counts.iter().all(|count| count.is_multiple_of(side_by_side)) { side_by_side } else { 1 };
        let sums = self.sums(b, &pairs, block, pixels, side_by_side);
        let first = b.add(first_pixel, x);
        // Values of the channels are loaded once for all pixels, and take a few registers.
        let mut of_channels: FxHashMap<u64, Channels> = FxHashMap::default();
        for &count in &counts {
            of_channels.entry(count).or_insert_with(|| self.of_channels(b, &block.cut, count));
        }
        for (row, sums) in sums.chunks((pixels / side_by_side) as usize).enumerate() {
            let pixel = b.scale_index(first, 1, (row as u64 * geometry.output_size[1]) as i64);
            let base = b.scale_index(pixel, geometry.outputs as i64, 0);
            let flat = b.add(base, block.cut.first);
            let (mut rest, mut pixel_offset) = (sums, 0);
            for &count in &counts {
                let (together, others) = rest.split_at((count / side_by_side) as usize);
                let place = OutputPosition { pixel, pixel_offset, channel: block.cut.first, channel_offset: 0, flat };
                self.epilogue(b, &block.cut, &place, (together, count), &of_channels[&count])?;
                (rest, pixel_offset) = (others, pixel_offset + count as i64);
            }
        }
        Ok(())
    }

    /// Returns how many neighbouring pixels of a tile's row are stored together, as a list of numbers.
    fn counts(&self, cut: &Cut, pixels: u64) -> Vec<u64> {
        let whole = cut.active == cut.width.lanes;
        let most = if whole { self.schedule.neighbours(&self.element_wise, cut.width) } else { 1 };
        let mut counts = vec![most; (pixels / most) as usize];
        counts.extend((0..most.ilog2()).rev().map(|bit| 1 << bit).filter(|count| pixels & count != 0));
        counts
    }

    /// Loads the values of the channels, repeated for `count` neighbouring pixels.
    fn of_channels(&self, b: &mut KernelBuilder, cut: &Cut, count: u64) -> Channels {
        let lanes = cut.width.lanes;
        let hoisted = self.hoisted.iter().find(|(width, _)| *width == lanes * count).map_or(&[][..], |(_, hoisted)| hoisted);
        if count > 1 {
            return self.element_wise.repeat_channels(b, (cut.first, lanes as u16), count as u16, hoisted);
        }
        match self.schedule.products {
            Products::Fours | Products::In16Bits => {
                self.element_wise.hoist_channels(b, cut.first, hoisted, (lanes as u16, (cut.active as u16).into()))
            }
            Products::Pairs => hoisted.to_vec(),
        }
    }

    /// Stores the results of neighbouring pixels.
    fn epilogue(
        &self,
        b: &mut KernelBuilder,
        cut: &Cut,
        place: &OutputPosition,
        (sums, count): (&[Value], u64),
        of_channels: &Channels,
    ) -> Result<(), Unsupported> {
        let is_wide = self.schedule.work.accumulator == ElementType::I64;
        let sums: Vec<Value> =
            sums.iter().map(|&sum| if is_wide { b.convert(ConvertOp::SignExtend, sum, Lane::I64) } else { sum }).collect();
        let lanes = cut.width.lanes as u16;
        match count {
            1 => self.element_wise.emit(b, place, sums.first().copied(), of_channels, lanes, cut.active as u16),
            _ => self.element_wise.emit_apart(b, Neighbours { first: place, channels: lanes, count: count as u16 }, &sums, of_channels),
        }
    }

    /// Computes the sums of a tile's pixels, row by row: a vector for each pixel, or for some that share a vector.
    fn sums(&self, b: &mut KernelBuilder, pairs: &[Value], at: &Block, pixels: u64, side_by_side: u64) -> Vec<Value> {
        let geometry = &self.schedule.work.geometry;
        let count = self.schedule.lanes_together(at.cut.width, at.rows);
        let (stride, window, dilation) = (geometry.strides[1] * side_by_side, geometry.window[1], geometry.phases[2].dilation);
        let run = Run { pixels: pixels / side_by_side, stride, side_by_side, window, dilation };
        let parts: Vec<Vec<Value>> =
            (0..at.cut.width.lanes).step_by(count as usize).map(|first| self.sums_of(b, pairs, at, Lanes { first, count }, &run)).collect();
        (0..(at.rows * run.pixels) as usize).map(|sum| join(b, &parts.iter().map(|part| part[sum]).collect::<Vec<_>>())).collect()
    }

    /// Computes the sums in some lanes of the block. If possible, the operands of all columns stay in registers while each weight is applied to
    /// all pixels. Otherwise the weights are loaded again for each column.
    fn sums_of(&self, b: &mut KernelBuilder, pairs: &[Value], at: &Block, lanes: Lanes, run: &Run) -> Vec<Value> {
        let schedule = self.schedule;
        let mut sums = self.first_sums(b, at, lanes, run);
        if schedule.products == Products::In16Bits {
            return self.added_in_16_bits(b, pairs, at, lanes, run, sums);
        }
        let kept = self.kept_weights(b, at, lanes, run);
        let columns = run.columns();
        let mut lacking = Lacking::of(schedule, run.pixels);
        let vectors = (run.side_by_side * lanes.count).div_ceil(schedule.cx.machine.lanes(4).into());
        let keeps = kept.is_empty() && schedule.keeps(sums.len(), columns.len(), vectors as usize);
        let step = if keeps { columns.len() } else { 1 };
        for columns in columns.chunks(step) {
            for part in 0..schedule.operands() {
                let met: Vec<(u64, Vec<Meeting>)> = columns.iter().map(|&column| (column, self.met(run, column, part))).collect();
                let met: Vec<Met> = met
                    .into_iter()
                    .filter(|(_, met)| !met.is_empty())
                    .map(|(column, met)| (self.operand(b, pairs, ColumnPart { column, part }, (at, run), lanes), met))
                    .collect();
                if let Some(lacking) = &mut lacking {
                    met.iter().for_each(|(x, met)| lacking.meet(b, *x, met));
                }
                self.add_products(b, at, lanes, (run, part), (&met, &kept), &mut sums);
            }
        }
        if let Some(lacking) = lacking {
            lacking.complete(b, &mut sums);
        }
        sums
    }

    /// Returns the initial sums of a tile.
    fn first_sums(&self, b: &mut KernelBuilder, at: &Block, lanes: Lanes, run: &Run) -> Vec<Value> {
        let begin = |b: &mut KernelBuilder| {
            let one = b.load(self.initial, at.cut.first, lanes.first as i64, lanes.count as u16);
            run.repeat(b, one)
        };
        let count = (at.rows * run.pixels) as usize;
        // Some sums begin with a copy and others with a load. These use different execution units.
        let alike = paired(self.schedule.cx.machine, self.schedule.products).begun_alike.unwrap_or(count);
        (0..count.div_ceil(alike)).flat_map(|_| vec![begin(b); alike]).take(count).collect()
    }

    /// Returns the weights of a tile if all of them fit registers, or else nothing.
    fn kept_weights(&self, b: &mut KernelBuilder, at: &Block, lanes: Lanes, run: &Run) -> Kept {
        let vectors = lanes.count.div_ceil(self.schedule.cx.machine.lanes(4).into());
        if !self.schedule.keeps_weights(at.rows, run.pixels, vectors) {
            return vec![];
        }
        let products = 0..at.rows * self.schedule.fours.products();
        products
            .map(|product| {
                let one = self.stored(b, (at.weights, at.cut.width), StoredHalf { product, half: 0 }, lanes);
                run.repeat(b, one)
            })
            .collect()
    }

    /// Returns the pixels that use an operand of a column, each with the column of its window.
    fn met(&self, run: &Run, column: u64, part: u64) -> Vec<Meeting> {
        let schedule = self.schedule;
        let begins = |tap: u64| schedule.products != Products::Fours || schedule.fours.product(part, tap).is_some();
        run.meetings(column).filter(|meeting| begins(meeting.tap)).collect()
    }

    /// Adds the products of an operand in some columns to the sums of the pixels that use it.
    fn add_products(
        &self,
        b: &mut KernelBuilder,
        at: &Block,
        lanes: Lanes,
        (run, part): (&Run, u64),
        (met, kept): (&[Met], &Kept),
        sums: &mut [Value],
    ) {
        let schedule = self.schedule;
        for row in (0..at.rows).filter(|&row| schedule.needs(row, part)) {
            for tap in 0..run.window {
                let met = met.iter().flat_map(|(x, met)| met.iter().map(move |meeting| (meeting, *x)));
                let met: Vec<(u64, Value)> = met.filter(|(meeting, _)| meeting.tap == tap).map(|(meeting, x)| (meeting.pixel, x)).collect();
                if met.is_empty() {
                    continue;
                }
                let w = self.weights_of(b, at, TapPart { row, tap, part }, (lanes, run), kept);
                for (p, x) in met {
                    let sum = &mut sums[(row * run.pixels + p) as usize];
                    *sum = b.dot(schedule.form.dot(), *sum, x, w);
                }
            }
        }
    }

    /// Loads an operand of a column in some lanes of a block: four bytes for each channel, or a pair.
    pub(in crate::schedule::contraction) fn operand(
        &self,
        b: &mut KernelBuilder,
        pairs: &[Value],
        ColumnPart { column, part }: ColumnPart,
        (at, run): (&Block, &Run),
        Lanes { first, count }: Lanes,
    ) -> Value {
        let (block, lanes) = (run.side_by_side * at.cut.width.lanes, run.side_by_side * count);
        let offset = |column: u64, first: u64| 2 * (column * self.schedule.work.geometry.channels + first) as i64;
        match self.schedule.products {
            Products::Pairs | Products::In16Bits => {
                let bytes = b.load(self.ring, pairs[part as usize], offset(column, first), 2 * lanes as u16);
                let op = if self.schedule.form.is_signed() { ConvertOp::SignExtend } else { ConvertOp::ZeroExtend };
                b.convert(op, bytes, Lane::I16)
            }
            Products::Fours => {
                let fours = self.schedule.fours;
                // The weights of columns after the window are zeros.
                let next = column + if fours.joins_columns(part) { run.dilation } else { 0 };
                let columns = [column, if next > run.last_column() { column } else { next }];
                // If a block is spread, any of its lanes come from all of its bytes.
                let spread = self.schedule.pairs.is_spread();
                let (from, of) = if spread { (0, block) } else { (first, lanes) };
                let [upper, lower] = [0, 1]
                    .map(|half| b.load(self.ring, pairs[fours.pairs_of(part)[half] as usize], offset(columns[half], from), 2 * of as u16));
                let order = if spread { orders::interleaved_of_spread_bytes } else { orders::interleaved };
                let all = b.shuffle(upper, lower, order(2 * of as u16));
                b.part(all, 4 * (first - from) as u16, 4 * lanes as u16)
            }
        }
    }

    /// Returns the weights of a row and a column of the window for an operand, in some lanes of a block.
    fn weights_of(&self, b: &mut KernelBuilder, at: &Block, place: TapPart, (lanes, run): (Lanes, &Run), kept: &Kept) -> Value {
        let (fours, TapPart { row, tap, part }) = (self.schedule.fours, place);
        let of_row = row * fours.products();
        match self.schedule.products {
            Products::Fours => {
                let product = of_row + fours.product(part, tap).unwrap_or(0);
                kept.get(product as usize).copied().unwrap_or_else(|| {
                    let one = self.stored(b, (at.weights, at.cut.width), StoredHalf { product, half: 0 }, lanes);
                    run.repeat(b, one)
                })
            }
            Products::In16Bits => self.weights_of_pair(b, at, place, lanes),
            Products::Pairs => {
                let (zero, (product, half)) = (b.index(0), fours.half(part, tap));
                b.load(self.weights, zero, self.place(at.cut, of_row + product, half) + 2 * lanes.first as i64, 2 * lanes.count as u16)
            }
        }
    }

    /// Returns the place of the weights of half a product, among a block's weights in 16 bits.
    fn place(&self, cut: Cut, product: u64, half: u64) -> i64 {
        ((2 * product + half) * 2 * cut.width.lanes) as i64
    }

    /// Loads the stored weights of a product in some lanes, or half of them in 16 bits. `first` is where the block, or one of its products,
    /// begins.
    pub(in crate::schedule::contraction) fn stored(
        &self,
        b: &mut KernelBuilder,
        (first, width): (Value, Width),
        StoredHalf { product, half }: StoredHalf,
        Lanes { first: from, count: lanes }: Lanes,
    ) -> Value {
        let (panels, form) = (&self.schedule.panels, self.schedule.form);
        let part = lanes.min(width.strip);
        let count = (part * FOUR / form.products()) as u16;
        let load = |b: &mut KernelBuilder, lane: u64| {
            panels.load(b, (form, half), self.stored, (first, panels.place(width, product * FOUR, lane)), ActiveLanes::all(count))
        };
        let strips: Vec<Value> = (from..from + lanes).step_by(part as usize).map(|lane| load(b, lane)).collect();
        join(b, &strips)
    }

    /// Widens the weights of a block to 16 bits, once for a row of tiles. A loop costs little time there; unrolled, it would be a large part of
    /// the kernel.
    pub(in crate::schedule::contraction) fn widen(&self, b: &mut KernelBuilder, at: &Block) {
        let (schedule, width) = (self.schedule, at.cut.width);
        let products = at.rows * schedule.fours.products();
        let step = schedule.panels.place(width, FOUR, 0);
        let widen = |b: &mut KernelBuilder, product: Value| {
            let from = b.scale_index(product, step, 0);
            let from = b.add(from, at.weights);
            let to = b.scale_index(product, self.place(at.cut, 1, 0), 0);
            for half in 0..2 {
                let mut value = self.stored(b, (from, width), StoredHalf { product: 0, half }, Lanes { first: 0, count: width.lanes });
                if let Some(by) = schedule.panels.moved_by() {
                    let by = b.int(Type::vector(Lane::I16, 2 * width.lanes as u16), by);
                    value = b.add(value, by);
                }
                b.store(self.weights, to, self.place(at.cut, 0, half), value);
            }
        };
        // An array that rounds fill in order belongs to what is around their loop.
        b.rounds(false, |b| b.for_range(0, products as i64, 1, widen));
    }
}
