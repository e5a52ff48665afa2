//! Reductions over sliding windows (pooling). Vectors run along the channels, and taps outside the input are skipped.

use super::nines;
use super::reduction::Reduction;
use crate::ir::{self, ElementType, Inst, Operation, Summation};
use crate::kernel::{Active, BinaryOp, CompareOp, KernelBuilder, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::image_sizes::{Numbers, Sizes};
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::elementwise::ranges::{Range, type_range, within};
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::Quantity;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Maximum taps of a window that is unrolled.
const WRITTEN_OUT: u64 = 25;

/// Bytes of a vector register on machines of words, which has no shorter vectors of bytes.
const SIXTEEN: i64 = 16;

/// Schedule of a `window`.
pub struct WindowSchedule<'a> {
    cx: Context<'a>,
    /// Work on the operand, and work on the results.
    reader: ElementWise<'a>,
    writer: ElementWise<'a>,
    reduction: Reduction,
    /// `true` if elements stay bytes until the window is reduced.
    keeps_bytes: bool,
    summation: Summation,
    /// `true` for a maximum, `false` for other reductions.
    is_largest: bool,
    sizes: Sizes,
    /// Rows and columns of the window; strides, dilation, padding. One spatial dimension is a single row.
    size: [u64; 2],
    strides: [u64; 2],
    dilation: [u64; 2],
    low: [u64; 2],
    /// `true` if taps may be outside the input.
    padded: bool,
    channels: Quantity,
}

impl<'a> WindowSchedule<'a> {
    /// Makes the schedule of a `window`.
    ///
    /// # Errors
    /// [`Unsupported`] for shapes and types without lowering.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Window(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let (shape, output) = (cx.largest_shape(operand)?, cx.largest_shape(data.results[0])?);
        let spatial = shape.len() - 2;
        if !(1..=2).contains(&spatial) {
            return Err(Unsupported::Window(spatial));
        }
        let pair = |list: &[u64], one: u64| if spatial == 2 { [list[0], list[1]] } else { [one, list[0]] };
        let numbers = |list: &[i64], one: u64| pair(&list.iter().map(|&n| n as u64).collect::<Vec<_>>(), one);
        let geometry = &operator.geometry;
        let sizes = Sizes::of(&cx, data, geometry)?;
        let padded = sizes.is_some() || geometry.padding_low.iter().chain(&geometry.padding_high).any(|&n| n != 0);
        let mut reader = ElementWise::reader(cx, operand)?;
        let writer = ElementWise::new(cx, sums(&reader, operator.reduction, &operator.size))?;
        let reduction = Reduction::new(operator.reduction, cx.element(operand))?;
        let channels = cx.quantities(operand).pop().unwrap_or_else(|| Quantity::known(1));
        let is_in_bytes = match cx.machine.byte_sixteens {
            // What such a register holds is only loaded, combined and stored, whole.
            true => cx.group.epilogue().is_none() && channels.as_known().is_some_and(|channels| channels % SIXTEEN == 0),
            false => cx.machine.combines_lanes() && shape[shape.len() - 1] > 1,
        };
        let of_bytes = reduction.of_bytes().filter(|_| is_in_bytes && cx.uses(Technique::NarrowWindows) && reader.keep_bytes());
        Ok(Self {
            cx,
            reader,
            writer,
            reduction: of_bytes.unwrap_or(reduction),
            keeps_bytes: of_bytes.is_some(),
            summation: operator.summation,
            is_largest: operator.reduction == ir::Reduction::Max,
            sizes: sizes.unwrap_or_else(|| {
                let plane = |list: &[u64]| {
                    let [rows, columns] = pair(list, 1);
                    [1, rows, columns]
                };
                Sizes::known(shape[0], plane(&shape[1..]), plane(&output[1..]))
            }),
            size: numbers(&operator.size, 1),
            strides: numbers(&geometry.strides, 1),
            dilation: numbers(&geometry.dilation, 1),
            low: numbers(&geometry.padding_low, 0),
            padded,
            channels,
        })
    }
}

