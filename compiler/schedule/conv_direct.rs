//! Direct convolution and matrix products: register tiles of pixels × output channels, the right operand in panels, input rows
//! staged where they need padding or conversion.
//!
//! A convolution of a dilated input is computed phase by phase. The k of an output is cut into segments: one a window row where the taps of a row are contiguous in the staged row (one group, no
//! horizontal dilation), else one a tap. Panels that the kernel fills are the outermost loop, so that one is filled once for
//! all pixels; panels that the model holds are the innermost, so that the input is staged once.

use super::contraction::{Contraction, Form};
use super::operands::{ElementWise, Place};
use super::panels::{Extents, Panels};
use super::phases::Phase;
use super::staging::{self, Ring, RowPlace, Staging, requirements};
use super::weights::Weights;
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::{ElementType, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, BufferKind, CompareOp, ConvertOp, DotOp, KernelBuilder, Lane, Type, Value};
use std::cell::RefCell;

/// A register tile: pixels × vectors of output channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// Pixels.
    pub pixels: u64,
    /// Vectors of output channels.
    pub vectors: u64,
}

/// Windows of more rows, planes counted, are no real model's.
const MAX_WINDOW_ROWS: u64 = 4096;

/// Up to so many segments are unrolled; more are a loop over a table of where they start.
const UNROLLED_SEGMENTS: u64 = 32;

/// See the module.
pub struct DirectSchedule<'a> {
    cx: Context<'a>,
    work: Contraction,
    form: Form,
    staging: Option<Staging>,
    tile: Tile,
    /// Lanes of an accumulator vector.
    lanes: u64,
    parts: Vec<Part>,
    /// Products that 32-bit sums hold before they are added to 64-bit ones.
    in_32_bits: Option<u64>,
}

/// A phase of the convolution.
struct Part {
    /// Phases along planes, rows and columns.
    axes: [Phase; 3],
    /// Its part of the right operand.
    panels: Panels,
    /// Where its panels begin in the packed ones.
    base: u64,
    /// Groups of k in a round of the innermost loop.
    unroll: u64,
    /// Elements of k before 32-bit sums are added to 64-bit ones.
    chunk: Option<u64>,
}

impl Part {
    /// Elements of k in a segment of a panel.
    fn run(&self) -> u64 {
        self.panels.padded()
    }
}

impl<'a> DirectSchedule<'a> {
    /// The schedule of a contraction.
    ///
    /// # Errors
    /// When the epilogue has no lowering.
    pub fn new(cx: Context<'a>, mut work: Contraction) -> Result<Self, Unsupported> {
        let form = work.form(cx.machine.dot);
        let staged = form != Form::Float || work.is_padded();
        if work.is_pointwise() && work.groups == 1 {
            fold_pixels(&mut work, staged);
        }
        let window_rows = work.planes.window * work.window[0];
        if window_rows > MAX_WINDOW_ROWS {
            return Err(Unsupported::new(format!("a window of {window_rows} rows")));
        }
        let staging = staged.then(|| Staging::new(cx.machine, &work, form, 1));
        let lanes = u64::from(cx.machine.lanes(4));
        let tile = choose_tile(cx.machine, &work, form);
        let in_32_bits = work.products_in_32_bits();
        let mut schedule = Self { cx, work, form, staging, tile, lanes, parts: vec![], in_32_bits };
        schedule.parts = schedule.all_parts();
        ElementWise::with_epilogue(cx, &schedule.work.epilogue, schedule.work.range())?;
        Ok(schedule)
    }

