//! Products of signed bytes or floats with constants of two or four bits, whose rows have a scale for each block.
//!
//! Weights stay narrow in memory, and become bytes or floats in registers. The products of a block are summed. The sum becomes a float, is
//! scaled, and is added to the total of the earlier blocks. Panels are the outermost loop, so that weights are read once for all rows.
//!
//! Four bytes are multiplied for each sum (see [`Products`]). Unsigned weights are too large by an excess: 8 for four bits, 2 for two bits. So
//! each sum is too large by the excess times the sum of the block's bytes. The correction is computed once for each row, and is the initial
//! value of the sums of its blocks.

use crate::ir::operators::{BlockMatmul, block_unit};
use crate::ir::{Accumulation, ElementType, Inst, Operation, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, ConvertOp, DotOp, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::machine::Machine;
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::contraction::fuses;
use crate::schedule::contraction::operands::panels::block_panels::{Encoding, Panels, Scale};
use crate::schedule::contraction::operands::panels::cuts::{Cut, Cuts};
use crate::schedule::contraction::operands::panels::strips::{COMMON, NARROWEST, Strips};
use crate::schedule::contraction::table::blocks;
use crate::schedule::contraction::table::tiles::Tile;
use crate::schedule::contraction::tiles::loops::hoisted::hoisted;
use crate::schedule::contraction::tiles::tile::join;
use crate::schedule::elementwise::epilogue::epilogue_of;
use crate::schedule::elementwise::lanes::widen;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::elementwise::sums::SumRanges;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::Number;
use crate::schedule::unsupported::Unsupported;

/// Elements of k whose products fit 16-bit sums: eight sums of a pair, each at most 2 · 15 · 128.
const IN_16_BITS: u64 = 32;

/// The instructions that multiply rows with weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Products {
    /// Unsigned weights and signed rows, four products to a 32-bit sum.
    Unsigned,
    /// Unsigned weights and signed rows, two products to a 16-bit sum. After some groups, two of these sums are added to a 32-bit sum.
    Pairs,
    /// Signed weights, scaled so that their sign bit is the sign bit of a byte.
    Signed,
    /// Floats.
    Floats,
}

impl Products {
    /// Returns the name for reports.
    fn words(self) -> &'static str {
        match self {
            Self::Unsigned => "bytes in fours",
            Self::Pairs => "bytes in pairs of 16 bits",
            Self::Signed => "signed bytes in fours",
            Self::Floats => "floats",
        }
    }

    fn on(machine: &Machine, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Floats => Self::Floats,
            Encoding::Signed => Self::Signed,
            Encoding::Unsigned if machine.byte_pairs => Self::Pairs,
            Encoding::Unsigned => Self::Unsigned,
        }
    }

    /// Returns the lane types of rows, and of the sums of a block.
    fn lanes(self) -> (Lane, Lane) {
        if self == Self::Floats { (Lane::F32, Lane::F32) } else { (Lane::I8, Lane::I32) }
    }

    /// Tests whether the sums begin with a correction for unsigned weights.
    fn begins_with_rows(self) -> bool {
        matches!(self, Self::Unsigned | Self::Pairs)
    }
}

/// Schedule of a `block_matmul`.
pub struct BlockSchedule<'a> {
    cx: Context<'a>,
    left: Tensor,
    rows: u64,
    panels: Panels<'a>,
    products: Products,
    tile: Tile,
    /// Element-wise work on the sums.
    element_wise: ElementWise<'a>,
}

