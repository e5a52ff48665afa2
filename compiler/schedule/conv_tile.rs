//! The register tile of a direct convolution: pixels × vectors of output channels, summed over the segments of a window.

use super::Unsupported;
use super::contraction::Form;
use super::conv_direct::{Part, group_of, unroll, weights_first};
use super::conv_loops::{Lowering, Segments, TilePlace};
use super::operands::Place;
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, ConvertOp, DotOp, KernelBuilder, Lane, Type, Value};

/// Where a segment's elements are: in the row of the first pixel, with a constant offset, and in the panel.
#[derive(Clone, Copy)]
struct SegmentPlace {
    row: Value,
    tap: i64,
    weights: Value,
}

impl Lowering<'_> {
    /// One register tile: sums, then the epilogue a pixel at a time.
    pub fn tile(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixels: u64, active: u64) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let (part, (vectors, lanes)) = (place.part, place.vectors);
        let segments = part.panels.extents.segments();
        let segment_weights = part.run() * vectors * lanes;
        let mut sums = self.first_sums(b, place, pixels);
        match place.segments {
            Segments::Rows(rows) => {
                let taps = segments / rows.len().max(1) as u64;
                for segment in 0..segments {
                    let row = b.add(rows[(segment / taps) as usize], place.offset);
                    let weights = b.scale_index(place.weights, 1, (segment * segment_weights) as i64);
                    let tap = (segment % taps) as i64 * self.tap_step();
                    sums = self.segment(b, part, SegmentPlace { row, tap, weights }, pixels, sums);
                }
            }
            Segments::Table(table) => {
                let (start, end) = (b.index(0), b.index(segments as i64));
                sums = b.for_carry(start, end, 1, &sums, |b, segment, sums| {
                    let row = b.load(*table, segment, 0, 1);
                    let row = b.add(row, place.offset);
                    let skipped = b.scale_index(segment, segment_weights as i64, 0);
                    let weights = b.add(place.weights, skipped);
                    self.segment(b, part, SegmentPlace { row, tap: 0, weights }, pixels, sums.to_vec())
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
            self.element_wise.emit(b, &at, Some(accumulator), self.hoisted(lanes.into()), lanes, active as u16)?;
        }
        Ok(())
    }

    /// Where the sums of a tile begin.
    fn first_sums(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixels: u64) -> Vec<Value> {
        let (vectors, lanes) = place.vectors;
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
    fn segment(&self, b: &mut KernelBuilder, part: &Part, at: SegmentPlace, pixels: u64, sums: Vec<Value>) -> Vec<Value> {
        let run = part.run();
        if let Some(chunk) = self.schedule.staging.as_ref().and_then(|staging| staging.chunk) {
            return self.staged_chunks(b, part, at, sums, chunk);
        }
        let Some(chunk) = part.chunk else { return self.products(b, part, at, pixels, sums, None) };
        let zero = b.int(Type::vector(Lane::I32, b.ty(sums[0]).lanes), 0);
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
            let narrow = self.products(b, part, at, pixels, vec![zero; sums.len()], None);
            return add(b, &sums, narrow);
        }
        let (start, end) = (b.index(0), b.index(run as i64));
        b.for_carry(start, end, chunk as i64, &sums, |b, first, wide| {
            let last = b.scale_index(first, 1, chunk as i64);
            let last = b.binary(BinaryOp::SignedMin, last, end);
            let narrow = self.products(b, part, at, pixels, vec![zero; wide.len()], Some((first, last)));
            add(b, wide, narrow)
        })
    }

    /// Adds the products of a single pixel's row, each chunk of which is staged before them.
    fn staged_chunks(&self, b: &mut KernelBuilder, part: &Part, at: SegmentPlace, sums: Vec<Value>, chunk: u64) -> Vec<Value> {
        let (channels, panel) = (self.schedule.work.channels, sums.len() as i64 * i64::from(b.ty(sums[0]).lanes));
        let whole = channels / chunk * chunk;
        let products = |b: &mut KernelBuilder, first: Value, count: u64, part: &Part, sums: &[Value]| {
            if let Some(staging) = &self.schedule.staging {
                staging.copy(b, &self.schedule.work, (self.input, self.pixels), (first, at.row), count);
            }
            let skipped = b.scale_index(first, panel, 0);
            let at = SegmentPlace { weights: b.add(at.weights, skipped), ..at };
            let run = count.next_multiple_of(group_of(self.schedule.form));
            let range = (b.index(0), b.index(run as i64));
            self.products(b, part, at, 1, sums.to_vec(), Some(range))
        };
        let (start, end) = (b.index(0), b.index(whole as i64));
        let sums = b.for_carry(start, end, chunk as i64, &sums, |b, first, sums| products(b, first, chunk, part, sums));
        if channels == whole {
            return sums;
        }
        let groups = (channels - whole).div_ceil(group_of(self.schedule.form));
        products(b, end, channels - whole, &Part { unroll: unroll(groups), ..part.clone() }, &sums)
    }

    /// Adds the products of a range of a segment, or of all of it, to sums of the width that products have.
    fn products(
        &self,
        b: &mut KernelBuilder,
        part: &Part,
        at: SegmentPlace,
        pixels: u64,
        sums: Vec<Value>,
        range: Option<(Value, Value)>,
    ) -> Vec<Value> {
        let schedule = self.schedule;
        let step = (group_of(schedule.form) * part.unroll) as i64;
        let panel = (sums.len() as u64 / pixels) as i64 * i64::from(b.ty(sums[0]).lanes);
        if range.is_none() && part.run() as i64 <= step {
            return self.round(b, part, at, pixels, sums);
        }
        let (start, end) = range.unwrap_or_else(|| (b.index(0), b.index(part.run() as i64)));
        b.for_carry(start, end, step, &sums, |b, k, sums| {
            let skipped = b.scale_index(k, panel, 0);
            let at = SegmentPlace { row: b.add(at.row, k), tap: at.tap, weights: b.add(at.weights, skipped) };
            self.round(b, part, at, pixels, sums.to_vec())
        })
    }

    /// One round of the innermost loop: `unroll` groups of k.
    fn round(&self, b: &mut KernelBuilder, part: &Part, at: SegmentPlace, pixels: u64, mut sums: Vec<Value>) -> Vec<Value> {
        let schedule = self.schedule;
        let (vectors, lanes) = (sums.len() as u64 / pixels, b.ty(sums[0]).lanes);
        for u in 0..part.unroll.min(part.run() / group_of(schedule.form)) {
            let mut add = |b: &mut KernelBuilder, p: u64, v: u64, x: Value, w: Value| {
                let sum = &mut sums[(p * vectors + v) as usize];
                *sum = self.product(b, x, w, *sum);
            };
            if weights_first(schedule.cx.machine) {
                let ws: Vec<Value> = (0..vectors).map(|v| self.weights_of(b, part, at, u * vectors + v, lanes)).collect();
                for p in 0..pixels {
                    let x = self.pixel_operand(b, at, u, p, lanes);
                    (0..vectors).zip(&ws).for_each(|(v, &w)| add(b, p, v, x, w));
                }
            } else {
                let xs: Vec<Value> = (0..pixels).map(|p| self.pixel_operand(b, at, u, p, lanes)).collect();
                for v in 0..vectors {
                    let w = self.weights_of(b, part, at, u * vectors + v, lanes);
                    (0..pixels).zip(&xs).for_each(|(p, &x)| add(b, p, v, x, w));
                }
            }
        }
        sums
    }

    /// A group of k of one pixel, in all lanes.
    fn pixel_operand(&self, b: &mut KernelBuilder, at: SegmentPlace, u: u64, p: u64, lanes: u16) -> Value {
        let schedule = self.schedule;
        let group = group_of(schedule.form);
        let stride = (schedule.work.strides[1] * schedule.work.channels) as i64;
        let offset = at.tap + p as i64 * stride + (u * group) as i64;
        match schedule.form {
            Form::Float => b.load_splat(self.pixels.rows, at.row, offset, lanes),
            _ => b.load_splat_group(self.pixels.rows, at.row, offset, group as u16, lanes * group as u16),
        }
    }

    /// A vector of weights by its number in the round.
    fn weights_of(&self, b: &mut KernelBuilder, part: &Part, at: SegmentPlace, number: u64, lanes: u16) -> Value {
        let lanes = lanes * group_of(self.schedule.form) as u16;
        part.panels.load(b, self.schedule.form, self.weights, at.weights, number as i64 * i64::from(lanes), lanes)
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
