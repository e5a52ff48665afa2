//! Products of pixels with weights whose zeros the file leaves out. No product with a zero is computed.
//!
//! The pixels of a block are transposed into scratch memory, so that each input channel is a row of vectors. Vectors hold the sums of an output
//! channel for all these pixels. A loop over the channel's weights finds the row of each by its distance from the one before. The sums of a panel of
//! output channels are transposed back for the epilogue. A sum takes its products in the order of the dense weights, so it has the same value.

use crate::ir::ElementType;
use crate::kernel::{Buffer, KernelBuilder, Lane, Type, Value};
use crate::machine::Machine;
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::needs;
use crate::schedule::contraction::geometry::windows::Geometry;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::cuts::{Cut, Cuts};
use crate::schedule::contraction::operands::panels::sparse::Places;
use crate::schedule::contraction::operands::panels::strips::{COMMON, Strips};
use crate::schedule::contraction::operands::panels::{Extents, Panels};
use crate::schedule::contraction::tiles::loops::hoisted::hoisted_for;
use crate::schedule::contraction::tiles::tile::join;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops::{for_range, for_values};
use crate::schedule::movement::turn::{Matrix, Sides, Turn, transpose, turned};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::Number;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Output channels whose sums are in scratch memory together.
const PANEL: u64 = COMMON;

/// Instructions of a weight beside its products: its loads, its row, and the end of the loop.
const OF_WEIGHT: u64 = 8;

/// Instructions that write a weight to its place in a filled panel.
const OF_FILLING: u64 = 8;

/// Tests whether the contraction is of pixels with sparse weights, and takes fewer instructions without the zeros. All levels of an architecture
/// agree, so that they read the same weights.
pub fn takes(cx: &Context<'_>, work: &Contraction) -> bool {
    let geometry = &work.geometry;
    let is_plain = geometry.groups == 1 && geometry.matrices.is_empty() && geometry.sizes.is_none() && geometry.channel_planes.is_none();
    let is_of_pixels = is_plain && geometry.is_pointwise() && work.element == ElementType::F32 && cx.sharing.is_whole();
    let combines_lanes = cx.machine.combines_lanes();
    if !cx.uses(Technique::Sparse) || !is_of_pixels || !combines_lanes || work.open || !work.weights.are_floats() {
        return false;
    }
    let Some(weights) = work.weights.sparse_elements().filter(|_| panels(cx, work).sparse) else { return false };
    let dense = |machine: &Machine| {
        let products = geometry.multiply_accumulates() / u64::from(machine.lanes(4));
        products + products / 5 + OF_FILLING * weights
    };
    let is_faster = |machine: &Machine| {
        let block = machine.combines_lanes().then(|| Block::best(machine, &work.geometry, weights)).flatten();
        block.is_some_and(|block| block.instructions(machine, &work.geometry, weights) < dense(machine))
    };
    cx.levels_of_isa().all(is_faster)
}

/// Returns the weights as the model holds them: a strip for each output channel.
fn panels(cx: &Context<'_>, work: &Contraction) -> Panels {
    let strips = Strips::new(work.geometry.outputs, 1);
    let extents = Extents { strips, groups: 1, per_tap: work.geometry.channels, filter_taps: 1, taps: vec![0], segment_taps: 1, step: 1 };
    Panels::new(&work.weights, Form::Float, extents, cx.machine, work.open).without_zeros(&work.weights, work.open)
}

/// Pixels that are computed together. Their number is a multiple of four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    pixels: u64,
}

impl Block {
    /// Returns the block with the fewest instructions, of those that divide the pixels evenly. Its sums fit three quarters of the registers, and its
    /// rows fit a cache of twice the smallest size.
    fn best(machine: &Machine, geometry: &Geometry, weights: u64) -> Option<Self> {
        let (pixels, registers) = (geometry.pixels(), u64::from(machine.registers.count()) * 3 / 4);
        let bytes = u64::from(Lane::F32.bytes()) * geometry.channels;
        let most = (registers * u64::from(machine.lanes(4))).min(2 * machine.l1_bytes / bytes.max(1));
        let blocks = (4..=most).step_by(4).filter(|block| pixels.is_multiple_of(*block)).map(|pixels| Self { pixels });
        let fits = blocks.filter(|block| block.vectors(machine).count() as u64 <= registers);
        fits.min_by_key(|block| block.instructions(machine, geometry, weights))
    }