impl<'a> BlockSchedule<'a> {
    /// Makes the schedule of a `block_matmul`.
    ///
    /// # Errors
    /// [`Unsupported`] if the weights are not constants, or the epilogue has no lowering.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::BlockMatmul(BlockMatmul { excess }) = *cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let [left, right, scales] = cx.function.insts[root].operands[..] else { return Err(cx.no_schedule(root)) };
        let shape = cx.shape(left)?;
        let rows = shape[..shape.len() - 1].iter().product();
        let constant = |value| cx.constant_data(value).ok_or(Unsupported::ComputedBlocks);
        let (weights, factors) = (constant(right)?, constant(scales)?);
        let (filter, blocks) = (cx.shape(right)?, cx.shape(scales)?[1]);
        let of_bytes = || Encoding::for_levels(cx.levels);
        let encoding = if cx.element(left) == ElementType::F32 { Encoding::Floats } else { of_bytes() };
        let stored = if cx.element(scales) == ElementType::Bf16 { Scale::Brain } else { Scale::Single };
        let element = cx.element(right);
        let panels = Panels { weights, element, excess, scales: factors, stored, units: filter[0], depth: filter[1], blocks, encoding };
        let products = Products::on(cx.machine, encoding);
        let element_wise = ElementWise::with_epilogue(cx, &epilogue_of(&cx), &SumRanges { all: None, channels: vec![] })?;
        Ok(Self { cx, left, rows, panels, products, tile: tile(&cx, rows, filter[0]), element_wise })
    }

    fn strips(&self) -> Strips {
        Strips::new(self.panels.units, COMMON)
    }

    fn cuts(&self) -> Cuts {
        Cuts::new(&self.strips(), self.tile.vectors * u64::from(self.cx.machine.lanes(4)), false)
    }

    fn multiply_accumulates(&self) -> u64 {
        self.rows.saturating_mul(self.panels.units).saturating_mul(self.panels.depth)
    }

    /// Returns the number of elements of k that are unrolled in the body of a loop.
    fn chunk(&self) -> u64 {
        let size = self.panels.size();
        if !self.cx.writes_out() || self.products == Products::Floats {
            return self.step();
        }
        [IN_16_BITS, IN_16_BITS / 2].into_iter().find(|&chunk| size.is_multiple_of(chunk)).unwrap_or(self.step())
    }

    /// Returns the number of blocks that a tile sums at the same time. A single row has few sums, and each waits for its last product. So it takes
    /// two blocks at a time, if products name elements and registers hold the sums of both.
    fn together(&self) -> u64 {
        let has_elements = self.products == Products::Signed && self.cx.machine.by_element && self.cx.machine.byte_fours;
        let is_one_row = self.rows == 1 && self.tile.vectors > 1 && self.panels.size() == self.chunk();
        if has_elements && is_one_row && self.cx.writes_out() { self.panels.blocks.min(2) } else { 1 }
    }

    /// Returns the smallest unit of loops along k. Every block is a multiple of it.
    fn step(&self) -> u64 {
        block_unit(self.panels.element)
    }

    /// Tests whether products are fused with their sums.
    fn fuses(&self) -> bool {
        fuses(self.cx.machine, Accumulation::of_products(self.multiply_accumulates()))
    }

    /// Returns the number of corrections, which are the initial values of block sums.
    fn row_sums(&self) -> u64 {
        if self.products.begins_with_rows() { self.rows * self.panels.blocks } else { 0 }
    }
}

/// Chooses a tile of rows × vectors.
fn tile(cx: &Context<'_>, rows: u64, units: u64) -> Tile {
    let largest = blocks::largest(cx, rows);
    let needed = units.max(NARROWEST).div_ceil(cx.machine.lanes(4).into()).next_power_of_two();
    Tile { pixels: rows.min(largest.pixels), vectors: needed.min(largest.vectors) }
}

impl BlockSchedule<'_> {
    /// Returns the number of panels, along which the kernel is divided, if `shared` pairs share memory. `None` if there is too little work, or if a range
    /// would read memory that another one writes.
    fn extent(&self, shared: &[Pair]) -> Option<u64> {
        let apart = shared.iter().all(|pair| pair.read != self.left);
        let panels = self.cuts().count();
        (apart && panels > 1 && self.cx.sharing.is_worth_long_ranges(self.multiply_accumulates())).then_some(panels)
    }
}

