//! Partial results of a reduction along an axis, one element after another as the reference takes them: vectors run across the lines of
//! the scan, of which there is one only where the axis is the last.

use super::expression::{memory_lane, widen};
use super::map::row;
use super::reduction::{Reduction, wrapped};
use super::slices::copy_lanes;
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::{Attribute, ElementType, Inst, Value as Tensor};
use crate::kernel::{BufferKind, KernelBuilder, Lane};

/// See the module.
pub struct ScanSchedule<'a> {
    cx: Context<'a>,
    operand: Tensor,
    /// Products of the dimensions before, at and behind the axis.
    shape: [u64; 3],
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
        let data = &cx.function.insts[root];
        let (operand, axis) = (data.operands[0], data.int("axis") as usize);
        let (shape, element) = (cx.shape(operand)?, cx.element(operand));
        let flag = |name: &str| *data.attribute(name) == Attribute::Bool(true);
        Ok(Self {
            cx,
            operand,
            shape: [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()],
            element,
            lane: memory_lane(element)?,
            reduction: Reduction::wrapping(data.word("reduction"), element)?,
            exclusive: flag("exclusive"),
            reverse: flag("reverse"),
        })
    }
}

impl Schedule for ScanSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // Each element is read before its result is written over it.
        Requirements { may_share: vec![(self.operand, self.cx.group.outputs[0])], ..Requirements::default() }
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let [outer, extent, inner] = self.shape;
        let output = self.cx.group.outputs[0];
        let mut b = KernelBuilder::new("scan");
        let kind = if shared.is_empty() { BufferKind::Input } else { BufferKind::Output };
        let input = b.buffer("input", kind, self.lane, outer * extent * inner, self.lane.bytes());
        let target = b.buffer("output", BufferKind::Output, self.lane, outer * extent * inner, self.lane.bytes());
        let arguments = [self.operand, output].map(Argument::Tensor).to_vec();
        let lanes = copy_lanes(&self.cx, self.lane, inner);
        b.for_range(0, outer as i64, 1, |b, outer| {
            let base = b.scale_index(outer, (extent * inner) as i64, 0);
            row(b, inner, lanes, |b, i, active| {
                let start = b.add(base, i);
                let neutral = self.reduction.neutral(b, lanes);
                let (first, end) = (b.index(0), b.index(extent as i64));
                b.for_carry(first, end, 1, &[neutral], |b, step, partial| {
                    let position = if self.reverse {
                        let last = b.index(extent as i64 - 1);
                        b.sub(last, step)
                    } else {
                        step
                    };
                    let offset = b.scale_index(position, inner as i64, 0);
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
        let description = format!("scan by {lanes}");
        Ok(Lowered { kernel: b.finish(), arguments, description, multiply_accumulates: 0 })
    }
}
