//! Depthwise convolution: every output channel reads one input channel. Vectors run along the channels. All taps of a window are unrolled, for
//! a few pixels at a time, which share the loads of weights. Integers take two taps at a time: their 16-bit elements are interleaved and
//! multiplied in pairs. Machines whose vectors load bytes as lanes of 32 bits multiply these one by one.

use super::depthwise_columns::Columns;
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, BufferKind, ConvertOp, DotOp, KernelBuilder, Lane, Type, Value, orders};
use crate::schedule::arguments::Arguments;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::image_sizes::Numbers;
use crate::schedule::contraction::geometry::needs;
use crate::schedule::contraction::geometry::places::{Image, RowPlace};
use crate::schedule::contraction::geometry::windows::Geometry;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::cuts::{Cut, Cuts, Width};
use crate::schedule::contraction::operands::panels::filling::{Filled, Stored};
use crate::schedule::contraction::operands::panels::strips::Strips;
use crate::schedule::contraction::operands::panels::{ActiveLanes, Extents, Panels};
use crate::schedule::contraction::rows::preparation::Preparation;
use crate::schedule::contraction::rows::staged_rows::{self, ImagePlace, RowPhases};
use crate::schedule::contraction::rows::staging::{Ring, Staging};
use crate::schedule::contraction::table::depthwise::{AlongChannels, REACH, along_channels};
use crate::schedule::contraction::tiles::loops::hoisted::hoisted;
use crate::schedule::contraction::tiles::tile::join;
use crate::schedule::elementwise::lanes::repeat;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::Number;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;
use rustc_hash::{FxHashMap, FxHashSet};

/// A tap of a window.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    pub row: u64,
    pub column: u64,
}

/// Schedule of a depthwise contraction.
pub struct DepthwiseSchedule<'a> {
    cx: Context<'a>,
    pub(super) work: Contraction,
    /// Element-wise work on the sums.
    element_wise: ElementWise<'a>,
    form: Form,
    /// The time at which rows are staged.
    preparation: Preparation,
    staging: Option<Staging>,
    /// Columns of the output, where windows are read from the input though some are cut off at its border.
    in_place: Option<Columns>,
    /// See [`Requirements::shorter`].
    shorter: Option<u64>,
    /// Weights: a panel has all taps of a block of channels.
    pub(super) panels: Panels,
    /// Division of the channels into blocks.
    pub(super) cuts: Cuts,
}

/// Tests whether the machines of a contraction multiply bytes of four channels as lanes of 32 bits. Other machines of words have schedules of their own.
pub fn takes_lanes(cx: &Context<'_>, work: &Contraction) -> bool {
    let geometry = &work.geometry;
    let is_of_bytes = work.multiplies_constant_bytes() && work.accumulator == ElementType::I32;
    let is_image = geometry.sizes.is_none() && geometry.channel_planes.is_none() && geometry.outputs == geometry.channels;
    let have_vectors = cx.levels.iter().chain([&cx.machine]).all(|machine| machine.byte_sixteens);
    // With more padding, planes take fewer instructions.
    let is_full = geometry.outputs.next_multiple_of(cx.machine.copied_lanes(4).into()) * 3 <= geometry.outputs * 5;
    have_vectors && is_of_bytes && is_image && is_full && cx.uses(Technique::Lanes)
}

/// Tests whether one pointer serves neighbouring pixels, or pointers are stepped from one to the next. Small code shares kernels, which read the
/// distances of rows at run time. So it steps no pointers in windows of several rows, and takes fewer instructions in planes.
pub fn reaches_neighbours(cx: &Context<'_>, geometry: &Geometry) -> bool {
    cx.goal == Goal::Speed || geometry.channels <= REACH || geometry.window[0] == 1
}