impl Schedule for WindowSchedule<'_> {
    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut b = KernelBuilder::new(format!("window_{}x{}", self.size[0], self.size[1]));
        b.independent(true);
        let mut arguments = Arguments::default();
        let (mut reader, mut writer) = (self.reader.clone(), self.writer.clone());
        reader.declare(&mut b, &mut arguments, shared)?;
        writer.declare(&mut b, &mut arguments, shared)?;
        let smallest = reader.smallest_element().min(writer.smallest_element());
        let lanes = match self.keeps_bytes && self.cx.machine.byte_sixteens {
            true => SIXTEEN as u16,
            false => self.cx.lanes_for(smallest, self.channels.most(self.cx.function)?),
        };
        let hoisted = (reader.hoist(&mut b, lanes), writer.hoist(&mut b, lanes));
        let numbers = self.sizes.load(&mut b, &mut arguments, &self.channels);
        let mut outcome = Ok(());
        numbers.output_rows.repeat(&mut b, |b, line| {
            let rows = numbers.output[1].value(b);
            let image = b.binary(BinaryOp::SignedDiv, line, rows);
            let y = b.binary(BinaryOp::SignedRem, line, rows);
            numbers.output[2].repeat(b, |b, x| {
                let pixel = numbers.output[2].scale(b, line);
                let pixel = b.add(pixel, x);
                numbers.channels.row(b, lanes, self.cx.machine.masked_lanes, |b, channel, active| {
                    let at = Element { image, y, x, channel };
                    let result = self.reduce(b, &numbers, &reader, &hoisted.0, at, lanes, active).and_then(|sum| {
                        let is_stored = self.keeps_bytes || self.cx.group.epilogue().is_none();
                        let sum = if is_stored { sum } else { self.reduction.finish(b, &reader, 0, sum) };
                        let base = numbers.channels.scale(b, pixel);
                        let flat = b.add(base, channel);
                        let place = OutputPosition { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
                        writer.emit(b, &place, Some(sum), &hoisted.1, lanes, active)
                    });
                    if result.is_err() {
                        outcome = result;
                    }
                });
            });
        });
        outcome?;
        let description = format!("windows of {}x{}, {lanes} channels at a time", self.size[0], self.size[1]);
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}

/// The taps of a window at one vector of the output.
struct Taps<'t> {
    schedule: &'t WindowSchedule<'t>,
    numbers: &'t Numbers,
    reader: &'t ElementWise<'t>,
    hoisted: &'t [Option<Hoisted>],
    lanes: u16,
    active: Active,
    /// Row and column of the first tap. They may be outside the input.
    top: Value,
    left: Value,
    /// First row of the image, counted over all images.
    first: Value,
    channel: Value,
}

