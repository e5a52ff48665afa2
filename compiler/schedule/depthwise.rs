//! Depthwise convolution: every output channel reads one input channel. Vectors run along the channels; all taps of a window
//! are unrolled. Integers take two taps at a time: their 16-bit elements are interleaved and multiplied in pairs.

use super::contraction::{Contraction, Form, Weights};
use super::map::row;
use super::operands::{ElementWise, Place};
use super::staging::{self, Ring, Staging};
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::Value as Tensor;
use crate::kernel::{BinaryOp, Buffer, BufferKind, DotOp, KernelBuilder, Lane, Type, Value};

/// Windows with more taps are not unrolled here.
pub const MAX_TAPS: u64 = 64;

/// Channels of one vector.
const BLOCK: u64 = 8;

/// See the module.
pub struct DepthwiseSchedule<'a> {
    cx: Context<'a>,
    work: Contraction,
    form: Form,
    staging: Option<Staging>,
}

impl<'a> DepthwiseSchedule<'a> {
    /// The schedule of a contraction with one input channel a group.
    ///
    /// # Errors
    /// When the epilogue has no lowering.
    pub fn new(cx: Context<'a>, work: Contraction) -> Result<Self, Unsupported> {
        let form = if matches!(work.weights, Weights::Floats(_)) { Form::Float } else { Form::Signed16 };
        let repeat = work.outputs / work.channels;
        let staged = form != Form::Float || work.is_padded() || repeat != 1;
        let staging = staged.then(|| Staging::new(&work, form, repeat));
        ElementWise::with_epilogue(cx, &work.epilogue, work.range())?;
        Ok(Self { cx, work, form, staging })
    }

    fn taps(&self) -> Vec<(u64, u64)> {
        let [rows, columns] = self.work.window;
        (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))).collect()
    }

    /// Packed weights: `[block][tap][lane]` for floats, `[block][pair of taps][lane][2]` for integers.
    fn packed_weights(&self) -> Vec<u8> {
        let taps = self.taps().len() as u64;
        let blocks = self.work.outputs.div_ceil(BLOCK);
        let at = |channel: u64, tap: u64| (channel < self.work.outputs && tap < taps).then(|| (channel * taps + tap) as usize);
        let mut bytes = Vec::new();
        for block in 0..blocks {
            let channels = block * BLOCK..(block + 1) * BLOCK;
            match &self.work.weights {
                Weights::Floats(list) => {
                    for tap in 0..taps {
                        bytes.extend(channels.clone().flat_map(|c| at(c, tap).map_or(0.0, |i| list[i]).to_le_bytes()));
                    }
                }
                Weights::Integers(list) => {
                    for pair in (0..taps).step_by(2) {
                        let two = |c: u64| [pair, pair + 1].map(|tap| at(c, tap).map_or(0, |i| list[i]).to_le_bytes());
                        bytes.extend(channels.clone().flat_map(two).flatten());
                    }
                }
            }
        }
        bytes
    }

    fn weights_per_block(&self) -> u64 {
        let taps = self.taps().len() as u64;
        BLOCK * if self.form == Form::Float { taps } else { 2 * taps.div_ceil(2) }
    }
}

impl Schedule for DepthwiseSchedule<'_> {
    fn requirements(&self) -> Requirements {
        staging::requirements(self.cx, &self.work, self.staging.as_ref())
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let work = &self.work;
        let [rows, columns] = work.window;
        let mut b = KernelBuilder::new(format!("depthwise_{rows}x{columns}_{}", work.element.name()));
        let mut arguments = vec![Argument::Tensor(work.input), Argument::Data(self.packed_weights().into())];
        let input = staging::declare_input(&mut b, work, shared)?;
        let weights_lane = if self.form == Form::Float { Lane::F32 } else { Lane::I16 };
        let weights_elements = self.weights_per_block() * work.outputs.div_ceil(BLOCK);
        let weights = b.buffer("weights", BufferKind::Input, weights_lane, weights_elements, 64);
        let initial = work.bias.is_some().then(|| {
            let channels = work.outputs.next_multiple_of(BLOCK);
            let sums = work.initial_sums(0, (0..channels).map(|c| (c < work.outputs).then_some(c)));
            arguments.push(Argument::Data(sums.into()));
            b.buffer("initial", BufferKind::Input, Lane::I32, channels, 64)
        });
        let pixels = match &self.staging {
            Some(staging) => staging.declare(&mut b, work, &mut arguments),
            None => Ring::unstaged(input),
        };
        let mut element_wise = ElementWise::with_epilogue(self.cx, &work.epilogue, work.range())?;
        element_wise.declare(&mut b, &mut arguments, shared)?;
        let hoisted = element_wise.hoist(&mut b, BLOCK as u16);
        if let Some(staging) = &self.staging {
            staging.prepare(&mut b, work, pixels);
        }
        let lowering = Lowering { schedule: self, input, pixels, weights, initial, element_wise, hoisted };
        lowering.images(&mut b)?;
        let staged = if self.staging.is_some() { ", staged rows" } else { "" };
        let description = format!("depthwise {:?} by {BLOCK}{staged}", self.form);
        Ok(Lowered { kernel: b.finish(), arguments, description, multiply_accumulates: work.multiply_accumulates() })
    }
}

