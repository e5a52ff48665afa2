//! The register tile of a direct convolution: pixels × vectors of output channels, summed over the segments of a window.

use super::chains;
use super::loops::lowering::Lowering;
use super::loops::places::{Segments, TilePlace};
use super::pairs;
use super::squares;
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, ConvertOp, DotOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::contraction::direct::{PhasePanels, unroll};
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::ActiveLanes;
use crate::schedule::contraction::operands::panels::cuts::Width;
use crate::schedule::contraction::rows::staging::even_and_odd;
use crate::schedule::contraction::table::tiles::{names_elements, words};
pub(in crate::schedule::contraction) use crate::schedule::elementwise::lanes::join;
use crate::schedule::elementwise::neighbours::Neighbours;
use crate::schedule::elementwise::positions::OutputPosition;
use crate::schedule::quantity::Number;
use crate::schedule::route::Route;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;
use std::ops::Range;

/// The place of a segment: its row for the first pixel, a constant offset in it, and its weights in the panel.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct SegmentPlace {
    pub(in crate::schedule::contraction) row: Value,
    tap: i64,
    /// See [`TilePlace::first`].
    first: u64,
    pub(in crate::schedule::contraction) weights: Value,
    /// Width of the panel.
    pub width: Width,
    /// Weights of the panel beside this one.
    beside: Option<(Value, Width)>,
}

/// A round of the innermost loop.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct Round {
    /// Pixels of the tile.
    pub pixels: u64,
    /// Groups of k.
    pub groups: u64,
}

/// A product in a round of the innermost loop.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct InRound {
    /// Number of its group of k.
    pub group: u64,
    /// Its number among the products of the group.
    pub product: u64,
}

impl InRound {
    /// Returns the first product of a group.
    pub fn first(group: u64) -> Self {
        Self { group, product: 0 }
    }
}

