//! Depthwise convolution of bytes on machines of words whose instructions multiply pairs of halves. One channel at a time becomes a plane of 16 bits
//! with its border, in scratch memory. A word of the plane then has two neighbouring columns, as products take them, so nothing is interleaved. Two
//! neighbouring outputs share the words. The weights of a channel stay in registers for the whole plane if there are few.
//!
//! A channel is read before its first result is written, and other channels are not touched. So the output may overwrite the input.

use crate::ir::ElementType;
use crate::kernel::{Buffer, ConvertOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::geometry::needs;
use crate::schedule::contraction::geometry::windows::Geometry;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::strips::Strips;
use crate::schedule::contraction::operands::panels::{ActiveLanes, Extents, Panels};
use crate::schedule::contraction::rows::staging::Staging;
use crate::schedule::contraction::table::depthwise::PLANES;
use crate::schedule::contraction::tiles::plane_weights::RowWeights;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops::{for_range, for_values, row};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::Number;
use crate::schedule::route::Route;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;
use std::ops::Range;

/// Schedule of a depthwise contraction of bytes, channel by channel.
pub struct DepthwisePlanes<'a> {
    cx: Context<'a>,
    work: Contraction,
    /// Element-wise work on the sums.
    element_wise: ElementWise<'a>,
    form: Form,
    plane: Plane,
    /// Weights of a row of the window.
    weights: RowWeights,
    /// Weights: all words of a channel, then those of the next one.
    panels: Panels,
}

/// The plane of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plane {
    rows: u64,
    /// Columns, an even number.
    width: u64,
}

impl Plane {
    fn of(geometry: &Geometry) -> Self {
        let extent = |axis: usize| {
            let phases = &geometry.phases[axis + 1];
            let windows = geometry.output_size[axis].saturating_sub(1) * geometry.strides[axis] + phases.reach();
            windows.max(phases.padding_low + geometry.input_size[axis])
        };
        Self { rows: extent(0), width: extent(1).next_multiple_of(2) }
    }

    fn elements(self) -> u64 {
        self.rows * self.width
    }

    fn bytes(self) -> u64 {
        self.elements() * u64::from(Lane::I16.bytes())
    }
}

/// Tests whether this schedule computes a contraction on all machines that read its weights. Its groups have one input channel.
pub fn takes(cx: &Context<'_>, work: &Contraction) -> bool {
    let geometry = &work.geometry;
    let is_of_bytes = work.multiplies_constant_bytes() && work.accumulator == ElementType::I32;
    let is_image = geometry.sizes.is_none() && geometry.channel_planes.is_none() && geometry.outputs == geometry.channels;
    cx.levels.iter().chain([&cx.machine]).all(|machine| machine.takes_words_apart() || machine.pixel_pairs)
        && is_of_bytes
        && is_image
        && geometry.phases[2].dilation == 1
        && geometry.output_size[1] >= PLANES.outputs
        && cx.uses(Technique::Planes)
        && pays(cx, work)
}

/// Tests whether a plane takes no more memory than the ring of staged rows that it replaces. Small code has planes if they take less.
fn pays(cx: &Context<'_>, work: &Contraction) -> bool {
    let mut cut = work.clone();
    cut.cut_row(cx, 1);
    let plane = Plane::of(&work.geometry).bytes();
    let is_near = |ring: &Staging| plane < ring.bytes() || plane == ring.bytes() && cx.goal == Goal::Speed;
    Staging::new(cx.machine, &cut, Form::Signed16, 1).is_ok_and(|ring| is_near(&ring))
}

impl<'a> DepthwisePlanes<'a> {
    /// Makes the schedule of a contraction for which [`takes`] is true.
    ///
    /// # Errors
    /// [`Unsupported`] if the epilogue has no lowering.
    pub fn new(cx: Context<'a>, work: Contraction) -> Result<Self, Unsupported> {
        let element_wise = ElementWise::with_epilogue(cx, &work.epilogue, &work.sum_ranges())?;
        let form = Form::Apart { signed: work.element.is_signed_integer() };
        let geometry = &work.geometry;
        let weights = RowWeights::new(geometry.window[1], geometry.strides[1]);
        let taps = weights.taps(geometry.window[0]);
        let segment = taps.len() as u64;
        let strips = Strips::new(geometry.outputs, 1);
        let extents =
            Extents { strips, groups: 1, per_tap: 1, filter_taps: geometry.per_output(), taps, segment_taps: segment, step: segment };
        let panels = Panels::new(&work.weights, form, extents, cx.machine, false);
        let plane = Plane::of(geometry);
        Ok(Self { cx, work, element_wise, form, plane, weights, panels })
    }

