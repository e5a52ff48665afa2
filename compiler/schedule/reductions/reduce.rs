//! Reductions over whole axes. Vectors run along the last dimension. If it is kept, they run across results. If it is reduced, they run across the
//! elements of one result, unless the order of elements matters.

use super::reduction::{Reduction, SHORT_WORK};
use crate::ir::{Inst, Operation};
use crate::kernel::passes::DEAD;
use crate::kernel::{Active, KernelBuilder, Value};
use crate::schedule::Goal;
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity};
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Maximum registers for partial results.
const REGISTERS: u32 = 8;
/// Maximum results that are computed side by side. More would hide no more latency.
const MOST_TOGETHER: u32 = 4;

/// Schedule of a `reduce`.
pub struct ReduceSchedule<'a> {
    pub(super) cx: Context<'a>,
    /// Work on the operand, and work on the results.
    reader: ElementWise<'a>,
    writer: ElementWise<'a>,
    pub(super) reduction: Reduction,
    shape: Vec<Quantity>,
    /// Reduced dimensions.
    reduced: Vec<bool>,
}

impl<'a> ReduceSchedule<'a> {
    /// Makes the schedule of a `reduce`.
    ///
    /// # Errors
    /// [`Unsupported`] for shapes and types without lowering.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Reduce(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let shape = cx.quantities(operand);
        let mut reduced = vec![false; shape.len()];
        operator.axes.iter().for_each(|&axis| reduced[axis] = true);
        let (reader, writer) = (ElementWise::reader(cx, operand)?, ElementWise::new(cx, None)?);
        let reduction = Reduction::new(operator.reduction, cx.element(operand))?;
        Ok(Self { cx, reader, writer, reduction, shape, reduced })
    }
}

impl Schedule for ReduceSchedule<'_> {
    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut b = KernelBuilder::new("reduce");
        b.independent(true);
        let mut arguments = Arguments::default();
        let (mut reader, mut writer) = (self.reader.clone(), self.writer.clone());
        reader.declare(&mut b, &mut arguments, shared)?;
        writer.declare(&mut b, &mut arguments, shared)?;
        let channels = self.shape.last().cloned().unwrap_or(Quantity::known(1));
        let lanes = self.cx.lanes_for(reader.smallest_element(), channels.most(self.cx.function)?);
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.shape.iter().flat_map(Quantity::extents));
        let [kept, inner] = [false, true].map(|reduced| self.dimensions(&mut b, &cells, reduced));
        let channels = cells.number(&mut b, &channels);
        let last_reduced = self.reduced.last().copied().unwrap_or(false);
        let in_order = last_reduced && self.reduction.is_ordered();
        let lanes = match (last_reduced, in_order) {
            (_, true) => 1,
            (true, false) => lanes,
            (false, _) => self.across_lanes(lanes, channels),
        };
        let lowering = Lowering { schedule: self, reader, writer, kept, inner, channels, lanes };
        match (last_reduced, in_order) {
            (true, true) => lowering.in_order(&mut b)?,
            (true, false) => lowering.across_elements(&mut b)?,
            (false, _) => lowering.across_results(&mut b)?,
        }
        let way = ["", ", within a row", ", within a row, in order"][usize::from(last_reduced) + usize::from(in_order)];
        let description = format!("reduction, {lanes} at a time{way}");
        // Sums in 16 bits do not use the conversions of bytes to 32 bits, which are dead code.
        let kernel = if lowering.widening().is_some() { DEAD.after(b.finish()) } else { b.finish() };
        Ok(vec![Lowered::new(kernel, arguments, description)])
    }
}

pub(super) struct Lowering<'a> {
    pub(super) schedule: &'a ReduceSchedule<'a>,
    pub(super) reader: ElementWise<'a>,
    writer: ElementWise<'a>,
    /// Dimensions without the last: the results' and the reduced ones.
    kept: Vec<Dimension>,
    inner: Vec<Dimension>,
    channels: Number,
    lanes: u16,
}

/// First element of a sum.
#[derive(Clone, Copy)]
pub(super) struct First {
    /// Its pixel in the input.
    pub pixel: Value,
    /// Its channel.
    pub channel: Value,
}

/// A dimension of a loop nest. Each step adds to the input's and the output's pixel number.
#[derive(Clone, Copy)]
pub(super) struct Dimension {
    pub(super) extent: Number,
    pub(super) input_step: Number,
    output_step: Number,
}

