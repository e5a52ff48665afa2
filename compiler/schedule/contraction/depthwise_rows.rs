//! Depthwise convolution of bytes with windows of several rows. Rows are staged in pairs ([`RowPairs`]), so that the bytes of two window rows
//! are adjacent for every channel. At stride one, two output rows are computed together and share the loads of pairs. Products take four bytes
//! of a channel ([`Fours`]), or two rows as 16 bits. Each of the two output rows has its own weights, with zeros for the rows that it does not
//! use. All machines read the same weights.
//!
//! Weights that are [moved](crate::schedule::contraction::operands::moved) to the range of bytes are moved together with these zeros. So the correction of a pixel's sum is a
//! constant times the sum of all rows of its columns, including unused rows. It takes one more product for each column, which all pixels and
//! rows with that column share. For products of 16 bits, weights are moved back.

use crate::kernel::{BinaryOp, Buffer, BufferKind, CompareOp, KernelBuilder, Lane, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::needs;
use crate::schedule::contraction::geometry::windows::Geometry;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::paired_products::Products;
use crate::schedule::contraction::operands::panels::cuts::{Cut, Cuts, Width};
use crate::schedule::contraction::operands::panels::strips::Strips;
use crate::schedule::contraction::operands::panels::{Extents, Panels};
use crate::schedule::contraction::rows::fours::Fours;
use crate::schedule::contraction::rows::row_pairs::{RowPairs, Rows};
use crate::schedule::contraction::table::depthwise::{BESIDE_WEIGHTS, MOST_PAIRED_ROWS, paired};
use crate::schedule::contraction::tiles::loops::hoisted::hoisted_for;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::Hoisted;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops;
use crate::schedule::pair::Pair;
use crate::schedule::quantity::Number;
use crate::schedule::route::Route;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;
use std::ops::Range;

/// Bytes that a product takes.
pub(super) const FOUR: u64 = 4;

/// Schedule of a depthwise contraction of bytes.
pub struct DepthwiseRows<'a> {
    pub cx: Context<'a>,
    pub work: Contraction,
    /// Element-wise work on the sums.
    element_wise: ElementWise<'a>,
    pub products: Products,
    /// Form of the products' operands.
    pub(super) form: Form,
    pub pairs: RowPairs,
    /// Products of an output row.
    pub fours: Fours,
    /// Number of output rows that are computed together.
    pub(super) together: u64,
    /// Weights: a panel has all taps of a block of channels, for each of the rows that are computed together.
    pub panels: Panels,
    /// Division of the channels into blocks.
    cuts: Cuts,
}

/// Returns the number of output rows that are computed together: two if they need the same pairs.
fn together(geometry: &Geometry) -> u64 {
    if geometry.strides[0] == 1 && geometry.output_size[0] > 1 { 2 } else { 1 }
}

/// Tests whether this schedule computes a contraction on all machines that read its weights. Its groups have one input channel.
pub fn takes(cx: &Context<'_>, work: &Contraction) -> bool {
    let geometry = &work.geometry;
    let together = together(geometry);
    let begins_a_pair = together == 2 || geometry.strides[0].is_multiple_of(2) || geometry.output_size[0] == 1;
    let fits = work.weights.fit_signed_byte(work.open) || work.weights.moved_to_signed_byte(work.open).is_some();
    let is_of_bytes = work.element.bits() == 8 && work.weights.are_whole_bytes() && fits;
    cx.goal == Goal::Speed
        && cx.uses(Technique::RowPairs)
        && cx.levels.iter().chain([&cx.machine]).all(|machine| Products::on(machine).is_some())
        && is_of_bytes
        && !work.open
        && geometry.outputs == geometry.channels
        && geometry.sizes.is_none()
        && geometry.phases[1].dilation == 1
        && begins_a_pair
        && (2..=MOST_PAIRED_ROWS + 1 - together).contains(&geometry.window[0])
}