    fn all_parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let [planes, rows, columns] = &self.work.phases;
        for plane in &planes.list {
            for row in &rows.list {
                for column in &columns.list {
                    let base = parts.last().map_or(0, |part| part.base + part.panels.stored_elements());
                    parts.push(self.part([plane, row, column], base));
                }
            }
        }
        parts
    }

    fn part(&self, axes: [&Phase; 3], base: u64) -> Part {
        let work = &self.work;
        let [planes, rows, columns] = axes;
        let [height, width] = work.window;
        let taps = planes.taps.iter().flat_map(|z| rows.taps.iter().map(move |y| (z * height + y) * width));
        let taps: Vec<u64> = taps.flat_map(|row| columns.taps.iter().map(move |x| row + x)).collect();
        let step = group_of(self.form);
        let extents = Extents {
            outputs: work.outputs / work.groups,
            groups: work.groups,
            lanes: self.tile.vectors * self.lanes,
            per_tap: work.channels / work.groups,
            filter_taps: work.planes.window * height * width,
            segment_taps: if self.by_tap() { 1 } else { columns.taps.len() as u64 },
            taps,
            step,
        };
        let panels = Panels::new(&work.weights, self.form, extents, self.cx.machine, work.open);
        let unroll = unroll(panels.padded() / step);
        let round = (step * unroll).max(1);
        let chunk = self.in_32_bits.map(|products| (products / round).max(1) * round);
        Part { axes: axes.map(Clone::clone), panels, base, unroll, chunk }
    }

    /// Whether a segment is a tap, and not a row of them that lie side by side both in the staged row and in the filter.
    fn by_tap(&self) -> bool {
        let computed = matches!(self.work.weights, Weights::Computed { .. });
        self.work.groups != 1 || self.work.phases[2].dilation != 1 || computed && !self.work.is_one_phase()
    }

    fn are_filled(&self) -> bool {
        self.parts.iter().any(|part| part.panels.are_filled())
    }

    /// Output channels of a panel.
    fn panel(&self) -> u64 {
        self.tile.vectors * self.lanes
    }

    fn outputs_per_group(&self) -> u64 {
        self.work.outputs / self.work.groups
    }

    fn panels_per_group(&self) -> u64 {
        self.outputs_per_group().div_ceil(self.panel())
    }

    /// The sums before the first product: the bias, less what the staged form adds.
    fn initial_sums(&self) -> Vec<u8> {
        let excess = self.staging.as_ref().map_or(0, |s| s.excess(&self.work));
        let per_group = self.outputs_per_group();
        let lanes = self.panels_per_group() * self.panel();
        let channels = (0..self.work.groups).flat_map(|g| (0..lanes).map(move |l| (l < per_group).then_some(g * per_group + l)));
        self.work.initial_sums(excess, channels)
    }
}

/// Elements that one step of the innermost product takes.
fn group_of(form: Form) -> u64 {
    match form {
        Form::Signed16 => 2,
        Form::Unsigned8 | Form::Signed8 => 4,
        Form::Float => 1,
    }
}

/// Turns a pointwise contraction's pixels into rows of a length that keeps a staged row in the first-level cache and cuts the
/// pixels without a rest.
fn fold_pixels(work: &mut Contraction, staged: bool) {
    let pixels = work.batch * work.input_size[0] * work.input_size[1];
    let limit = if staged { (2048 / work.channels.max(1)).clamp(8, 64) } else { pixels };
    let best = (1..=limit.min(pixels)).rev().find(|n| pixels.is_multiple_of(*n)).unwrap_or(1);
    let width = if best < 4 && pixels <= 64 { pixels } else { best };
    work.batch = 1;
    work.input_size = [pixels / width.max(1), width];
    work.output_size = work.input_size;
    work.phases = [1, work.input_size[0], work.input_size[1]].map(super::contraction::pointwise);
}

fn choose_tile(machine: &crate::machine::Machine, work: &Contraction, form: Form) -> Tile {
    let lanes = u64::from(machine.lanes(4));
    let wide = machine.vector_registers >= 32;
    let outputs = work.outputs / work.groups;
    let width = work.phases[2].list.iter().map(|phase| phase.count).max().unwrap_or(0);
    let most = if width == 1 { 8 } else { 4 };
    let vectors = outputs.div_ceil(lanes).next_power_of_two().min(most);
    // Accumulators, the pixels' operands and one vector of weights must stay in registers, beside the copies that x86's fused
    // operations need here: they overwrite a factor.
    let pixels = match (form, vectors) {
        (_, 1) => 6,
        (_, 2) => 4,
        (_, _) if wide => 4,
        (Form::Unsigned8, _) => 3,
        _ => 2,
    };
    Tile { pixels: pixels.min(width.max(1)), vectors }
}