impl Dimension {
    /// Returns the pixels of input and output at position `first + step` of this dimension, from the pixels where it begins.
    fn moved(&self, b: &mut KernelBuilder, pixels: Pixels, first: Value, step: i64) -> Pixels {
        let number = b.scale_index(first, 1, step);
        let [input, output] = [(pixels.input, self.input_step), (pixels.output, self.output_step)].map(|(pixel, step)| {
            let moved = step.scale(b, number);
            b.add(pixel, moved)
        });
        Pixels { input, output }
    }
}

/// The pixels of a result.
#[derive(Clone, Copy)]
struct Pixels {
    /// The first pixel of the input that the result combines.
    input: Value,
    /// The pixel of the output.
    output: Value,
}

/// Values that are loaded before all loops: for vectors of the input, for its single elements, and for results.
struct Rows {
    vector: Vec<Option<Hoisted>>,
    single: Vec<Option<Hoisted>>,
    writer: Vec<Option<Hoisted>>,
}

impl ReduceSchedule<'_> {
    /// Returns the lanes of the vectors that run across results. They take several registers, which hide each other's latency, if the channels fill
    /// them without a rest. The input is then also read in long runs.
    fn across_lanes(&self, lanes: u16, channels: Number) -> u16 {
        let machine = self.cx.machine;
        let Number::Known(channels) = channels else { return lanes };
        // Masks have no bytes.
        let Some(most) = (REGISTERS * u32::from(machine.vector_bytes()) / 2).checked_div(self.reduction.lane_bytes()) else { return lanes };
        let fits = |lanes: u16| u32::from(lanes) <= most && channels % i64::from(lanes) == 0;
        let in_vectors = lanes > 1 && self.cx.writes_out() && machine.combines_lanes() && self.cx.uses(Technique::SeveralResults);
        let mut wider = [4, 2].into_iter().filter_map(|by| lanes.checked_mul(by));
        wider.find(|&wide| in_vectors && fits(wide)).unwrap_or(lanes)
    }

    /// Returns the dimensions before the last one, either the kept or the reduced ones, outermost first.
    fn dimensions(&self, b: &mut KernelBuilder, cells: &Cells, reduced: bool) -> Vec<Dimension> {
        let shape = &self.shape;
        let (mut input_step, mut output_step) = (Quantity::known(1), Quantity::known(1));
        let mut dimensions = Vec::new();
        for d in (0..shape.len().saturating_sub(1)).rev() {
            if self.reduced[d] == reduced && !shape[d].is(1) {
                let [extent, input_step, output_step] = [&shape[d], &input_step, &output_step].map(|q| cells.number(b, q));
                dimensions.push(Dimension { extent, input_step, output_step });
            }
            input_step = input_step.times(&shape[d]);
            if !self.reduced[d] {
                output_step = output_step.times(&shape[d]);
            }
        }
        dimensions.reverse();
        dimensions
    }
}