impl<'a> DepthwiseRows<'a> {
    /// Makes the schedule of a contraction for which [`takes`] is true.
    ///
    /// # Errors
    /// [`Unsupported`] if the epilogue has no lowering.
    pub fn new(cx: Context<'a>, work: Contraction) -> Result<Self, Unsupported> {
        let element_wise = ElementWise::with_epilogue(cx, &work.epilogue, &work.sum_ranges())?;
        let products = match Products::on(cx.machine).ok_or(Unsupported::ByteProducts)? {
            // The correction of moved weights is a sum of products of four.
            Products::In16Bits if !work.weights.fit_signed_byte(work.open) => Products::Fours,
            products => products,
        };
        let form = products.form(&cx);
        let geometry = &work.geometry;
        let (together, lanes) = (together(geometry), u64::from(cx.machine.lanes(2)));
        let strips = Strips::new(geometry.outputs, cx.strip(lanes, &work.weights));
        let cuts = Cuts::new(&strips, lanes, false);
        let fours = Fours { pairs: (geometry.window[0] + together - 1).div_ceil(2), columns: geometry.window[1] };
        let mut pairs = RowPairs::new(cx.machine, (&work, form), fours.pairs, lanes);
        // Some instructions interleave within less than a vector. If every block of channels is a whole vector, bytes are reordered once, when
        // they are staged.
        let crosses = cx.machine.vector_bytes() > cx.machine.interleaved_bytes;
        if products == Products::Fours && crosses && cx.uses(Technique::Spread) && geometry.outputs.is_multiple_of(lanes) {
            pairs = pairs.spread(lanes);
        }
        let taps = taps(geometry, fours, together);
        let (filter_taps, segment_taps) = (geometry.per_output(), taps.len() as u64);
        let extents = Extents { strips, groups: 1, per_tap: 1, filter_taps, taps, segment_taps, step: FOUR };
        let panels = Panels::new(&work.weights, form, extents, cx.machine, false).moved_everywhere();
        Ok(Self { cx, work, element_wise, products, form, pairs, fours, together, panels, cuts })
    }

    /// Returns the number of pixels of a row that are computed together. There are as many as registers for sums, adjusted so that the last tile is
    /// not much smaller.
    fn pixels(&self) -> u64 {
        let most = match self.products {
            Products::Fours => self.most_pixels() * self.side_by_side(),
            Products::In16Bits => self.pixels_in_16_bits(),
            Products::Pairs => self.most_pixels(),
        };
        let width = self.work.geometry.output_size[1].max(1);
        // The rest of a number that is not a multiple would be computed pixel by pixel.
        width.div_ceil(width.div_ceil(most)).next_multiple_of(self.side_by_side()).min(width)
    }

    /// Returns the maximum number of pixels of a row that are computed together, if registers hold them and each has vectors of its own.
    pub(super) fn most_pixels(&self) -> u64 {
        let [alone, of_two] = paired(self.cx.machine, self.products).pixels;
        if self.together == 1 { alone } else { of_two }
    }

    /// Returns the number of neighbouring pixels whose sums share a vector. It is above 1 if all channels together are shorter than a vector.
    pub(super) fn side_by_side(&self) -> u64 {
        let geometry = &self.work.geometry;
        let is_one = self.cuts.widths().iter().all(|width| width.lanes == geometry.outputs);
        let lanes = u64::from(self.cx.machine.lanes(4));
        if self.products == Products::Fours && geometry.strides[1] == 1 && is_one { (lanes / geometry.outputs).max(1) } else { 1 }
    }

    /// Returns the number of a block's lanes whose sums are computed before the next ones. It is a vector, so that registers hold its weights.
    /// For bytes of four rows it may be the whole block: if registers have room, or if columns cannot be assembled vector by vector.
    pub(super) fn lanes_together(&self, width: Width, rows: u64) -> u64 {
        let (vectors, lanes) = width.vectors(self.cx.machine.lanes(4).into());
        match self.products {
            Products::In16Bits => width.lanes,
            Products::Fours if !self.pairs.is_spread() || self.keeps_weights(rows, self.pixels(), vectors) => width.lanes,
            _ => lanes,
        }
    }

