//! Parts shared by `gather` and `scatter`: slices along an axis at indices known only at run time.

use crate::ir::{ElementType, InstData, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::program::E_INDEX;
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::quantity::{Cells, Number, Quantity, RowVectors, product};
use crate::schedule::unsupported::Unsupported;

/// Returns the lane type that moves elements without interpreting them.
///
/// # Errors
/// [`Unsupported`] if elements are narrower than a byte.
pub fn raw_lane(element: ElementType) -> Result<Lane, Unsupported> {
    match element.bits() {
        8 => Ok(Lane::I8),
        16 => Ok(Lane::I16),
        32 => Ok(Lane::I32),
        64 => Ok(Lane::I64),
        _ => Err(Unsupported::Move(element)),
    }
}

/// Returns the lanes with which rows of `count` elements are copied: a full register, or fewer for short rows.
pub fn copy_lanes(cx: &Context<'_>, lane: Lane, count: u64) -> u16 {
    let needed = u16::try_from(count.max(1).next_power_of_two()).unwrap_or(u16::MAX);
    cx.machine.lanes(lane.bytes()).min(needed)
}

/// Tests whether registers are narrower than indices of a lane type. Such indices are processed one by one.
pub fn are_long(cx: &Context<'_>, lane: Lane) -> bool {
    8 * lane.bytes() > u32::from(cx.machine.index_bits)
}

/// A tensor viewed as `[batches, outer, extent, row]`, and its indices as `[batches, picks]`.
#[derive(Clone, Debug)]
pub struct Slices {
    /// Product of the dimensions that the indices have, too.
    pub batches: Quantity,
    /// Product of the dimensions between the batches and the axis.
    pub outer: Quantity,
    /// Extent of the axis.
    pub extent: Quantity,
    /// Elements of a slice.
    pub row: Quantity,
    /// Number of indices in a batch.
    pub picks: Quantity,
    /// The lane type of the indices.
    pub index_lane: Lane,
}

/// The sizes of [`Slices`] as numbers of a kernel.
#[derive(Clone, Copy)]
pub struct Counts {
    /// See [`Slices`].
    pub batches: Number,
    /// See [`Slices`].
    pub outer: Number,
    /// See [`Slices`].
    pub extent: Number,
    /// See [`Slices`].
    pub row: Number,
    /// See [`Slices`].
    pub picks: Number,
    /// Number of indices in all batches.
    pub indices: Number,
    /// Number of elements of the indexed tensor.
    pub elements: Number,
}

/// One slice at run time: its start in the indexed tensor and in the list of slices, in elements.
pub struct Slice {
    /// Start in the indexed tensor.
    pub indexed: Value,
    /// Start in the list of slices.
    pub listed: Value,
    /// The index.
    pub index: Value,
}

impl Slices {
    /// Analyses the slices of an instruction: operand 1 indexes operand 0 along an axis, after `batch` common dimensions.
    ///
    /// # Errors
    /// [`Unsupported`] if extents of the common dimensions may differ.
    pub fn new(cx: &Context<'_>, data: &InstData, axis: usize, batch: usize) -> Result<Self, Unsupported> {
        let (shape, indices) = (cx.quantities(data.operands[0]), cx.quantities(data.operands[1]));
        if product(&indices[..batch]) != product(&shape[..batch]) {
            return Err(Unsupported::ExtentsMayDiffer);
        }
        let index_lane = if cx.element(data.operands[1]) == ElementType::I64 { Lane::I64 } else { Lane::I32 };
        Ok(Self {
            batches: product(&shape[..batch]),
            outer: product(&shape[batch..axis]),
            extent: shape[axis].clone(),
            row: product(&shape[axis + 1..]),
            picks: product(&indices[batch..]),
            index_lane,
        })
    }

    /// Returns the number of elements of the indexed tensor.
    pub fn elements(&self) -> Quantity {
        product([&self.batches, &self.outer, &self.extent, &self.row])
    }

    /// Returns the number of elements of the listed slices.
    pub fn listed(&self) -> Quantity {
        product([&self.batches, &self.outer, &self.picks, &self.row])
    }

    /// Returns the number of slices in all batches.
    pub fn count(&self) -> Quantity {
        product([&self.batches, &self.outer, &self.picks])
    }

    /// Loads the sizes as numbers of a kernel.
    pub fn counts(&self, b: &mut KernelBuilder, arguments: &mut Arguments) -> Counts {
        let (indices, elements) = (self.batches.times(&self.picks), self.elements());
        let mut cells = Cells::default();
        let all = [&self.batches, &self.outer, &self.extent, &self.row, &self.picks];
        cells.load(b, arguments, all.into_iter().flat_map(Quantity::extents));
        let [batches, outer, extent, row, picks] = all.map(|quantity| cells.number(b, quantity));
        let (indices, elements) = (cells.number(b, &indices), cells.number(b, &elements));
        Counts { batches, outer, extent, row, picks, indices, elements }
    }

    /// Declares the buffer of the indices.
    ///
    /// # Errors
    /// [`Unsupported`] if the number of indices has no bound.
    pub fn declare_indices(
        &self,
        cx: &Context<'_>,
        b: &mut KernelBuilder,
        arguments: &mut Arguments,
        indices: Tensor,
    ) -> Result<Buffer, Unsupported> {
        let count = self.batches.times(&self.picks).most(cx.function)?;
        Ok(arguments.input(b, "indices", indices, Elements::new(self.index_lane, count)))
    }

    /// Leaves the kernel, before any write, if an index is outside the axis. Negative indices may be allowed.
    ///
    /// # Errors
    /// [`Unsupported`] if the number of indices has no bound.
    pub fn check(
        &self,
        cx: &Context<'_>,
        b: &mut KernelBuilder,
        counts: &Counts,
        indices: Buffer,
        allows_negative: bool,
    ) -> Result<(), Unsupported> {
        let lanes = match are_long(cx, self.index_lane) {
            true => 1,
            false => copy_lanes(cx, self.index_lane, self.batches.times(&self.picks).most(cx.function)?),
        };
        let outside = |b: &mut KernelBuilder, index: Value| self.outside(b, counts, lanes, index, allows_negative);
        let none = b.mask(lanes, false);
        let (start, end) = (b.index(0), counts.indices.whole(b, lanes));
        let mut bad = b.for_carry(start, end, i64::from(lanes), &[none], |b, i, bad| {
            let index = b.load(indices, i, 0, lanes);
            let outside = outside(b, index);
            vec![b.binary(BinaryOp::Or, bad[0], outside)]
        })[0];
        // Lanes without an index hold 0, which is valid if the axis has any element.
        let rest = |b: &mut KernelBuilder, start: Value, active: u16, bad: Value| {
            let index = b.load_active(indices, start, 0, lanes, active);
            let outside = outside(b, index);
            b.binary(BinaryOp::Or, bad, outside)
        };
        match counts.indices {
            Number::Known(count) => {
                let whole = count / i64::from(lanes) * i64::from(lanes);
                if count > whole {
                    let start = b.index(whole);
                    bad = rest(b, start, (count - whole) as u16, bad);
                }
            }
            Number::Computed(count) => bad = b.for_carry(end, count, 1, &[bad], |b, i, bad| vec![rest(b, i, 1, bad[0])])[0],
        }
        let bad = any(b, bad);
        b.fail_if(bad, E_INDEX);
        Ok(())
    }

    /// Tests which lanes of a vector of indices are outside the axis.
    fn outside(&self, b: &mut KernelBuilder, counts: &Counts, lanes: u16, index: Value, allows_negative: bool) -> Value {
        let ty = Type::vector(self.index_lane, lanes);
        // No number of the index's type exceeds this. The unsigned comparison catches negative indices.
        let largest = if self.index_lane == Lane::I64 { i64::MAX } else { i64::from(i32::MAX) };
        let last = match counts.extent {
            Number::Known(extent) => b.int(ty, extent.min(largest) - 1),
            Number::Computed(extent) => {
                let (one, most) = (b.index(1), b.index(largest));
                let extent = b.binary(BinaryOp::SignedMin, extent, most);
                let last = b.sub(extent, one);
                let last = if self.index_lane == Lane::I64 { last } else { b.convert(ConvertOp::Wrap, last, self.index_lane) };
                b.splat(last, lanes)
            }
        };
        if allows_negative {
            return b.compare(CompareOp::Less, last, index);
        }
        // An axis without elements has no last index. Its −1 is the largest unsigned number, which no index exceeds.
        if self.extent.is(0) {
            return b.mask(lanes, true);
        }
        let beyond = b.compare(CompareOp::UnsignedLess, last, index);
        if self.extent.as_known().is_some() {
            return beyond;
        }
        let zero = b.int(ty, 0);
        let none = b.compare(CompareOp::Less, last, zero);
        b.binary(BinaryOp::Or, beyond, none)
    }

    /// Runs `body` for every slice in row-major order. It writes nothing if there are no slices.
    pub fn each(&self, b: &mut KernelBuilder, counts: &Counts, indices: Buffer, mut body: impl FnMut(&mut KernelBuilder, &Slice)) {
        let Counts { extent, row, picks, .. } = *counts;
        counts.batches.repeat(b, |b, batch| {
            let first = counts.outer.scale(b, batch);
            let list = picks.scale(b, batch);
            counts.outer.repeat(b, |b, outer| {
                let outer = b.add(first, outer);
                let (slice, listed) = (extent.scale(b, outer), picks.scale(b, outer));
                picks.repeat(b, |b, pick| {
                    let place = b.add(list, pick);
                    let index = b.load(indices, place, 0, 1);
                    let index = if self.index_lane == Lane::I64 { index } else { b.convert(ConvertOp::SignExtend, index, Lane::I64) };
                    let (indexed, listed) = (b.add(slice, index), b.add(listed, pick));
                    let slice = Slice { indexed: row.scale(b, indexed), listed: row.scale(b, listed), index };
                    body(b, &slice);
                });
            });
        });
    }
}

/// Returns a scalar mask that is true if any lane of a mask is true.
pub fn any(b: &mut KernelBuilder, mask: Value) -> Value {
    if b.ty(mask).lanes == 1 {
        return mask;
    }
    let lanes = b.convert(ConvertOp::MaskToInteger, mask, Lane::I32);
    let any = b.horizontal(HorizontalOp::Max, lanes);
    let zero = b.int(Type::scalar(Lane::I32), 0);
    b.compare(CompareOp::NotEqual, any, zero)
}

/// Copies `count` elements in vectors.
pub fn copy_row(
    b: &mut KernelBuilder,
    from: (Buffer, Value),
    to: (Buffer, Value),
    count: Number,
    RowVectors { lanes, masked }: RowVectors,
) {
    count.row(b, lanes, masked, |b, i, active| {
        let source = b.add(from.1, i);
        let value = b.load_active(from.0, source, 0, lanes, active);
        let target = b.add(to.1, i);
        b.store_active(to.0, target, 0, value, active);
    });
}