    /// Returns the vectors of a row: the first pixel of each, and its lanes.
    fn vectors(self, machine: &Machine) -> impl Iterator<Item = (u64, u16)> {
        let (lanes, mut first) = (u64::from(machine.lanes(4)), 0);
        std::iter::from_fn(move || {
            let left = self.pixels - first;
            let vector = (left > 0).then(|| (first, lanes.min(1 << left.ilog2()) as u16))?;
            first += u64::from(vector.1);
            Some(vector)
        })
    }

    /// Returns the side of the squares that transpose sums.
    fn side(self, machine: &Machine) -> u64 {
        u64::from(machine.turned_lanes(4)).min(1 << self.pixels.trailing_zeros())
    }

    /// Returns the instructions for all pixels, without the epilogue.
    fn instructions(self, machine: &Machine, geometry: &Geometry, weights: u64) -> u64 {
        let vectors = self.vectors(machine).count() as u64;
        // Where a factor is an element of a register, the other one is not in memory. One instruction then loads two registers.
        let products = if machine.by_element { vectors + vectors.div_ceil(2) } else { vectors };
        let side = self.side(machine);
        let transposes = self.pixels * (geometry.channels + geometry.outputs) * (2 + u64::from(side.ilog2())) / side;
        geometry.pixels() / self.pixels * (weights * (products + OF_WEIGHT) + transposes)
    }
}

/// The division of a kernel into ranges.
#[derive(Clone, Copy)]
enum Ranges {
    /// A number of blocks of pixels.
    Blocks(u64),
    /// A number of panels. Each range transposes all pixels.
    Panels(u64),
}

/// Schedule of a `conv` or `matmul` of floats by the weights that are not zero.
pub struct SparseProducts<'a> {
    cx: Context<'a>,
    work: Contraction,
    element_wise: ElementWise<'a>,
    panels: Panels,
    /// Number of weights that are not zero.
    weights: u64,
    block: Block,
}

impl<'a> SparseProducts<'a> {
    /// Makes the schedule of a contraction that [`takes`] accepts.
    ///
    /// # Errors
    /// [`Unsupported`] if the epilogue has no lowering, or if the contraction is not accepted.
    pub fn new(cx: Context<'a>, mut work: Contraction) -> Result<Self, Unsupported> {
        let weights = work.weights.sparse_elements().unwrap_or(0);
        let block = Block::best(cx.machine, &work.geometry, weights).ok_or(Unsupported::SparsePixels)?;
        let panels = panels(&cx, &work);
        work.geometry.fold_pixels(block.pixels);
        let element_wise = ElementWise::with_epilogue(cx, &work.epilogue, &work.sum_ranges())?;
        Ok(Self { cx, work, element_wise, panels, weights, block })
    }

    fn cuts(&self) -> Cuts {
        Cuts::new(&Strips::new(self.work.geometry.outputs, PANEL), PANEL, false)
    }

    /// Returns the lanes of a panel in registers. A square may have more than the panel.
    fn lanes(&self, cut_lanes: u64) -> u64 {
        cut_lanes.max(self.block.side(self.cx.machine))
    }

    fn multiply_accumulates(&self) -> u64 {
        self.work.geometry.pixels().saturating_mul(self.weights)
    }

    /// Returns the division of the kernel, if `shared` pairs share memory. `None` if there is too little work, or if a range would read memory that
    /// another one writes.
    fn ranges(&self, shared: &[Pair]) -> Option<Ranges> {
        let (blocks, panels) = (self.work.geometry.output_size[0], self.cuts().count());
        if !self.cx.sharing.is_worth_long_ranges(self.multiply_accumulates()) {
            return None;
        }
        match (blocks, panels) {
            (2.., _) if self.blocks_are_apart(shared) => Some(Ranges::Blocks(blocks)),
            (1, 2..) if !self.overwrites(shared) => Some(Ranges::Panels(panels)),
            _ => None,
        }
    }

    /// Tests whether the output is in the memory of the pixels.
    fn overwrites(&self, shared: &[Pair]) -> bool {
        shared.iter().any(|pair| pair.read == self.work.input)
    }