impl Lowering<'_> {
    /// Computes one register tile: sums, and then the epilogue, some pixels at a time.
    pub fn tile(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixels: u64) -> Result<(), Unsupported> {
        let (phase, width, first) = (place.phase, place.width, place.first);
        let segments = phase.panels.extents.segments();
        let segment_weights = phase.panels.in_buffer(phase.run() * width.strip);
        let beside = place.beside.as_deref();
        let segment_beside = beside.map_or(0, |beside| phase.panels.in_buffer(phase.run() * beside.width.strip));
        let mut sums = self.first_sums(b, place, pixels);
        let in_squares = matches!(self.schedule.form, Form::Squares { .. });
        let (vectors, _) = width.vectors(self.schedule.lanes);
        if in_squares {
            sums = squares::joined(b, &sums, vectors as usize);
        }
        let own = sums.len();
        if let Some(beside) = beside {
            let sums_beside = self.first_sums(b, beside, pixels);
            sums.extend(pairs::joined(b, &sums_beside));
        }
        match place.segments {
            Segments::Rows(rows) => {
                let taps = segments / rows.len().max(1) as u64;
                for segment in 0..segments {
                    let row = b.add(rows[(segment / taps) as usize], place.offset);
                    let weights = b.scale_index(place.weights, 1, segment as i64 * segment_weights);
                    let tap = (segment % taps) as i64 * self.tap_step();
                    let beside = beside.map(|at| (b.scale_index(at.weights, 1, segment as i64 * segment_beside), at.width));
                    sums = self.segment(b, phase, SegmentPlace { row, tap, first, weights, width, beside }, pixels, sums);
                }
            }
            Segments::Table(table) => {
                let (start, end) = (b.index(0), b.index(segments as i64));
                sums = b.for_carry(start, end, 1, &sums, |b, segment, sums| {
                    let row = self.start_of(b, *table, segment);
                    let row = b.add(row, place.offset);
                    let skipped = b.scale_index(segment, segment_weights, 0);
                    let weights = b.add(place.weights, skipped);
                    let beside = beside.map(|at| {
                        let skipped = b.scale_index(segment, segment_beside, 0);
                        (b.add(at.weights, skipped), at.width)
                    });
                    self.segment(b, phase, SegmentPlace { row, tap: 0, first, weights, width, beside }, pixels, sums.to_vec())
                });
            }
        }
        if in_squares {
            sums = squares::apart(b, &sums, [pixels, vectors], width.lanes / vectors);
            return self.epilogue(b, place, &sums);
        }
        self.epilogue(b, place, &sums[..own])?;
        let Some(beside) = beside else { return Ok(()) };
        let sums_beside = pairs::apart(b, &sums[own..], pixels);
        self.epilogue(b, beside, &sums_beside)
    }

    /// The first element of a segment, from the table of them.
    pub(in crate::schedule::contraction) fn start_of(&self, b: &mut KernelBuilder, table: Buffer, segment: Value) -> Value {
        let start = b.load(table, segment, 0, 1);
        if self.schedule.form.starts_in_fours() { b.scale_index(start, 4, 0) } else { start }
    }

    /// Writes the epilogue of a tile, for as many pixels at a time as fill a vector of results.
    pub(super) fn epilogue(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, sums: &[Value]) -> Result<(), Unsupported> {
        let schedule = self.schedule;
        let base = b.scale_index(place.pixel, schedule.work.geometry.outputs as i64, 0);
        let flat = b.add(base, place.channel);
        let (vectors, _) = place.width.vectors(schedule.lanes);
        let rows = (0..).zip(sums.chunks(vectors as usize));
        let mut pixels: &[Value] = &rows.map(|(pixel, row)| self.whole_sums(b, place, pixel, row)).collect::<Vec<_>>();
        let (channels, most) = (place.width.lanes as u16, self.neighbours(place.width.lanes));
        let (mut first, mut of_channels) = (0, (0, vec![]));
        while !pixels.is_empty() {
            let count = most.min(1 << pixels.len().ilog2());
            let (together, rest) = pixels.split_at(count as usize);
            let pixel_offset = first * schedule.work.geometry.phases[2].step as i64;
            let at = OutputPosition { pixel: place.pixel, pixel_offset, channel: place.channel, channel_offset: 0, flat };
            let hoisted = self.hoisted(u64::from(channels) * count);
            let lanes = channels * count as u16;
            let mut sums = join(b, together);
            if matches!(schedule.form, Form::Floats(_)) {
                sums = added_neighbours(b, sums, lanes);
            }
            if count == 1 {
                self.element_wise.emit(b, &at, Some(sums), hoisted, channels, place.active as u16)?;
            } else {
                let neighbours = Neighbours { first: &at, channels, count: count as u16 };
                if of_channels.0 != count {
                    of_channels = (count, self.element_wise.repeat_channels(b, (place.channel, channels), neighbours.count, hoisted));
                }
                let own = self.element_wise.load_neighbours(b, neighbours, &of_channels.1);
                self.element_wise.emit(b, &at, Some(sums), &own, lanes, lanes)?;
            }
            (pixels, first) = (rest, first + count as i64);
        }
        Ok(())
    }

    /// Returns the sums of a pixel in one vector. Sums of floats in several lanes are added later, for several pixels together.
    fn whole_sums(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixel: i64, vectors: &[Value]) -> Value {
        let mut sums = join(b, vectors);
        if self.schedule.form.sums() > 1 && !self.schedule.form.is_of_floats() {
            sums = self.added_pairs(b, place, sums);
            sums = self.with_lacking(b, place, pixel, &[sums])[0];
        }
        let widens = self.schedule.work.accumulator == ElementType::I64 && self.schedule.in_32_bits.is_none();
        if widens { b.convert(ConvertOp::SignExtend, sums, Lane::I64) } else { sums }
    }

    /// Adds the sums of a pixel that are in two lanes, and their initial values.
    fn added_pairs(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, sums: Value) -> Value {
        let lanes = place.width.lanes as u16;
        let sums = added_neighbours(b, sums, lanes);
        match self.initial {
            Some(buffer) => {
                let initial = b.load(buffer, place.initial, 0, lanes);
                b.add(sums, initial)
            }
            None => sums,
        }
    }

    /// Returns the initial sums of a tile. Sums in several lanes begin at zero.
    fn first_sums(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixels: u64) -> Vec<Value> {
        let (form, (vectors, lanes)) = (self.schedule.form, place.width.vectors(self.schedule.lanes));
        let lane = match form {
            Form::Float | Form::Floats(_) => Lane::F32,
            _ if self.schedule.in_32_bits.is_some() => Lane::I64,
            _ => Lane::I32,
        };
        let ty = Type::vector(lane, (lanes * form.sums()) as u16);
        let first: Vec<Value> = (0..vectors)
            .map(|v| match self.initial {
                Some(buffer) if form.sums() == 1 => {
                    b.load_active(buffer, place.initial, (v * lanes) as i64, lanes as u16, place.width.active(lanes) as u16)
                }
                _ if lane == Lane::F32 => b.float(ty, 0.0),
                _ => b.int(ty, 0),
            })
            .collect();
        if form.sums() > 1 {
            return (0..pixels).flat_map(|_| first.iter().copied()).collect();
        }
        (0..pixels as i64).flat_map(|pixel| self.with_lacking(b, place, pixel, &first)).collect()
    }

    /// Adds the correction of a pixel to its sums.
    fn with_lacking(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixel: i64, sums: &[Value]) -> Vec<Value> {
        let Some(lacking) = self.lacking else { return sums.to_vec() };
        let lacks = b.load_splat(lacking.pixels, place.x, pixel, b.ty(sums[0]).lanes);
        sums.iter().map(|&sum| b.add(sum, lacks)).collect()
    }

    /// Adds the products of one segment to the sums. If sums are wider than 32 bits, runs of the segment have 32-bit sums first.
    fn segment(&self, b: &mut KernelBuilder, phase: &PhasePanels, at: SegmentPlace, pixels: u64, sums: Vec<Value>) -> Vec<Value> {
        let run = phase.run();
        if let Some(chunk) = self.schedule.staging.as_ref().and_then(|staging| staging.chunk) {
            return self.staged_chunks(b, phase, at, sums, chunk);
        }
        let Some(chunk) = phase.chunk else { return self.products(b, phase, at, pixels, sums, None) };
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
            let narrow = self.products(b, phase, at, pixels, vec![zero; sums.len()], None);
            return add(b, &sums, narrow);
        }
        let (start, end) = (b.index(0), b.index(run as i64));
        b.for_carry(start, end, chunk as i64, &sums, |b, first, wide| {
            let last = b.scale_index(first, 1, chunk as i64);
            let last = b.binary(BinaryOp::SignedMin, last, end);
            let narrow = self.products(b, phase, at, pixels, vec![zero; wide.len()], Some(first..last));
            add(b, wide, narrow)
        })
    }

    /// Adds the products of a single pixel's row. Each chunk is staged before its products.
    fn staged_chunks(&self, b: &mut KernelBuilder, phase: &PhasePanels, at: SegmentPlace, sums: Vec<Value>, chunk: u64) -> Vec<Value> {
        let (form, channels) = (self.schedule.form, self.schedule.work.geometry.channels);
        let whole = channels / chunk * chunk;
        let products = |b: &mut KernelBuilder, first: Value, count: u64, phase: &PhasePanels, sums: &[Value]| {
            if let Some(staging) = &self.schedule.staging {
                staging.copy(
                    b,
                    &self.schedule.work,
                    (self.input, self.pixels),
                    Route { from: first, to: at.row },
                    Number::Known(count as i64),
                );
            }
            let skipped = b.scale_index(first, phase.panels.in_buffer(at.width.strip), 0);
            let at = SegmentPlace { weights: b.add(at.weights, skipped), ..at };
            let run = count.next_multiple_of(form.group());
            let range = b.index(0)..b.index(run as i64);
            self.products(b, phase, at, 1, sums.to_vec(), Some(range))
        };
        let (start, end) = (b.index(0), b.index(whole as i64));
        let sums = b.for_carry(start, end, chunk as i64, &sums, |b, first, sums| products(b, first, chunk, phase, sums));
        if channels == whole {
            return sums;
        }
        let groups = (channels - whole).div_ceil(form.group());
        products(b, end, channels - whole, &PhasePanels { unroll: unroll(&self.schedule.cx, groups, form), ..phase.clone() }, &sums)
    }

    /// Adds the products of a segment, or of a range of it, to sums of the width that products have.
    fn products(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: SegmentPlace,
        pixels: u64,
        sums: Vec<Value>,
        range: Option<Range<Value>>,
    ) -> Vec<Value> {
        let schedule = self.schedule;
        if range.is_none() && self.shares_taps(phase, at, pixels) {
            return self.shared_taps(b, phase, at, sums);
        }
        let step = (schedule.form.group() * phase.unroll) as i64;
        if range.is_none() && phase.run() as i64 <= step {
            return self.round(b, phase, at, pixels, sums);
        }
        let Range { start, end } = range.unwrap_or_else(|| b.index(0)..b.index(phase.run() as i64));
        let outputs = sums.len();
        let chains = if at.beside.is_some() { 1 } else { self.chains(phase, outputs) };
        let sums = chains::begin(b, sums, chains);
        let sums = b.for_carry(start, end, step, &sums, |b, k, sums| {
            let skipped = |b: &mut KernelBuilder, width: Width| b.scale_index(k, phase.panels.in_buffer(width.strip), 0);
            let own = skipped(b, at.width);
            let (row, weights) = (b.add(at.row, k), b.add(at.weights, own));
            let beside = at.beside.map(|(weights, width)| {
                let skipped = skipped(b, width);
                (b.add(weights, skipped), width)
            });
            let at = SegmentPlace { row, weights, beside, ..at };
            self.round(b, phase, at, pixels, sums.to_vec())
        });
        chains::end(b, &sums, outputs)
    }

    /// Writes one round of the innermost loop: `unroll` groups of k, which take turns if outputs have several sums.
    fn round(&self, b: &mut KernelBuilder, phase: &PhasePanels, at: SegmentPlace, pixels: u64, mut sums: Vec<Value>) -> Vec<Value> {
        let schedule = self.schedule;
        let (vectors, lanes) = at.width.vectors(self.schedule.lanes);
        let groups = phase.unroll.min(phase.run() / schedule.form.group());
        if let Form::In16Bits { fours } = schedule.form {
            return self.round_in_16_bits(b, phase, at, Round { pixels, groups }, fours, sums);
        }
        if let Form::Squares { signed, group } = schedule.form {
            let ways = squares::Round { signed, group, pixels, groups };
            return self.round_in_squares(b, phase, at, ways, sums);
        }
        let chains = if at.beside.is_some() { 1 } else { sums.len() as u64 / (pixels * vectors) };
        let of_group = |group: u64| (0..schedule.form.products()).map(move |product| InRound { group, product });
        for u in (0..groups).flat_map(of_group) {
            let chain = u.group % chains * pixels * vectors;
            let mut add = |b: &mut KernelBuilder, number: u64, x: Value, w: Value| {
                let sum = &mut sums[(chain + number) as usize];
                *sum = self.product(b, x, w, *sum);
            };
            // Weights come first, and each pixel's operand just before its products. This takes the fewest registers if sums stay in place. If a
            // register has a pixel's operands of several groups, the operands of all pixels stay, and weights are loaded one by one. So it is if a
            // tile has fewer pixels than vectors.
            let machine = schedule.cx.machine;
            if machine.sums_in_place && !names_elements(machine, schedule.form)
                || words(machine, schedule.form).is_some_and(|_| vectors <= pixels && pixels > 1)
            {
                let ws: Vec<Value> = (0..vectors).map(|v| self.weights_of(b, phase, at, u, v * lanes)).collect();
                let beside = at.beside.map(|(weights, width)| SegmentPlace { weights, width, ..at });
                let mut pair = beside.map(|at| pairs::Weights::new(b, |b| self.weights_of(b, phase, at, u, 0)));
                for p in 0..pixels {
                    let x = self.pixel_operand(b, phase, at, u, p);
                    (0..vectors).zip(&ws).for_each(|(v, &w)| add(b, p * vectors + v, x, w));
                    if let Some((x, w)) = pair.as_mut().and_then(|pair| pair.operands(b, x, p + 1 == pixels)) {
                        add(b, pixels * vectors + p / 2, x, w);
                    }
                }
            } else {
                debug_assert!(at.beside.is_none(), "pixels in pairs whose operands are in no register");
                let xs: Vec<Value> = (0..pixels).map(|p| self.pixel_operand(b, phase, at, u, p)).collect();
                for v in 0..vectors {
                    let w = self.weights_of(b, phase, at, u, v * lanes);
                    (0..pixels).zip(&xs).for_each(|(p, &x)| add(b, p * vectors + v, x, w));
                }
            }
        }
        sums
    }

    /// Tests whether the products of a row of taps share the operands of pixels, since a pixel is under several taps of neighbouring windows.
    /// With more than one vector of output channels, loads do not limit the products.
    fn shares_taps(&self, phase: &PhasePanels, at: SegmentPlace, pixels: u64) -> bool {
        let (schedule, extents) = (self.schedule, &phase.panels.extents);
        let (work, machine, form) = (&schedule.work, schedule.cx.machine, schedule.form);
        let (vectors, _) = at.width.vectors(schedule.lanes);
        schedule.cx.uses(Technique::SharedTaps)
            && machine.sums_in_place
            && at.beside.is_none()
            && work.geometry.joined.is_none()
            && form.is_of_bytes()
            && form.sums() == 1
            && !matches!(form, Form::Squares { .. })
            && pixels > 1
            && vectors == 1
            && work.geometry.strides[1] < extents.segment_taps
            && extents.per_tap.is_multiple_of(form.group())
            && pixels + extents.segment_taps < machine.registers.count().into()
    }

    /// Adds the products of a row of taps that share the operands of pixels.
    fn shared_taps(&self, b: &mut KernelBuilder, phase: &PhasePanels, at: SegmentPlace, sums: Vec<Value>) -> Vec<Value> {
        let (group, per_tap) = (self.schedule.form.group(), phase.panels.extents.per_tap);
        let unroll = if (per_tap / group).is_multiple_of(2) { 2 } else { 1 };
        let round = |b: &mut KernelBuilder, at: SegmentPlace, sums: Vec<Value>| {
            (0..unroll).fold(sums, |sums, u| self.group_of_taps(b, phase, at, u, sums))
        };
        if per_tap / group == unroll {
            return round(b, at, sums);
        }
        let (start, end) = (b.index(0), b.index(per_tap as i64));
        b.for_carry(start, end, (group * unroll) as i64, &sums, |b, k, sums| {
            let skipped = b.scale_index(k, phase.panels.in_buffer(at.width.strip), 0);
            let at = SegmentPlace { row: b.add(at.row, k), weights: b.add(at.weights, skipped), ..at };
            round(b, at, sums.to_vec())
        })
    }

    /// Adds the products of a group of k, for each tap of a row, to the sums of the pixels. Each pixel has one vector.
    fn group_of_taps(&self, b: &mut KernelBuilder, phase: &PhasePanels, at: SegmentPlace, u: u64, mut sums: Vec<Value>) -> Vec<Value> {
        let (work, group) = (&self.schedule.work, self.schedule.form.group());
        let (stride, taps, pixels) = (work.geometry.strides[1], phase.panels.extents.segment_taps, sums.len() as u64);
        let in_tap = phase.panels.extents.per_tap / group;
        let weights: Vec<Value> = (0..taps).map(|tap| self.weights_of(b, phase, at, InRound::first(tap * in_tap + u), 0)).collect();
        for input in 0..(pixels - 1) * stride + taps {
            let x = self.group_at(b, at, at.tap + (input * work.geometry.channels + u * group) as i64, group);
            for (tap, &w) in (0..=input).zip(&weights) {
                let pixel = (input - tap) / stride;
                if (input - tap).is_multiple_of(stride) && pixel < pixels {
                    let sum = &mut sums[pixel as usize];
                    *sum = self.product(b, x, w, *sum);
                }
            }
        }
        sums
    }

    /// Returns a product's operand: a group of k of pixel `p`, in all lanes.
    pub(in crate::schedule::contraction) fn pixel_operand(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: SegmentPlace,
        group: InRound,
        p: u64,
    ) -> Value {
        let schedule = self.schedule;
        let whole = schedule.form.group();
        let InRound { group: number, product } = group;
        let mut group = whole / schedule.form.products();
        let offset = self.pixel_offset(at, p) + (number * whole + product * group) as i64;
        if matches!(schedule.form, Form::Floats(_)) && (number + 1) * whole > phase.panels.extents.segment() {
            // The last element is loaded alone: the memory after it may hold NaN.
            group = 1;
        }
        self.group_at(b, at, offset, group)
    }

    /// Returns the distance of a pixel's operands from the row of the segment.
    pub(in crate::schedule::contraction) fn pixel_offset(&self, at: SegmentPlace, p: u64) -> i64 {
        let geometry = &self.schedule.work.geometry;
        let offset = match geometry.joined {
            Some(_) => geometry.window_offset(at.first + p) - geometry.window_offset(at.first),
            None => p * self.schedule.pixel_step(),
        };
        at.tap + offset as i64
    }

    /// Loads a group of k of one pixel into all lanes, at an offset from the start of the segment.
    fn group_at(&self, b: &mut KernelBuilder, at: SegmentPlace, offset: i64, group: u64) -> Value {
        let schedule = self.schedule;
        let (_, lanes) = at.width.vectors(schedule.lanes);
        match schedule.form {
            Form::Float => b.load_splat(self.pixels.rows, at.row, offset, lanes as u16),
            Form::Floats(count) if group == 1 => b.load_splat(self.pixels.rows, at.row, offset, (lanes * count) as u16),
            _ => b.load_splat_group(self.windows.unwrap_or(self.pixels.rows), at.row, offset, group as u16, (lanes * group) as u16),
        }
    }

    /// Loads a vector of weights for a product, from a lane of the panel on.
    pub(in crate::schedule::contraction) fn weights_of(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: SegmentPlace,
        at_group: InRound,
        lane: u64,
    ) -> Value {
        let form = self.schedule.form;
        let group = form.group();
        let (_, lanes) = at.width.vectors(self.schedule.lanes);
        let offset = phase.panels.place(at.width, at_group.group * group, lane);
        let [lanes, active] = [lanes, at.width.active(lanes)].map(|lanes| (lanes * group / form.products()) as u16);
        let lanes = ActiveLanes { lanes, active };
        let weights = phase.panels.load(b, (form, at_group.product), self.weights, (at.weights, offset), lanes);
        if matches!(form, Form::Apart { .. }) { even_and_odd(b, weights) } else { weights }
    }

    fn product(&self, b: &mut KernelBuilder, x: Value, w: Value, sum: Value) -> Value {
        match self.schedule.form {
            Form::Apart { .. } => {
                // The first halves of the fours of all lanes, then the second ones.
                let lanes = b.ty(sum).lanes;
                [0, 2].into_iter().fold(sum, |sum, first| {
                    let halves = (0..2 * lanes).map(|half| half / 2 * 4 + half % 2 + first).collect::<Vec<u16>>();
                    let [x, w] = [x, w].map(|fours| b.shuffle(fours, fours, halves.clone()));
                    b.dot(DotOp::Signed16, sum, x, w)
                })
            }
            form if !form.is_of_floats() => b.dot(form.dot(), sum, x, w),
            _ if self.schedule.work.fuses(self.schedule.cx.machine) => b.fma(x, w, sum),
            _ => {
                let product = b.mul(x, w);
                b.add(product, sum)
            }
        }
    }
}

/// Adds sums in neighbouring lanes until this many lanes are left.
fn added_neighbours(b: &mut KernelBuilder, mut sums: Value, lanes: u16) -> Value {
    while b.ty(sums).lanes > lanes {
        let half = b.ty(sums).lanes / 2;
        let [even, odd] = [0, 1].map(|first| b.shuffle(sums, sums, (0..half).map(|lane| 2 * lane + first).collect()));
        sums = b.add(even, odd);
    }
    sums
}