impl Taps<'_> {
    /// Combines taps row by row. The code is unrolled for windows that are inside the input.
    fn in_rows(&self, b: &mut KernelBuilder, neutral: Value) -> Result<Value, Unsupported> {
        let Some(inside) = self.schedule.written_out() else { return self.looped(b, neutral) };
        if !self.schedule.padded {
            return self.written_out(b, neutral, inside.width);
        }
        let tops = b.index(inside.places[0]);
        let lefts = b.index(inside.places[1]);
        let in_rows = b.compare(CompareOp::UnsignedLess, self.top, tops);
        let in_columns = b.compare(CompareOp::UnsignedLess, self.left, lefts);
        let is_inside = b.binary(BinaryOp::And, in_rows, in_columns);
        let (mut written, mut looped) = (Ok(neutral), Ok(neutral));
        let sum = b.if_else(
            is_inside,
            |b| {
                written = self.written_out(b, neutral, inside.width);
                vec![*written.as_ref().unwrap_or(&neutral)]
            },
            |b| {
                looped = self.looped(b, neutral);
                vec![*looped.as_ref().unwrap_or(&neutral)]
            },
        );
        written.and(looped).map(|_| sum[0])
    }

    /// Combines all taps of a window inside an input of this width, unrolled. Each tap has a fixed distance from the first.
    fn written_out(&self, b: &mut KernelBuilder, neutral: Value, width: i64) -> Result<Value, Unsupported> {
        let WindowSchedule { size, dilation, reduction, .. } = self.schedule;
        let zero = b.index(0);
        let (_, line) = self.line(b, zero);
        let first = self.place(b, line, self.left);
        let mut sum = neutral;
        for (ky, kx) in (0..size[0]).flat_map(|ky| (0..size[1]).map(move |kx| (ky, kx))) {
            let pixel_offset = (ky * dilation[0]) as i64 * width + (kx * dilation[1]) as i64;
            let element = self.element_at(b, &OutputPosition { pixel_offset, ..first })?;
            sum = reduction.combine(b, sum, element);
        }
        Ok(sum)
    }

    /// Combines taps row by row, in loops.
    fn looped(&self, b: &mut KernelBuilder, neutral: Value) -> Result<Value, Unsupported> {
        let WindowSchedule { size, dilation, reduction, .. } = self.schedule;
        let mut outcome = Ok(());
        let zero = b.index(0);
        let (rows, columns) = (b.index(size[0] as i64), b.index(size[1] as i64));
        let sum = b.for_carry(zero, rows, 1, &[neutral], |b, ky, sum| {
            let ky = b.scale_index(ky, dilation[0] as i64, 0);
            let (row, line) = self.line(b, ky);
            let zero = b.index(0);
            b.for_carry(zero, columns, 1, sum, |b, kx, sum| {
                let kx = b.scale_index(kx, dilation[1] as i64, 0);
                let column = b.add(self.left, kx);
                let take = |b: &mut KernelBuilder| match self.element(b, line, column) {
                    Ok(element) => vec![reduction.combine(b, sum[0], element)],
                    Err(error) => {
                        outcome = Err(error);
                        sum.to_vec()
                    }
                };
                self.if_inside(b, [row, column], take, || sum.to_vec())
            })
        });
        outcome.map(|()| sum[0])
    }

    /// Computes the maximum by groups of nine taps, down the columns. The nearest element inside replaces taps outside the input.
    fn largest_of_nines(&self, b: &mut KernelBuilder, neutral: Value) -> Result<Value, Unsupported> {
        let WindowSchedule { size, dilation, padded, .. } = self.schedule;
        let mut outcome = Ok(());
        let extents = [self.numbers.input[1].value(b), self.numbers.input[2].value(b)];
        let inside = |b: &mut KernelBuilder, place: Value, extent: Value| {
            if !padded {
                return place;
            }
            let (zero, last) = (b.index(0), b.scale_index(extent, 1, -1));
            let place = b.binary(BinaryOp::SignedMax, place, zero);
            b.binary(BinaryOp::SignedMin, place, last)
        };
        let largest = nines::combined(b, *size, neutral, nines::MAXIMUM, |b, [ky, kx]| {
            let row = b.scale_index(ky, dilation[0] as i64, 0);
            let row = b.add(self.top, row);
            let row = inside(b, row, extents[0]);
            let line = b.add(self.first, row);
            let line = self.numbers.input[2].scale(b, line);
            let column = b.scale_index(kx, dilation[1] as i64, 0);
            let column = b.add(self.left, column);
            let column = inside(b, column, extents[1]);
            self.element(b, line, column).unwrap_or_else(|error| {
                outcome = Err(error);
                neutral
            })
        });
        outcome.map(|()| largest)
    }

    /// Computes the sum by groups of nine taps, down the columns. Taps outside the input are 0.
    fn sum_of_nines(&self, b: &mut KernelBuilder, zero: Value) -> Result<Value, Unsupported> {
        let WindowSchedule { size, dilation, .. } = self.schedule;
        let mut outcome = Ok(());
        let sum = nines::combined(b, *size, zero, nines::SUM, |b, [ky, kx]| {
            let ky = b.scale_index(ky, dilation[0] as i64, 0);
            let (row, line) = self.line(b, ky);
            let kx = b.scale_index(kx, dilation[1] as i64, 0);
            let column = b.add(self.left, kx);
            let take = |b: &mut KernelBuilder| {
                let element = self.element(b, line, column).unwrap_or_else(|error| {
                    outcome = Err(error);
                    zero
                });
                vec![element]
            };
            self.if_inside(b, [row, column], take, || vec![zero])[0]
        });
        outcome.map(|()| sum)
    }

    /// Returns the row `ky` below the first tap. The second value is the row's first pixel, counted over all images.
    fn line(&self, b: &mut KernelBuilder, ky: Value) -> (Value, Value) {
        let row = b.add(self.top, ky);
        let line = b.add(self.first, row);
        (row, self.numbers.input[2].scale(b, line))
    }

    fn element(&self, b: &mut KernelBuilder, line: Value, column: Value) -> Result<Value, Unsupported> {
        let place = self.place(b, line, column);
        self.element_at(b, &place)
    }

    fn place(&self, b: &mut KernelBuilder, line: Value, column: Value) -> OutputPosition {
        let pixel = b.add(line, column);
        let base = self.numbers.channels.scale(b, pixel);
        let flat = b.add(base, self.channel);
        OutputPosition { pixel, pixel_offset: 0, channel: self.channel, channel_offset: 0, flat }
    }

    fn element_at(&self, b: &mut KernelBuilder, place: &OutputPosition) -> Result<Value, Unsupported> {
        let (reader, hoisted, lanes, active) = (self.reader, self.hoisted, self.lanes, self.active);
        let elements = match self.schedule.keeps_bytes {
            true => reader.results(b, place, &[], hoisted, lanes, active)?,
            false => reader.values(b, place, &[], hoisted, lanes, active)?,
        };
        Ok(elements[0])
    }

    /// Runs `take` for a tap inside the input, and `outside` for other taps.
    fn if_inside(
        &self,
        b: &mut KernelBuilder,
        [row, column]: [Value; 2],
        take: impl FnOnce(&mut KernelBuilder) -> Vec<Value>,
        outside: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        if !self.schedule.padded {
            return take(b);
        }
        let (height, width) = (self.numbers.input[1].value(b), self.numbers.input[2].value(b));
        let in_rows = b.compare(CompareOp::UnsignedLess, row, height);
        let in_columns = b.compare(CompareOp::UnsignedLess, column, width);
        let inside = b.binary(BinaryOp::And, in_rows, in_columns);
        b.if_else(inside, take, |_| outside())
    }
}