    /// Tests whether no block writes pixels that another one reads.
    fn blocks_are_apart(&self, shared: &[Pair]) -> bool {
        !self.overwrites(shared) || needs::keeps_rows(self.cx, &self.work)
    }

    /// Returns the elements of the transposed pixels, and of the sums of a panel.
    fn scratch(&self) -> [u64; 2] {
        [self.work.geometry.channels, PANEL].map(|rows| rows * self.block.pixels)
    }
}

impl Schedule for SparseProducts<'_> {
    fn requirements(&self) -> Requirements {
        let bytes = self.scratch().map(|elements| elements * u64::from(Lane::F32.bytes()));
        let needs = needs::requirements_of(self.cx, (&self.work, &self.element_wise), bytes.to_vec(), true);
        let extent = |shared: &[Pair]| self.ranges(shared).map(|(Ranges::Blocks(extent) | Ranges::Panels(extent))| extent);
        Requirements { private_rounds: true, ..needs }.dividing(extent)
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut b = KernelBuilder::new(format!("sparse_{}", self.work.element.name()));
        let ranges = self.ranges(shared).map(|ranges| {
            let (Ranges::Blocks(extent) | Ranges::Panels(extent)) = ranges;
            let (first, end) = b.divide_all(extent);
            (ranges, first..end)
        });
        let mut arguments = Arguments::default();
        let (input, stored) = needs::declare(&self.cx, &mut b, &mut arguments, &self.work, std::iter::once(&self.panels), shared)?;
        let places = stored.places.ok_or(Unsupported::StoredZeros)?;
        let [of_rows, of_sums] = self.scratch();
        let rows = arguments.scratch(&mut b, "rows", 0, Lane::F32, of_rows);
        let sums = arguments.scratch(&mut b, "sums", 1, Lane::F32, of_sums);
        let mut element_wise = self.element_wise.clone();
        element_wise.declare(&mut b, &mut arguments, shared)?;
        let cuts = self.cuts();
        let hoisted = hoisted_for(&mut b, &element_wise, cuts.widths().iter().map(|width| self.lanes(width.lanes)));
        let lowering = Lowering { schedule: self, input, weights: stored.elements, places, rows, sums, element_wise, hoisted };
        let all = b.index(0)..b.index(self.work.geometry.output_size[0] as i64);
        let (blocks, panels) = match ranges {
            Some((Ranges::Blocks(_), range)) => (range, None),
            Some((Ranges::Panels(_), range)) => (all, Some(range)),
            None => (all, None),
        };
        if self.blocks_are_apart(shared) {
            b.independent_with(vec![rows, sums]);
        }
        for_values(&mut b, blocks, 1, |b, block| {
            let pixel = b.rounds(false, |b| lowering.staged(b, block));
            b.independent_with(vec![sums]);
            let panel = |b: &mut KernelBuilder, cut| b.rounds(false, |b| lowering.panel(b, pixel, cut));
            match &panels {
                Some(range) => cuts.for_range(b, range.clone(), panel),
                None => cuts.for_each(b, panel),
            }
        })?;
        let description = format!("products of floats without zeros, {} pixels x {cuts} channels at a time", self.block.pixels);
        let multiply_accumulates = self.multiply_accumulates();
        Ok(vec![Lowered { multiply_accumulates, ..Lowered::new(b.finish(), arguments, description) }])
    }
}

struct Lowering<'a> {
    schedule: &'a SparseProducts<'a>,
    input: Buffer,
    weights: Buffer,
    places: Places,
    /// Pixels of a block, transposed.
    rows: Buffer,
    /// Sums of a panel for a block: a row for each output channel.
    sums: Buffer,
    element_wise: ElementWise<'a>,
    /// Values loaded before the loops, for each number of lanes in a panel.
    hoisted: Vec<(u64, Vec<Option<Hoisted>>)>,
}

