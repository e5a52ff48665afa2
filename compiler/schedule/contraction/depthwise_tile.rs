//! The tiles of a depthwise convolution of bytes in paired rows: some pixels of the rows that are computed together, in a block of channels.

use super::cuts::{Cut, Width};
use super::depthwise_rows::{Block, DepthwiseRows, Lowering, Products, ROWS};
use super::tile::join;
use crate::ir::ElementType;
use crate::kernel::{ConvertOp, DotOp, KernelBuilder, Lane, Type, Value, orders};
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::unsupported::Unsupported;
use rustc_hash::FxHashMap;

/// What is loaded before the epilogues of a tile.
type Channels = Vec<Option<Hoisted>>;

/// Sums that begin with one load where products are added in place.
const BEGUN_ALIKE: usize = 2;

impl Products {
    fn dot(self) -> DotOp {
        match self {
            Self::Fours => DotOp::UnsignedSigned8,
            Self::Pairs => DotOp::Signed16,
        }
    }
}

/// The vectors of sums of a row of a tile.
struct Run {
    /// Their number.
    pixels: u64,
    /// Columns from one to the next.
    stride: u64,
    /// Pixels that each of them has.
    side_by_side: u64,
}

impl Run {
    /// What is the same for all pixels of a vector.
    fn repeat(&self, b: &mut KernelBuilder, one: Value) -> Value {
        join(b, &vec![one; self.side_by_side as usize])
    }
}

/// What the sums of each pixel of a tile lack where products take moved weights.
struct Lacking {
    by: i64,
    pixels: Vec<Option<Value>>,
}

impl Lacking {
    fn of(schedule: &DepthwiseRows<'_>, pixels: u64) -> Option<Self> {
        let by = schedule.panels.moved_by().filter(|_| schedule.products == Products::Fours)?;
        Some(Self { by, pixels: vec![None; pixels as usize] })
    }

    /// What pixels lack of a column that they meet. It is one product for all of them, and one addition for each.
    fn meet(&mut self, b: &mut KernelBuilder, x: Value, met: &[(u64, u64)]) {
        let ty = b.ty(x);
        let (none, by) = (b.int(Type::vector(Lane::I32, ty.lanes / 4), 0), b.int(ty, self.by));
        let column = b.dot(DotOp::UnsignedSigned8, none, x, by);
        for &(p, _) in met {
            let pixel = &mut self.pixels[p as usize];
            *pixel = Some(pixel.map_or(column, |before| b.add(before, column)));
        }
    }

    /// Adds what the pixels lack to the sums of all rows.
    fn complete(&self, b: &mut KernelBuilder, sums: &mut [Value]) {
        for (sum, lacks) in sums.iter_mut().zip(self.pixels.iter().cycle()) {
            *sum = lacks.map_or(*sum, |lacks| b.add(*sum, lacks));
        }
    }
}

