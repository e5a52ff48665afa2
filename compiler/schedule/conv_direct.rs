//! Direct convolution and matrix products with constant weights: register tiles of pixels × output channels, weights packed at
//! compile time in panels, input rows staged where they need padding or conversion.
//!
//! Packed weights are `[panel][window row][window column][k ÷ group][panel lanes][group]`, where the window columns and k are
//! one run when the taps of a row are contiguous in the staged row (one group, no horizontal dilation).

use super::contraction::{Contraction, Form, Weights};
use super::operands::{ElementWise, Place};
use super::staging::{self, Ring, Staging, requirements};
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::Value as Tensor;
use crate::kernel::{Buffer, BufferKind, ConvertOp, DotOp, KernelBuilder, Lane, Type, Value};

/// A register tile: pixels × vectors of output channels, and steps of k in one round of the innermost loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// Pixels.
    pub pixels: u64,
    /// Vectors of output channels.
    pub vectors: u64,
    /// Groups of k a round.
    pub unroll: u64,
}

/// See the module.
pub struct DirectSchedule<'a> {
    cx: Context<'a>,
    work: Contraction,
    form: Form,
    staging: Option<Staging>,
    tile: Tile,
    /// Lanes of an accumulator vector.
    lanes: u64,
    /// Runs of contiguous k in a window row, and the length of one, padded to whole groups.
    runs: u64,
    run: u64,
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
        let staging = staged.then(|| Staging::new(&work, form, 1));
        let lanes = u64::from(cx.machine.lanes(4));
        let group = group_of(form);
        let contiguous = work.groups == 1 && work.dilation[1] == 1;
        let per_tap = work.channels / work.groups;
        let (runs, run) = if contiguous { (1, work.window[1] * per_tap) } else { (work.window[1], per_tap) };
        let run = run.next_multiple_of(group);
        let tile = choose_tile(cx.machine, &work, form, run / group);
        let schedule = Self { cx, work, form, staging, tile, lanes, runs, run };
        ElementWise::with_epilogue(cx, &schedule.work.epilogue, schedule.work.range())?;
        Ok(schedule)
    }

    fn panel(&self) -> u64 {
        self.tile.vectors * self.lanes
    }

    fn outputs_per_group(&self) -> u64 {
        self.work.outputs / self.work.groups
    }

    fn panels_per_group(&self) -> u64 {
        self.outputs_per_group().div_ceil(self.panel())
    }

    fn panel_elements(&self) -> u64 {
        self.work.window[0] * self.runs * self.run * self.panel()
    }

    /// The filter's element of an output, a window row, a run and a position in it; zero in the padding.
    fn source_index(&self, output: u64, row: u64, run: u64, k: u64) -> Option<usize> {
        let per_tap = self.work.channels / self.work.groups;
        let (column, channel) = if self.runs == 1 { (k / per_tap, k % per_tap) } else { (run, k) };
        if column >= self.work.window[1] || channel >= per_tap {
            return None;
        }
        let [rows, columns] = self.work.window;
        Some((((output * rows + row) * columns + column) * per_tap + channel) as usize)
    }

    /// Packed weights: the position in the filter of every packed element.
    fn packed_order(&self) -> Vec<Option<usize>> {
        let group = group_of(self.form);
        let mut order = Vec::with_capacity((self.panel_elements() * self.panels_per_group() * self.work.groups) as usize);
        for g in 0..self.work.groups {
            for panel in 0..self.panels_per_group() {
                for row in 0..self.work.window[0] {
                    for run in 0..self.runs {
                        for k in (0..self.run).step_by(group as usize) {
                            for lane in 0..self.panel() {
                                let output = panel * self.panel() + lane;
                                let inside = output < self.outputs_per_group();
                                let output = g * self.outputs_per_group() + output;
                                order.extend((0..group).map(|i| if inside { self.source_index(output, row, run, k + i) } else { None }));
                            }
                        }
                    }
                }
            }
        }
        order
    }

    fn weights_lane(&self) -> Lane {
        match &self.work.weights {
            Weights::Floats(_) => Lane::F32,
            Weights::Integers(_) if self.work.weights_fit_byte => Lane::I8,
            Weights::Integers(_) => Lane::I16,
        }
    }

    fn packed_weights(&self) -> Vec<u8> {
        let order = self.packed_order();
        match &self.work.weights {
            Weights::Floats(list) => order.iter().flat_map(|i| i.map_or(0.0, |i| list[i]).to_le_bytes()).collect(),
            Weights::Integers(list) if self.weights_lane() == Lane::I8 => order.iter().map(|i| i.map_or(0, |i| list[i]) as u8).collect(),
            Weights::Integers(list) => order.iter().flat_map(|i| i.map_or(0, |i| list[i]).to_le_bytes()).collect(),
        }
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
}

