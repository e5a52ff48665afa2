//! Sums of bytes along a dimension. Sums of up to 256 bytes fit 16 bits, which takes half the instructions of 32 bits.

use super::reduce::{Dimension, First, Lowering};
use crate::ir::{ElementType, Reduction as Kind, ScalarOp};
use crate::kernel::{Active, ConvertOp, Inst, KernelBuilder, Lane, Type, Value};
use crate::schedule::elementwise::positions::Hoisted;
use crate::schedule::quantity::Number;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Maximum number of bytes whose sum fits 16 bits: 256 times -128 is the least signed number, and 256 times 255 fits unsigned.
const MOST: i64 = 256;
/// Minimum number of bytes. The sum of fewer costs more to widen than it saves.
const LEAST: i64 = 4;

/// A sum of bytes over a dimension.
pub(super) struct ByteSum {
    /// Pixels from one element to the next.
    step: Number,
    extent: i64,
    /// The conversion of a byte to more bits.
    widening: ConvertOp,
}

impl Lowering<'_> {
    /// Returns the sum along the innermost reduced dimension, if it is computed in 16 bits.
    pub(super) fn byte_sum(&self, dimension: &Dimension, inner: &[Dimension], lanes: u16) -> Option<ByteSum> {
        let cx = &self.schedule.cx;
        let Number::Known(extent) = dimension.extent else { return None };
        let in_vectors = lanes > 1 && cx.writes_out() && cx.machine.combines_lanes();
        let fits = in_vectors && inner.is_empty() && extent >= LEAST && self.schedule.reduction.is(Kind::Sum);
        let widening = self.widening().filter(|_| fits && cx.uses(Technique::ByteSums))?;
        Some(ByteSum { step: dimension.input_step, extent, widening })
    }

    /// Returns the conversion of bytes to 32 bits. `None` if the work on elements is anything else.
    pub(super) fn widening(&self) -> Option<ConvertOp> {
        let expression = &self.schedule.cx.group.prologue()?.expression;
        let &[result] = &expression.results[..] else { return None };
        let node = &expression.nodes[result];
        let reads = matches!(node.operands[..], [x] if expression.nodes[x].op == ScalarOp::Input(0));
        let widens = node.op == ScalarOp::Convert && node.ty == ElementType::I32 && reads;
        match expression.inputs.first() {
            Some(ElementType::I8) if widens => Some(ConvertOp::SignExtend),
            Some(ElementType::U8) if widens => Some(ConvertOp::ZeroExtend),
            _ => None,
        }
    }

    /// Adds a sum of bytes to a partial result.
    pub(super) fn sum_in_16_bits(
        &self,
        b: &mut KernelBuilder,
        &ByteSum { step, extent, widening }: &ByteSum,
        First { pixel, channel }: First,
        hoisted: &[Option<Hoisted>],
        (lanes, active): (u16, Active),
        sum: Value,
    ) -> Result<Value, Unsupported> {
        let (zero, whole) = (b.index(0), b.index(extent / MOST * MOST));
        let mut inside = Ok(());
        let mut block = |b: &mut KernelBuilder, first: Value, count: i64, sum: Value| {
            let end = b.scale_index(first, 1, count);
            let neutral = b.int(Type::vector(Lane::I16, lanes), 0);
            let sums = b.for_carry(first, end, 1, &[neutral], |b, i, sums| {
                let offset = step.scale(b, i);
                let pixel = b.add(pixel, offset);
                let place = self.place(b, pixel, channel);
                match self.reader.values(b, &place, &[], hoisted, lanes, active) {
                    Ok(values) => {
                        let narrow = in_16_bits(b, values[0]);
                        vec![b.add(sums[0], narrow)]
                    }
                    Err(error) => {
                        inside = Err(error);
                        sums.to_vec()
                    }
                }
            });
            let more = b.convert(widening, sums[0], Lane::I32);
            b.add(sum, more)
        };
        let mut sum = sum;
        if extent >= MOST {
            sum = b.for_carry(zero, whole, MOST, &[sum], |b, first, sums| vec![block(b, first, MOST, sums[0])])[0];
        }
        if extent % MOST > 0 {
            sum = block(b, whole, extent % MOST, sum);
        }
        inside.map(|()| sum)
    }
}

/// Narrows a byte that was widened to 32 bits to 16 bits.
fn in_16_bits(b: &mut KernelBuilder, widened: Value) -> Value {
    match b.definition(widened) {
        Some(&Inst::Convert { op: op @ (ConvertOp::SignExtend | ConvertOp::ZeroExtend), a }) => b.convert(op, a, Lane::I16),
        _ => b.convert(ConvertOp::Wrap, widened, Lane::I16),
    }
}
