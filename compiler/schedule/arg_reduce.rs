//! The position of the first extreme element along an axis: vectors run across results, or, where the axis is the last one, along it.

use super::expression::{memory_lane, widen};
use super::iota::{integer_as, lane_numbers};
use super::map::row;
use super::reduction::Reduction;
use super::slices::copy_lanes;
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::{ElementType, Inst, Value as Tensor};
use crate::kernel::{Buffer, BufferKind, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};

/// See the module.
pub struct ArgReduceSchedule<'a> {
    cx: Context<'a>,
    operand: Tensor,
    /// Products of the dimensions before, at and behind the axis.
    shape: [u64; 3],
    /// Truth values are compared as bytes.
    element: ElementType,
    lane: Lane,
    result_lane: Lane,
    finds_largest: bool,
}

impl<'a> ArgReduceSchedule<'a> {
    /// The schedule of an `arg_reduce`.
    ///
    /// # Errors
    /// For dynamic shapes, elements without arithmetic, and positions beyond 31 bits.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let (shape, axis) = (cx.shape(operand)?, data.int("axis") as usize);
        let parts = [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()];
        if parts[1] > i32::MAX as u64 {
            return Err(Unsupported::new("positions beyond 31 bits"));
        }
        let element = if cx.element(operand) == ElementType::Bool { ElementType::U8 } else { cx.element(operand) };
        let result_lane = memory_lane(cx.element(data.results[0]))?;
        let finds_largest = data.word("search") == "max";
        Ok(Self { cx, operand, shape: parts, element, lane: memory_lane(element)?, result_lane, finds_largest })
    }

    /// Where x is strictly better than y; NaN is never better, nor is anything better than it.
    fn better(&self, b: &mut KernelBuilder, x: Value, y: Value) -> Value {
        let wide_unsigned = self.element.is_unsigned_integer() && self.element.bits() >= 32;
        let op = if wide_unsigned { CompareOp::UnsignedLess } else { CompareOp::Less };
        if self.finds_largest { b.compare(op, y, x) } else { b.compare(op, x, y) }
    }

    /// The better of the best so far and new elements, with their positions.
    fn update(&self, b: &mut KernelBuilder, best: &[Value], x: Value, position: Value) -> Vec<Value> {
        let better = self.better(b, x, best[0]);
        vec![b.select(better, x, best[0]), b.select(better, position, best[1])]
    }

    fn across_results(&self, b: &mut KernelBuilder, (input, output): (Buffer, Buffer)) -> u16 {
        let [outer, extent, inner] = self.shape;
        let lanes = copy_lanes(&self.cx, self.lane, inner);
        b.for_range(0, outer as i64, 1, |b, outer| {
            let base = b.scale_index(outer, (extent * inner) as i64, 0);
            let target = b.scale_index(outer, inner as i64, 0);
            row(b, inner, lanes, |b, i, active| {
                let start = b.add(base, i);
                let first = b.load_active(input, start, 0, lanes, active);
                let first = widen(b, first, self.element);
                let none = b.int(Type::vector(Lane::I32, lanes), 0);
                let (one, end) = (b.index(1), b.index(extent as i64));
                let best = b.for_carry(one, end, 1, &[first, none], |b, position, best| {
                    let step = b.scale_index(position, inner as i64, 0);
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
        lanes
    }

    /// Every lane starts at the first element, so that what is found there is what one walk over all elements finds. The last vector
    /// overlaps the one before it when the axis is no multiple of the lanes: an element seen twice changes nothing.
    fn along(&self, b: &mut KernelBuilder, (input, output): (Buffer, Buffer), numbers: Buffer, lanes: u16) -> Result<(), Unsupported> {
        let [outer, extent, _] = self.shape;
        let whole = extent / u64::from(lanes) * u64::from(lanes);
        let reduction = Reduction::new(if self.finds_largest { "max" } else { "min" }, self.element)?;
        let zero = b.index(0);
        let numbers = b.load(numbers, zero, 0, lanes);
        b.for_range(0, outer as i64, 1, |b, outer| {
            let base = b.scale_index(outer, extent as i64, 0);
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
            let (start, end) = (b.index(0), b.index(whole as i64));
            let mut best = b.for_carry(start, end, i64::from(lanes), &[first, none], |b, i, best| step(b, i, best));
            if whole < extent {
                let last = b.index((extent - u64::from(lanes)) as i64);
                best = step(b, last, &best);
            }
            let extreme = reduction.horizontal(b, best[0]);
            let extreme = b.splat(extreme, lanes);
            // With NaN in front no lane has anything better, and all hold position 0.
            let worse = self.better(b, extreme, best[0]);
            let beyond = b.int(Type::vector(Lane::I32, lanes), i64::from(i32::MAX));
            let candidates = b.select(worse, beyond, best[1]);
            let position = b.horizontal(HorizontalOp::Min, candidates);
            let value = integer_as(b, position, self.result_lane);
            b.store(output, outer, 0, value);
        });
        Ok(())
    }
}

impl Schedule for ArgReduceSchedule<'_> {
    fn requirements(&self) -> Requirements {
        Requirements::default()
    }

    fn lower(&self, _shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let [outer, extent, inner] = self.shape;
        let output = self.cx.group.outputs[0];
        let mut b = KernelBuilder::new("arg_reduce");
        let mut arguments = Vec::new();
        // As many lanes as the axis has elements at least, so that no lane is without one.
        let within = 1u64 << extent.max(1).ilog2().min(15);
        let lanes = u64::from(self.cx.machine.lanes(self.lane.bytes())).min(within) as u16;
        let numbers = (inner == 1).then(|| lane_numbers(&mut b, &mut arguments, lanes));
        let input = b.buffer("input", BufferKind::Input, self.lane, outer * extent * inner, self.lane.bytes());
        let target = b.buffer("output", BufferKind::Output, self.result_lane, outer * inner, self.result_lane.bytes());
        arguments.extend([self.operand, output].map(Argument::Tensor));
        let mut used = lanes;
        if extent == 0 {
            // Nothing to choose from: position 0, as in the tensor language.
            let zero = b.int(Type::scalar(self.result_lane), 0);
            b.for_range(0, (outer * inner) as i64, 1, |b, i| b.store(target, i, 0, zero));
        } else if let Some(numbers) = numbers {
            self.along(&mut b, (input, target), numbers, lanes)?;
        } else {
            used = self.across_results(&mut b, (input, target));
        }
        let description = format!("arg_reduce by {used}");
        Ok(Lowered { kernel: b.finish(), arguments, description, multiply_accumulates: 0 })
    }
}