/// Groups of k in a round of the innermost loop over so many of them.
fn unroll(groups: u64) -> u64 {
    if groups <= 8 { groups } else { [4, 5, 3, 2].into_iter().find(|u| groups.is_multiple_of(*u)).unwrap_or(1) }
}

impl Schedule for DirectSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let mut needs = requirements(self.cx, &self.work, self.staging.as_ref(), !self.are_filled());
        if self.are_filled() {
            needs.scratch.push(self.parts.iter().map(|part| part.panels.filled_bytes()).max().unwrap_or(0));
        }
        needs
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        lower(self, shared)
    }
}

impl DirectSchedule<'_> {
    fn name(&self) -> String {
        let element = self.work.element.name();
        let [rows, columns] = self.work.window;
        let is_conv = self.cx.group.root.is_some_and(|r| self.cx.function.insts[r].op == crate::ir::Op::Conv);
        if is_conv { format!("conv_{rows}x{columns}_{element}") } else { format!("matmul_{element}") }
    }
}

/// The kernel under construction.
struct Lowering<'a> {
    schedule: &'a DirectSchedule<'a>,
    arguments: Vec<Argument>,
    /// What the pixels are read from: the ring or the input itself.
    pixels: Ring,
    input: Buffer,
    /// The right operand as it is stored, and the panels that products read: the same, or one that is filled.
    stored: Buffer,
    weights: Buffer,
    initial: Option<Buffer>,
    /// Where the segments of a window start, if they are not unrolled.
    starts: Option<Buffer>,
    element_wise: ElementWise<'a>,
    hoisted: Vec<Option<Value>>,
    failure: RefCell<Option<Unsupported>>,
}

/// Where a product of matrices stands: first elements of the left and right operand, and the first output pixel.
#[derive(Clone, Copy)]
struct Bases {
    left: Value,
    right: Value,
    pixel: Value,
}

/// The segments of a window, for the first pixel of a row.
enum Segments {
    /// The first element of each window row.
    Rows(Vec<Value>),
    /// The first element of each segment, in memory.
    Table(Buffer),
}

/// A row of windows.
struct WindowRow {
    place: RowPlace,
    /// The first pixel of the image in the output.
    pixel: Value,
}

/// An output row of a part.
struct OutputRow {
    segments: Segments,
    /// Its first pixel in the output.
    pixel: Value,
}

/// A panel of a group.
#[derive(Clone, Copy)]
struct PanelPlace {
    /// The group, and the panel's number in it.
    group: Value,
    number: Value,
    /// Output channels that it has.
    active: u64,
}

/// Where a tile stands.
struct TilePlace<'a> {
    part: &'a Part,
    segments: &'a Segments,
    /// Added to the first elements of the segments.
    offset: Value,
    /// Number of the first pixel in the output.
    pixel: Value,
    /// First output channel of the panel in the output, and the panel's first element in the packed weights.
    channel: Value,
    weights: Value,
    /// First lane of the panel in the initial sums.
    initial: Value,
}

/// Lowers a schedule.
fn lower(schedule: &DirectSchedule<'_>, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
    let mut b = KernelBuilder::new(schedule.name());
    let lowering = Lowering::new(schedule, &mut b, shared)?;
    if let Some(staging) = &schedule.staging {
        staging.prepare(&mut b, &schedule.work, lowering.pixels);
    }
    lowering.matrices(&mut b);
    if let Some(error) = lowering.failure.into_inner() {
        return Err(error);
    }
    let description = format!(
        "direct {:?} {}x{} unroll {}{}{}",
        schedule.form,
        schedule.tile.pixels,
        schedule.panel(),
        schedule.parts.first().map_or(0, |part| part.unroll),
        if schedule.staging.is_some() { ", staged rows" } else { "" },
        if schedule.are_filled() { ", filled panels" } else { "" }
    );
    let multiply_accumulates = schedule.work.multiply_accumulates();
    Ok(Lowered { kernel: b.finish(), arguments: lowering.arguments, description, multiply_accumulates })
}

