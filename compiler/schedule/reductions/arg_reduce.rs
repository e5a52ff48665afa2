//! Position of the first extreme element along an axis. Vectors run across results, or along the axis if it is the last one.

use super::reduction::Reduction;
use crate::ir::{ElementType, Extent, Inst, Operation, Search, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::arguments::{Arguments, Buffers, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::{memory_lane, widen};
use crate::schedule::indexed::slices::copy_lanes;
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::loops::if_then;
use crate::schedule::movement::iota::{integer_as, lane_numbers};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, around, product};
use crate::schedule::unsupported::Unsupported;

/// The extents of a kernel: before, at and after the axis, and the product of the last two.
#[derive(Clone, Copy)]
struct Counts {
    outer: Number,
    extent: Number,
    inner: Number,
    line: Number,
}

/// A search along rows of the input by vectors. `numbers` are the lane numbers 0, 1, …
struct Line {
    input: Buffer,
    lanes: u16,
    numbers: Value,
    extent: Number,
}

/// Schedule of an `arg_reduce`.
pub struct ArgReduceSchedule<'a> {
    cx: Context<'a>,
    operand: Tensor,
    /// Products of the dimensions before, at and after the axis.
    shape: [Quantity; 3],
    /// Element type. Truth values are compared as bytes.
    element: ElementType,
    lane: Lane,
    result_lane: Lane,
    search: Search,
}

