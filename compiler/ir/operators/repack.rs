//! `repack`: packed integers, unpacked to one a byte, or the reverse.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::Axes;
use crate::fault::{Elements, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::ElementType;
use ElementType::{I2, I4, I8, U4, U8};

/// Packed integers, unpacked to one a byte, or the reverse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repack {
    /// The type of the result.
    pub element: ElementType,
}

impl Operator for Repack {
    const NAME: &'static str = "repack";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str =
        "The integers of an i2, i4 or u4 tensor, one a byte: i8 or u8. Or the other way round: the low bits of bytes, packed.";

    fields! { "element" => element }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.operand_element(0, Elements::Among(vec![I2, I4, U4, I8, U8]))?;
        let input = cx.tensor(0)?;
        let other = |&element: &ElementType| element != input.element && element.unpacked() == input.element.unpacked();
        let others = [I2, I4, U4, I8, U8].into_iter().filter(other).filter(|e| e.is_packed() != input.element.is_packed());
        cx.element(Subject::Field("element"), self.element, Elements::Among(others.collect()))?;
        cx.one(self.element, input.shape.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        Ok(Slot::one(movement::repack(cx.tensor(0)?, self.element)))
    }

    /// Proposes no instance: hardly any operator reads packed elements.
    fn propose(_generator: &mut Generator<'_>) -> Proposal<Self> {
        None
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        Axes::opaque(cx)
    }
}