    /// Tests whether registers can hold the weights of some rows and vectors. Beside them are the sums of some pixels, their initial values,
    /// and the operands of a column.
    pub(super) fn keeps_weights(&self, rows: u64, pixels: u64, vectors: u64) -> bool {
        let (sums, weights) = (rows * pixels * vectors, rows * self.fours.products() * vectors);
        let lacking = if self.panels.moved_by().is_some() { self.work.geometry.window[1] * vectors } else { 0 };
        self.products == Products::Fours && sums + weights + lacking + BESIDE_WEIGHTS * vectors <= self.cx.machine.registers.count().into()
    }

    /// Returns the number of neighbouring pixels whose results are narrowed together, to fill a vector.
    pub(super) fn neighbours(&self, element_wise: &ElementWise<'_>, width: Width) -> u64 {
        let most = 1 << self.pixels().ilog2();
        if self.products == Products::Pairs { 1 } else { element_wise.neighbours(self.cx.machine, width.lanes).min(most) }
    }

    /// Returns the number of operands that products have in a column.
    pub(super) fn operands(&self) -> u64 {
        if self.products == Products::Fours { self.fours.operands() } else { self.fours.pairs }
    }

    /// Tests whether the columns of a tile stay in registers while all weights are applied, beside the sums, a weight and its product. For
    /// bytes of four rows, this requires products that read no weights from memory and that add directly to their sums.
    pub(super) fn keeps(&self, sums: usize, columns: usize, vectors: usize) -> bool {
        let machine = self.cx.machine;
        let (held, registers) = (vectors * (sums + columns + 1), usize::from(machine.registers.count()));
        match self.products {
            Products::Pairs | Products::In16Bits => held < registers,
            Products::Fours => machine.by_element && machine.byte_fours && self.panels.moved_by().is_none() && held <= registers,
        }
    }

    /// Tests whether a product of one of the rows computed together reads an operand. Moved weights have no zeros that could be left out.
    pub(super) fn needs(&self, row: u64, operand: u64) -> bool {
        let mut rows = match self.products {
            Products::Pairs | Products::In16Bits => 2 * operand..2 * operand + 2,
            Products::Fours if self.panels.moved_by().is_some() => return true,
            Products::Fours => 4 * operand..4 * operand + if self.fours.joins_columns(operand) { 2 } else { 4 },
        };
        rows.any(|reached| reached.checked_sub(row).is_some_and(|tap| tap < self.work.geometry.window[0]))
    }

    /// Returns the number of elements of a widened panel for products of 16 bits: the pairs of each row and column.
    fn widened(&self, width: Width) -> u64 {
        self.together * self.fours.products() * FOUR * width.lanes
    }
}

/// Returns the taps of a panel: for each row computed together, the taps of each product. A place without a tap has the number after the
/// filter's last one.
fn taps(geometry: &Geometry, fours: Fours, together: u64) -> Vec<u64> {
    let [rows, columns] = geometry.window;
    let tap = |row: u64, (reached, column): (u64, u64)| match reached.checked_sub(row) {
        Some(y) if y < rows && column < columns => y * columns + column,
        _ => rows * columns,
    };
    let of_row = |row: u64| (0..fours.products()).flat_map(move |product| fours.places(product).map(|place| tap(row, place)));
    (0..together).flat_map(of_row).collect()
}