impl Lowering<'_> {
    /// Some pixels of the rows from `x` on.
    pub(super) fn tile(&self, b: &mut KernelBuilder, block: &Block, first_pixel: Value, x: Value, pixels: u64) -> Result<(), Unsupported> {
        let work = &self.schedule.work;
        let offset = b.scale_index(x, (2 * work.strides[1] * work.channels) as i64, 0);
        let pairs: Vec<Value> = block.pairs.iter().map(|&pair| b.add(pair, offset)).collect();
        let counts = self.counts(&block.cut, pixels);
        let side_by_side = self.schedule.side_by_side();
        let side_by_side = if counts.iter().all(|count| count.is_multiple_of(side_by_side)) { side_by_side } else { 1 };
        let sums = self.sums(b, &pairs, block, (pixels, side_by_side));
        let first = b.add(first_pixel, x);
        // Loaded once for all pixels, they take a few registers.
        let mut of_channels: FxHashMap<u64, Channels> = FxHashMap::default();
        for &count in &counts {
            of_channels.entry(count).or_insert_with(|| self.of_channels(b, &block.cut, count));
        }
        for (row, sums) in sums.chunks((pixels / side_by_side) as usize).enumerate() {
            let pixel = b.scale_index(first, 1, (row as u64 * work.output_size[1]) as i64);
            let base = b.scale_index(pixel, work.outputs as i64, 0);
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

    /// How many pixels of a row of a tile come together, one number after the other.
    fn counts(&self, cut: &Cut, pixels: u64) -> Vec<u64> {
        let whole = cut.active == cut.width.lanes;
        let most = if whole { self.schedule.neighbours(&self.element_wise, cut.width) } else { 1 };
        let mut counts = vec![most; (pixels / most) as usize];
        counts.extend((0..most.ilog2()).rev().map(|bit| 1 << bit).filter(|count| pixels & count != 0));
        counts
    }

    /// What is the same for all pixels, in the lanes of some neighbours.
    fn of_channels(&self, b: &mut KernelBuilder, cut: &Cut, count: u64) -> Channels {
        let lanes = cut.width.lanes;
        let hoisted = self.hoisted.iter().find(|(width, _)| *width == lanes * count).map_or(&[][..], |(_, hoisted)| hoisted);
        if count > 1 {
            return self.element_wise.repeat_channels(b, (cut.first, lanes as u16), count as u16, hoisted);
        }
        match self.schedule.products {
            Products::Fours => self.element_wise.hoist_channels(b, cut.first, hoisted, (lanes as u16, (cut.active as u16).into())),
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
            _ => self.element_wise.emit_apart(b, place, &sums, of_channels, (lanes, count as u16)),
        }
    }

    /// The sums of the pixels of a tile, row by row: a vector for each, or for some that lie side by side.
    fn sums(&self, b: &mut KernelBuilder, pairs: &[Value], at: &Block, (pixels, side_by_side): (u64, u64)) -> Vec<Value> {
        let lanes = self.schedule.lanes_at_once(at.cut.width, at.rows);
        let run = Run { pixels: pixels / side_by_side, stride: self.schedule.work.strides[1] * side_by_side, side_by_side };
        let parts: Vec<Vec<Value>> =
            (0..at.cut.width.lanes).step_by(lanes as usize).map(|first| self.sums_of(b, pairs, at, (first, lanes), &run)).collect();
        (0..(at.rows * run.pixels) as usize).map(|sum| join(b, &parts.iter().map(|part| part[sum]).collect::<Vec<_>>())).collect()
    }

    /// The same in some lanes of the block. What lies in the columns stays in registers while each weight meets all pixels; else each
    /// column meets its weights for itself.
    fn sums_of(&self, b: &mut KernelBuilder, pairs: &[Value], at: &Block, lanes: (u64, u64), run: &Run) -> Vec<Value> {
        let (schedule, pixels, stride) = (self.schedule, run.pixels, run.stride);
        let (window, dilation) = (schedule.work.window[1], schedule.work.phases[2].dilation);
        let begin = |b: &mut KernelBuilder| {
            let one = b.load(self.initial, at.cut.first, lanes.0 as i64, lanes.1 as u16);
            run.repeat(b, one)
        };
        let count = (at.rows * pixels) as usize;
        // Some sums begin with a copy and some with a load: an instruction each, for different units.
        let alike = if schedule.products == Products::Fours { BEGUN_ALIKE } else { count };
        let mut sums: Vec<Value> = (0..count.div_ceil(alike)).flat_map(|_| vec![begin(b); alike]).take(count).collect();
        let vectors = lanes.1.div_ceil(schedule.cx.machine.lanes(4).into());
        let kept: Vec<Value> = if schedule.keeps_weights(at.rows, pixels, vectors) {
            (0..at.rows)
                .flat_map(|row| (0..window).map(move |tap| (row, tap, 0)))
                .map(|place| {
                    let one = self.weights_of(b, at, place, lanes);
                    run.repeat(b, one)
                })
                .collect()
        } else {
            vec![]
        };
        let meetings = |column: &u64| -> Vec<(u64, u64)> {
            let meets = |&(p, tap): &(u64, u64)| p * stride + tap * dilation == *column;
            (0..window).flat_map(|tap| (0..pixels).map(move |p| (p, tap))).filter(meets).collect()
        };
        let columns: Vec<u64> =
            (0..(pixels - 1) * stride + (window - 1) * dilation + 1).filter(|column| !meetings(column).is_empty()).collect();
        let mut lacking = Lacking::of(schedule, pixels);
        let step = if schedule.keeps(count, columns.len()) { columns.len() } else { 1 };
        for columns in columns.chunks(step) {
            for part in 0..schedule.operands() {
                let xs: Vec<Value> = columns
                    .iter()
                    .map(|&column| {
                        self.operand(b, pairs, (column, part), run.side_by_side * at.cut.width.lanes, (lanes.0, run.side_by_side * lanes.1))
                    })
                    .collect();
                if let Some(lacking) = &mut lacking {
                    columns.iter().zip(&xs).for_each(|(column, &x)| lacking.meet(b, x, &meetings(column)));
                }
                for row in (0..at.rows).filter(|&row| schedule.products == Products::Fours || schedule.needs(row, part)) {
                    for tap in 0..window {
                        let met =
                            columns.iter().zip(&xs).flat_map(|(column, &x)| meetings(column).into_iter().map(move |(p, t)| (p, t, x)));
                        let met: Vec<(u64, Value)> = met.filter(|&(_, t, _)| t == tap).map(|(p, _, x)| (p, x)).collect();
                        if met.is_empty() {
                            continue;
                        }
                        let w = kept.get((row * window + tap) as usize).copied();
                        let w = w.unwrap_or_else(|| {
                            let one = self.weights_of(b, at, (row, tap, part), lanes);
                            run.repeat(b, one)
                        });
                        for (p, x) in met {
                            let sum = &mut sums[(row * pixels + p) as usize];
                            *sum = b.dot(schedule.products.dot(), *sum, x, w);
                        }
                    }
                }
            }
        }
        if let Some(lacking) = lacking {
            lacking.complete(b, &mut sums);
        }
        sums
    }

    /// What lies in a column in some lanes of a block, as products take it: all rows, or a pair.
    fn operand(&self, b: &mut KernelBuilder, pairs: &[Value], (column, part): (u64, u64), block: u64, (first, lanes): (u64, u64)) -> Value {
        let offset = |first: u64| 2 * (column * self.schedule.work.channels + first) as i64;
        match self.schedule.products {
            Products::Pairs => {
                let bytes = b.load(self.ring, pairs[part as usize], offset(first), 2 * lanes as u16);
                b.convert(ConvertOp::ZeroExtend, bytes, Lane::I16)
            }
            Products::Fours => {
                // Lanes of a block that is spread come from all of its bytes.
                let spread = self.schedule.pairs.is_spread();
                let (from, of) = if spread { (0, block) } else { (first, lanes) };
                let [upper, lower] = [0, 1].map(|pair: usize| {
                    // The weights of rows that no pair has are zeros.
                    let pair = pairs.get(pair).unwrap_or(&pairs[0]);
                    b.load(self.ring, *pair, offset(from), 2 * of as u16)
                });
                let order = if spread { orders::interleaved_of_spread_bytes } else { orders::interleaved };
                let all = b.shuffle(upper, lower, order(2 * of as u16));
                b.part(all, 4 * (first - from) as u16, 4 * lanes as u16)
            }
        }
    }

    /// The weights of a row and a column of the window in some lanes of a block: of all rows of the pairs, or of one pair.
    fn weights_of(&self, b: &mut KernelBuilder, at: &Block, (row, tap, pair): (u64, u64, u64), (first, lanes): (u64, u64)) -> Value {
        let column = row * self.schedule.work.window[1] + tap;
        match self.schedule.products {
            Products::Fours => self.stored(b, (at.weights, at.cut.width), (column, 0), (first, lanes)),
            Products::Pairs => {
                let zero = b.index(0);
                b.load(self.weights, zero, self.place(at.cut, column, pair) + 2 * first as i64, 2 * lanes as u16)
            }
        }
    }

    /// Where the weights of a pair are among those of a block in 16 bits.
    fn place(&self, cut: Cut, column: u64, pair: u64) -> i64 {
        ((column * self.schedule.pairs.count + pair) * 2 * cut.width.lanes) as i64
    }

    /// The stored weights of a column in some lanes, or of one pair of its rows in 16 bits, from where those of the block or of one of its
    /// columns begin.
    fn stored(
        &self,
        b: &mut KernelBuilder,
        (first, width): (Value, Width),
        (column, pair): (u64, u64),
        (from, lanes): (u64, u64),
    ) -> Value {
        let (panels, form) = (&self.schedule.panels, self.schedule.products.form());
        let part = lanes.min(width.strip);
        let count = (part * ROWS / form.products()) as u16;
        let load = |b: &mut KernelBuilder, lane: u64| {
            panels.load(b, (form, pair), self.stored, (first, panels.place(width, column * ROWS, lane)), (count, count))
        };
        let strips: Vec<Value> = (from..from + lanes).step_by(part as usize).map(|lane| load(b, lane)).collect();
        join(b, &strips)
    }

    /// Brings the weights of a block into 16 bits. It is done once for a row of tiles, so a loop costs nothing, and written out it would be a
    /// fourth of the kernel.
    pub(super) fn widen(&self, b: &mut KernelBuilder, at: &Block) {
        let (schedule, width) = (self.schedule, at.cut.width);
        let columns = at.rows * schedule.work.window[1];
        let step = schedule.panels.place(width, ROWS, 0);
        b.for_range(0, columns as i64, 1, |b, column| {
            let from = b.scale_index(column, step, 0);
            let from = b.add(from, at.weights);
            let to = b.scale_index(column, self.place(at.cut, 1, 0), 0);
            for pair in 0..schedule.pairs.count {
                let mut value = self.stored(b, (from, width), (0, pair), (0, width.lanes));
                if let Some(by) = schedule.panels.moved_by() {
                    let by = b.int(Type::vector(Lane::I16, 2 * width.lanes as u16), by);
                    value = b.add(value, by);
                }
                b.store(self.weights, to, self.place(at.cut, 0, pair), value);
            }
        });
    }
}