impl Lowering<'_> {
    fn across_results(&self, b: &mut KernelBuilder) -> Result<(), Unsupported> {
        let hoisted = (self.reader.hoist(b, self.lanes), self.writer.hoist(b, self.lanes));
        let zero = b.index(0);
        let mut outcome = Ok(());
        let masked = self.schedule.cx.machine.masked_lanes;
        nest(b, &self.kept, zero, zero, &mut |b, input, output| {
            self.channels.row(b, self.lanes, masked, |b, channel, active| {
                let neutral = self.schedule.reduction.neutral(b, self.lanes);
                let result = self.sum(b, &self.inner, input, channel, &hoisted.0, self.lanes, active, neutral).and_then(|sum| {
                    let sum = self.finish(b, sum);
                    let place = self.place(b, output, channel);
                    self.writer.emit(b, &place, Some(sum), &hoisted.1, self.lanes, active)
                });
                if result.is_err() {
                    outcome = result;
                }
            });
        });
        outcome
    }

    /// Combines one element after another, in the order of the interpreter.
    fn in_order(&self, b: &mut KernelBuilder) -> Result<(), Unsupported> {
        let hoisted = (self.reader.hoist(b, 1), self.writer.hoist(b, 1));
        let zero = b.index(0);
        let mut outcome = Ok(());
        nest(b, &self.kept, zero, zero, &mut |b, input, output| {
            let neutral = self.schedule.reduction.neutral(b, 1);
            let result = self.rows(b, &self.inner, input, &hoisted.0, neutral).and_then(|total| {
                let total = self.finish(b, total);
                let zero = b.index(0);
                let place = OutputPosition { pixel: output, pixel_offset: 0, channel: zero, channel_offset: 0, flat: output };
                self.writer.emit(b, &place, Some(total), &hoisted.1, 1, 1)
            });
            if result.is_err() {
                outcome = result;
            }
        });
        outcome
    }

    /// Combines the rows from an input pixel on, element by element, with a partial result.
    fn rows(
        &self,
        b: &mut KernelBuilder,
        inner: &[Dimension],
        pixel: Value,
        hoisted: &[Option<Hoisted>],
        partial: Value,
    ) -> Result<Value, Unsupported> {
        let start = b.index(0);
        let end = inner.first().map_or(self.channels, |first| first.extent).value(b);
        let mut inside = Ok(partial);
        let results = b.for_carry(start, end, 1, &[partial], |b, i, partial| {
            inside = match inner.split_first() {
                Some((first, rest)) => {
                    let step = first.input_step.scale(b, i);
                    let pixel = b.add(pixel, step);
                    self.rows(b, rest, pixel, hoisted, partial[0])
                }
                None => self.sum(b, &[], pixel, i, hoisted, 1, 1, partial[0]),
            };
            vec![*inside.as_ref().unwrap_or(&partial[0])]
        });
        inside.map(|_| results[0])
    }

    fn across_elements(&self, b: &mut KernelBuilder) -> Result<(), Unsupported> {
        let hoisted = Rows { vector: self.reader.hoist(b, self.lanes), single: self.reader.hoist(b, 1), writer: self.writer.hoist(b, 1) };
        let zero = b.index(0);
        let (last, outer) = match self.kept.split_last() {
            Some((last, outer)) => (Some(last), outer),
            None => (None, &[][..]),
        };
        let mut outcome = Ok(());
        nest(b, outer, zero, zero, &mut |b, input, output| {
            let result = match last {
                Some(last) => last.extent.tiles(b, self.together(), |b, first, rows| {
                    let rows: Vec<Pixels> = (0..rows as i64).map(|row| last.moved(b, Pixels { input, output }, first, row)).collect();
                    self.results(b, &rows, &hoisted)
                }),
                None => self.results(b, &[Pixels { input, output }], &hoisted),
            };
            if result.is_err() {
                outcome = result;
            }
        });
        outcome
    }

    /// Returns the number of results that are computed side by side, so that their sums hide each other's latency. It is 1 if a result takes much
    /// code or loops of its own. Partial results take a limited number of registers.
    fn together(&self) -> u64 {
        let cx = &self.schedule.cx;
        let work = cx.group.prologue().into_iter().chain(cx.group.epilogue());
        let is_short = work.map(|work| work.expression.cost()).fold(0, u64::saturating_add) < SHORT_WORK;
        if !cx.uses(Technique::SeveralResults)
            || cx.hides_latency()
            || cx.goal == Goal::Size
            || !is_short
            || self.lanes == 1
            || !self.inner.is_empty()
        {
            return 1;
        }
        let bytes = u32::from(self.lanes) * self.schedule.reduction.lane_bytes();
        let registers = bytes.div_ceil(cx.machine.vector_bytes().into()).max(1);
        u64::from((REGISTERS / registers).clamp(1, MOST_TOGETHER))
    }

    /// Computes results side by side: by vectors, then the remaining elements one by one. `rows` are their pixels.
    fn results(&self, b: &mut KernelBuilder, rows: &[Pixels], hoisted: &Rows) -> Result<(), Unsupported> {
        let reduction = &self.schedule.reduction;
        let known = if let Number::Known(n) = self.channels { Some(n) } else { None };
        let whole_lanes = i64::from(self.lanes);
        let mut totals: Vec<Value> = rows.iter().map(|_| reduction.neutral(b, 1)).collect();
        for (lanes, is_rest, hoisted) in [(self.lanes, false, &hoisted.vector), (1, true, &hoisted.single)] {
            let empty = |n: i64| if is_rest { n % whole_lanes == 0 } else { n < whole_lanes };
            if known.is_some_and(empty) || is_rest && (self.lanes == 1 || self.masks_rest()) {
                continue;
            }
            let neutral = reduction.neutral(b, lanes);
            let (start, end) = self.channels.stretch(b, self.lanes, is_rest);
            let mut inside = Ok(());
            let sums = b.for_carry(start, end, i64::from(lanes), &vec![neutral; rows.len()], |b, channel, sums| {
                let next =
                    rows.iter().zip(sums).map(|(row, &sum)| self.sum(b, &self.inner, row.input, channel, hoisted, lanes, lanes, sum));
                let next: Result<Vec<Value>, Unsupported> = next.collect();
                next.unwrap_or_else(|error| {
                    inside = Err(error);
                    sums.to_vec()
                })
            });
            inside?;
            let sums = if !is_rest && self.masks_rest() { self.with_rest(b, rows, hoisted, &sums)? } else { sums };
            for (total, sum) in totals.iter_mut().zip(sums) {
                let sum = reduction.horizontal(b, sum);
                *total = reduction.combine(b, *total, sum);
            }
        }
        for (total, &Pixels { output, .. }) in totals.into_iter().zip(rows) {
            let total = self.finish(b, total);
            let zero = b.index(0);
            let place = OutputPosition { pixel: output, pixel_offset: 0, channel: zero, channel_offset: 0, flat: output };
            self.writer.emit(b, &place, Some(total), &hoisted.writer, 1, 1)?;
        }
        Ok(())
    }

    /// Tests whether the elements after whole vectors are combined as one masked vector.
    fn masks_rest(&self) -> bool {
        self.channels.masks_rest(self.lanes, self.schedule.cx.machine.masked_lanes)
    }

    /// Combines partial results with the elements after whole vectors, if there are any, in one masked vector.
    fn with_rest(
        &self,
        b: &mut KernelBuilder,
        rows: &[Pixels],
        hoisted: &[Option<Hoisted>],
        sums: &[Value],
    ) -> Result<Vec<Value>, Unsupported> {
        self.channels.with_rest(b, self.lanes, sums, |b, start, mask| {
            let next = rows.iter().zip(sums).map(|(row, &sum)| {
                let more = self.sum(b, &self.inner, row.input, start, hoisted, self.lanes, Active::Where(mask), sum)?;
                Ok(b.select(mask, more, sum))
            });
            next.collect()
        })
    }

    /// Converts a result for the epilogue, if there is one.
    fn finish(&self, b: &mut KernelBuilder, total: Value) -> Value {
        let is_stored = self.schedule.cx.group.epilogue().is_none();
        if is_stored { total } else { self.schedule.reduction.finish(b, &self.reader, 0, total) }
    }

    /// Returns the place of a channel of a pixel.
    pub(super) fn place(&self, b: &mut KernelBuilder, pixel: Value, channel: Value) -> OutputPosition {
        let base = self.channels.scale(b, pixel);
        let flat = b.add(base, channel);
        OutputPosition { pixel, pixel_offset: 0, channel, channel_offset: 0, flat }
    }

    /// Combines the elements of all reduced dimensions before the last one, from an input pixel on, with a partial result.
    #[allow(clippy::too_many_arguments, reason = "the coordinates of one vector of the input")]
    fn sum(
        &self,
        b: &mut KernelBuilder,
        inner: &[Dimension],
        pixel: Value,
        channel: Value,
        hoisted: &[Option<Hoisted>],
        lanes: u16,
        active: impl Into<Active>,
        sum: Value,
    ) -> Result<Value, Unsupported> {
        let active = active.into();
        let Some((first, rest)) = inner.split_first() else {
            let place = self.place(b, pixel, channel);
            let values = self.reader.values(b, &place, &[], hoisted, lanes, active)?;
            return Ok(self.schedule.reduction.combine(b, sum, values[0]));
        };
        if let Some(bytes) = self.byte_sum(first, rest, lanes) {
            return self.sum_in_16_bits(b, &bytes, First { pixel, channel }, hoisted, (lanes, active), sum);
        }
        let (start, end) = (b.index(0), first.extent.value(b));
        let mut inside = Ok(sum);
        let sums = b.for_carry(start, end, 1, &[sum], |b, i, sums| {
            let step = first.input_step.scale(b, i);
            let pixel = b.add(pixel, step);
            inside = self.sum(b, rest, pixel, channel, hoisted, lanes, active, sums[0]);
            vec![*inside.as_ref().unwrap_or(&sums[0])]
        });
        inside.map(|_| sums[0])
    }
}

/// Writes nested loops over dimensions, with the pixel numbers of input and output.
fn nest(
    b: &mut KernelBuilder,
    dimensions: &[Dimension],
    input: Value,
    output: Value,
    body: &mut dyn FnMut(&mut KernelBuilder, Value, Value),
) {
    let Some((first, rest)) = dimensions.split_first() else {
        body(b, input, output);
        return;
    };
    first.extent.repeat(b, |b, i| {
        let Pixels { input, output } = first.moved(b, Pixels { input, output }, i, 0);
        nest(b, rest, input, output, body);
    });
}
