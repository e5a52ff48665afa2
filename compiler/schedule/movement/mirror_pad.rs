//! Padding that mirrors the tensor at its borders. Rows of whole dimensions are copied with vectors. If the last dimension is padded, a row also has
//! two short reversed ends.

use super::strided::{check_equal, padded};
use crate::ir::{Inst, Operation, Value as Tensor};
use crate::kernel::{BinaryOp, CompareOp, KernelBuilder, Lane, Value};
use crate::program::E_INDEX;
use crate::schedule::arguments::{Arguments, Buffers, Elements};
use crate::schedule::context::Context;
use crate::schedule::indexed::slices::{copy_lanes, copy_row, raw_lane};
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, RowVectors};
use crate::schedule::unsupported::Unsupported;

/// Schedule of a `mirror_pad`.
pub struct MirrorPadSchedule<'a> {
    cx: Context<'a>,
    operand: Tensor,
    dimensions: Vec<Dimension>,
    /// Pairs of extents that must be equal and are compared at run time.
    equal: Vec<[Quantity; 2]>,
    /// Number of edge elements that are not repeated: 0 or 1.
    skip: i64,
    lane: Lane,
}

/// One dimension, or several consecutive ones without padding.
#[derive(Clone)]
struct Dimension {
    extent: Quantity,
    low: i64,
    high: i64,
}

impl Dimension {
    fn is_padded(&self) -> bool {
        (self.low, self.high) != (0, 0)
    }

    fn padded(&self) -> Quantity {
        self.extent.plus(&Quantity::known(self.low + self.high))
    }
}

/// A dimension in a kernel.
#[derive(Clone, Copy)]
struct Counted {
    extent: Number,
    padded: Number,
    low: i64,
    high: i64,
    lanes: u16,
    /// Maximum lanes of a vector that the machine can mask.
    masked: u16,
}

impl<'a> MirrorPadSchedule<'a> {
    /// Makes the schedule of a `mirror_pad`.
    ///
    /// # Errors
    /// [`Unsupported`] for elements narrower than a byte.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::MirrorPad(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let mut dimensions: Vec<Dimension> = Vec::new();
        for (d, extent) in cx.quantities(operand).into_iter().enumerate() {
            let next = Dimension { extent, low: operator.low[d], high: operator.high[d] };
            match dimensions.last_mut() {
                Some(last) if !last.is_padded() && !next.is_padded() => last.extent = last.extent.times(&next.extent),
                _ => dimensions.push(next),
            }
        }
        let skip = i64::from(!operator.edge);
        Ok(Self {
            cx,
            operand,
            dimensions,
            equal: padded(&cx, data, &operator.low, &operator.high),
            skip,
            lane: raw_lane(cx.element(operand))?,
        })
    }

    /// Returns the position in the operand's dimension that a position of the result mirrors. Positions count from the first element that is not
    /// padding. Padding covers the dimension at most once.
    fn mirrored(&self, b: &mut KernelBuilder, position: Value, extent: Number) -> Value {
        let before = b.index(self.skip - 1);
        let last = match extent {
            Number::Known(extent) => b.index(2 * extent - 1 - self.skip),
            Number::Computed(extent) => b.scale_index(extent, 2, -1 - self.skip),
        };
        let reflected = b.sub(before, position);
        let position = b.binary(BinaryOp::SignedMax, position, reflected);
        let reflected = b.sub(last, position);
        b.binary(BinaryOp::SignedMin, position, reflected)
    }

    /// Leaves the kernel with [`E_INDEX`] if the padding of a run-time extent would cover it more than once.
    fn check_room(&self, b: &mut KernelBuilder, dimension: &Counted) {
        let Number::Computed(extent) = dimension.extent else { return };
        let most = dimension.low.max(dimension.high);
        if most > 0 {
            let least = b.index(most + self.skip);
            let too_small = b.compare(CompareOp::Less, extent, least);
            b.fail_if(too_small, E_INDEX);
        }
    }

    /// Copies the remaining dimensions. `from` and `to` are places in the input and the output, in multiples of these dimensions.
    fn copy(&self, b: &mut KernelBuilder, rest: &[Counted], buffers: Buffers, from: Value, to: Value) {
        let Some((first, rest)) = rest.split_first() else {
            let value = b.load(buffers.input, from, 0, 1);
            return b.store(buffers.output, to, 0, value);
        };
        let (from, to) = (first.extent.scale(b, from), first.padded.scale(b, to));
        if rest.is_empty() {
            return row(b, first, self.skip, buffers, from, to);
        }
        first.padded.repeat(b, |b, i| {
            let mut source = i;
            if (first.low, first.high) != (0, 0) {
                source = b.scale_index(source, 1, -first.low);
                source = self.mirrored(b, source, first.extent);
            }
            let (from, to) = (b.add(from, source), b.add(to, i));
            self.copy(b, rest, buffers, from, to);
        });
    }
}

