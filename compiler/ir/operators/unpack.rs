//! `unpack`: packed integers, unpacked to one a byte.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Ranks, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent};
use ElementType::{I2, I4, U4, U8};

/// Packed integers, unpacked to one a byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unpack {
    /// The type of the integers.
    pub element: ElementType,
}

impl Operator for Unpack {
    const NAME: &'static str = "unpack";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str =
        "The packed integers in bytes u8 [… N], of type i2, i4 or u4, side by side: i8 or u8 with a last dimension of 4·N or 2·N.";

    fields! { "element" => element }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.operand_element(0, Elements::Among(vec![U8]))?;
        cx.element(Subject::Field("element"), self.element, Elements::Among(vec![I2, I4, U4]))?;
        let input = cx.tensor(0)?;
        cx.rank(Subject::Operand(0), input.rank(), Ranks::AtLeast(1))?;
        let last = input.rank() - 1;
        let mut shape = input.shape.clone();
        // A product beyond 64 bits is beyond the limit on elements too.
        shape[last] = Extent::Static(cx.known(0, last)?.saturating_mul(self.element.per_byte()));
        cx.one(self.element.unpacked(), shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        movement::unpack(cx.tensor(0)?, self.element).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let is_row = |extent: Option<&Extent>| extent.is_some_and(|extent| extent.as_static().is_some());
        let input = generator.tensor_where(|ty| ty.element == U8 && is_row(ty.shape.last()))?;
        Some((vec![input], Self { element: *generator.random.pick(&[I2, I4, U4]) }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| (axis + 1 == rank).then_some(Axis::Opaque))
    }
}