impl<'a> ArgReduceSchedule<'a> {
    /// Makes the schedule of an `arg_reduce`.
    ///
    /// # Errors
    /// [`Unsupported`] for dynamic shapes, elements without arithmetic, and positions beyond 31 bits.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::ArgReduce(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let shape = around(&cx.quantities(operand), operator.axis);
        if shape[1].most(cx.function)? > i32::MAX as u64 {
            return Err(Unsupported::Positions);
        }
        let element = if cx.element(operand) == ElementType::Bool { ElementType::U8 } else { cx.element(operand) };
        let result_lane = memory_lane(cx.element(data.results[0]))?;
        Ok(Self { cx, operand, shape, element, lane: memory_lane(element)?, result_lane, search: operator.search })
    }

    /// Tests whether the axis may have no elements.
    fn may_be_empty(&self) -> bool {
        self.shape[1].extents().any(|index| self.cx.function.interval(Extent::Value(index)).low < 1)
    }

    /// Writes position 0 for all results, as the tensor language defines for an axis without elements.
    fn nothing(&self, b: &mut KernelBuilder, results: Number, output: Buffer) {
        let zero = b.int(Type::scalar(self.result_lane), 0);
        results.repeat(b, |b, i| b.store(output, i, 0, zero));
    }

    /// Compares elements: true if x is strictly better than y. NaN is better than every number if the search finds NaN, otherwise worse.
    fn better(&self, b: &mut KernelBuilder, x: Value, y: Value) -> Value {
        let wide_unsigned = self.element.is_unsigned_integer() && self.element.bits() >= 32;
        let op = if wide_unsigned { CompareOp::UnsignedLess } else { CompareOp::Less };
        let better = if self.search.finds_largest() { b.compare(op, y, x) } else { b.compare(op, x, y) };
        if !self.element.is_float() {
            return better;
        }
        // A number is equal to itself, NaN is not.
        let (nan, number) = (CompareOp::NotEqual, CompareOp::Equal);
        let [of_x, of_y] = if self.search.finds_nan() { [nan, number] } else { [number, nan] };
        let (of_x, of_y) = (b.compare(of_x, x, x), b.compare(of_y, y, y));
        let by_kind = b.binary(BinaryOp::And, of_x, of_y);
        b.binary(BinaryOp::Or, better, by_kind)
    }

    /// Returns the better of the best so far and new elements, with their positions.
    fn update(&self, b: &mut KernelBuilder, best: &[Value], x: Value, position: Value) -> Vec<Value> {
        let better = self.better(b, x, best[0]);
        vec![b.select(better, x, best[0]), b.select(better, position, best[1])]
    }

    fn across_results(&self, b: &mut KernelBuilder, counts: &Counts, Buffers { input, output }: Buffers, lanes: u16) {
        let Counts { outer, extent, inner, line } = *counts;
        outer.repeat(b, |b, outer| {
            let base = line.scale(b, outer);
            let target = inner.scale(b, outer);
            inner.row(b, lanes, self.cx.machine.masked_lanes, |b, i, active| {
                let start = b.add(base, i);
                let first = b.load_active(input, start, 0, lanes, active);
                let first = widen(b, first, self.element);
                let none = b.int(Type::vector(Lane::I32, lanes), 0);
                let (one, end) = (b.index(1), extent.value(b));
                let best = b.for_carry(one, end, 1, &[first, none], |b, position, best| {
                    let step = inner.scale(b, position);
                    let place = b.add(start, step);
                    let x = b.load_active(input, place, 0, lanes, active);
                    let x = widen(b, x, self.element);
                    let position = b.convert(ConvertOp::Wrap, position, Lane::I32);
                    let position = b.splat(position, lanes);
                    self.update(b, best, x, position)
                });
                let value = integer_as(b, best[1], self.result_lane);
                let place = b.add(target, i);
                b.store_active(output, place, 0, value, active);
            });
        });
    }

    /// Searches rows along the axis by vectors. If a run-time axis is shorter than a vector, single lanes are used.
    fn along(
        &self,
        b: &mut KernelBuilder,
        counts: &Counts,
        Buffers { input, output }: Buffers,
        (numbers, lanes): (Buffer, u16),
    ) -> Result<(), Unsupported> {
        let extent = counts.extent;
        let reduction = Reduction::new(self.search.reduction(), self.element)?;
        let zero = b.index(0);
        let vector = Line { input, lanes, numbers: b.load(numbers, zero, 0, lanes), extent };
        counts.outer.repeat(b, |b, outer| {
            let base = extent.scale(b, outer);
            let position = match extent {
                Number::Computed(extent) if lanes > 1 => {
                    let least = b.index(lanes.into());
                    let fills = b.compare(CompareOp::LessEqual, least, extent);
                    let single = Line { input, lanes: 1, numbers: b.load(numbers, zero, 0, 1), extent: counts.extent };
                    let by_vectors = |b: &mut KernelBuilder| vec![self.position(b, &reduction, &vector, base)];
                    b.if_else(fills, by_vectors, |b| vec![self.position(b, &reduction, &single, base)])[0]
                }
                _ => self.position(b, &reduction, &vector, base),
            };
            let value = integer_as(b, position, self.result_lane);
            b.store(output, outer, 0, value);
        });
        Ok(())
    }

    /// Returns the position of the extreme element in the row that begins at `base`. Every lane starts with the first element, so the result is the
    /// result of a walk over all elements. If the axis is no multiple of the lanes, the last vector overlaps the one before it. Elements that are
    /// seen twice change nothing.
    fn position(&self, b: &mut KernelBuilder, reduction: &Reduction, line: &Line, base: Value) -> Value {
        let &Line { input, lanes, numbers, extent } = line;
        let step = |b: &mut KernelBuilder, position: Value, best: &[Value]| {
            let place = b.add(base, position);
            let x = b.load(input, place, 0, lanes);
            let x = widen(b, x, self.element);
            let position = b.convert(ConvertOp::Wrap, position, Lane::I32);
            let position = b.splat(position, lanes);
            let position = b.add(position, numbers);
            self.update(b, best, x, position)
        };
        let first = b.load_splat(input, base, 0, lanes);
        let first = widen(b, first, self.element);
        let none = b.int(Type::vector(Lane::I32, lanes), 0);
        let (start, end) = (b.index(0), extent.whole(b, lanes));
        let mut best = b.for_carry(start, end, i64::from(lanes), &[first, none], |b, i, best| step(b, i, best));
        let last = match extent {
            Number::Known(extent) if extent % i64::from(lanes) == 0 => None,
            Number::Known(extent) => Some(b.index(extent - i64::from(lanes))),
            Number::Computed(extent) => Some(b.scale_index(extent, 1, -i64::from(lanes))),
        };
        if let Some(last) = last {
            best = step(b, last, &best);
        }
        self.best_lane(b, reduction, &best)
    }

    /// Returns the least position among the lanes with the best element. Lanes that met only NaN hold position 0 and are skipped. If all lanes met
    /// only NaN, the result is 0.
    fn best_lane(&self, b: &mut KernelBuilder, reduction: &Reduction, best: &[Value]) -> Value {
        let (elements, positions) = (best[0], best[1]);
        let lanes = b.ty(elements).lanes;
        let beyond = b.int(Type::vector(Lane::I32, lanes), i64::from(i32::MAX));
        // Machines differ in their treatment of NaN in extremes across lanes.
        let skipped = (self.element.is_float() && !self.search.finds_nan()).then(|| b.compare(CompareOp::NotEqual, elements, elements));
        let elements = match skipped {
            Some(skipped) => {
                let neutral = reduction.neutral(b, lanes);
                b.select(skipped, neutral, elements)
            }
            None => elements,
        };
        let extreme = reduction.horizontal(b, elements);
        let extreme = b.splat(extreme, lanes);
        let worse = self.better(b, extreme, elements);
        let worse = skipped.map_or(worse, |skipped| b.binary(BinaryOp::Or, worse, skipped));
        let candidates = b.select(worse, beyond, positions);
        let found = b.horizontal(HorizontalOp::Min, candidates);
        if skipped.is_none() {
            return found;
        }
        let ty = Type::scalar(Lane::I32);
        let (zero, none) = (b.int(ty, 0), b.int(ty, i64::from(i32::MAX)));
        let is_none = b.compare(CompareOp::Equal, found, none);
        b.select(is_none, zero, found)
    }
}

