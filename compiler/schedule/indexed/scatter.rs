//! Scatters: slices are combined into a tensor, in the order of the updates. If the target is dead afterwards, it is updated in place; then
//! only the updated slices are accessed.

use super::slices::{Slice, Slices, copy_lanes, copy_row, raw_lane};
use crate::fuse::viewed;
use crate::ir::{Inst, Operation, Value as Tensor};
use crate::kernel::{Buffer, CompareOp, KernelBuilder, Lane};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::{memory_lane, widen};
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops::if_then;
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Number, RowVectors, product};
use crate::schedule::reductions::reduction::{Reduction, wrapped};
use crate::schedule::unsupported::Unsupported;

/// Schedule of a `scatter`.
pub struct ScatterSchedule<'a> {
    cx: Context<'a>,
    target: Tensor,
    indices: Tensor,
    updates: Tensor,
    slices: Slices,
    lane: Lane,
    /// Reduction that combines elements; `None` if they are overwritten.
    reduction: Option<Reduction>,
    skips_negative: bool,
}

impl<'a> ScatterSchedule<'a> {
    /// Makes the schedule of a `scatter`.
    ///
    /// # Errors
    /// [`Unsupported`] if extents may differ, or the element type has no arithmetic.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Scatter(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let [target, indices, updates] = data.operands[..] else { return Err(Unsupported::ScatterOperands) };
        let element = cx.element(target);
        let (lane, reduction) = match operator.combination.reduction() {
            None => (raw_lane(element)?, None),
            Some(reduction) => (memory_lane(element)?, Some(Reduction::wrapping(reduction, element)?)),
        };
        let skips_negative = operator.skips_negative;
        let slices = Slices::new(&cx, data, operator.axis, operator.batch)?;
        if product(&cx.quantities(updates)) != slices.listed() {
            return Err(Unsupported::ExtentsMayDiffer);
        }
        Ok(Self { cx, target, indices, updates, slices, lane, reduction, skips_negative })
    }

    /// Combines one slice of the updates into the output.
    fn slice(&self, b: &mut KernelBuilder, row: Number, slice: &Slice, [updates, output]: [Buffer; 2], lanes: u16) {
        let Some(reduction) = self.reduction else {
            return copy_row(
                b,
                (updates, slice.listed),
                (output, slice.indexed),
                row,
                RowVectors { lanes, masked: self.cx.machine.masked_lanes },
            );
        };
        let element = self.cx.element(self.target);
        row.row(b, lanes, self.cx.machine.masked_lanes, |b, i, active| {
            let (from, to) = (b.add(slice.listed, i), b.add(slice.indexed, i));
            let [old, new] = [(output, to), (updates, from)].map(|(buffer, place)| {
                let value = b.load_active(buffer, place, 0, lanes, active);
                widen(b, value, element)
            });
            let combined = reduction.combine(b, old, new);
            let stored = wrapped(b, combined, element);
            b.store_active(output, to, 0, stored, active);
        });
    }
}

impl Schedule for ScatterSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // Operands that are read after the first write must not share memory with the output.
        let storage = |value| viewed(self.cx.function, value);
        let alone = [self.indices, self.updates].iter().all(|&other| storage(other) != storage(self.target));
        let may_share = if alone { vec![Pair { read: self.target, written: self.cx.group.outputs[0] }] } else { vec![] };
        Requirements { may_share, ..Requirements::default() }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let output = self.cx.group.outputs[0];
        let in_place = !shared.is_empty();
        let alignment = self.cx.element(output).alignment() as u32;
        let slices = &self.slices;
        let mut b = KernelBuilder::new(if in_place { "scatter_in_place" } else { "scatter" });
        b.independent(true);
        let mut arguments = Arguments::default();
        let elements = slices.elements().most(self.cx.function)?;
        let whole = Elements::new(self.lane, elements).aligned(alignment);
        let source = (!in_place).then(|| arguments.input(&mut b, "target", self.target, whole));
        let indices = slices.declare_indices(&self.cx, &mut b, &mut arguments, self.indices)?;
        let listed = Elements::new(self.lane, slices.listed().most(self.cx.function)?).aligned(alignment);
        let updates = arguments.input(&mut b, "updates", self.updates, listed);
        let written = arguments.output(&mut b, "output", output, whole);
        let counts = slices.counts(&mut b, &mut arguments);
        slices.check(&self.cx, &mut b, &counts, indices, self.skips_negative)?;
        if let Some(source) = source {
            let zero = b.index(0);
            let lanes = copy_lanes(&self.cx, self.lane, elements);
            copy_row(&mut b, (source, zero), (written, zero), counts.elements, RowVectors { lanes, masked: self.cx.machine.masked_lanes });
        }
        let lanes = copy_lanes(&self.cx, self.lane, slices.row.most(self.cx.function)?);
        if !slices.listed().is(0) {
            let combine = |b: &mut KernelBuilder, slice: &Slice| {
                b.rounds(true, |b| self.slice(b, counts.row, slice, [updates, written], lanes));
            };
            // Slices may have the same index.
            b.independent(false);
            slices.each(&mut b, &counts, indices, |b, slice| {
                if !self.skips_negative {
                    return combine(b, slice);
                }
                let zero = b.index(0);
                let taken = b.compare(CompareOp::LessEqual, zero, slice.index);
                if_then(b, taken, |b| combine(b, slice));
            });
        }
        let place = if in_place { ", in place" } else { "" };
        let (count, row) = (slices.count().most(self.cx.function)?, slices.row.most(self.cx.function)?);
        let description = format!("scatter {count} slices of {row}, {lanes} at a time{place}");
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
