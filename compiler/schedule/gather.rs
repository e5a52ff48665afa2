//! Slices picked by indices: rows copied with vectors, or, where a slice is one element, vectors gathered.

use super::map::row;
use super::slices::{Slices, copy_lanes, copy_row, raw_lane};
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::{Inst, Value as Tensor};
use crate::kernel::{Bounds, Buffer, BufferKind, ConvertOp, KernelBuilder, Lane};

/// See the module.
pub struct GatherSchedule<'a> {
    cx: Context<'a>,
    source: Tensor,
    indices: Tensor,
    slices: Slices,
    lane: Lane,
}

impl<'a> GatherSchedule<'a> {
    /// The schedule of a `gather`.
    ///
    /// # Errors
    /// For dynamic shapes and elements narrower than a byte.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let (source, indices) = (data.operands[0], data.operands[1]);
        Ok(Self { cx, source, indices, slices: Slices::new(&cx, data)?, lane: raw_lane(cx.element(source))? })
    }

    /// Slices of one element: each lane from its own place.
    fn elements(&self, b: &mut KernelBuilder, indices: Buffer, source: Buffer, target: Buffer, lanes: u16) {
        let slices = &self.slices;
        // Positions in the source are computed in the indices' lanes where they fit.
        let wide = slices.index_lane == Lane::I64 || slices.elements() > i32::MAX as u64;
        b.for_range(0, slices.batches as i64, 1, |b, batch| {
            let first = b.scale_index(batch, slices.outer as i64, 0);
            let list = b.scale_index(batch, slices.picks as i64, 0);
            b.for_range(0, slices.outer as i64, 1, |b, outer| {
                let outer = b.add(first, outer);
                let base = b.scale_index(outer, slices.extent as i64, 0);
                let base = if wide { base } else { b.convert(ConvertOp::Wrap, base, Lane::I32) };
                let base = b.splat(base, lanes);
                let listed = b.scale_index(outer, slices.picks as i64, 0);
                row(b, slices.picks, lanes, |b, pick, active| {
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
    }
}

impl Schedule for GatherSchedule<'_> {
    fn requirements(&self) -> Requirements {
        Requirements::default()
    }

    fn lower(&self, _shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let output = self.cx.group.outputs[0];
        let alignment = self.cx.element(output).alignment() as u32;
        let slices = &self.slices;
        let mut b = KernelBuilder::new("gather");
        let source = b.buffer("source", BufferKind::Input, self.lane, slices.elements(), alignment);
        let indices = slices.indices(&mut b);
        let target = b.buffer("output", BufferKind::Output, self.lane, slices.listed(), alignment);
        let arguments = vec![Argument::Tensor(self.source), Argument::Tensor(self.indices), Argument::Tensor(output)];
        slices.check(&self.cx, &mut b, indices, false);
        let single = slices.row == 1;
        let lanes = copy_lanes(&self.cx, self.lane, if single { slices.picks } else { slices.row });
        if slices.listed() > 0 && single {
            self.elements(&mut b, indices, source, target, lanes);
        } else if slices.listed() > 0 {
            slices.each(&mut b, indices, |b, slice| {
                copy_row(b, (source, slice.indexed), (target, slice.listed), slices.row, lanes);
            });
        }
        let description = format!("gather {} slices of {} by {lanes}", slices.batches * slices.outer * slices.picks, slices.row);
        Ok(Lowered { kernel: b.finish(), arguments, description, multiply_accumulates: 0 })
    }
}
