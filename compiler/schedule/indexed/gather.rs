//! Gathers: slices at given indices. Slices are copied as rows with vectors; single elements are gathered into vectors.

use super::slices::{Counts, Slices, are_long, copy_lanes, copy_row, raw_lane};
use crate::ir::{Inst, Operation, Value as Tensor};
use crate::kernel::{Bounds, Buffer, ConvertOp, KernelBuilder, Lane};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Quantity, RowVectors};
use crate::schedule::unsupported::Unsupported;

/// Schedule of a `gather`.
pub struct GatherSchedule<'a> {
    cx: Context<'a>,
    source: Tensor,
    indices: Tensor,
    slices: Slices,
    lane: Lane,
}

impl<'a> GatherSchedule<'a> {
    /// Makes the schedule of a `gather`.
    ///
    /// # Errors
    /// [`Unsupported`] if extents may differ, or elements are narrower than a byte.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Gather(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let (source, indices) = (data.operands[0], data.operands[1]);
        Ok(Self {
            cx,
            source,
            indices,
            slices: Slices::new(&cx, data, operator.axis, operator.batch)?,
            lane: raw_lane(cx.element(source))?,
        })
    }

    /// Copies slices of one element: each lane gathers its own.
    fn elements(
        &self,
        b: &mut KernelBuilder,
        counts: &Counts,
        [indices, source, target]: [Buffer; 3],
        lanes: u16,
    ) -> Result<(), Unsupported> {
        let slices = &self.slices;
        // Positions in the source are computed in the lanes of the indices if they fit.
        let wide = slices.index_lane == Lane::I64 || slices.elements().most(self.cx.function)? > i32::MAX as u64;
        counts.batches.repeat(b, |b, batch| {
            let first = counts.outer.scale(b, batch);
            let list = counts.picks.scale(b, batch);
            counts.outer.repeat(b, |b, outer| {
                let outer = b.add(first, outer);
                let base = counts.extent.scale(b, outer);
                let base = if wide { base } else { b.convert(ConvertOp::Wrap, base, Lane::I32) };
                let base = b.splat(base, lanes);
                let listed = counts.picks.scale(b, outer);
                counts.picks.row(b, lanes, self.cx.machine.masked_lanes, |b, pick, active| {
                    let place = b.add(list, pick);
                    let mut index = b.load_active(indices, place, 0, lanes, active);
                    if wide && slices.index_lane == Lane::I32 {
                        index = b.convert(ConvertOp::SignExtend, index, Lane::I64);
                    }
                    let index = b.add(base, index);
                    let value = b.gather(source, index, 0, Bounds::Proven);
                    let place = b.add(listed, pick);
                    b.store_active(target, place, 0, value, active);
                });
            });
        });
        Ok(())
    }
}

impl Schedule for GatherSchedule<'_> {
    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let output = self.cx.group.outputs[0];
        let alignment = self.cx.element(output).alignment() as u32;
        let slices = &self.slices;
        let mut b = KernelBuilder::new("gather");
        b.independent(true);
        let mut arguments = Arguments::default();
        let elements = |count: &Quantity| Ok(Elements::new(self.lane, count.most(self.cx.function)?).aligned(alignment));
        let source = arguments.input(&mut b, "source", self.source, elements(&slices.elements())?);
        let indices = slices.declare_indices(&self.cx, &mut b, &mut arguments, self.indices)?;
        let target = arguments.output(&mut b, "output", output, elements(&slices.listed())?);
        let counts = slices.counts(&mut b, &mut arguments);
        slices.check(&self.cx, &mut b, &counts, indices, false)?;
        let single = slices.row.is(1);
        let lanes = match single {
            true if are_long(&self.cx, slices.index_lane) => 1,
            true => copy_lanes(&self.cx, self.lane, slices.picks.most(self.cx.function)?),
            false => copy_lanes(&self.cx, self.lane, slices.row.most(self.cx.function)?),
        };
        let some = !slices.listed().is(0);
        if some && single {
            self.elements(&mut b, &counts, [indices, source, target], lanes)?;
        } else if some {
            slices.each(&mut b, &counts, indices, |b, slice| {
                copy_row(
                    b,
                    (source, slice.indexed),
                    (target, slice.listed),
                    counts.row,
                    RowVectors { lanes, masked: self.cx.machine.masked_lanes },
                );
            });
        }
        let description =
            format!("gather {} slices of {} by {lanes}", slices.count().most(self.cx.function)?, slices.row.most(self.cx.function)?);
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
