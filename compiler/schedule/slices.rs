//! What `gather` and `scatter` share: slices along an axis, named by indices that are known only when the kernel runs.

use super::map::row;
use super::{Context, Unsupported};
use crate::ir::{ElementType, InstData, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, BufferKind, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::program::E_INDEX;

/// The lane type that moves elements without looking at them.
///
/// # Errors
/// For elements narrower than a byte.
pub fn raw_lane(element: ElementType) -> Result<Lane, Unsupported> {
    match element.bits() {
        8 => Ok(Lane::I8),
        16 => Ok(Lane::I16),
        32 => Ok(Lane::I32),
        64 => Ok(Lane::I64),
        _ => Err(Unsupported::new(format!("moving elements of {element}"))),
    }
}

/// Lanes that copy rows of `count` elements: a full register, or fewer when there are not so many.
pub fn copy_lanes(cx: &Context<'_>, lane: Lane, count: u64) -> u16 {
    let needed = u16::try_from(count.max(1).next_power_of_two()).unwrap_or(u16::MAX);
    cx.machine.lanes(lane.bytes()).min(needed)
}

/// The tensor whose memory a value has: views share that of their operand.
pub fn storage(cx: &Context<'_>, mut value: Tensor) -> Tensor {
    while let Some(inst) = cx.function.defining_inst(value) {
        if !crate::fuse::is_view(cx.function, inst) {
            break;
        }
        value = cx.function.insts[inst].operands[0];
    }
    value
}

/// A tensor seen as `[batches, outer, extent, row]`, and indices as `[batches, picks]`.
#[derive(Clone, Copy, Debug)]
pub struct Slices {
    /// Product of the dimensions that the indices have too.
    pub batches: u64,
    /// Product of the dimensions between those and the axis.
    pub outer: u64,
    /// The axis.
    pub extent: u64,
    /// Elements of a slice.
    pub row: u64,
    /// Indices of a batch.
    pub picks: u64,
    /// The lane type of the indices.
    pub index_lane: Lane,
}

/// One slice while the kernel runs: where it starts in the indexed tensor and in the list of slices, in elements.
pub struct Slice {
    /// In the tensor that the indices name slices of.
    pub indexed: Value,
    /// In the slices one after another.
    pub listed: Value,
    /// The index.
    pub index: Value,
}

impl Slices {
    /// The slices of an instruction's operand 0 that its operand 1 names.
    ///
    /// # Errors
    /// For dynamic shapes.
    pub fn new(cx: &Context<'_>, data: &InstData) -> Result<Self, Unsupported> {
        let (shape, indices) = (cx.shape(data.operands[0])?, cx.shape(data.operands[1])?);
        let (axis, batch) = (data.int("axis") as usize, data.int("batch") as usize);
        let index_lane = if cx.element(data.operands[1]) == ElementType::I64 { Lane::I64 } else { Lane::I32 };
        Ok(Self {
            batches: shape[..batch].iter().product(),
            outer: shape[batch..axis].iter().product(),
            extent: shape[axis],
            row: shape[axis + 1..].iter().product(),
            picks: indices[batch..].iter().product(),
            index_lane,
        })
    }

    /// Elements of the indexed tensor.
    pub fn elements(&self) -> u64 {
        self.batches * self.outer * self.extent * self.row
    }

    /// Elements of the listed slices.
    pub fn listed(&self) -> u64 {
        self.batches * self.outer * self.picks * self.row
    }

    /// Declares the buffer of the indices.
    pub fn indices(&self, b: &mut KernelBuilder) -> Buffer {
        b.buffer("indices", BufferKind::Input, self.index_lane, self.batches * self.picks, self.index_lane.bytes())
    }

    /// Leaves the kernel, before anything is written, if an index is outside the axis; negative ones may be allowed.
    pub fn check(&self, cx: &Context<'_>, b: &mut KernelBuilder, indices: Buffer, allows_negative: bool) {
        let count = self.batches * self.picks;
        let lanes = copy_lanes(cx, self.index_lane, count);
        let whole = count / u64::from(lanes) * u64::from(lanes);
        let ty = Type::vector(self.index_lane, lanes);
        // No number of the index's type reaches beyond this; the comparison without sign catches negative ones.
        let largest = if self.index_lane == Lane::I64 { i64::MAX } else { i64::from(i32::MAX) };
        let last = i64::try_from(self.extent).unwrap_or(i64::MAX).min(largest) - 1;
        let outside = |b: &mut KernelBuilder, index: Value| {
            let last = b.int(ty, last);
            if allows_negative {
                return b.compare(CompareOp::Less, last, index);
            }
            // An axis of no elements has no last one: −1 is the largest number without a sign, which nothing exceeds.
            if self.extent == 0 { b.mask(lanes, true) } else { b.compare(CompareOp::UnsignedLess, last, index) }
        };
        let none = b.mask(lanes, false);
        let (start, end) = (b.index(0), b.index(whole as i64));
        let mut bad = b.for_carry(start, end, i64::from(lanes), &[none], |b, i, bad| {
            let index = b.load(indices, i, 0, lanes);
            let outside = outside(b, index);
            vec![b.binary(BinaryOp::Or, bad[0], outside)]
        })[0];
        if count > whole {
            let start = b.index(whole as i64);
            // Lanes without an index hold 0, which an axis has if it has any element.
            let index = b.load_active(indices, start, 0, lanes, (count - whole) as u16);
            let outside = outside(b, index);
            bad = b.binary(BinaryOp::Or, bad, outside);
        }
        let bad = any(b, bad);
        b.fail_if(bad, E_INDEX);
    }

    /// Runs `body` for every slice in row-major order; nothing is made when there is none.
    pub fn each(&self, b: &mut KernelBuilder, indices: Buffer, mut body: impl FnMut(&mut KernelBuilder, &Slice)) {
        let (extent, row, picks) = (self.extent as i64, self.row as i64, self.picks as i64);
        b.for_range(0, self.batches as i64, 1, |b, batch| {
            let first = b.scale_index(batch, self.outer as i64, 0);
            let list = b.scale_index(batch, picks, 0);
            b.for_range(0, self.outer as i64, 1, |b, outer| {
                let outer = b.add(first, outer);
                let (slice, listed) = (b.scale_index(outer, extent, 0), b.scale_index(outer, picks, 0));
                b.for_range(0, picks, 1, |b, pick| {
                    let place = b.add(list, pick);
                    let index = b.load(indices, place, 0, 1);
                    let index = if self.index_lane == Lane::I64 { index } else { b.convert(ConvertOp::SignExtend, index, Lane::I64) };
                    let (indexed, listed) = (b.add(slice, index), b.add(listed, pick));
                    let slice = Slice { indexed: b.scale_index(indexed, row, 0), listed: b.scale_index(listed, row, 0), index };
                    body(b, &slice);
                });
            });
        });
    }
}

/// Whether any lane of a mask is true, as a scalar mask.
pub fn any(b: &mut KernelBuilder, mask: Value) -> Value {
    if b.ty(mask).lanes == 1 {
        return mask;
    }
    let lanes = b.convert(ConvertOp::MaskToInteger, mask, Lane::I32);
    let any = b.horizontal(HorizontalOp::Max, lanes);
    let zero = b.int(Type::scalar(Lane::I32), 0);
    b.compare(CompareOp::NotEqual, any, zero)
}

/// Copies `count` elements from one place to another.
pub fn copy_row(b: &mut KernelBuilder, from: (Buffer, Value), to: (Buffer, Value), count: u64, lanes: u16) {
    row(b, count, lanes, |b, i, active| {
        let source = b.add(from.1, i);
        let value = b.load_active(from.0, source, 0, lanes, active);
        let target = b.add(to.1, i);
        b.store_active(to.0, target, 0, value, active);
    });
}
