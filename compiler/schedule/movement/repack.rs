//! Conversion between packed integers and one integer a byte, for tensors of any shape: the ports of a method.

use super::turn::interleaved;
use crate::ir::{ElementType, Inst, Value as Tensor};
use crate::kernel::{Active, BinaryOp, Buffer, CompareOp, KernelBuilder, Lane, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::join;
use crate::schedule::elementwise::packed::{Packed, PackedFormat};
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::loops::if_then;
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, product};
use crate::schedule::unsupported::Unsupported;

/// Minimum packed bytes of a vector.
const LEAST_BYTES: u16 = 4;

/// Schedule of a `repack`.
pub struct RepackSchedule<'a> {
    cx: Context<'a>,
    source: Tensor,
    target: Tensor,
    count: Quantity,
}

impl<'a> RepackSchedule<'a> {
    /// Makes the schedule of a `repack`.
    ///
    /// [`Unsupported`] if the number of elements has no bound.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let (source, target) = (data.operands[0], data.results[0]);
        let count = product(&cx.quantities(source));
        count.most(cx.function)?;
        Ok(Self { cx, source, target, count })
    }

    fn packs(&self) -> bool {
        self.cx.element(self.target).is_packed()
    }

    /// Returns the packed type.
    fn element(&self) -> ElementType {
        self.cx.element(if self.packs() { self.target } else { self.source })
    }
}

impl Schedule for RepackSchedule<'_> {
    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let (element, packs) = (self.element(), self.packs());
        let (per_byte, most) = (element.per_byte(), self.count.most(self.cx.function)?);
        let (name, [read, written]) =
            if packs { ("pack", [most, most.div_ceil(per_byte)]) } else { ("unpack", [most.div_ceil(per_byte), most]) };
        let mut b = KernelBuilder::new(format!("{name}_{element}"));
        b.independent(true);
        let mut arguments = Arguments::default();
        let source = arguments.input(&mut b, "source", self.source, Elements::new(Lane::I8, read));
        let target = arguments.output(&mut b, "target", self.target, Elements::new(Lane::I8, written));
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.count.extents());
        let count = cells.number(&mut b, &self.count);
        let bytes = (self.cx.lanes_for(1, most) / per_byte as u16).max(LEAST_BYTES);
        let work = Work { element, packs, source, target, bytes };
        work.all(&mut b, count);
        let description = format!("{name} {count} of {element} by {bytes} bytes");
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}

/// Work of a kernel on vectors of `bytes` packed bytes.
struct Work {
    element: ElementType,
    packs: bool,
    source: Buffer,
    target: Buffer,
    bytes: u16,
}

impl Work {
    /// Converts whole bytes by vectors, then the integers of a last byte that they do not fill.
    fn all(&self, b: &mut KernelBuilder, count: Number) {
        let per_byte = self.element.per_byte() as i64;
        let whole = match count {
            Number::Known(n) => Number::Known(n / per_byte),
            Number::Computed(n) => {
                let divisor = b.index(per_byte);
                Number::Computed(b.binary(BinaryOp::SignedDiv, n, divisor))
            }
        };
        // A mask of bytes is not a mask of integers, so no machine masks the rest.
        whole.row(b, self.bytes, 0, |b, byte, active| {
            let active = if let Active::First(active) = active { active } else { self.bytes };
            self.vector(b, byte, active, active * per_byte as u16);
        });
        let last = whole.value(b);
        match count {
            Number::Known(n) if n % per_byte == 0 => {}
            Number::Known(n) => self.vector(b, last, 1, (n % per_byte) as u16),
            Number::Computed(n) => {
                let filled = b.scale_index(last, per_byte, 0);
                let left = b.sub(n, filled);
                for some in 1..per_byte {
                    let number = b.index(some);
                    let is_left = b.compare(CompareOp::Equal, left, number);
                    if_then(b, is_left, |b| self.vector(b, last, 1, some as u16));
                }
            }
        }
    }

    /// Converts a vector from a packed byte on. Only the first `bytes` and `integers` of it are loaded and stored.
    fn vector(&self, b: &mut KernelBuilder, byte: Value, bytes: u16, integers: u16) {
        let place = b.scale_index(byte, self.element.per_byte() as i64, 0);
        if self.packs {
            let raw = b.load_active(self.source, place, 0, self.bytes * self.element.per_byte() as u16, integers);
            let packed = self.together(b, raw);
            b.store_active(self.target, byte, 0, packed, bytes);
        } else {
            let raw = b.load_active(self.source, byte, 0, self.bytes, bytes);
            let integers_of = self.apart(b, raw);
            b.store_active(self.target, place, 0, integers_of, integers);
        }
    }

    /// Unpacks the integers of bytes, one to a byte.
    fn apart(&self, b: &mut KernelBuilder, raw: Value) -> Value {
        let packed = Packed::new(b, raw, PackedFormat::of(self.element));
        let parts: Vec<Value> = packed.parts(b, raw).into_iter().map(|bits| packed.signed(b, bits)).collect();
        let times = parts.len().ilog2();
        let side_by_side = interleaved(b, parts, 1, times);
        join(b, &side_by_side)
    }

    /// Packs the low bits of neighbouring bytes.
    fn together(&self, b: &mut KernelBuilder, raw: Value) -> Value {
        let (per_byte, bits) = (self.element.per_byte() as u16, self.element.bits() as u8);
        let ty = b.ty(raw);
        let mask = b.int(ty, (1 << bits) - 1);
        let low = b.binary(BinaryOp::And, raw, mask);
        let part = |b: &mut KernelBuilder, number: u16| {
            let part = b.shuffle(low, low, (0..self.bytes).map(|byte| byte * per_byte + number).collect());
            if number == 0 { part } else { b.shift(BinaryOp::ShiftLeft, part, bits * number as u8) }
        };
        let first = part(b, 0);
        (1..per_byte).fold(first, |joined, number| {
            let next = part(b, number);
            b.binary(BinaryOp::Or, joined, next)
        })
    }
}
