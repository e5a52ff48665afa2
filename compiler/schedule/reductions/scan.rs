//! Running results of a reduction along an axis, one element after another, in the order of the reference. Vectors run across the lines of the scan.
//! If the axis is the last one, a few lines are scanned side by side.

use super::reduction::{Reduction, wrapped};
use crate::ir::{ElementType, Inst, Operation, Value as Tensor};
use crate::kernel::{Active, Buffer, KernelBuilder, Lane, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::{memory_lane, widen};
use crate::schedule::indexed::slices::copy_lanes;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, around, product};
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Number of lines side by side: the latency of a float addition, in cycles.
const TOGETHER: u64 = 4;

/// Schedule of a `scan`.
pub struct ScanSchedule<'a> {
    cx: Context<'a>,
    operand: Tensor,
    /// Products of the dimensions before, at and after the axis.
    shape: [Quantity; 3],
    element: ElementType,
    lane: Lane,
    reduction: Reduction,
    exclusive: bool,
    reverse: bool,
}

impl<'a> ScanSchedule<'a> {
    /// Makes the schedule of a `scan`.
    ///
    /// # Errors
    /// [`Unsupported`] for dynamic shapes and elements without arithmetic.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Scan(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let element = cx.element(operand);
        Ok(Self {
            cx,
            operand,
            shape: around(&cx.quantities(operand), operator.axis),
            element,
            lane: memory_lane(element)?,
            reduction: Reduction::wrapping(operator.reduction, element)?,
            exclusive: operator.exclusive,
            reverse: operator.reverse,
        })
    }

    /// Returns the number of lines of single elements that are scanned side by side, so that their sums hide each other's latency.
    fn together(&self) -> u64 {
        let several = self.cx.uses(Technique::SeveralResults) && self.cx.writes_out();
        if several && self.cx.machine.combines_lanes() { TOGETHER } else { 1 }
    }
}

impl Schedule for ScanSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // Each element is read before its result overwrites it.
        Requirements { may_share: vec![Pair { read: self.operand, written: self.cx.group.outputs[0] }], ..Requirements::default() }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let elements = product(&self.shape).most(self.cx.function)?;
        let output = self.cx.group.outputs[0];
        let mut b = KernelBuilder::new("scan");
        b.independent(true);
        let mut arguments = Arguments::default();
        let elements = Elements::new(self.lane, elements);
        let input = arguments.operand(&mut b, "input", self.operand, elements, shared);
        let target = arguments.output(&mut b, "output", output, elements);
        let lanes = copy_lanes(&self.cx, self.lane, self.shape[2].most(self.cx.function)?);
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.shape.iter().flat_map(Quantity::extents));
        let [outer, extent, inner] = [0, 1, 2].map(|i| cells.number(&mut b, &self.shape[i]));
        let line = cells.number(&mut b, &product(&self.shape[1..]));
        let single = inner.is(1).then(|| self.together());
        let scan = Scan { schedule: self, buffers: [input, target], extent, inner, lanes };
        outer.tiles(&mut b, single.unwrap_or(1), |b, first, count| {
            let lines: Vec<Value> = (0..count as i64)
                .map(|number| {
                    let outer = b.scale_index(first, 1, number);
                    line.scale(b, outer)
                })
                .collect();
            inner.row(b, lanes, self.cx.machine.masked_lanes, |b, i, active| scan.lines(b, &lines, i, active));
        });
        let description = format!("scan, {lanes} at a time");
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}

/// A scan in a kernel.
struct Scan<'s, 'a> {
    schedule: &'s ScanSchedule<'a>,
    buffers: [Buffer; 2],
    extent: Number,
    inner: Number,
    lanes: u16,
}

impl Scan<'_, '_> {
    /// Scans the same lanes of some lines. `lines` are the first elements, and `i` is the first lane.
    fn lines(&self, b: &mut KernelBuilder, lines: &[Value], i: Value, active: Active) {
        let starts: Vec<Value> = lines.iter().map(|&line| b.add(line, i)).collect();
        let neutral = self.schedule.reduction.neutral(b, self.lanes);
        let (first, end) = (b.index(0), self.extent.value(b));
        b.for_carry(first, end, 1, &vec![neutral; lines.len()], |b, step, partial| {
            let offset = self.offset(b, step);
            let next = |(&start, &partial): (&Value, &Value)| {
                let place = b.add(start, offset);
                self.element(b, place, partial, active)
            };
            starts.iter().zip(partial).map(next).collect()
        });
    }

    /// Returns the distance of a step's element from the first element of the line.
    fn offset(&self, b: &mut KernelBuilder, step: Value) -> Value {
        let position = if self.schedule.reverse {
            let last = self.extent.less_one(b);
            b.sub(last, step)
        } else {
            step
        };
        self.inner.scale(b, position)
    }

    /// Stores the result of the element at a place. Returns the partial result that includes it.
    fn element(&self, b: &mut KernelBuilder, place: Value, partial: Value, active: Active) -> Value {
        let ([input, target], element) = (self.buffers, self.schedule.element);
        let value = b.load_active(input, place, 0, self.lanes, active);
        let value = widen(b, value, element);
        let next = self.schedule.reduction.combine(b, partial, value);
        let stored = wrapped(b, if self.schedule.exclusive { partial } else { next }, element);
        b.store_active(target, place, 0, stored, active);
        next
    }
}