impl<'a> Lowering<'a> {
    fn new(schedule: &'a DirectSchedule<'a>, b: &mut KernelBuilder, shared: &[(Tensor, Tensor)]) -> Result<Self, Unsupported> {
        let work = &schedule.work;
        let input = staging::declare_input(&schedule.cx, b, work, shared)?;
        let mut arguments = vec![Argument::Tensor(work.input)];
        let stored = declare_stored(b, schedule.parts.iter().map(|part| &part.panels), &work.weights, &mut arguments);
        let biased = work.bias.is_some() || matches!(schedule.form, Form::Unsigned8 | Form::Signed8);
        let initial = biased.then(|| {
            let sums = schedule.initial_sums();
            let buffer = b.buffer("initial", BufferKind::Input, Lane::I32, sums.len() as u64 / 4, 64);
            arguments.push(Argument::Data(sums.into()));
            buffer
        });
        let pixels = match &schedule.staging {
            Some(staging) => staging.declare(b, work, &mut arguments),
            None => Ring::unstaged(input),
        };
        let filled = schedule.parts.iter().map(|part| &part.panels).filter(|panels| panels.are_filled());
        let weights = match filled.max_by_key(|panels| panels.elements()) {
            Some(panels) => {
                arguments.push(Argument::Scratch(usize::from(schedule.staging.is_some())));
                b.buffer("panel", BufferKind::Scratch, panels.lane(), panels.elements(), 64)
            }
            None => stored,
        };
        let segments = schedule.parts.iter().map(|part| part.panels.extents.segments()).max().unwrap_or(0);
        let starts = (segments > UNROLLED_SEGMENTS).then(|| b.buffer("starts", BufferKind::Local, Lane::I64, segments, 8));
        let mut element_wise = ElementWise::with_epilogue(schedule.cx, &work.epilogue, work.range())?;
        element_wise.declare(b, &mut arguments, shared)?;
        let hoisted = element_wise.hoist(b, schedule.panel() as u16);
        let failure = RefCell::new(None);
        Ok(Self { schedule, arguments, pixels, input, stored, weights, initial, starts, element_wise, hoisted, failure })
    }

    /// All products of matrices: one loop a broadcast dimension.
    fn matrices(&self, b: &mut KernelBuilder) {
        let zero = b.index(0);
        self.matrix_loop(b, 0, Bases { left: zero, right: zero, pixel: zero });
    }

    fn matrix_loop(&self, b: &mut KernelBuilder, depth: usize, bases: Bases) {
        let work = &self.schedule.work;
        let Some(matrices) = work.matrices.get(depth) else { return self.product_of_matrices(b, bases) };
        let inner: u64 = work.matrices[depth + 1..].iter().map(|m| m.count).product();
        let pixels = inner * work.output_size[0] * work.output_size[1];
        b.for_range(0, matrices.count as i64, 1, |b, i| {
            let mut at = |base: Value, step: u64| {
                let offset = b.scale_index(i, step as i64, 0);
                b.add(base, offset)
            };
            let bases =
                Bases { left: at(bases.left, matrices.left), right: at(bases.right, matrices.right), pixel: at(bases.pixel, pixels) };
            self.matrix_loop(b, depth + 1, bases);
        });
    }

    fn product_of_matrices(&self, b: &mut KernelBuilder, bases: Bases) {
        let parts = &self.schedule.parts;
        if !self.schedule.are_filled() {
            return self.rows(b, bases, |b, at| {
                for part in parts {
                    self.output_row(b, part, at, |b, row| self.all_panels(b, |b, panel| self.panel(b, part, row, panel)));
                }
            });
        }
        for part in parts {
            self.all_panels(b, |b, panel| {
                let (number, channel) = self.position(b, panel);
                let first = b.scale_index(channel, part.panels.per_output() as i64, 0);
                let first = b.add(first, bases.right);
                part.panels.fill(b, (self.stored, self.weights), (number, part.base), first, panel.active);
                self.rows(b, bases, |b, at| self.output_row(b, part, at, |b, row| self.panel(b, part, row, panel)));
            });
        }
    }