/// Copies the last dimension: its elements, and reversed ones before and after them.
fn row(b: &mut KernelBuilder, dimension: &Counted, skip: i64, buffers: Buffers, from: Value, to: Value) {
    let Counted { extent, low, high, lanes, masked, .. } = *dimension;
    let reversed = |b: &mut KernelBuilder, count: i64, (from, source): (Value, i64), (to, target): (Value, i64)| {
        b.for_range(0, count, 1, |b, i| {
            let place = b.sub(from, i);
            let value = b.load(buffers.input, place, source, 1);
            let place = b.add(to, i);
            b.store(buffers.output, place, target, value);
        });
    };
    reversed(b, low, (from, low - 1 + skip), (to, 0));
    // The known part of the distance to the end becomes a constant offset.
    let (from_end, to_end, known) = match extent {
        Number::Known(extent) => (from, to, extent),
        Number::Computed(extent) if high > 0 => (b.add(from, extent), b.add(to, extent), 0),
        Number::Computed(_) => (from, to, 0),
    };
    reversed(b, high, (from_end, known - 1 - skip), (to_end, low + known));
    let to = b.scale_index(to, 1, low);
    copy_row(b, (buffers.input, from), (buffers.output, to), extent, RowVectors { lanes, masked });
}

impl Schedule for MirrorPadSchedule<'_> {
    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let output = self.cx.group.outputs[0];
        let alignment = self.cx.element(output).alignment() as u32;
        let mut b = KernelBuilder::new("mirror_pad");
        b.independent(true);
        let mut arguments = Arguments::default();
        let elements = |tensor| Ok(Elements::new(self.lane, self.cx.most_elements(tensor)?).aligned(alignment));
        let input = arguments.input(&mut b, "input", self.operand, elements(self.operand)?);
        let target = arguments.output(&mut b, "output", output, elements(output)?);
        let mut cells = Cells::default();
        let equal = self.equal.iter().flatten();
        let counted = self.dimensions.iter().map(|dimension| &dimension.extent).chain(equal);
        cells.load(&mut b, &mut arguments, counted.flat_map(Quantity::extents));
        check_equal(&mut b, &cells, &self.equal);
        let mut dimensions = Vec::new();
        for dimension in &self.dimensions {
            let lanes = copy_lanes(&self.cx, self.lane, dimension.extent.most(self.cx.function)?);
            let [extent, padded] = [&dimension.extent, &dimension.padded()].map(|quantity| cells.number(&mut b, quantity));
            let counted = Counted { extent, padded, low: dimension.low, high: dimension.high, lanes, masked: self.cx.machine.masked_lanes };
            self.check_room(&mut b, &counted);
            dimensions.push(counted);
        }
        let zero = b.index(0);
        self.copy(&mut b, &dimensions, Buffers { input, output: target }, zero, zero);
        Ok(vec![Lowered::new(b.finish(), arguments, "mirror_pad")])
    }
}
