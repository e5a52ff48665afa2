//! Kernels that write positions along an axis.

use crate::ir::{Data, Inst, Operation};
use crate::kernel::{Buffer, ConvertOp, KernelBuilder, Lane, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::memory_lane;
use crate::schedule::indexed::slices::copy_lanes;
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Quantity, around, product};
use crate::schedule::unsupported::Unsupported;

/// Schedule of an `iota`.
pub struct IotaSchedule<'a> {
    cx: Context<'a>,
    /// Products of the dimensions before, at and after the axis.
    shape: [Quantity; 3],
    lane: Lane,
}

impl<'a> IotaSchedule<'a> {
    /// Makes the schedule of an `iota`.
    ///
    /// # Errors
    /// [`Unsupported`] for dynamic shapes, elements without arithmetic, and positions beyond 31 bits.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Iota(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let shape = around(&cx.quantities(data.results[0]), operator.axis);
        if shape[1].most(cx.function)? > i32::MAX as u64 {
            return Err(Unsupported::Positions);
        }
        Ok(Self { cx, shape, lane: memory_lane(cx.element(data.results[0]))? })
    }
}

/// Declares read-only data with 0, 1, 2, … as 32-bit integers, one for each lane.
pub fn lane_numbers(b: &mut KernelBuilder, arguments: &mut Arguments, lanes: u16) -> Buffer {
    let bytes: Vec<u8> = (0..i32::from(lanes)).flat_map(i32::to_le_bytes).collect();
    arguments.data(b, "lane_numbers", Data::from(bytes), Lane::I32, 4)
}

/// Converts 32-bit integers to a lane type of memory. Narrow ones wrap.
pub fn integer_as(b: &mut KernelBuilder, value: Value, lane: Lane) -> Value {
    match lane {
        Lane::I8 | Lane::I16 => b.convert(ConvertOp::Wrap, value, lane),
        Lane::I64 => b.convert(ConvertOp::SignExtend, value, lane),
        Lane::F32 | Lane::F64 => b.convert(ConvertOp::SignedToFloat, value, lane),
        Lane::I32 | Lane::Mask => value,
    }
}

impl Schedule for IotaSchedule<'_> {
    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let [outer, extent, inner] = &self.shape;
        let output = self.cx.group.outputs[0];
        let mut b = KernelBuilder::new("iota");
        b.independent(true);
        let mut arguments = Arguments::default();
        let along = inner.is(1);
        let lanes = copy_lanes(&self.cx, self.lane, if along { extent.most(self.cx.function)? } else { inner.most(self.cx.function)? });
        let numbers = along.then(|| lane_numbers(&mut b, &mut arguments, lanes));
        let elements = Elements::new(self.lane, product(&self.shape).most(self.cx.function)?);
        let target = arguments.output(&mut b, "output", output, elements);
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.shape.iter().flat_map(Quantity::extents));
        let [outer, extent, inner] = [outer, extent, inner].map(|quantity| cells.number(&mut b, quantity));
        let zero = b.index(0);
        let numbers = numbers.map(|buffer| b.load(buffer, zero, 0, lanes));
        let masked = self.cx.machine.masked_lanes;
        outer.repeat(&mut b, |b, outer| {
            let first = extent.scale(b, outer);
            let Some(numbers) = numbers else {
                return extent.repeat(b, |b, i| {
                    let number = b.convert(ConvertOp::Wrap, i, Lane::I32);
                    let value = integer_as(b, number, self.lane);
                    let value = b.splat(value, lanes);
                    let start = b.add(first, i);
                    let start = inner.scale(b, start);
                    inner.row(b, lanes, masked, |b, j, active| {
                        let place = b.add(start, j);
                        b.store_active(target, place, 0, value, active);
                    });
                });
            };
            extent.row(b, lanes, masked, |b, i, active| {
                let start = b.convert(ConvertOp::Wrap, i, Lane::I32);
                let start = b.splat(start, lanes);
                let number = b.add(start, numbers);
                let value = integer_as(b, number, self.lane);
                let place = b.add(first, i);
                b.store_active(target, place, 0, value, active);
            });
        });
        let description = format!("numbers in a row, {lanes} at a time");
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