impl Schedule for DepthwiseRows<'_> {
    fn requirements(&self) -> Requirements {
        let needs = needs::requirements_of(self.cx, (&self.work, &self.element_wise), vec![self.pairs.ring_bytes()], true);
        needs.dividing(|shared| needs::divided_rows(&self.cx, &self.work, shared))
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let work = &self.work;
        let geometry = &work.geometry;
        let [rows, columns] = geometry.window;
        let mut b = KernelBuilder::new(format!("depthwise_{rows}x{columns}_{}", work.element.name()));
        let range = needs::divided_rows(&self.cx, work, shared).map(|rounds| b.divide_all(rounds));
        let mut arguments = Arguments::default();
        let (input, stored) = needs::declare(&self.cx, &mut b, &mut arguments, work, std::iter::once(&self.panels), shared)?;
        let mut element_wise = self.element_wise.clone();
        let taps: Vec<u64> = (0..geometry.per_output()).collect();
        let channels = self.panels.extents.strips.total();
        let channels = (0..channels).map(|c| (c < geometry.outputs).then_some(c));
        let sums = work.initial_sums(work.border(self.form), element_wise.offsets(), &taps, channels);
        let initial = arguments.data(&mut b, "initial", sums.into(), Lane::I32, 64);
        let ring = arguments.scratch(&mut b, "ring", 0, Lane::I8, self.pairs.ring_bytes());
        let widest = self.cuts.widths().into_iter().map(|width| self.widened(width)).max().unwrap_or(0);
        let weights = match self.products {
            Products::Fours | Products::In16Bits => stored.elements,
            Products::Pairs => b.buffer("panel", BufferKind::Local, Lane::I16, widest, 64),
        };
        element_wise.declare(&mut b, &mut arguments, shared)?;
        let lanes = self.cuts.widths().into_iter().flat_map(|width| {
            let most = self.neighbours(&element_wise, width);
            (0..=most.ilog2()).map(move |doubled| width.lanes << doubled)
        });
        let hoisted = hoisted_for(&mut b, &element_wise, lanes);
        b.rounds(true, |b| self.pairs.prepare(b, work, ring));
        let lowering = Lowering { schedule: self, input, ring, stored: stored.elements, weights, initial, element_wise, hoisted, range };
        lowering.images(&mut b)?;
        let products = match self.products {
            Products::Fours => "bytes in fours",
            Products::Pairs => "16-bit pairs",
            Products::In16Bits => "bytes added in 16 bits",
        };
        let (rows, pixels, cuts) = (self.together, self.pixels(), &self.cuts);
        let description = format!("depthwise, products of {products}, {rows}x{pixels} pixels x {cuts} channels at a time, paired rows");
        Ok(vec![Lowered { multiply_accumulates: geometry.multiply_accumulates(), ..Lowered::new(b.finish(), arguments, description) }])
    }
}

pub(super) struct Lowering<'a> {
    pub schedule: &'a DepthwiseRows<'a>,
    pub input: Buffer,
    pub ring: Buffer,
    /// Stored weights, and the weights that products read: the stored ones, or those of a block in 16 bits.
    pub stored: Buffer,
    pub weights: Buffer,
    pub initial: Buffer,
    pub element_wise: ElementWise<'a>,
    /// Values loaded before the loops, for each number of lanes in a block.
    pub hoisted: Vec<(u64, Vec<Option<Hoisted>>)>,
    /// First output row and the row after the last, if they are parameters.
    pub range: Option<(Value, Value)>,
}

/// Values that the pixels of some output rows share in a block of channels.
pub(super) struct Block {
    /// First byte of each pair.
    pub pairs: Vec<Value>,
    /// First element in the stored panels.
    pub weights: Value,
    /// Channels of the block.
    pub cut: Cut,
    /// Number of output rows.
    pub rows: u64,
}

