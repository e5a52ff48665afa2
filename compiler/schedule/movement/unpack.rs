//! Unpacking of integers to one for each lane, and the element-wise work on them.

use super::turn::interleaved;
use crate::ir::{ElementType, Inst, Interval, Operation, Value as Tensor};
use crate::kernel::{Active, ConvertOp, KernelBuilder, Lane, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::join;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::packed::{Packed, PackedFormat};
use crate::schedule::elementwise::positions::OutputPosition;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Number, nest};
use crate::schedule::unsupported::Unsupported;

/// Minimum packed bytes of a vector.
const LEAST_BYTES: u16 = 4;

/// Schedule of an `unpack`.
pub struct UnpackSchedule<'a> {
    cx: Context<'a>,
    source: Tensor,
    element: ElementType,
    /// Loops over rows, and the bytes of a row.
    dimensions: Vec<Number>,
    bytes: u64,
    work: ElementWise<'a>,
}

impl<'a> UnpackSchedule<'a> {
    /// Makes the schedule of an `unpack`.
    ///
    /// [`Unsupported`] if a shape is dynamic or the work on the integers has no lowering.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Unpack(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let (source, element) = (cx.function.insts[root].operands[0], operator.element);
        let range = element.integer_range().map(|(low, high)| Interval::new(low as i64, high as i64));
        let work = ElementWise::new(cx, range)?;
        let shape = cx.shape(source)?;
        let (&bytes, outer) = shape.split_last().ok_or_else(|| cx.no_schedule(root))?;
        let rows = outer.iter().product::<u64>();
        // Flat work takes all elements as one row. Operands with strides need a loop for each dimension.
        let (dimensions, bytes) = match (work.is_flat(), work.follows_dimensions()) {
            (true, _) => (vec![1], rows * bytes),
            (false, false) => (vec![rows], bytes),
            (false, true) => (outer.to_vec(), bytes),
        };
        let dimensions = dimensions.into_iter().map(|n| Number::Known(n as i64)).collect();
        Ok(Self { cx, source, element, dimensions, bytes, work })
    }

    fn rows(&self) -> u64 {
        self.dimensions.iter().map(|n| if let Number::Known(n) = n { *n as u64 } else { 1 }).product()
    }

    /// Unpacks the integers of bytes to lanes of 32 bits.
    fn apart(&self, b: &mut KernelBuilder, raw: Value) -> Value {
        let packed = Packed::new(b, raw, PackedFormat::of(self.element));
        let parts: Vec<Value> = packed.parts(b, raw).into_iter().map(|bits| packed.signed(b, bits)).collect();
        let times = parts.len().ilog2();
        let side_by_side = interleaved(b, parts, 1, times);
        let bytes = join(b, &side_by_side);
        b.convert(ConvertOp::SignExtend, bytes, Lane::I32)
    }

    /// Returns the packed bytes of a vector.
    fn lanes(&self) -> u16 {
        let per_byte = self.element.per_byte();
        let lanes = self.cx.lanes_for(self.work.smallest_element(), self.bytes * per_byte);
        (lanes / per_byte as u16).max(LEAST_BYTES)
    }
}

impl Schedule for UnpackSchedule<'_> {
    fn requirements(&self) -> Requirements {
        Requirements { may_share: self.work.shareable(), ..Requirements::default() }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut b = KernelBuilder::new(format!("unpack_{}", self.element));
        b.independent(true);
        let mut arguments = Arguments::default();
        let source = arguments.input(&mut b, "source", self.source, Elements::new(Lane::I8, self.rows() * self.bytes));
        let mut work = self.work.clone();
        work.declare(&mut b, &mut arguments, shared)?;
        let per_byte = self.element.per_byte() as u16;
        let (bytes, lanes) = (self.lanes(), self.lanes() * per_byte);
        let hoisted = work.hoist(&mut b, lanes);
        let zero = b.index(0);
        nest(&mut b, &self.dimensions, (&[], zero), &mut |b, digits, pixel| {
            let hoisted = work.hoist_pixel(b, pixel, digits, &hoisted, lanes);
            let first = b.scale_index(pixel, self.bytes as i64, 0);
            Number::Known(self.bytes as i64).row(b, bytes, 1, |b, byte, active| {
                let place = b.add(first, byte);
                let raw = b.load_active(source, place, 0, bytes, active);
                let value = self.apart(b, raw);
                let [channel, flat] = [byte, place].map(|index| b.scale_index(index, per_byte.into(), 0));
                let place = OutputPosition { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
                // Rows of known extents need no masks.
                let active = if let Active::First(active) = active { active } else { bytes };
                work.emit(b, &place, Some(value), &hoisted, lanes, active * per_byte)
            })
        })?;
        let description = format!("unpack {} of {}x{} bytes, {bytes} at a time", self.element, self.rows(), self.bytes);
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