impl Schedule for BlockSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let mut may_share = self.element_wise.shareable();
        // All rows are read again for every panel.
        may_share.retain(|pair| pair.read != self.left);
        let sums = self.row_sums() * u64::from(Lane::I32.bytes());
        let scratch = (sums > 0).then_some(sums).into_iter().collect();
        Requirements { scratch, may_share, ..Requirements::default() }.dividing(|shared| self.extent(shared))
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut b = KernelBuilder::new(format!("matmul_{}", self.panels.element));
        b.independent(true);
        let range = self.extent(shared).map(|rounds| b.divide_all(rounds));
        let mut arguments = Arguments::default();
        let elements = Elements::new(self.products.lanes().0, self.cx.most_elements(self.left)?);
        let input = arguments.operand(&mut b, "input", self.left, elements, shared);
        let packed = self.cx.packed.in_blocks(&self.panels, &self.strips());
        let weights = arguments.data(&mut b, "weights", packed.weights, Lane::I8, 64);
        let scales = arguments.data(&mut b, "scales", packed.scales, packed.scale.lane(), 64);
        let row_sums = self.row_sums();
        let first = (row_sums > 0).then(|| arguments.scratch(&mut b, "first", 0, Lane::I32, row_sums));
        let mut element_wise = self.element_wise.clone();
        element_wise.declare(&mut b, &mut arguments, shared)?;
        let cuts = self.cuts();
        let hoisted = hoisted(&mut b, &element_wise, &cuts.widths());
        let lowering = Lowering { schedule: self, input, weights, scales, scale: packed.scale.element(), first, element_wise, hoisted };
        lowering.sums_of_rows(&mut b);
        match range {
            Some((first, end)) => cuts.for_range(&mut b, first..end, |b, cut| lowering.panel(b, cut))?,
            None => cuts.for_each(&mut b, |b, cut| lowering.panel(b, cut))?,
        }
        let (size, products, pixels) = (self.panels.size(), self.products.words(), self.tile.pixels);
        let description = format!("products of {products}, weights in blocks of {size}, {pixels} rows x {cuts} columns at a time");
        let multiply_accumulates = self.multiply_accumulates();
        Ok(vec![Lowered { multiply_accumulates, ..Lowered::new(b.finish(), arguments, description) }])
    }
}

struct Lowering<'a> {
    schedule: &'a BlockSchedule<'a>,
    input: Buffer,
    weights: Buffer,
    scales: Buffer,
    scale: ElementType,
    /// Initial values of the sums of each row's blocks.
    first: Option<Buffer>,
    element_wise: ElementWise<'a>,
    /// Values loaded before the loops, for each number of lanes in a panel.
    hoisted: Vec<(u64, Vec<Option<Hoisted>>)>,
}

/// A panel and some rows.
struct BlockPlace {
    cut: Cut,
    /// First lane of the panel's strips. `lane` is the panel's first lane relative to it.
    strip: Value,
    lane: Value,
    /// First row.
    row: Value,
    rows: u64,
}

