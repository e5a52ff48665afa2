//! Partial results of a reduction along an axis, one element after another as the reference takes them: vectors run across the lines of
//! the scan, of which there is one only where the axis is the last.

use super::reduction::{Reduction, wrapped};
use crate::ir::{ElementType, Inst, Operation, Value as Tensor};
use crate::kernel::{KernelBuilder, Lane};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::{memory_lane, widen};
use crate::schedule::indexed::slices::copy_lanes;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::quantity::{Cells, Quantity, product};
use crate::schedule::unsupported::Unsupported;

/// See the module.
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
    /// The schedule of a `scan`.
    ///
    /// # Errors
    /// For dynamic shapes and elements without arithmetic.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Scan(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let (operand, axis) = (data.operands[0], operator.axis);
        let (shape, element) = (cx.quantities(operand), cx.element(operand));
        Ok(Self {
            cx,
            operand,
            shape: [product(&shape[..axis]), shape[axis].clone(), product(&shape[axis + 1..])],
            element,
            lane: memory_lane(element)?,
            reduction: Reduction::wrapping(operator.reduction, element)?,
            exclusive: operator.exclusive,
            reverse: operator.reverse,
        })
    }
}

impl Schedule for ScanSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // Each element is read before its result is written over it.
        Requirements { may_share: vec![(self.operand, self.cx.group.outputs[0])], ..Requirements::default() }
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let elements = product(&self.shape).most(self.cx.function)?;
        let output = self.cx.group.outputs[0];
        let mut b = KernelBuilder::new("scan");
        let mut arguments = Arguments::default();
        let elements = Elements::new(self.lane, elements);
        let input = arguments.operand(&mut b, "input", self.operand, elements, shared);
        let target = arguments.output(&mut b, "output", output, elements);
        let lanes = copy_lanes(&self.cx, self.lane, self.shape[2].most(self.cx.function)?);
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.shape.iter().flat_map(Quantity::extents));
        let [outer, extent, inner] = [0, 1, 2].map(|i| cells.number(&mut b, &self.shape[i]));
        let line = cells.number(&mut b, &product(&self.shape[1..]));
        outer.repeat(&mut b, |b, outer| {
            let base = line.scale(b, outer);
            inner.row(b, lanes, self.cx.machine.masked_lanes, |b, i, active| {
                let start = b.add(base, i);
                let neutral = self.reduction.neutral(b, lanes);
                let (first, end) = (b.index(0), extent.value(b));
                b.for_carry(first, end, 1, &[neutral], |b, step, partial| {
                    let position = if self.reverse {
                        let last = extent.less_one(b);
                        b.sub(last, step)
                    } else {
                        step
                    };
                    let offset = inner.scale(b, position);
                    let place = b.add(start, offset);
                    let value = b.load_active(input, place, 0, lanes, active);
                    let value = widen(b, value, self.element);
                    let next = self.reduction.combine(b, partial[0], value);
                    let stored = wrapped(b, if self.exclusive { partial[0] } else { next }, self.element);
                    b.store_active(target, place, 0, stored, active);
                    vec![next]
                });
            });
        });
        let description = format!("scan, {lanes} at a time");
        Ok(Lowered { kernel: b.finish(), arguments: arguments.finish(), description, multiply_accumulates: 0 })
    }
}