struct Lowering<'a> {
    schedule: &'a DepthwiseSchedule<'a>,
    input: Buffer,
    pixels: Ring,
    weights: Buffer,
    initial: Option<Buffer>,
    element_wise: ElementWise<'a>,
    hoisted: Vec<Option<Value>>,
}

impl Lowering<'_> {
    fn images(&self, b: &mut KernelBuilder) -> Result<(), Unsupported> {
        let work = &self.schedule.work;
        let image_elements = (work.input_size[0] * work.input_size[1] * work.channels) as i64;
        let mut outcome = Ok(());
        b.for_range(0, work.batch as i64, 1, |b, image| {
            let first = b.scale_index(image, image_elements, 0);
            let (start, end) = (b.index(0), b.index(work.output_size[0] as i64));
            let staged = b.index(0);
            b.for_carry(start, end, 1, &[staged], |b, y, staged| {
                let buffers = (self.input, self.pixels);
                let (rows, staged) = staging::window_rows(b, work, self.schedule.staging.as_ref(), buffers, (first, y, staged[0]));
                let pixel = b.scale_index(image, work.output_size[0] as i64, 0);
                let pixel = b.add(pixel, y);
                let pixel = b.scale_index(pixel, work.output_size[1] as i64, 0);
                if let Err(error) = self.row(b, &rows, pixel) {
                    outcome = Err(error);
                }
                vec![staged]
            });
        });
        outcome
    }

    fn row(&self, b: &mut KernelBuilder, rows: &[Value], first_pixel: Value) -> Result<(), Unsupported> {
        let work = &self.schedule.work;
        let pixel_elements = (work.strides[1] * work.outputs) as i64;
        let mut outcome = Ok(());
        row(b, work.outputs, BLOCK as u16, |b, channel, active| {
            let weights = b.scale_index(channel, (self.schedule.weights_per_block() / BLOCK) as i64, 0);
            let rows: Vec<Value> = rows.iter().map(|&r| b.add(r, channel)).collect();
            let first = self.first_sum(b, channel);
            b.for_range(0, work.output_size[1] as i64, 1, |b, x| {
                let offset = b.scale_index(x, pixel_elements, 0);
                let rows: Vec<Value> = rows.iter().map(|&r| b.add(r, offset)).collect();
                let sum = self.sum(b, &rows, weights, first, active);
                let pixel = b.add(first_pixel, x);
                let base = b.scale_index(pixel, work.outputs as i64, 0);
                let flat = b.add(base, channel);
                let place = Place { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
                if let Err(error) = self.element_wise.emit(b, &place, Some(sum), &self.hoisted, BLOCK as u16, active) {
                    outcome = Err(error);
                }
            });
        });
        outcome
    }

    /// The element of a tap in every channel of the block.
    fn tap(&self, b: &mut KernelBuilder, rows: &[Value], (y, x): (u64, u64), active: u16) -> Value {
        let work = &self.schedule.work;
        let offset = (x * work.dilation[1] * work.outputs) as i64;
        // A staged row may be read past the channels: what is there is multiplied by zero weights, or not stored.
        let active = if self.schedule.staging.is_some() { BLOCK as u16 } else { active };
        b.load_active(self.pixels.rows, rows[y as usize], offset, BLOCK as u16, active)
    }

    /// Where the sums of a block begin.
    fn first_sum(&self, b: &mut KernelBuilder, channel: Value) -> Value {
        match self.initial {
            Some(buffer) => b.load(buffer, channel, 0, BLOCK as u16),
            None if self.schedule.form == Form::Float => b.float(Type::vector(Lane::F32, BLOCK as u16), 0.0),
            None => b.int(Type::vector(Lane::I32, BLOCK as u16), 0),
        }
    }

    fn sum(&self, b: &mut KernelBuilder, rows: &[Value], weights: Value, first: Value, active: u16) -> Value {
        let taps = self.schedule.taps();
        if self.schedule.form == Form::Float {
            return self.float_sum(b, rows, weights, first, &taps, active);
        }
        let mut sum = first;
        let interleaved: Vec<u16> = (0..BLOCK as u16).flat_map(|l| [l, l + BLOCK as u16]).collect();
        for (pair, two) in taps.chunks(2).enumerate() {
            let first = self.tap(b, rows, two[0], active);
            let second = if two.len() == 2 { self.tap(b, rows, two[1], active) } else { first };
            let x = b.shuffle(first, second, interleaved.clone());
            let w = b.load(self.weights, weights, (pair as u64 * 2 * BLOCK) as i64, 2 * BLOCK as u16);
            sum = b.dot(DotOp::Signed16, sum, x, w);
        }
        sum
    }

    fn float_sum(&self, b: &mut KernelBuilder, rows: &[Value], weights: Value, first: Value, taps: &[(u64, u64)], active: u16) -> Value {
        let mut sum = first;
        for (i, &tap) in taps.iter().enumerate() {
            let x = self.tap(b, rows, tap, active);
            let w = b.load(self.weights, weights, (i as u64 * BLOCK) as i64, BLOCK as u16);
            sum = if self.schedule.work.fuses(self.schedule.cx.machine) {
                b.fma(x, w, sum)
            } else {
                let product = b.mul(x, w);
                b.binary(BinaryOp::Add, product, sum)
            };
        }
        sum
    }
}