    /// Every row of windows, with what it reads staged.
    fn rows(&self, b: &mut KernelBuilder, bases: Bases, mut body: impl FnMut(&mut KernelBuilder, &WindowRow)) {
        let work = &self.schedule.work;
        let image_elements = (work.planes.input * work.input_size[0] * work.input_size[1] * work.channels) as i64;
        let image_pixels = (work.planes.output * work.output_size[0] * work.output_size[1]) as i64;
        b.for_range(0, work.batch as i64, 1, |b, image| {
            let first = b.scale_index(image, image_elements, 0);
            let first = b.add(first, bases.left);
            let pixel = b.scale_index(image, image_pixels, 0);
            let pixel = b.add(pixel, bases.pixel);
            b.for_range(0, positions(work, 0) as i64, 1, |b, plane| {
                let (start, end) = (b.index(0), b.index(positions(work, 1) as i64));
                b.for_carry(start, end, 1, &[start], |b, y, staged| {
                    let place = RowPlace { image: first, plane, y, staged: staged[0] };
                    let staged = staging::stage(b, work, self.schedule.staging.as_ref(), (self.input, self.pixels), &place);
                    body(b, &WindowRow { place, pixel });
                    vec![staged]
                });
            });
        });
    }

    /// The output row of a part at a row of windows, where it has one.
    fn output_row(&self, b: &mut KernelBuilder, part: &Part, at: &WindowRow, body: impl FnOnce(&mut KernelBuilder, &OutputRow)) {
        let work = &self.schedule.work;
        let [planes, rows, columns] = &part.axes;
        let mut inside = None;
        for (phase, d, number) in [(planes, 0, at.place.plane), (rows, 1, at.place.y)] {
            if phase.count < positions(work, d) {
                let count = b.index(phase.count as i64);
                let within = b.compare(CompareOp::Less, number, count);
                inside = Some(inside.map_or(within, |other| b.binary(BinaryOp::And, other, within)));
            }
        }
        let row = |b: &mut KernelBuilder| {
            let starts = staging::window_rows(b, work, self.schedule.staging.as_ref(), &at.place, (planes, rows));
            let segments = self.segments(b, part, starts);
            let plane = b.scale_index(at.place.plane, work.phases[0].step as i64, planes.first as i64);
            let row = b.scale_index(plane, work.output_size[0] as i64, rows.first as i64);
            let y = b.scale_index(at.place.y, work.phases[1].step as i64, 0);
            let row = b.add(row, y);
            let pixel = b.scale_index(row, work.output_size[1] as i64, columns.first as i64);
            let pixel = b.add(pixel, at.pixel);
            body(b, &OutputRow { segments, pixel });
            vec![]
        };
        match inside {
            None => drop(row(b)),
            Some(inside) => drop(b.if_else(inside, row, |_| vec![])),
        }
    }

    /// Elements from one tap of a row to the next.
    fn tap_step(&self) -> i64 {
        (self.schedule.work.phases[2].dilation * self.schedule.work.channels) as i64
    }

    fn segments(&self, b: &mut KernelBuilder, part: &Part, rows: Vec<Value>) -> Segments {
        let Some(table) = self.starts else { return Segments::Rows(rows) };
        let taps = if self.schedule.by_tap() { part.axes[2].taps.len() as i64 } else { 1 };
        for (number, row) in rows.into_iter().enumerate() {
            b.for_range(0, taps, 1, |b, tap| {
                let start = b.scale_index(tap, self.tap_step(), 0);
                let start = b.add(start, row);
                b.store(table, tap, number as i64 * taps, start);
            });
        }
        Segments::Table(table)
    }