fn choose_tile(machine: &crate::machine::Machine, work: &Contraction, form: Form, groups: u64) -> Tile {
    let lanes = u64::from(machine.lanes(4));
    let wide = machine.vector_registers >= 32;
    let outputs = work.outputs / work.groups;
    let width = work.output_size[1];
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
    let unroll = if groups <= 8 { groups } else { [4, 5, 3, 2].into_iter().find(|u| groups.is_multiple_of(*u)).unwrap_or(1) };
    Tile { pixels: pixels.min(width.max(1)), vectors, unroll }
}

impl Schedule for DirectSchedule<'_> {
    fn requirements(&self) -> Requirements {
        requirements(self.cx, &self.work, self.staging.as_ref())
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let lowering = Lowering::new(self, shared)?;
        lowering.run()
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
    b: KernelBuilder,
    arguments: Vec<Argument>,
    /// What the pixels are read from: the ring or the input itself.
    pixels: Ring,
    input: Buffer,
    weights: Buffer,
    initial: Option<Buffer>,
    element_wise: ElementWise<'a>,
}

/// Where a tile stands.
struct TilePlace {
    /// First window row's first element of the first pixel, by window row.
    rows: Vec<Value>,
    /// Number of the first pixel in the output.
    pixel: Value,
    /// First output channel of the panel in the output, and the panel's first element in the packed weights.
    channel: Value,
    weights: Value,
    /// First lane of the panel in the initial sums.
    initial: Value,
}

impl<'a> Lowering<'a> {
    fn new(schedule: &'a DirectSchedule<'a>, shared: &[(Tensor, Tensor)]) -> Result<Self, Unsupported> {
        let mut b = KernelBuilder::new(schedule.name());
        let mut arguments = Vec::new();
        let work = &schedule.work;
        let input = staging::declare_input(&mut b, work, shared)?;
        arguments.push(Argument::Tensor(work.input));
        let packed = schedule.packed_weights();
        let weights_lane = schedule.weights_lane();
        let weights = b.buffer("weights", BufferKind::Input, weights_lane, packed.len() as u64 / u64::from(weights_lane.bytes()), 64);
        arguments.push(Argument::Data(packed.into()));
        let biased = work.bias.is_some() || matches!(schedule.form, Form::Unsigned8 | Form::Signed8);
        let initial = biased.then(|| {
            let sums = schedule.initial_sums();
            let buffer = b.buffer("initial", BufferKind::Input, Lane::I32, sums.len() as u64 / 4, 64);
            arguments.push(Argument::Data(sums.into()));
            buffer
        });
        let pixels = match &schedule.staging {
            Some(staging) => staging.declare(&mut b, work, &mut arguments),
            None => Ring::unstaged(input),
        };
        let mut element_wise = ElementWise::with_epilogue(schedule.cx, &work.epilogue, work.range())?;
        element_wise.declare(&mut b, &mut arguments, shared)?;
        Ok(Self { schedule, b, arguments, pixels, input, weights, initial, element_wise })
    }