    /// Returns the number of channels, along which the kernel is divided. `None` if there is too little work.
    fn extent(&self) -> Option<u64> {
        let geometry = &self.work.geometry;
        (geometry.channels > 1 && self.cx.sharing.is_worth_ranges(geometry.multiply_accumulates())).then_some(geometry.channels)
    }

    /// Tests whether the output may start where the input starts: a pixel of an image then overwrites no later image. Slices of a block must have equal
    /// sizes, so that those of both tensors start at the same place.
    fn may_overwrite(&self) -> bool {
        let (cx, work) = (&self.cx, &self.work);
        let [read, written] = [work.geometry.input_size, work.geometry.output_size].map(|[rows, columns]| rows * columns);
        let fits = if cx.sharing.is_whole() { written <= read } else { written == read };
        let [output] = cx.group.outputs[..] else { return false };
        let is_operand = cx.group.epilogue().is_some_and(|epilogue| epilogue.operands.contains(&work.input));
        fits && cx.element(output).bits() == work.element.bits() && !is_operand
    }
}

impl Schedule for DepthwisePlanes<'_> {
    fn requirements(&self) -> Requirements {
        let mut needs = needs::requirements_of(self.cx, (&self.work, &self.element_wise), vec![self.plane.bytes()], false);
        needs.may_share.extend(self.may_overwrite().then(|| Pair { read: self.work.input, written: self.cx.group.outputs[0] }));
        needs.dividing(|_| self.extent())
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let work = &self.work;
        let geometry = &work.geometry;
        let [rows, columns] = geometry.window;
        let mut b = KernelBuilder::new(format!("depthwise_{rows}x{columns}_{}", work.element.name()));
        let range = self.extent().map(|channels| b.divide_all(channels)).map(|(first, end)| first..end);
        let mut arguments = Arguments::default();
        let (input, stored) = needs::declare(&self.cx, &mut b, &mut arguments, work, std::iter::once(&self.panels), shared)?;
        let mut element_wise = self.element_wise.clone();
        let taps: Vec<u64> = (0..geometry.per_output()).collect();
        let sums = work.initial_sums(work.border(self.form), element_wise.offsets(), &taps, (0..geometry.outputs).map(Some));
        let initial = arguments.data(&mut b, "initial", sums.into(), Lane::I32, 64);
        let plane = arguments.scratch(&mut b, "plane", 0, Lane::I16, self.plane.elements());
        element_wise.declare(&mut b, &mut arguments, shared)?;
        let hoisted = element_wise.hoist(&mut b, 1);
        let lowering = Lowering { schedule: self, input, plane, weights: stored.elements, initial, element_wise, hoisted };
        lowering.channels(&mut b, range)?;
        Ok(vec![Lowered {
            multiply_accumulates: geometry.multiply_accumulates(),
            ..Lowered::new(b.finish(), arguments, "depthwise, products of 16-bit pairs, a channel at a time as a plane")
        }])
    }
}

struct Lowering<'a> {
    schedule: &'a DepthwisePlanes<'a>,
    input: Buffer,
    plane: Buffer,
    weights: Buffer,
    initial: Buffer,
    element_wise: ElementWise<'a>,
    /// Values loaded before the loops.
    hoisted: Vec<Option<Hoisted>>,
}

/// Start of a row: the element of the plane at which its first window begins, and its first output.
#[derive(Clone, Copy)]
struct RowStart {
    element: Value,
    pixel: Value,
}

/// Values that the outputs of a channel share.
struct Channel {
    number: Value,
    /// First element of its weights.
    weights: Value,
    /// All words of weights, if they are loaded once.
    held: Option<Vec<Value>>,
    /// Initial value of its sums.
    first: Value,
    /// Values of the epilogue.
    hoisted: Vec<Option<Hoisted>>,
}