    /// Every panel of every group.
    fn all_panels(&self, b: &mut KernelBuilder, mut body: impl FnMut(&mut KernelBuilder, PanelPlace)) {
        let schedule = self.schedule;
        let panels = schedule.panels_per_group();
        let whole = schedule.outputs_per_group() / schedule.panel();
        b.for_range(0, schedule.work.groups as i64, 1, |b, group| {
            b.for_range(0, whole as i64, 1, |b, number| body(b, PanelPlace { group, number, active: schedule.panel() }));
            if panels > whole {
                let number = b.index(whole as i64);
                body(b, PanelPlace { group, number, active: schedule.outputs_per_group() % schedule.panel() });
            }
        });
    }

    /// The number of a panel among all, and its first output channel.
    fn position(&self, b: &mut KernelBuilder, at: PanelPlace) -> (Value, Value) {
        let schedule = self.schedule;
        let first_panel = b.scale_index(at.group, schedule.panels_per_group() as i64, 0);
        let number = b.add(at.number, first_panel);
        let first_channel = b.scale_index(at.group, schedule.outputs_per_group() as i64, 0);
        let channel = b.scale_index(at.number, schedule.panel() as i64, 0);
        (number, b.add(first_channel, channel))
    }

    /// One panel of a group, over all pixels of a row.
    fn panel(&self, b: &mut KernelBuilder, part: &Part, row: &OutputRow, at: PanelPlace) {
        let schedule = self.schedule;
        let work = &schedule.work;
        let width = part.axes[2].count;
        let (number, channel) = self.position(b, at);
        let weights = match part.panels.are_filled() {
            true => b.index(0),
            false => b.scale_index(number, part.panels.elements() as i64, part.base as i64),
        };
        let initial = b.scale_index(number, schedule.panel() as i64, 0);
        let input_channel = b.scale_index(at.group, (work.channels / work.groups) as i64, (part.axes[2].lead * work.channels) as i64);
        let body = |b: &mut KernelBuilder, x: Value, count: u64| {
            let offset = b.scale_index(x, (work.strides[1] * work.channels) as i64, 0);
            let offset = b.add(offset, input_channel);
            let step = b.scale_index(x, work.phases[2].step as i64, 0);
            let pixel = b.add(row.pixel, step);
            let place = TilePlace { part, segments: &row.segments, offset, pixel, channel, weights, initial };
            if let Err(error) = self.tile(b, &place, count, at.active) {
                self.failure.borrow_mut().get_or_insert(error);
            }
        };
        let whole = width / schedule.tile.pixels * schedule.tile.pixels;
        b.for_range(0, whole as i64, schedule.tile.pixels as i64, |b, x| body(b, x, schedule.tile.pixels));
        if width > whole {
            let x = b.index(whole as i64);
            body(b, x, width - whole);
        }
    }