    fn run(mut self) -> Result<Lowered, Unsupported> {
        let schedule = self.schedule;
        let work = &schedule.work;
        let mut b = std::mem::replace(&mut self.b, KernelBuilder::new(""));
        let hoisted = self.element_wise.hoist(&mut b, schedule.panel() as u16);
        if let Some(staging) = &schedule.staging {
            staging.prepare(&mut b, work, self.pixels);
        }
        let mut outcome = Ok(());
        let image_elements = (work.input_size[0] * work.input_size[1] * work.channels) as i64;
        b.for_range(0, work.batch as i64, 1, |b, image| {
            let first = b.scale_index(image, image_elements, 0);
            let (start, end) = (b.index(0), b.index(work.output_size[0] as i64));
            let staged = b.index(0);
            b.for_carry(start, end, 1, &[staged], |b, y, staged| {
                let buffers = (self.input, self.pixels);
                let (rows, staged) = staging::window_rows(b, work, schedule.staging.as_ref(), buffers, (first, y, staged[0]));
                let pixel = b.scale_index(image, work.output_size[0] as i64, 0);
                let pixel = b.add(pixel, y);
                let pixel = b.scale_index(pixel, work.output_size[1] as i64, 0);
                if let Err(error) = self.row(b, &rows, pixel, &hoisted) {
                    outcome = Err(error);
                }
                vec![staged]
            });
        });
        outcome?;
        let Tile { pixels, vectors, unroll } = schedule.tile;
        let description = format!(
            "direct {:?} {pixels}x{} unroll {unroll}{}",
            schedule.form,
            vectors * schedule.lanes,
            if schedule.staging.is_some() { ", staged rows" } else { "" }
        );
        Ok(Lowered { kernel: b.finish(), arguments: self.arguments, description, multiply_accumulates: work.multiply_accumulates() })
    }