impl<'a> DepthwiseSchedule<'a> {
    /// Makes the schedule of a contraction whose groups have one input channel.
    ///
    /// # Errors
    /// [`Unsupported`] if the epilogue has no lowering, or a window reaches too far.
    pub fn new(cx: Context<'a>, mut work: Contraction) -> Result<Self, Unsupported> {
        let form = match takes_lanes(&cx, &work) {
            true => Form::Sixteens,
            false if work.weights.are_floats() => Form::Float,
            false => Form::Signed16,
        };
        let repeat = work.geometry.outputs / work.geometry.channels;
        let staged = form != Form::Float || work.reads_halves() || work.geometry.is_padded() || repeat != 1;
        let preparation = Preparation::on(cx.machine);
        let shorter = if staged && preparation == Preparation::InRounds { work.cut_row(&cx, 1) } else { None };
        let element_wise = ElementWise::with_epilogue(cx, &work.epilogue, &work.sum_ranges())?;
        let step = if form == Form::Signed16 { 2 } else { 1 };
        let lanes = u64::from(if form == Form::Sixteens { cx.machine.copied_lanes(4) } else { cx.machine.lanes(2) });
        let mut staging = staged.then(|| Staging::new(cx.machine, &work, form, repeat)).transpose()?;
        if let Some(staging) = &mut staging {
            staging.slack = lanes.max(staging.slack);
        }
        let in_place = staging.as_ref().and_then(|staging| Columns::in_place(&cx, &work, form, staging.bytes()));
        let mut staging = staging.filter(|_| in_place.is_none());
        let geometry = &work.geometry;
        let taps: Vec<u64> = (0..geometry.per_output()).collect();
        let (filter_taps, segment_taps) = (geometry.per_output(), geometry.per_output());
        let strip = cx.strip(lanes, &work.weights);
        let strips = if form == Form::Sixteens { Strips::padded(geometry.outputs, strip) } else { Strips::new(geometry.outputs, strip) };
        let cuts = Cuts::new(&strips, lanes, false);
        if let Some(staging) = &mut staging {
            // Some instructions interleave within less than a vector. If blocks of channels are whole vectors, elements are reordered once,
            // when they are staged, instead of in every window that reads them.
            let is_whole = geometry.outputs.is_multiple_of(lanes) || geometry.sizes.is_none() && geometry.sections.is_none();
            let in_vectors = form == Form::Signed16 && repeat == 1 && geometry.outputs >= lanes && is_whole;
            let crosses = cx.machine.vector_bytes() > cx.machine.interleaved_bytes;
            staging.spread = (in_vectors && crosses && cx.uses(Technique::Spread)).then_some(lanes as u16);
        }
        let extents = Extents { strips, groups: 1, per_tap: 1, filter_taps, taps, segment_taps, step };
        let panels = Panels::new(&work.weights, form, extents, cx.machine, work.open);
        Ok(Self { cx, work, element_wise, form, preparation, staging, in_place, shorter, panels, cuts })
    }

    fn taps(&self) -> Vec<Tap> {
        let [rows, columns] = self.work.geometry.window;
        (0..rows).flat_map(|row| (0..columns).map(move |column| Tap { row, column })).collect()
    }

    /// Tests whether blocks of channels are independent. A panel that they fill is an array. A loop over blocks has a copy for each round, if no
    /// block outside the loop uses the array, too.
    pub(super) fn has_blocks_apart(&self) -> bool {
        !self.panels.are_filled() || self.cuts.bodies() == 1
    }

    /// Returns the number of pixels in a tile. There are as many as registers for sums, adjusted so that the last tile of a row is not much smaller.
    pub(super) fn pixels(&self) -> u64 {
        if self.cx.goal == Goal::Size {
            return 1;
        }
        let most = match along_channels(self.cx.machine, self.form) {
            AlongChannels { pixels, sums: Some(sums), .. } => self.float_pixels(*pixels, *sums),
            AlongChannels { pixels, .. } => *pixels,
        };
        let (width, together) = (self.work.geometry.output_size[1].max(1), self.side_by_side());
        let pixels = width.div_ceil(width.div_ceil(most));
        // The rest of a number that is not a multiple would be computed pixel by pixel.
        pixels.next_multiple_of(together).min(width / together * together).max(1)
    }

    /// Returns the number of pixels in a tile of floats. They have `sums` vectors if they share loads or vectors. Otherwise, there are `usual` pixels.
    fn float_pixels(&self, usual: u64, sums: u64) -> u64 {
        if self.work.geometry.sizes.is_some() {
            // Rows of run-time length have a rest after whole tiles, which is computed pixel by pixel.
            return usual;
        }
        if self.side_by_side() > 1 {
            return sums * self.side_by_side();
        }
        let widest = self.cuts.widths().into_iter().max_by_key(|width| width.lanes);
        let pixels = widest.map(|width| (width, sums / self.vectors(width).min(sums)));
        pixels.filter(|&(width, pixels)| self.shares_taps(width, pixels)).map_or(usual, |(_, pixels)| pixels)
    }