impl Schedule for ArgReduceSchedule<'_> {
    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let [outer, extent, inner] = &self.shape;
        let output = self.cx.group.outputs[0];
        let mut b = KernelBuilder::new("arg_reduce");
        b.independent(true);
        let mut arguments = Arguments::default();
        // The lanes are at most the axis' elements, so that no lane is empty.
        let within = extent.as_known().map_or(1 << 15, |extent| 1u64 << extent.max(1).ilog2().min(15));
        let lanes = u64::from(self.cx.machine.lanes(self.lane.bytes())).min(within) as u16;
        let numbers = inner.is(1).then(|| lane_numbers(&mut b, &mut arguments, lanes));
        let searched = Elements::new(self.lane, product(&self.shape).most(self.cx.function)?);
        let input = arguments.input(&mut b, "input", self.operand, searched);
        let found = Elements::new(self.result_lane, outer.times(inner).most(self.cx.function)?);
        let target = arguments.output(&mut b, "output", output, found);
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.shape.iter().flat_map(Quantity::extents));
        let [outer, extent, inner] = [0, 1, 2].map(|i| cells.number(&mut b, &self.shape[i]));
        let line = cells.number(&mut b, &product(&self.shape[1..]));
        let results = cells.number(&mut b, &self.shape[0].times(&self.shape[2]));
        let counts = Counts { outer, extent, inner, line };
        let used = if numbers.is_some() { lanes } else { copy_lanes(&self.cx, self.lane, self.shape[2].most(self.cx.function)?) };
        let search = |b: &mut KernelBuilder| match numbers {
            Some(numbers) => self.along(b, &counts, Buffers { input, output: target }, (numbers, lanes)),
            None => {
                self.across_results(b, &counts, Buffers { input, output: target }, used);
                Ok(())
            }
        };
        match extent {
            Number::Known(0) => self.nothing(&mut b, results, target),
            Number::Computed(extent) if self.may_be_empty() => {
                let one = b.index(1);
                let is_empty = b.compare(CompareOp::Less, extent, one);
                let is_searched = b.compare(CompareOp::LessEqual, one, extent);
                if_then(&mut b, is_empty, |b| self.nothing(b, results, target));
                if_then(&mut b, is_searched, search)?;
            }
            _ => search(&mut b)?,
        }
        let description = format!("search along a dimension, {used} at a time");
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
