//! Borders mirrored from the inside: rows of whole dimensions are copied with vectors; a padded last dimension is a row with two short
//! reversed ends.

use super::quantity::Number;
use super::slices::{copy_lanes, copy_row, raw_lane};
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::{Attribute, Inst, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, BufferKind, KernelBuilder, Lane, Value};

/// See the module.
pub struct MirrorPadSchedule<'a> {
    cx: Context<'a>,
    operand: Tensor,
    dimensions: Vec<Dimension>,
    /// 1 when the edge itself is not repeated.
    skip: i64,
    lane: Lane,
}

/// One or several dimensions.
#[derive(Clone, Copy)]
struct Dimension {
    extent: i64,
    low: i64,
    high: i64,
}

impl Dimension {
    fn is_padded(&self) -> bool {
        (self.low, self.high) != (0, 0)
    }

    fn padded(&self) -> i64 {
        self.low + self.extent + self.high
    }
}

impl<'a> MirrorPadSchedule<'a> {
    /// The schedule of a `mirror_pad`.
    ///
    /// # Errors
    /// For dynamic shapes and elements narrower than a byte.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let mut dimensions: Vec<Dimension> = Vec::new();
        for (d, extent) in cx.shape(operand)?.into_iter().enumerate() {
            let next = Dimension { extent: extent as i64, low: data.ints("low")[d], high: data.ints("high")[d] };
            match dimensions.last_mut() {
                Some(last) if !last.is_padded() && !next.is_padded() => last.extent *= next.extent,
                _ => dimensions.push(next),
            }
        }
        let skip = i64::from(*data.attribute("edge") != Attribute::Bool(true));
        Ok(Self { cx, operand, dimensions, skip, lane: raw_lane(cx.element(operand))? })
    }

    /// The position in a dimension that a position of the result, counted from its first own element, mirrors. Padding reaches over the
    /// dimension once at most.
    fn mirrored(&self, b: &mut KernelBuilder, position: Value, extent: i64) -> Value {
        let (before, behind) = (b.index(self.skip - 1), b.index(2 * extent - 1 - self.skip));
        let reflected = b.sub(before, position);
        let position = b.binary(BinaryOp::SignedMax, position, reflected);
        let reflected = b.sub(behind, position);
        b.binary(BinaryOp::SignedMin, position, reflected)
    }

    /// The rest of the dimensions, from one place of the input to one of the output, both in multiples of the rest.
    fn copy(&self, b: &mut KernelBuilder, rest: &[Dimension], buffers: (Buffer, Buffer), from: Value, to: Value) {
        let Some((first, rest)) = rest.split_first() else {
            let value = b.load(buffers.0, from, 0, 1);
            return b.store(buffers.1, to, 0, value);
        };
        let (from, to) = (b.scale_index(from, first.extent, 0), b.scale_index(to, first.padded(), 0));
        if rest.is_empty() {
            return self.row(b, first, buffers, from, to);
        }
        b.for_range(0, first.padded(), 1, |b, i| {
            let mut source = i;
            if first.is_padded() {
                source = b.scale_index(source, 1, -first.low);
                source = self.mirrored(b, source, first.extent);
            }
            let (from, to) = (b.add(from, source), b.add(to, i));
            self.copy(b, rest, buffers, from, to);
        });
    }

    fn row(&self, b: &mut KernelBuilder, dimension: &Dimension, buffers: (Buffer, Buffer), from: Value, to: Value) {
        let Dimension { extent, low, high } = *dimension;
        let reversed = |b: &mut KernelBuilder, count: i64, source: i64, target: i64| {
            b.for_range(0, count, 1, |b, i| {
                let place = b.sub(from, i);
                let value = b.load(buffers.0, place, source, 1);
                let place = b.add(to, i);
                b.store(buffers.1, place, target, value);
            });
        };
        reversed(b, low, low - 1 + self.skip, 0);
        reversed(b, high, extent - 1 - self.skip, low + extent);
        let to = b.scale_index(to, 1, low);
        let lanes = copy_lanes(&self.cx, self.lane, extent as u64);
        copy_row(b, (buffers.0, from), (buffers.1, to), Number::Known(extent), lanes);
    }
}

impl Schedule for MirrorPadSchedule<'_> {
    fn requirements(&self) -> Requirements {
        Requirements::default()
    }

    fn lower(&self, _shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let output = self.cx.group.outputs[0];
        let alignment = self.cx.element(output).alignment() as u32;
        let [read, written] = [self.operand, output].map(|v| self.cx.shape(v).map(|shape| shape.iter().product::<u64>()));
        let mut b = KernelBuilder::new("mirror_pad");
        let input = b.buffer("input", BufferKind::Input, self.lane, read?, alignment);
        let target = b.buffer("output", BufferKind::Output, self.lane, written?, alignment);
        let arguments = [self.operand, output].map(Argument::Tensor).to_vec();
        let zero = b.index(0);
        self.copy(&mut b, &self.dimensions, (input, target), zero, zero);
        Ok(Lowered { kernel: b.finish(), arguments, description: "mirror_pad".into(), multiply_accumulates: 0 })
    }
}