/// Returns the interval of a window's integer sums, if it is known and the window sums.
fn sums(reader: &ElementWise<'_>, reduction: ir::Reduction, size: &[i64]) -> Option<ir::Interval> {
    let taps = size.iter().map(|&n| i128::from(n)).product::<i128>();
    let Range { low, high } = reader.range(0);
    let sum = |number: i128| number.checked_mul(taps).filter(|&sum| within(Range::exactly(sum), type_range(ElementType::I32)));
    let sums = ir::Interval::new(sum(low.min(0))? as i64, sum(high.max(0))? as i64);
    (reduction == ir::Reduction::Sum).then_some(sums)
}

/// An element of the output.
#[derive(Clone, Copy)]
struct Element {
    image: Value,
    y: Value,
    x: Value,
    channel: Value,
}

/// Windows that are inside an image of known size.
struct Inside {
    /// Width of the image.
    width: i64,
    /// Numbers of rows and columns at which such a window can begin.
    places: [i64; 2],
}

impl WindowSchedule<'_> {
    /// Returns the places of windows that are inside the image. `None` if such windows are not unrolled.
    fn written_out(&self) -> Option<Inside> {
        let known = |extent: &Quantity| extent.as_known().filter(|_| self.channels.as_known().is_some());
        let image = [known(&self.sizes.input[1])?, known(&self.sizes.input[2])?];
        let span = |d: usize| ((self.size[d] - 1) * self.dilation[d]) as i64;
        let places = [image[0] - span(0), image[1] - span(1)];
        let is_short = self.size[0] * self.size[1] <= WRITTEN_OUT;
        (self.cx.writes_out() && is_short && places.iter().all(|&n| n > 0)).then_some(Inside { width: image[1], places })
    }

    #[allow(clippy::too_many_arguments, reason = "the coordinates of one vector of the output")]
    fn reduce(
        &self,
        b: &mut KernelBuilder,
        numbers: &Numbers,
        reader: &ElementWise<'_>,
        hoisted: &[Option<Hoisted>],
        Element { image, y, x, channel }: Element,
        lanes: u16,
        active: Active,
    ) -> Result<Value, Unsupported> {
        let neutral = self.reduction.neutral(b, lanes);
        let top = b.scale_index(y, self.strides[0] as i64, -(self.low[0] as i64));
        let top = numbers.shift[1].plus(b, top);
        let left = b.scale_index(x, self.strides[1] as i64, -(self.low[1] as i64));
        let left = numbers.shift[2].plus(b, left);
        let first = numbers.input[1].scale(b, image);
        let taps = Taps { schedule: self, numbers, reader, hoisted, lanes, active, top, left, first, channel };
        match self.summation {
            Summation::Rows => taps.in_rows(b, neutral),
            Summation::Nines if self.is_largest => taps.largest_of_nines(b, neutral),
            Summation::Nines => taps.sum_of_nines(b, neutral),
        }
    }
}