    /// One output row: panels of channels, tiles of pixels.
    fn row(&self, b: &mut KernelBuilder, rows: &[Value], pixel: Value, hoisted: &[Option<Value>]) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let mut outcome = Ok(());
        let panels = schedule.panels_per_group();
        let whole = schedule.outputs_per_group() / schedule.panel();
        b.for_range(0, schedule.work.groups as i64, 1, |b, group| {
            let mut body = |b: &mut KernelBuilder, panel: Value, active: u64| {
                let result = self.panel(b, rows, pixel, (group, panel), active, hoisted);
                if result.is_err() {
                    outcome = result;
                }
            };
            b.for_range(0, whole as i64, 1, |b, panel| body(b, panel, schedule.panel()));
            if panels > whole {
                let last = b.index(whole as i64);
                body(b, last, schedule.outputs_per_group() % schedule.panel());
            }
        });
        outcome
    }

    /// One panel of a group, over all pixels of a row.
    fn panel(
        &self,
        b: &mut KernelBuilder,
        rows: &[Value],
        pixel: Value,
        (group, panel): (Value, Value),
        active: u64,
        hoisted: &[Option<Value>],
    ) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let work = &schedule.work;
        let width = work.output_size[1];
        let first_channel = b.scale_index(group, schedule.outputs_per_group() as i64, 0);
        let channel = b.scale_index(panel, schedule.panel() as i64, 0);
        let channel = b.add(first_channel, channel);
        let first_panel = b.scale_index(group, schedule.panels_per_group() as i64, 0);
        let number = b.add(panel, first_panel);
        let weights = b.scale_index(number, schedule.panel_elements() as i64, 0);
        let initial = b.scale_index(number, schedule.panel() as i64, 0);
        let input_channel = b.scale_index(group, (work.channels / work.groups) as i64, 0);
        let mut outcome = Ok(());
        let mut body = |b: &mut KernelBuilder, x: Value, count: u64| {
            let offset = b.scale_index(x, (work.strides[1] * work.channels) as i64, 0);
            let offset = b.add(offset, input_channel);
            let rows = rows.iter().map(|&row| b.add(row, offset)).collect();
            let place = TilePlace { rows, pixel: b.add(pixel, x), channel, weights, initial };
            let result = self.tile(b, &place, count, active, hoisted);
            if result.is_err() {
                outcome = result;
            }
        };
        let whole = width / schedule.tile.pixels * schedule.tile.pixels;
        b.for_range(0, whole as i64, schedule.tile.pixels as i64, |b, x| body(b, x, schedule.tile.pixels));
        if width > whole {
            let x = b.index(whole as i64);
            body(b, x, width - whole);
        }
        outcome
    }

    /// One register tile: sums, then the epilogue a pixel at a time.
    fn tile(
        &self,
        b: &mut KernelBuilder,
        place: &TilePlace,
        pixels: u64,
        active: u64,
        hoisted: &[Option<Value>],
    ) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let (vectors, lanes) = (schedule.tile.vectors, schedule.lanes);
        let ty = Type::vector(if schedule.form == Form::Float { Lane::F32 } else { Lane::I32 }, lanes as u16);
        let first: Vec<Value> = (0..vectors)
            .map(|v| match self.initial {
                Some(buffer) => b.load(buffer, place.initial, (v * lanes) as i64, lanes as u16),
                None if ty.lane == Lane::F32 => b.float(ty, 0.0),
                None => b.int(ty, 0),
            })
            .collect();
        let mut sums: Vec<Value> = (0..pixels).flat_map(|_| first.iter().copied()).collect();
        let run_weights = schedule.run * schedule.panel();
        for (ky, &row) in place.rows.iter().enumerate() {
            for run in 0..schedule.runs {
                let skipped = (ky as u64 * schedule.runs + run) * run_weights;
                let weights = b.scale_index(place.weights, 1, skipped as i64);
                let tap = (run * schedule.work.dilation[1] * schedule.work.channels) as i64;
                sums = self.run_of_taps(b, row, tap, weights, pixels, sums);
            }
        }
        let channels = schedule.work.outputs as i64;
        let base = b.scale_index(place.pixel, channels, 0);
        let flat = b.add(base, place.channel);
        for pixel in 0..pixels {
            let row = &sums[(pixel * vectors) as usize..((pixel + 1) * vectors) as usize];
            let accumulator = join(b, row);
            let at = Place { pixel: place.pixel, pixel_offset: pixel as i64, channel: place.channel, channel_offset: 0, flat };
            let lanes = b.ty(accumulator).lanes;
            self.element_wise.emit(b, &at, Some(accumulator), hoisted, lanes, active as u16)?;
        }
        Ok(())
    }

    /// Adds the products of one contiguous run of k to the sums.
    fn run_of_taps(&self, b: &mut KernelBuilder, row: Value, tap: i64, weights: Value, pixels: u64, sums: Vec<Value>) -> Vec<Value> {
        let schedule = self.schedule;
        let group = group_of(schedule.form);
        let step = (group * schedule.tile.unroll) as i64;
        let panel = schedule.panel() as i64;
        if schedule.run as i64 <= step {
            return self.round(b, (row, tap), (weights, 0), pixels, sums);
        }
        let (start, end) = (b.index(0), b.index(schedule.run as i64));
        b.for_carry(start, end, step, &sums, |b, k, sums| {
            let pixel = b.add(row, k);
            let skipped = b.scale_index(k, panel, 0);
            let weights = b.add(weights, skipped);
            self.round(b, (pixel, tap), (weights, 0), pixels, sums.to_vec())
        })
    }

    /// One round of the innermost loop: `unroll` groups of k.
    fn round(&self, b: &mut KernelBuilder, pixel: (Value, i64), weights: (Value, i64), pixels: u64, mut sums: Vec<Value>) -> Vec<Value> {
        let schedule = self.schedule;
        let (vectors, lanes, group) = (schedule.tile.vectors, schedule.lanes, group_of(schedule.form));
        let stride = (schedule.work.strides[1] * schedule.work.channels) as i64;
        for u in 0..schedule.tile.unroll.min(schedule.run / group) {
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
                let mut w = b.load(self.weights, weights.0, offset, (lanes * group) as u16);
                if schedule.form == Form::Signed16 && b.lane_of(self.weights) == Lane::I8 {
                    w = b.convert(ConvertOp::SignExtend, w, Lane::I16);
                }
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