    /// Returns the number of neighbouring pixels that share a vector. It is above 1 if all channels together are shorter than a vector.
    fn side_by_side(&self) -> u64 {
        let (geometry, machine) = (&self.work.geometry, self.cx.machine);
        let is_whole = self.cuts.widths().iter().all(|width| width.lanes == geometry.outputs);
        let from = along_channels(machine, self.form).side_by_side_from;
        let fits = from.is_some_and(|from| geometry.outputs >= from) && geometry.strides[1] == 1 && is_whole;
        if fits { (u64::from(machine.lanes(4)) / geometry.outputs).max(1) } else { 1 }
    }

    /// Returns the number of registers for the sums of a pixel in a block of channels.
    fn vectors(&self, width: Width) -> u64 {
        width.lanes.div_ceil(self.cx.machine.lanes(4).into())
    }

    /// Returns the column of a pixel's tap, relative to the first column of a tile.
    pub(super) fn column(&self, tap: u64, pixel: u64) -> u64 {
        tap * self.work.geometry.phases[2].dilation + pixel * self.work.geometry.strides[1]
    }

    /// Tests whether each column of a tile is loaded only once, for all taps of all pixels that read it. The registers must hold the sums, a
    /// row of columns, and weights. Products can read one factor from memory, but then a weight would be loaded twice.
    pub(super) fn shares_taps(&self, width: Width, pixels: u64) -> bool {
        let (machine, vectors) = (self.cx.machine, self.vectors(width));
        let columns: FxHashSet<u64> = (0..self.work.geometry.window[1])
            .flat_map(|tap| (0..pixels).map(move |p| (tap, p)))
            .map(|(tap, p)| self.column(tap, p))
            .collect();
        let held = (pixels + columns.len() as u64 + 1) * vectors;
        let fits = held <= machine.registers.count().into();
        self.form == Form::Float && machine.sums_in_place && fits && self.cx.uses(Technique::SharedTaps)
    }
}

impl Schedule for DepthwiseSchedule<'_> {
    fn requirements(&self) -> Requirements {
        if self.in_place.is_some() {
            let needs = needs::requirements_of(self.cx, (&self.work, &self.element_wise), vec![], true);
            return needs.dividing(|shared| needs::divided_rows(&self.cx, &self.work, shared));
        }
        let needs = needs::requirements(self.cx, (&self.work, &self.element_wise), self.staging.as_ref(), true);
        Requirements { shorter: self.shorter, ..needs }.dividing(|shared| needs::divided_rows(&self.cx, &self.work, shared))
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
        let initial = (work.bias.is_some() || !element_wise.offsets().is_empty() || self.form.has_excess()).then(|| {
            let channels = (0..self.panels.extents.strips.total()).map(|c| (c < geometry.outputs).then_some(c));
            let taps = if self.form.has_excess() { &self.panels.extents.taps[..] } else { &[] };
            let sums = work.initial_sums(work.border(self.form), element_wise.offsets(), taps, channels);
            arguments.data(&mut b, "initial", sums.into(), Lane::I32, 64)
        });
        let pixels = match &self.staging {
            Some(staging) => staging.declare(&mut b, work, &mut arguments),
            None => Ring::unstaged(input),
        };
        let weights = match self.panels.are_filled() {
            true => b.buffer("panel", BufferKind::Local, self.panels.lane(), self.panels.filled_elements(&self.cuts.widths()), 64),
            false => stored.elements,
        };
        element_wise.declare(&mut b, &mut arguments, shared)?;
        let hoisted = hoisted(&mut b, &element_wise, &self.cuts.widths());
        let numbers = geometry.numbers(&mut b, &mut arguments);
        if let Some(staging) = &self.staging {
            b.rounds(true, |b| staging.prepare(b, work, pixels));
        }
        // A ring keeps rows from round to round. A pixel that is computed in place may overwrite what others have yet to read.
        let overwrites = shared.iter().any(|pair| pair.read == work.input);
        let apart = if self.staging.is_some() { self.preparation == Preparation::Ahead } else { !overwrites };
        b.independent(apart);
        let lowering = Lowering { schedule: self, numbers, input, pixels, stored, weights, initial, element_wise, hoisted, range, apart };
        match &self.in_place {
            Some(columns) => lowering.images_in_place(&mut b, columns)?,
            None => lowering.images(&mut b)?,
        }
        let staged = match (&self.staging, geometry.sections) {
            (None, _) if self.in_place.is_some() => ", rows in place",
            (None, _) => "",
            (Some(_), None) => ", staged rows",
            (Some(_), Some(_)) => ", staged sections",
        };
        let products = if self.form == Form::Sixteens { "bytes as words".into() } else { self.form.to_string() };
        let description = format!("depthwise, products of {products}, {} channels at a time{staged}", self.cuts);
        Ok(vec![Lowered { multiply_accumulates: geometry.multiply_accumulates(), ..Lowered::new(b.finish(), arguments, description) }])
    }
}