impl Lowering<'_> {
    /// Writes all channels.
    fn channels(&self, b: &mut KernelBuilder, range: Option<Range<Value>>) -> Result<(), Unsupported> {
        let (work, plane) = (&self.schedule.work, self.schedule.plane);
        if work.geometry.is_padded() {
            let border = work.border(self.schedule.form);
            b.rounds(true, |b| {
                row(b, plane.elements(), 8, |b, i, active| {
                    let value = b.int(Type::vector(Lane::I16, 8), border);
                    b.store_active(self.plane, i, 0, value, active);
                });
            });
        }
        // Channels share the plane.
        match range {
            Some(range) => for_values(b, range, 1, |b, channel| self.channel(b, channel)),
            None => for_range(b, 0..work.geometry.channels as i64, 1, |b, channel| self.channel(b, channel)),
        }
    }

    /// Writes a channel of all images.
    fn channel(&self, b: &mut KernelBuilder, number: Value) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let geometry = &schedule.work.geometry;
        let weights = b.scale_index(number, schedule.panels.lane_elements() as i64, 0);
        let channel = Channel {
            number,
            weights,
            held: schedule.weights.are_held(geometry.window[0]).then(|| self.held_words(b, weights)),
            first: b.load(self.initial, number, 0, 1),
            hoisted: self.element_wise.hoist_channels(b, number, &self.hoisted, (1, 1u16.into())),
        };
        for_range(b, 0..geometry.batch as i64, 1, |b, image| {
            b.rounds(true, |b| {
                self.fill(b, image, number);
                let rows = 0..geometry.output_size[0] as i64;
                for_range(b, rows, 1, |b, y| self.row(b, &channel, image, y))
            })
        })
    }

    /// Copies a channel of an image into the plane.
    fn fill(&self, b: &mut KernelBuilder, image: Value, channel: Value) {
        let (geometry, plane) = (&self.schedule.work.geometry, self.schedule.plane);
        let [height, width] = geometry.input_size;
        let [top, left] = [1, 2].map(|axis: usize| geometry.phases[axis].padding_low);
        let first = b.scale_index(image, (height * width * geometry.channels) as i64, 0);
        let first = b.add(first, channel);
        b.for_range(0, height as i64, 1, |b, y| {
            let from = b.scale_index(y, (width * geometry.channels) as i64, 0);
            let from = b.add(from, first);
            let to = b.scale_index(y, plane.width as i64, (top * plane.width + left) as i64);
            let together = if width <= PLANES.copied_without_loop { width } else { PLANES.copied };
            Number::Known(width as i64).tiles(b, together, |b, x, count| self.copy(b, Route { from, to }, x, count));
        });
    }

    /// Copies some neighbouring elements of a row.
    fn copy(&self, b: &mut KernelBuilder, Route { from, to }: Route<Value>, x: Value, count: u64) {
        let work = &self.schedule.work;
        let offset = b.scale_index(x, work.geometry.channels as i64, 0);
        let from = b.add(from, offset);
        let to = b.add(to, x);
        let op = if work.element.is_signed_integer() { ConvertOp::SignExtend } else { ConvertOp::ZeroExtend };
        let bytes: Vec<Value> = (0..count).map(|i| b.load(self.input, from, (i * work.geometry.channels) as i64, 1)).collect();
        for (byte, i) in bytes.into_iter().zip(0..) {
            let half = b.convert(op, byte, Lane::I16);
            b.store(self.plane, to, i, half);
        }
    }

    /// Writes a row of the output's channel.
    fn row(&self, b: &mut KernelBuilder, channel: &Channel, image: Value, y: Value) -> Result<(), Unsupported> {
        let (work, plane) = (&self.schedule.work, self.schedule.plane);
        let [rows, columns] = work.geometry.output_size;
        let first_element = b.scale_index(y, (work.geometry.strides[0] * plane.width) as i64, 0);
        let image = b.scale_index(image, (rows * columns) as i64, 0);
        let pixel = b.scale_index(y, columns as i64, 0);
        let pixel = b.add(image, pixel);
        // Short rows have no loop of their own, so that the rows are the innermost loop.
        let step = if columns <= PLANES.without_loop { columns } else { PLANES.outputs };
        Number::Known(columns as i64).tiles(b, step, |b, x, outputs| {
            (0..outputs).step_by(PLANES.outputs as usize).try_for_each(|first| {
                let x = b.scale_index(x, 1, first as i64);
                self.tile(b, channel, RowStart { element: first_element, pixel }, x, PLANES.outputs.min(outputs - first))
            })
        })
    }

    /// Writes neighbouring outputs of a row, from output `x` on.
    fn tile(&self, b: &mut KernelBuilder, channel: &Channel, start: RowStart, x: Value, outputs: u64) -> Result<(), Unsupported> {
        let from = b.scale_index(x, self.schedule.work.geometry.strides[1] as i64, 0);
        let from = b.add(start.element, from);
        let sums = self.sums(b, channel, from, outputs);
        let pixel = b.add(start.pixel, x);
        self.store(b, channel, pixel, sums)
    }

    /// Computes the sums of neighbouring outputs. The first one's window begins at an element of the plane, in an even column.
    fn sums(&self, b: &mut KernelBuilder, channel: &Channel, from: Value, outputs: u64) -> Vec<Value> {
        let schedule = self.schedule;
        let (geometry, words) = (&schedule.work.geometry, schedule.weights.words());
        let reach = (outputs - 1) * geometry.strides[1] + geometry.window[1];
        let mut sums = vec![channel.first; outputs as usize];
        for y in 0..geometry.window[0] {
            let row = (y * geometry.phases[1].dilation * schedule.plane.width) as i64;
            let columns: Vec<Value> = (0..reach as i64).step_by(2).map(|x| b.load(self.plane, from, row + x, 2)).collect();
            let range = y as usize * words..(y as usize + 1) * words;
            let weights = match &channel.held {
                Some(held) => held[range].to_vec(),
                None => self.words(b, channel.weights, range),
            };
            for (output, sum) in (0..).zip(&mut sums) {
                *sum = schedule.weights.products(b, *sum, output * geometry.strides[1], &columns, &weights);
            }
        }
        sums
    }

    /// Loads all words of a channel's weights, tap by tap.
    fn held_words(&self, b: &mut KernelBuilder, channel: Value) -> Vec<Value> {
        let schedule = self.schedule;
        let taps = 0..schedule.panels.lane_elements() as i64;
        let load = |tap| schedule.panels.load(b, (schedule.form, 0), self.weights, (channel, tap), ActiveLanes::all(1));
        let taps: Vec<Value> = taps.map(load).collect();
        schedule.weights.joined(b, &taps)
    }

    /// Loads a range of a channel's words of weights. Four bytes have two words.
    fn words(&self, b: &mut KernelBuilder, channel: Value, range: std::ops::Range<usize>) -> Vec<Value> {
        let schedule = self.schedule;
        let pairs = range.start / 2..range.end.div_ceil(2);
        let both = pairs.flat_map(|pair| {
            let place = (channel, 4 * pair as i64);
            let bytes = schedule.panels.load(b, (schedule.form, 0), self.weights, place, ActiveLanes::all(4));
            [[0, 2], [1, 3]].map(|lanes| b.shuffle(bytes, bytes, lanes.to_vec()))
        });
        both.skip(range.start % 2).take(range.len()).collect()
    }

    /// Stores the results of neighbouring outputs.
    fn store(&self, b: &mut KernelBuilder, channel: &Channel, pixel: Value, sums: Vec<Value>) -> Result<(), Unsupported> {
        let flat = b.scale_index(pixel, self.schedule.work.geometry.outputs as i64, 0);
        let flat = b.add(flat, channel.number);
        for (sum, pixel_offset) in sums.into_iter().zip(0..) {
            let place = OutputPosition { pixel, pixel_offset, channel: channel.number, channel_offset: 0, flat };
            self.element_wise.emit(b, &place, Some(sum), &channel.hoisted, 1, 1u16)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_have_whole_words_and_all_windows() {
        let bytes = |rows, width| Plane { rows, width }.bytes();
        assert_eq!([bytes(27, 8), bytes(50, 50)], [432, 5000]);
    }
}