impl Lowering<'_> {
    /// Computes the correction of each block of each row: minus the excess times the sum of the block's bytes.
    fn sums_of_rows(&self, b: &mut KernelBuilder) {
        let (Some(first), panels) = (self.first, &self.schedule.panels) else { return };
        let group = panels.encoding.group() as u16;
        let lanes = self.schedule.cx.machine.lanes(1).min(IN_16_BITS as u16).max(group);
        let lanes = if panels.size().is_multiple_of(lanes.into()) { lanes } else { self.schedule.step() as u16 };
        let ones = b.int(Type::vector(Lane::I8, lanes), 1);
        let excess = b.int(Type::scalar(Lane::I32), -panels.excess_of_bits());
        b.for_range(0, (self.schedule.rows * panels.blocks) as i64, 1, |b, block| {
            let start = b.scale_index(block, panels.size() as i64, 0);
            let zero = b.int(Type::vector(Lane::I32, lanes / group), 0);
            let (from, end) = (b.index(0), b.index(panels.size() as i64));
            let sums = b.for_carry(from, end, lanes.into(), &[zero], |b, k, sums| {
                let at = b.add(start, k);
                let bytes = b.load(self.input, at, 0, lanes);
                vec![b.dot(DotOp::UnsignedSigned8, sums[0], ones, bytes)]
            });
            let sum = b.horizontal(HorizontalOp::Add, sums[0]);
            let sum = b.mul(sum, excess);
            b.store(first, block, 0, sum);
        });
    }

    fn panel(&self, b: &mut KernelBuilder, cut: Cut) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let (strip, lane) = cut.start(b);
        Number::Known(schedule.rows as i64)
            .tiles(b, schedule.tile.pixels, |b, row, rows| self.tile(b, &BlockPlace { cut, strip, lane, row, rows }))
    }

    fn tile(&self, b: &mut KernelBuilder, at: &BlockPlace) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let (vectors, vector) = at.cut.width.vectors(schedule.cx.machine.lanes(4).into());
        let zero = b.float(Type::vector(Lane::F32, vector as u16), 0.0);
        let (blocks, together) = (schedule.panels.blocks, schedule.together());
        let whole = blocks / together * together;
        let mut totals = vec![zero; (at.rows * vectors) as usize];
        for (first, end, together) in [(0, whole, together), (whole, blocks, 1)] {
            let [first, end] = [first, end].map(|block| b.index(block as i64));
            totals = b.for_carry(first, end, together as i64, &totals, |b, block, totals| self.blocks(b, at, (block, together), totals));
            if whole == blocks {
                break;
            }
        }
        let base = b.scale_index(at.row, schedule.panels.units as i64, 0);
        let flat = b.add(base, at.cut.first);
        for (row, totals) in totals.chunks(vectors as usize).enumerate() {
            let whole = join(b, totals);
            let place = OutputPosition { pixel: at.row, pixel_offset: row as i64, channel: at.cut.first, channel_offset: 0, flat };
            let lanes = at.cut.width.lanes;
            let hoisted = self.hoisted.iter().find(|(width, _)| *width == lanes).map_or(&[][..], |(_, hoisted)| hoisted);
            self.element_wise.emit(b, &place, Some(whole), hoisted, lanes as u16, at.cut.active as u16)?;
        }
        Ok(())
    }

    /// Adds the products of consecutive blocks, each scaled, to the totals of the blocks before.
    fn blocks(&self, b: &mut KernelBuilder, at: &BlockPlace, (first, count): (Value, u64), totals: &[Value]) -> Vec<Value> {
        let numbers: Vec<Value> = (0..count as i64).map(|i| b.scale_index(first, 1, i)).collect();
        let sums = if count == 1 { vec![self.block(b, at, first)] } else { self.sums_of_blocks(b, at, &numbers) };
        numbers.iter().zip(&sums).fold(totals.to_vec(), |totals, (&block, sums)| self.scaled(b, at, block, sums, &totals))
    }

    /// Computes the sums of blocks that are one step of the loop each. Their products alternate.
    fn sums_of_blocks(&self, b: &mut KernelBuilder, at: &BlockPlace, blocks: &[Value]) -> Vec<Vec<Value>> {
        let start = |b: &mut KernelBuilder, block: Value| {
            let k = b.scale_index(block, self.schedule.panels.size() as i64, 0);
            (self.row(b, at, k), k)
        };
        let starts: Vec<(Value, Value)> = blocks.iter().map(|&block| start(b, block)).collect();
        let mut sums: Vec<Vec<Value>> = blocks.iter().map(|&block| self.first_sums(b, at, block)).collect();
        for step in self.steps() {
            for (&(row, k), sums) in starts.iter().zip(&mut sums) {
                self.step(b, at, row, (k, step), sums);
            }
        }
        sums
    }

    /// Scales the sums of a block, and adds them to the totals of the blocks before.
    fn scaled(&self, b: &mut KernelBuilder, at: &BlockPlace, block: Value, sums: &[Value], totals: &[Value]) -> Vec<Value> {
        let schedule = self.schedule;
        let (vectors, vector) = at.cut.width.vectors(schedule.cx.machine.lanes(4).into());
        let strip = at.cut.width.strip;
        let strips = b.scale_index(at.strip, schedule.panels.blocks as i64, 0);
        let strips = b.add(strips, at.lane);
        let skipped = b.scale_index(block, strip as i64, 0);
        let start = b.add(strips, skipped);
        let offset = |lane: u64| (lane / strip * strip * schedule.panels.blocks + lane % strip) as i64;
        // Half as many loads, where a register holds the scales of two vectors.
        let joined = if schedule.together() > 1 && at.cut.width.lanes <= strip { vectors } else { 1 };
        let scales: Vec<Value> = (0..vectors)
            .step_by(joined as usize)
            .flat_map(|v| {
                let raw = b.load(self.scales, start, offset(v * vector), (joined * vector) as u16);
                let wide = widen(b, raw, self.scale);
                let parts = (0..joined).map(|part| if joined > 1 { b.part(wide, (part * vector) as u16, vector as u16) } else { wide });
                parts.collect::<Vec<_>>()
            })
            .collect();
        let scales = (0..at.rows).flat_map(|_| scales.iter().copied());
        let added = sums.iter().zip(scales).zip(totals).map(|((&sum, scale), &total)| {
            let is_integer = schedule.products != Products::Floats;
            let float = if is_integer { b.convert(ConvertOp::SignedToFloat, sum, Lane::F32) } else { sum };
            self.added(b, total, float, scale)
        });
        added.collect()
    }

    /// Adds a product to a sum of floats.
    fn added(&self, b: &mut KernelBuilder, sum: Value, x: Value, y: Value) -> Value {
        if self.schedule.fuses() {
            return b.fma(x, y, sum);
        }
        let product = b.mul(x, y);
        b.add(sum, product)
    }

    /// Returns the initial value of a sum without a correction.
    fn nothing(&self, b: &mut KernelBuilder, lanes: u64) -> Value {
        match self.schedule.products.lanes().1 {
            Lane::F32 => b.float(Type::vector(Lane::F32, lanes as u16), 0.0),
            lane => b.int(Type::vector(lane, lanes as u16), 0),
        }
    }

    /// Returns the initial values of the sums of a block.
    fn first_sums(&self, b: &mut KernelBuilder, at: &BlockPlace, block: Value) -> Vec<Value> {
        let schedule = self.schedule;
        let (vectors, vector) = at.cut.width.vectors(schedule.cx.machine.lanes(4).into());
        let mut sums = Vec::new();
        for row in 0..at.rows {
            let first = match self.first {
                Some(first) => {
                    let number = b.scale_index(at.row, schedule.panels.blocks as i64, (row * schedule.panels.blocks) as i64);
                    let number = b.add(number, block);
                    b.load_splat(first, number, 0, vector as u16)
                }
                None => self.nothing(b, vector),
            };
            sums.resize(sums.len() + vectors as usize, first);
        }
        sums
    }

    /// Computes the sums of a block.
    fn block(&self, b: &mut KernelBuilder, at: &BlockPlace, block: Value) -> Vec<Value> {
        let schedule = self.schedule;
        let (size, chunk) = (schedule.panels.size(), schedule.chunk());
        let sums = self.first_sums(b, at, block);
        let start = b.scale_index(block, size as i64, 0);
        if size == chunk {
            return self.chunk(b, at, start, &sums);
        }
        let end = b.scale_index(start, 1, size as i64);
        b.for_carry(start, end, chunk as i64, &sums, |b, k, sums| self.chunk(b, at, k, sums))
    }

    /// Adds the products of some elements of k to the sums of their block.
    fn chunk(&self, b: &mut KernelBuilder, at: &BlockPlace, k: Value, sums: &[Value]) -> Vec<Value> {
        let schedule = self.schedule;
        let (_, vector) = at.cut.width.vectors(schedule.cx.machine.lanes(4).into());
        let in_pairs = schedule.products == Products::Pairs;
        let row = self.row(b, at, k);
        let zero = b.int(Type::vector(Lane::I16, 2 * vector as u16), 0);
        let mut products = if in_pairs { vec![zero; sums.len()] } else { sums.to_vec() };
        // A single sum would wait for itself. So the second half of each step gets a sum of its own. Short sums of floats keep their order
        // instead.
        let may_part = schedule.products != Products::Floats || schedule.fuses();
        let is_apart = !in_pairs && sums.len() == 1 && may_part;
        if is_apart {
            products.push(self.nothing(b, vector));
        }
        for step in self.steps() {
            self.step(b, at, row, (k, step), &mut products);
        }
        if is_apart {
            return vec![b.add(products[0], products[1])];
        }
        if !in_pairs {
            return products;
        }
        let ones = b.int(Type::vector(Lane::I16, 2 * vector as u16), 1);
        sums.iter().zip(products).map(|(&sum, pairs)| b.dot(DotOp::Signed16, sum, pairs, ones)).collect()
    }

    /// Returns the element of the first row at an element of k.
    fn row(&self, b: &mut KernelBuilder, at: &BlockPlace, k: Value) -> Value {
        let row = b.scale_index(at.row, self.schedule.panels.depth as i64, 0);
        b.add(row, k)
    }

    /// Returns the first elements of the groups of k in a chunk whose weights share bytes.
    fn steps(&self) -> impl Iterator<Item = u64> + use<> {
        let panels = &self.schedule.panels;
        (0..self.schedule.chunk()).step_by((panels.per_byte() * panels.encoding.group()) as usize)
    }

    /// Adds the products of groups of k that share bytes. If there is one sum more than the tile has, the groups of a single sum alternate between
    /// the two.
    fn step(&self, b: &mut KernelBuilder, at: &BlockPlace, row: Value, (k, step): (Value, u64), products: &mut [Value]) {
        let schedule = self.schedule;
        let (vectors, vector) = at.cut.width.vectors(schedule.cx.machine.lanes(4).into());
        let (group, per_byte) = (schedule.panels.encoding.group(), schedule.panels.per_byte());
        let is_apart = products.len() as u64 > at.rows * vectors;
        let weights: Vec<Vec<Value>> = (0..vectors).map(|v| self.weights(b, at, (k, step), v * vector)).collect();
        for (r, part) in (0..at.rows).flat_map(|r| (0..per_byte).map(move |part| (r, part))) {
            let offset = (r * schedule.panels.depth + step + part * group) as i64;
            let x = match schedule.products {
                Products::Floats => b.load_splat(self.input, row, offset, vector as u16),
                _ => b.load_splat_group(self.input, row, offset, group as u16, (vector * group) as u16),
            };
            for (v, weights) in weights.iter().enumerate() {
                let sum = &mut products[if is_apart { part as usize % 2 } else { (r * vectors) as usize + v }];
                let w = weights[part as usize];
                *sum = match schedule.products {
                    Products::Unsigned => b.dot(DotOp::UnsignedSigned8, *sum, w, x),
                    Products::Pairs => b.dot(DotOp::UnsignedSigned8To16, *sum, w, x),
                    Products::Signed => b.dot(DotOp::Signed8, *sum, w, x),
                    Products::Floats => self.added(b, *sum, w, x),
                };
            }
        }
    }

    /// Loads the weights of all groups of k that share bytes, from a lane of the panel on, in the form that products take.
    fn weights(&self, b: &mut KernelBuilder, at: &BlockPlace, (k, step): (Value, u64), lane: u64) -> Vec<Value> {
        let (panels, strip) = (&self.schedule.panels, at.cut.width.strip);
        let group = panels.encoding.group();
        let (_, vector) = at.cut.width.vectors(self.schedule.cx.machine.lanes(4).into());
        // Elements are smaller than a byte, so a lane has fewer bytes of a strip than elements.
        let per_byte = panels.per_byte();
        let strips = b.scale_index(at.strip, (panels.depth / per_byte) as i64, 0);
        let lanes = b.scale_index(at.lane, group as i64, 0);
        let start = b.add(strips, lanes);
        let skipped = match strip.is_multiple_of(per_byte) {
            true => b.scale_index(k, (strip / per_byte) as i64, 0),
            // Here two lanes have two bits each, and k is even.
            false => b.shift(BinaryOp::ShiftRightSigned, k, 1),
        };
        let start = b.add(start, skipped);
        let offset = lane / strip * strip * panels.depth / per_byte + step * strip / per_byte + lane % strip * group;
        let lanes = (vector * group) as u16;
        let raw = b.load(self.weights, start, offset as i64, lanes);
        parts(b, raw, panels.encoding, panels.element.bits() as u8)
    }
}