    /// One register tile: sums, then the epilogue a pixel at a time.
    fn tile(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixels: u64, active: u64) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let (part, vectors) = (place.part, schedule.tile.vectors);
        let segments = part.panels.extents.segments();
        let segment_weights = part.run() * schedule.panel();
        let mut sums = self.first_sums(b, place, pixels);
        match place.segments {
            Segments::Rows(rows) => {
                let taps = segments / rows.len().max(1) as u64;
                for segment in 0..segments {
                    let row = b.add(rows[(segment / taps) as usize], place.offset);
                    let weights = b.scale_index(place.weights, 1, (segment * segment_weights) as i64);
                    let tap = (segment % taps) as i64 * self.tap_step();
                    sums = self.segment(b, part, (row, tap), weights, pixels, sums);
                }
            }
            Segments::Table(table) => {
                let (start, end) = (b.index(0), b.index(segments as i64));
                sums = b.for_carry(start, end, 1, &sums, |b, segment, sums| {
                    let row = b.load(*table, segment, 0, 1);
                    let row = b.add(row, place.offset);
                    let skipped = b.scale_index(segment, segment_weights as i64, 0);
                    let weights = b.add(place.weights, skipped);
                    self.segment(b, part, (row, 0), weights, pixels, sums.to_vec())
                });
            }
        }
        let base = b.scale_index(place.pixel, schedule.work.outputs as i64, 0);
        let flat = b.add(base, place.channel);
        for pixel in 0..pixels {
            let row = &sums[(pixel * vectors) as usize..((pixel + 1) * vectors) as usize];
            let mut accumulator = join(b, row);
            if schedule.work.accumulator == ElementType::I64 && schedule.in_32_bits.is_none() {
                accumulator = b.convert(ConvertOp::SignExtend, accumulator, Lane::I64);
            }
            let pixel_offset = (pixel * schedule.work.phases[2].step) as i64;
            let at = Place { pixel: place.pixel, pixel_offset, channel: place.channel, channel_offset: 0, flat };
            let lanes = b.ty(accumulator).lanes;
            self.element_wise.emit(b, &at, Some(accumulator), &self.hoisted, lanes, active as u16)?;
        }
        Ok(())
    }

    /// Where the sums of a tile begin.
    fn first_sums(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixels: u64) -> Vec<Value> {
        let (vectors, lanes) = (self.schedule.tile.vectors, self.schedule.lanes);
        let lane = match self.schedule.form {
            Form::Float => Lane::F32,
            _ if self.schedule.in_32_bits.is_some() => Lane::I64,
            _ => Lane::I32,
        };
        let ty = Type::vector(lane, lanes as u16);
        let first: Vec<Value> = (0..vectors)
            .map(|v| match self.initial {
                Some(buffer) => b.load(buffer, place.initial, (v * lanes) as i64, lanes as u16),
                None if lane == Lane::F32 => b.float(ty, 0.0),
                None => b.int(ty, 0),
            })
            .collect();
        (0..pixels).flat_map(|_| first.iter().copied()).collect()
    }

    /// Adds the products of one segment to the sums: through 32-bit sums of parts of it where the sums are wider.
    fn segment(&self, b: &mut KernelBuilder, part: &Part, row: (Value, i64), weights: Value, pixels: u64, sums: Vec<Value>) -> Vec<Value> {
        let run = part.run();
        let Some(chunk) = part.chunk else { return self.products(b, part, row, weights, pixels, sums, None) };
        let zero = b.int(Type::vector(Lane::I32, self.schedule.lanes as u16), 0);
        let add = |b: &mut KernelBuilder, wide: &[Value], narrow: Vec<Value>| -> Vec<Value> {
            let pairs = wide.iter().zip(narrow);
            pairs
                .map(|(&wide, narrow)| {
                    let narrow = b.convert(ConvertOp::SignExtend, narrow, Lane::I64);
                    b.add(wide, narrow)
                })
                .collect()
        };
        if run <= chunk {
            let narrow = self.products(b, part, row, weights, pixels, vec![zero; sums.len()], None);
            return add(b, &sums, narrow);
        }
        let (start, end) = (b.index(0), b.index(run as i64));
        b.for_carry(start, end, chunk as i64, &sums, |b, first, wide| {
            let last = b.scale_index(first, 1, chunk as i64);
            let last = b.binary(BinaryOp::SignedMin, last, end);
            let narrow = self.products(b, part, row, weights, pixels, vec![zero; wide.len()], Some((first, last)));
            add(b, wide, narrow)
        })
    }

    /// Adds the products of a range of a segment, or of all of it, to sums of the width that products have.
    fn products(
        &self,
        b: &mut KernelBuilder,
        part: &Part,
        (row, tap): (Value, i64),
        weights: Value,
        pixels: u64,
        sums: Vec<Value>,
        range: Option<(Value, Value)>,
    ) -> Vec<Value> {
        let schedule = self.schedule;
        let step = (group_of(schedule.form) * part.unroll) as i64;
        let panel = schedule.panel() as i64;
        if range.is_none() && part.run() as i64 <= step {
            return self.round(b, part, (row, tap), (weights, 0), pixels, sums);
        }
        let (start, end) = range.unwrap_or_else(|| (b.index(0), b.index(part.run() as i64)));
        b.for_carry(start, end, step, &sums, |b, k, sums| {
            let pixel = b.add(row, k);
            let skipped = b.scale_index(k, panel, 0);
            let weights = b.add(weights, skipped);
            self.round(b, part, (pixel, tap), (weights, 0), pixels, sums.to_vec())
        })
    }

    /// One round of the innermost loop: `unroll` groups of k.
    fn round(
        &self,
        b: &mut KernelBuilder,
        part: &Part,
        pixel: (Value, i64),
        weights: (Value, i64),
        pixels: u64,
        mut sums: Vec<Value>,
    ) -> Vec<Value> {
        let schedule = self.schedule;
        let (vectors, lanes, group) = (schedule.tile.vectors, schedule.lanes, group_of(schedule.form));
        let stride = (schedule.work.strides[1] * schedule.work.channels) as i64;
        for u in 0..part.unroll.min(part.run() / group) {
            let xs: Vec<Value> = (0..pixels)
                .map(|p| {
                    let offset = pixel.1 + p as i64 * stride + (u * group) as i64;
                    match schedule.form {
                        Form::Float => b.load_splat(self.pixels.rows, pixel.0, offset, lanes as u16),
                        _ => b.load_splat_group(self.pixels.rows, pixel.0, offset, group as u16, (lanes * group) as u16),
                    }
                })
                .collect();
            for v in 0..vectors {
                let offset = weights.1 + ((u * schedule.panel() + v * lanes) * group) as i64;
                let w = part.panels.load(b, schedule.form, self.weights, weights.0, offset, (lanes * group) as u16);
                for p in 0..pixels {
                    let sum = &mut sums[(p * vectors + v) as usize];
                    *sum = self.product(b, xs[p as usize], w, *sum);
                }
            }
        }
        sums
    }

    fn product(&self, b: &mut KernelBuilder, x: Value, w: Value, sum: Value) -> Value {
        match self.schedule.form {
            Form::Signed16 => b.dot(DotOp::Signed16, sum, x, w),
            Form::Unsigned8 => b.dot(DotOp::UnsignedSigned8, sum, x, w),
            Form::Signed8 => b.dot(DotOp::Signed8, sum, x, w),
            Form::Float if self.schedule.work.fuses(self.schedule.cx.machine) => b.fma(x, w, sum),
            Form::Float => {
                let product = b.mul(x, w);
                b.add(product, sum)
            }
        }
    }
}

