//! Reductions over sliding windows (pooling): vectors run along the channels; taps outside the input are left out.

use super::nines;
use super::reduction::Reduction;
use crate::ir::{Inst, Operation, Summation, Value as Tensor};
use crate::kernel::{Active, BinaryOp, CompareOp, KernelBuilder, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::contraction::image_sizes::{Numbers, Sizes};
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::quantity::Quantity;
use crate::schedule::unsupported::Unsupported;

/// See the module.
pub struct WindowSchedule<'a> {
    cx: Context<'a>,
    /// The operand, and what becomes of the results.
    reader: ElementWise<'a>,
    writer: ElementWise<'a>,
    reduction: Reduction,
    summation: Summation,
    /// Whether the largest element is wanted, and not a sum.
    is_largest: bool,
    sizes: Sizes,
    /// Rows and width of the window; strides, dilation, padding. One spatial dimension is a single row.
    size: [u64; 2],
    strides: [u64; 2],
    dilation: [u64; 2],
    low: [u64; 2],
    /// Whether taps may be outside the input.
    padded: bool,
    channels: Quantity,
}

impl<'a> WindowSchedule<'a> {
    /// The schedule of a `window`.
    ///
    /// # Errors
    /// For shapes and types without lowering.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Window(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let (shape, output) = (cx.largest_shape(operand)?, cx.largest_shape(data.results[0])?);
        let spatial = shape.len() - 2;
        if !(1..=2).contains(&spatial) {
            return Err(Unsupported::new(format!("a window over {spatial} dimensions")));
        }
        let pair = |list: &[u64], one: u64| if spatial == 2 { [list[0], list[1]] } else { [one, list[0]] };
        let numbers = |list: &[i64], one: u64| pair(&list.iter().map(|&n| n as u64).collect::<Vec<_>>(), one);
        let geometry = &operator.geometry;
        let sizes = Sizes::of(&cx, data, geometry)?;
        let padded = sizes.is_some() || geometry.padding_low.iter().chain(&geometry.padding_high).any(|&n| n != 0);
        let (reader, writer) = (ElementWise::reader(cx, operand)?, ElementWise::new(cx, None)?);
        Ok(Self {
            cx,
            reader,
            writer,
            reduction: Reduction::new(operator.reduction, cx.element(operand))?,
            summation: operator.summation,
            is_largest: operator.reduction == crate::ir::Reduction::Max,
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
            channels: cx.quantities(operand).pop().unwrap_or_else(|| Quantity::known(1)),
        })
    }
}

impl Schedule for WindowSchedule<'_> {
    fn requirements(&self) -> Requirements {
        Requirements::default()
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let mut b = KernelBuilder::new(format!("window_{}x{}", self.size[0], self.size[1]));
        let mut arguments = Arguments::default();
        let (mut reader, mut writer) = (self.reader.clone(), self.writer.clone());
        reader.declare(&mut b, &mut arguments, shared)?;
        writer.declare(&mut b, &mut arguments, shared)?;
        let smallest = reader.smallest_element().min(writer.smallest_element());
        let lanes = self.cx.lanes_for(smallest, self.channels.most(self.cx.function)?);
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
                    let at = (image, y, x, channel);
                    let result = self.reduce(b, &numbers, &reader, &hoisted.0, at, lanes, active).and_then(|sum| {
                        let is_stored = self.cx.group.epilogue.is_none();
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
        let description = format!("window {}x{} by {lanes}", self.size[0], self.size[1]);
        Ok(Lowered { kernel: b.finish(), arguments: arguments.finish(), description, multiply_accumulates: 0 })
    }
}

/// The taps of the windows at one vector of the output.
struct Taps<'t> {
    schedule: &'t WindowSchedule<'t>,
    numbers: &'t Numbers,
    reader: &'t ElementWise<'t>,
    hoisted: &'t [Option<Hoisted>],
    lanes: u16,
    active: Active,
    /// Row and column of the first tap; they may be outside the input.
    top: Value,
    left: Value,
    /// The image's first row among those of all images.
    first: Value,
    channel: Value,
}

impl Taps<'_> {
    /// Tap by tap, row by row.
    fn in_rows(&self, b: &mut KernelBuilder, neutral: Value) -> Result<Value, Unsupported> {
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

    /// The largest, nine at a time, down the columns; taps outside the input are the nearest element inside.
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
        let largest = nines::combined(b, *size, neutral, nines::largest, |b, [ky, kx]| {
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

    /// Sums of nine at a time, down the columns; taps outside the input are 0.
    fn sum_of_nines(&self, b: &mut KernelBuilder, zero: Value) -> Result<Value, Unsupported> {
        let WindowSchedule { size, dilation, .. } = self.schedule;
        let mut outcome = Ok(());
        let sum = nines::combined(b, *size, zero, nines::added, |b, [ky, kx]| {
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

    /// The row `ky` below the first, and the first element of it among those of all images, in pixels.
    fn line(&self, b: &mut KernelBuilder, ky: Value) -> (Value, Value) {
        let row = b.add(self.top, ky);
        let line = b.add(self.first, row);
        (row, self.numbers.input[2].scale(b, line))
    }

    fn element(&self, b: &mut KernelBuilder, line: Value, column: Value) -> Result<Value, Unsupported> {
        let pixel = b.add(line, column);
        let base = self.numbers.channels.scale(b, pixel);
        let flat = b.add(base, self.channel);
        let place = OutputPosition { pixel, pixel_offset: 0, channel: self.channel, channel_offset: 0, flat };
        Ok(self.reader.values(b, &place, &[], self.hoisted, self.lanes, self.active)?[0])
    }

    /// What is taken of a tap inside the input, and what there is of another one.
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

impl WindowSchedule<'_> {
    #[allow(clippy::too_many_arguments, reason = "the coordinates of one vector of the output")]
    fn reduce(
        &self,
        b: &mut KernelBuilder,
        numbers: &Numbers,
        reader: &ElementWise<'_>,
        hoisted: &[Option<Hoisted>],
        (image, y, x, channel): (Value, Value, Value, Value),
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