/// Splits bytes into the weights that they hold, each in the form that products take.
fn parts(b: &mut KernelBuilder, raw: Value, encoding: Encoding, bits: u8) -> Vec<Value> {
    let ty = b.ty(raw);
    let (firsts, last) = ((0..8 - bits).step_by(bits.into()), 8 - bits);
    match encoding {
        Encoding::Unsigned => {
            let mask = b.int(ty, (1 << bits) - 1);
            let mut parts = Vec::new();
            for first in firsts {
                let bits = if first == 0 { raw } else { b.shift(BinaryOp::ShiftRightUnsigned, raw, first) };
                parts.push(b.binary(BinaryOp::And, bits, mask));
            }
            parts.push(b.shift(BinaryOp::ShiftRightUnsigned, raw, last));
            parts
        }
        Encoding::Signed => {
            let mask = b.int(ty, -1 << last);
            let mut parts = vec![b.shift(BinaryOp::ShiftLeft, raw, last)];
            for first in firsts.skip(1) {
                let bits = b.shift(BinaryOp::ShiftLeft, raw, last - first);
                parts.push(b.binary(BinaryOp::And, bits, mask));
            }
            parts.push(b.binary(BinaryOp::And, raw, mask));
            parts
        }
        Encoding::Floats => {
            let wide = b.convert(ConvertOp::SignExtend, raw, Lane::I32);
            let mut parts: Vec<(Value, u8)> = Vec::new();
            for first in firsts {
                parts.push((b.shift(BinaryOp::ShiftLeft, wide, 32 - bits - first), 32 - bits));
            }
            parts.push((wide, last));
            let float = |b: &mut KernelBuilder, (bits, shift)| {
                let weight = b.shift(BinaryOp::ShiftRightSigned, bits, shift);
                b.convert(ConvertOp::SignedToFloat, weight, Lane::F32)
            };
            parts.into_iter().map(|part| float(b, part)).collect()
        }
    }
}