/// A power of two of vectors joined to one.
fn join(b: &mut KernelBuilder, vectors: &[Value]) -> Value {
    let mut list = vectors.to_vec();
    while list.len() > 1 {
        list = list.chunks(2).map(|pair| b.join(pair[0], pair[1])).collect();
    }
    list[0]
}

/// Windows along a dimension, of the phase that has most.
fn positions(work: &Contraction, dimension: usize) -> u64 {
    work.phases[dimension].list.iter().map(|phase| phase.count).max().unwrap_or(0)
}

/// Declares what the model or the program holds of the right operand, and adds its argument.
pub fn declare_stored<'p>(
    b: &mut KernelBuilder,
    panels: impl Iterator<Item = &'p Panels>,
    weights: &Weights,
    arguments: &mut Vec<Argument>,
) -> Buffer {
    let mut packed = Vec::new();
    let mut lane = Lane::I8;
    for panels in panels {
        lane = panels.stored_lane();
        packed.extend(panels.packed(weights).unwrap_or_default());
    }
    let (argument, elements, alignment) = match weights {
        Weights::Computed { tensor, count, .. } => (Argument::Tensor(*tensor), *count, lane.bytes()),
        _ => {
            let elements = packed.len() as u64 / u64::from(lane.bytes());
            (Argument::Data(packed.into()), elements, 64)
        }
    };
    arguments.push(argument);
    b.buffer("weights", BufferKind::Input, lane, elements, alignment)
}