impl Lowering<'_> {
    fn images(&self, b: &mut KernelBuilder) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let work = &schedule.work;
        let geometry = &work.geometry;
        let plane = geometry.input_size[0] * geometry.input_size[1] * geometry.channels;
        loops::for_range(b, 0..geometry.batch as i64, 1, |b, image| {
            let first = b.scale_index(image, plane as i64, 0);
            let zero = b.index(0);
            let (start, end) = self.range.unwrap_or_else(|| (zero, b.index(geometry.output_size[0] as i64)));
            let origin = b.scale_index(start, geometry.strides[0] as i64, 0);
            let groups = self.groups(b, start..end);
            let mut outcome = Ok(());
            b.for_carry(zero, groups, 1, &[zero], |b, group, staged| {
                let top = b.scale_index(group, (schedule.together * geometry.strides[0] / 2) as i64, 0);
                let next = b.scale_index(top, 1, schedule.pairs.count as i64);
                let unstaged = b.binary(BinaryOp::SignedMax, staged[0], top);
                let (buffers, rows) = (Route { from: self.input, to: self.ring }, Rows { image: first, origin });
                schedule.pairs.copy_pairs(b, work, buffers, rows, unstaged..next);
                let slot = |b: &mut KernelBuilder, k: i64| {
                    let pair = b.scale_index(top, 1, k);
                    schedule.pairs.slot(b, pair)
                };
                let pairs: Vec<Value> = (0..schedule.pairs.count as i64).map(|k| slot(b, k)).collect();
                let row = b.scale_index(group, schedule.together as i64, 0);
                let row = b.add(row, start);
                outcome = self.group(b, &pairs, image, row..end);
                vec![next]
            });
            outcome
        })
    }

    /// Returns the number of groups of output rows in a range.
    fn groups(&self, b: &mut KernelBuilder, Range { start, end }: Range<Value>) -> Value {
        let (schedule, work) = (self.schedule, &self.schedule.work);
        match (self.range, schedule.together) {
            (None, together) => b.index(work.geometry.output_size[0].div_ceil(together) as i64),
            (Some(_), 1) => b.sub(end, start),
            (Some(_), _) => {
                let rows = b.sub(end, start);
                let rows = b.scale_index(rows, 1, 1);
                b.shift(BinaryOp::ShiftRightSigned, rows, 1)
            }
        }
    }

    /// Computes a group of output rows: the first of `rows`. The last row may be alone.
    fn group(&self, b: &mut KernelBuilder, pairs: &[Value], image: Value, rows: Range<Value>) -> Result<(), Unsupported> {
        let (schedule, row) = (self.schedule, rows.start);
        let height = schedule.work.geometry.output_size[0];
        if schedule.together == 1 || self.range.is_none() && height.is_multiple_of(schedule.together) {
            let pixel = self.first_pixel(b, image, row);
            return self.rows(b, pairs, pixel, schedule.together);
        }
        let next = b.scale_index(row, 1, 1);
        let is_last = b.compare(CompareOp::Equal, next, rows.end);
        let (mut alone, mut others) = (Ok(()), Ok(()));
        b.if_else(
            is_last,
            |b| {
                let pixel = self.first_pixel(b, image, row);
                alone = self.rows(b, pairs, pixel, 1);
                vec![]
            },
            |b| {
                let row = self.before_last(b, rows);
                let pixel = self.first_pixel(b, image, row);
                others = self.rows(b, pairs, pixel, schedule.together);
                vec![]
            },
        );
        alone.and(others)
    }

    /// Returns the first of some rows, which is not the last one before their end. The minimum with `end − 2` does not change it, but shows that the next row is in
    /// the range, too.
    fn before_last(&self, b: &mut KernelBuilder, Range { start: row, end }: Range<Value>) -> Value {
        if self.range.is_none() || !self.schedule.cx.sharing.is_for_threads() {
            return row;
        }
        let most = b.scale_index(end, 1, -2);
        b.binary(BinaryOp::SignedMin, row, most)
    }

    /// Returns the number of the first pixel of an output row.
    fn first_pixel(&self, b: &mut KernelBuilder, image: Value, row: Value) -> Value {
        let [height, width] = self.schedule.work.geometry.output_size;
        let pixel = b.scale_index(image, height as i64, 0);
        let pixel = b.add(pixel, row);
        b.scale_index(pixel, width as i64, 0)
    }

    fn rows(&self, b: &mut KernelBuilder, pairs: &[Value], first_pixel: Value, rows: u64) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let row = |b: &mut KernelBuilder, cut: Cut| {
            let (lane, element) = schedule.panels.start(b, cut);
            let strips = b.scale_index(lane, schedule.panels.in_buffer(schedule.panels.lane_elements()), 0);
            let weights = b.add(strips, element);
            let channel = b.scale_index(cut.first, 2, 0);
            let pairs = pairs.iter().map(|&pair| b.add(pair, channel)).collect();
            let block = Block { pairs, weights, cut, rows };
            if schedule.products == Products::Pairs {
                self.widen(b, &block);
            }
            let width = Number::Known(schedule.work.geometry.output_size[1] as i64);
            b.rounds(true, |b| width.tiles(b, schedule.pixels(), |b, x, pixels| self.tile(b, &block, first_pixel, x, pixels)))
        };
        // Blocks of channels widen their weights in the same array.
        b.rounds(schedule.products != Products::Pairs, |b| schedule.cuts.for_each(b, row))
    }
}