pub(super) struct Lowering<'a> {
    pub(super) schedule: &'a DepthwiseSchedule<'a>,
    pub(super) numbers: Numbers,
    input: Buffer,
    pixels: Ring,
    /// Stored weights, and the panels that products read: the stored ones, or one that the kernel fills.
    stored: Stored,
    weights: Buffer,
    initial: Option<Buffer>,
    element_wise: ElementWise<'a>,
    /// Values loaded before the loops, for each number of lanes in a block.
    hoisted: Vec<(u64, Vec<Option<Hoisted>>)>,
    /// First output row and the row after the last, if they are parameters.
    pub(super) range: Option<(Value, Value)>,
    /// Pixels depend on no others: no ring is kept from row to row, and no pixel overwrites the input.
    pub(super) apart: bool,
}

/// Values that the pixels of a row share in a block of channels.
pub(super) struct Block {
    /// First element of each window row.
    pub rows: Vec<Value>,
    /// First element in the panels.
    pub weights: Value,
    /// Initial value of the sums.
    pub first: Value,
    /// Channels of the block.
    pub cut: Cut,
}

impl Lowering<'_> {
    fn images(&self, b: &mut KernelBuilder) -> Result<(), Unsupported> {
        let (work, numbers) = (&self.schedule.work, &self.numbers);
        let geometry = &work.geometry;
        let sized = Image { work, numbers };
        let (staging, preparation) = (self.schedule.staging.as_ref(), self.schedule.preparation);
        let buffers = (self.input, self.pixels);
        if let Some(staging) = staging.filter(|_| preparation == Preparation::Ahead) {
            numbers.batch.repeat(b, |b, image| {
                let first = numbers.plane_elements.scale(b, image);
                staged_rows::stage_image(b, sized, staging, buffers, ImagePlace { first, number: image });
            });
        }
        numbers.batch.repeat(b, |b, image| {
            let first = numbers.plane_elements.scale(b, image);
            let zero = b.index(0);
            let (start, end) = self.range.unwrap_or_else(|| (zero, numbers.output[1].value(b)));
            let mut outcome = Ok(());
            let place = RowPlace { image: first, plane: zero, y: zero, staged: zero, ring: image };
            staged_rows::for_rows(b, sized, preparation, staging, buffers, (place, start..end), |b, at| {
                let y = at.y;
                let [planes, rows, _] = &geometry.phases;
                let rows = staged_rows::window_rows(b, sized, staging, at, RowPhases { planes: &planes.list[0], rows: &rows.list[0] });
                let pixel = numbers.output_pixels.scale(b, image);
                let first = numbers.output[2].scale(b, y);
                let pixel = b.add(pixel, first);
                let columns = &geometry.phases[2];
                let width = geometry.sections.map(|row| row.width(b, y, &columns.list[0], columns.step));
                outcome = self.row(b, &rows, (pixel, width.unwrap_or(numbers.output[2])));
            });
            outcome
        })
    }

    /// Computes a row of `width` pixels from one on.
    fn row(&self, b: &mut KernelBuilder, rows: &[Value], (first_pixel, width): (Value, Number)) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let block = |b: &mut KernelBuilder, cut: Cut| {
            let weights = self.panel(b, cut);
            let rows: Vec<Value> = rows.iter().map(|&r| b.add(r, cut.first)).collect();
            let block = Block { rows, weights, first: self.first_sum(b, cut), cut };
            b.rounds(true, |b| width.tiles(b, schedule.pixels(), |b, x, pixels| self.tile(b, &block, first_pixel, x, pixels)))
        };
        b.rounds(schedule.has_blocks_apart(), |b| schedule.cuts.for_each(b, block))
    }

    /// Returns the first element of a block's panel. Fills the panel if necessary.
    pub(super) fn panel(&self, b: &mut KernelBuilder, cut: Cut) -> Value {
        let panels = &self.schedule.panels;
        let (lane, element) = panels.start(b, cut);
        if !panels.are_filled() {
            let strips = b.scale_index(lane, panels.lane_elements() as i64, 0);
            return b.add(strips, element);
        }
        let first = b.scale_index(cut.first, panels.per_output() as i64, 0);
        let filled = Filled { lane, base: 0, first, width: cut.width, active: cut.active, at: None };
        // An array that rounds fill in order belongs to what is around their loop.
        b.rounds(false, |b| panels.fill(b, self.stored, self.weights, &filled));
        element
    }

    /// Computes some pixels of a row from `x` on.
    fn tile(&self, b: &mut KernelBuilder, block: &Block, first_pixel: Value, x: Value, pixels: u64) -> Result<(), Unsupported> {
        let geometry = &self.schedule.work.geometry;
        let offset = b.scale_index(x, (geometry.strides[1] * geometry.outputs) as i64, 0);
        let rows: Vec<Value> = block.rows.iter().map(|&r| b.add(r, offset)).collect();
        let sums = self.sums(b, &rows, block, pixels);
        let pixel = b.add(first_pixel, x);
        self.store(b, block, pixel, sums)
    }

    /// Stores the results of pixels from one on.
    pub(super) fn store(&self, b: &mut KernelBuilder, block: &Block, pixel: Value, sums: Vec<Value>) -> Result<(), Unsupported> {
        let work = &self.schedule.work;
        let base = b.scale_index(pixel, work.geometry.outputs as i64, 0);
        let Cut { first: channel, width: Width { lanes, .. }, active, .. } = block.cut;
        let flat = b.add(base, channel);
        let hoisted = self.hoisted.iter().find(|(width, _)| *width == lanes).map_or(&[][..], |(_, hoisted)| hoisted);
        for (p, mut sum) in sums.into_iter().enumerate() {
            if work.accumulator == ElementType::I64 {
                sum = b.convert(ConvertOp::SignExtend, sum, Lane::I64);
            }
            let place = OutputPosition { pixel, pixel_offset: p as i64, channel, channel_offset: 0, flat };
            self.element_wise.emit(b, &place, Some(sum), hoisted, lanes as u16, active as u16)?;
        }
        Ok(())
    }

    /// Loads the element of a tap in every channel of the block, for a pixel of the tile.
    pub(super) fn tap(&self, b: &mut KernelBuilder, rows: &[Value], tap: Tap, pixel: u64, cut: Cut) -> Value {
        let geometry = &self.schedule.work.geometry;
        let offset = (self.schedule.column(tap.column, pixel) * geometry.outputs) as i64;
        // A staged row may be read past its channels. These elements are multiplied by zero weights, or their sums are not stored.
        let active = if self.schedule.staging.is_some() { cut.width.lanes } else { cut.active };
        b.load_active(self.pixels.rows, rows[tap.row as usize], offset, cut.width.lanes as u16, active as u16)
    }

    /// Returns the initial value of a block's sums.
    pub(super) fn first_sum(&self, b: &mut KernelBuilder, cut: Cut) -> Value {
        let block = cut.width.lanes as u16;
        match self.initial {
            Some(buffer) => b.load(buffer, cut.first, 0, block),
            None if self.schedule.form == Form::Float => b.float(Type::vector(Lane::F32, block), 0.0),
            None => b.int(Type::vector(Lane::I32, block), 0),
        }
    }

    /// Loads the weights of a tap, or of a pair of taps, in the channels of a block.
    pub(super) fn weights_of(&self, b: &mut KernelBuilder, at: &Block, tap: u64) -> Value {
        let (panels, width) = (&self.schedule.panels, at.cut.width);
        let lanes = width.lanes.min(width.strip);
        let mut strip = |lane: u64| {
            let count = (lanes * panels.extents.step) as u16;
            panels.load(b, (self.schedule.form, 0), self.weights, (at.weights, panels.place(width, tap, lane)), ActiveLanes::all(count))
        };
        let strips: Vec<Value> = (0..width.lanes).step_by(lanes as usize).map(&mut strip).collect();
        join(b, &strips)
    }

    /// Adds a product of floats to a sum.
    pub(super) fn add_product(&self, b: &mut KernelBuilder, w: Value, x: Value, sum: Value) -> Value {
        if self.schedule.work.fuses(self.schedule.cx.machine) {
            return b.fma(w, x, sum);
        }
        let product = b.mul(x, w);
        b.binary(BinaryOp::Add, product, sum)
    }

    /// Computes the sum of each pixel of a tile, where several pixels share a vector.
    fn sums_side_by_side(&self, b: &mut KernelBuilder, rows: &[Value], at: &Block, pixels: u64) -> Vec<Value> {
        let (together, channels) = (self.schedule.side_by_side(), self.schedule.work.geometry.outputs);
        let mut sums = vec![repeat(b, at.first, together); (pixels / together) as usize];
        for (number, tap) in (0..).zip(self.schedule.taps()) {
            let w = self.weights_of(b, at, number);
            let w = repeat(b, w, together);
            for (first, sum) in (0..).step_by(together as usize).zip(&mut sums) {
                let offset = self.schedule.column(tap.column, first) * channels;
                let x = b.load(self.pixels.rows, rows[tap.row as usize], offset as i64, (together * channels) as u16);
                *sum = self.add_product(b, w, x, *sum);
            }
        }
        let places = |sum: Value| (0..together).map(move |pixel| (sum, pixel * channels));
        sums.into_iter().flat_map(places).map(|(sum, first)| b.part(sum, first as u16, channels as u16)).collect()
    }

    /// Computes the sum of each pixel of a tile.
    fn sums(&self, b: &mut KernelBuilder, rows: &[Value], at: &Block, pixels: u64) -> Vec<Value> {
        let together = self.schedule.side_by_side();
        if together > 1 && pixels.is_multiple_of(together) {
            return self.sums_side_by_side(b, rows, at, pixels);
        }
        let (panels, form, block) = (&self.schedule.panels, self.schedule.form, at.cut.width.lanes as u16);
        let step = panels.extents.step as u16;
        // The last channels keep their order where they do not fill a block.
        let is_whole = at.cut.active == at.cut.width.lanes;
        let is_spread = is_whole && self.schedule.staging.as_ref().is_some_and(|staging| staging.spread == Some(block));
        let interleaved = if is_spread { orders::interleaved_of_spread(block) } else { orders::interleaved(block) };
        let mut sums = vec![at.first; pixels as usize];
        let shares = self.schedule.shares_taps(at.cut.width, pixels);
        let mut loaded: FxHashMap<(u64, u64), Value> = FxHashMap::default();
        let mut tap = |b: &mut KernelBuilder, tap: Tap, pixel: u64| {
            let load = |b: &mut KernelBuilder| self.tap(b, rows, tap, pixel, at.cut);
            if shares { *loaded.entry((tap.row, self.schedule.column(tap.column, pixel))).or_insert_with(|| load(b)) } else { load(b) }
        };
        for (number, taps) in self.schedule.taps().chunks(step.into()).enumerate() {
            let w = self.weights_of(b, at, number as u64 * panels.extents.step);
            let w = if form == Form::Sixteens { b.convert(ConvertOp::SignExtend, w, Lane::I32) } else { w };
            for (pixel, sum) in sums.iter_mut().enumerate() {
                let x = tap(b, taps[0], pixel as u64);
                *sum = match form {
                    Form::Float => self.add_product(b, w, x, *sum),
                    Form::Sixteens => {
                        let x = b.convert(ConvertOp::SignExtend, x, Lane::I32);
                        let product = b.mul(x, w);
                        b.add(*sum, product)
                    }
                    _ => {
                        let second = if taps.len() == 2 { tap(b, taps[1], pixel as u64) } else { x };
                        let x = b.shuffle(x, second, interleaved.clone());
                        b.dot(DotOp::Signed16, *sum, x, w)
                    }
                };
            }
        }
        sums
    }
}