impl Lowering<'_> {
    /// Transposes the pixels of a block. Returns the first pixel.
    fn staged(&self, b: &mut KernelBuilder, block: Value) -> Value {
        let (schedule, machine) = (self.schedule, self.schedule.cx.machine);
        let (pixels, channels) = (schedule.block.pixels, schedule.work.geometry.channels);
        let pixel = b.scale_index(block, pixels as i64, 0);
        let from = Matrix { buffer: self.input, first: b.scale_index(pixel, channels as i64, 0), stride: Number::Known(channels as i64) };
        let to = Matrix { buffer: self.rows, first: b.index(0), stride: Number::Known(pixels as i64) };
        let lane = Lane::F32;
        let turn = Turn { lane, most: machine.turned_lanes(lane.bytes()), squares: machine.squares(lane.bytes()) };
        transpose(b, turn, Sides { rows: pixels, columns: channels }, from, to);
        pixel
    }

    /// Computes a panel of output channels for the pixels of a block.
    fn panel(&self, b: &mut KernelBuilder, pixel: Value, cut: Cut) -> Result<(), Unsupported> {
        b.for_range(0, cut.active as i64, 1, |b, lane| {
            let channel = b.add(cut.first, lane);
            self.channel(b, channel, lane);
        });
        self.epilogue(b, pixel, cut)
    }

    /// Computes the sums of an output channel, in a row of the sums.
    fn channel(&self, b: &mut KernelBuilder, channel: Value, row: Value) {
        let Block { pixels } = self.schedule.block;
        let vectors: Vec<(u64, u16)> = self.schedule.block.vectors(self.schedule.cx.machine).collect();
        let mut first: Vec<Value> = vectors.iter().map(|&(_, lanes)| b.float(Type::vector(Lane::F32, lanes), 0.0)).collect();
        first.push(b.index(0));
        let [start, end] = self.places.entries(b, channel, 1);
        let sums = b.for_carry(start, end, 1, &first, |b, entry, carried| {
            let (distance, weight) = self.places.load(b, self.weights, entry, Lane::F32);
            let skipped = b.scale_index(distance, pixels as i64, 0);
            let row = b.add(carried[vectors.len()], skipped);
            let products = vectors.iter().zip(carried).map(|(&(first, lanes), &sum)| {
                let x = b.load(self.rows, row, first as i64, lanes);
                let weight = b.splat(weight, lanes);
                self.add_product(b, sum, x, weight)
            });
            products.collect::<Vec<Value>>().into_iter().chain([row]).collect()
        });
        let row = b.scale_index(row, pixels as i64, 0);
        for (&(first, _), &sum) in vectors.iter().zip(&sums) {
            b.store(self.sums, row, first as i64, sum);
        }
    }

    fn add_product(&self, b: &mut KernelBuilder, sum: Value, x: Value, weight: Value) -> Value {
        if self.schedule.work.fuses(self.schedule.cx.machine) {
            return b.fma(x, weight, sum);
        }
        let product = b.mul(x, weight);
        b.add(product, sum)
    }

    /// Transposes the sums of a panel back, and computes the epilogue of each pixel.
    fn epilogue(&self, b: &mut KernelBuilder, pixel: Value, cut: Cut) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let Block { pixels } = schedule.block;
        let (side, lanes) = (schedule.block.side(schedule.cx.machine), schedule.lanes(cut.width.lanes));
        let hoisted = self.hoisted.iter().find(|(width, _)| *width == lanes).map_or(&[][..], |(_, hoisted)| hoisted);
        for_range(b, 0..pixels as i64, side as i64, |b, first| {
            let squares = (0..lanes).step_by(side as usize).map(|lane| {
                let rows = (lane..lane + side).map(|row| b.load(self.sums, first, (row * pixels) as i64, side as u16)).collect();
                turned(b, rows, 1)
            });
            let squares: Vec<Vec<Value>> = squares.collect();
            let pixel = b.add(pixel, first);
            let flat = b.scale_index(pixel, schedule.work.geometry.outputs as i64, 0);
            let flat = b.add(flat, cut.first);
            (0..side as usize).try_for_each(|i| {
                let parts: Vec<Value> = squares.iter().map(|square| square[i]).collect();
                let sums = join(b, &parts);
                let place = OutputPosition { pixel, pixel_offset: i as i64, channel: cut.first, channel_offset: 0, flat };
                self.element_wise.emit(b, &place, Some(sums), hoisted, lanes as u16, cut.active as u16)
            })
        })
    }
}
