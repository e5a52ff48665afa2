//! `iota`: positions along an axis.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::Axes;
use crate::fault::{Elements, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent};

/// 0, 1, 2, … along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iota {
    /// The shape of the result.
    pub shape: Vec<Extent>,
    /// The axis.
    pub axis: usize,
    /// The type of the positions.
    pub element: ElementType,
}

impl Operator for Iota {
    const NAME: &'static str = "iota";
    const OPERANDS: Arity = Arity::Exactly(0);
    const MEANING: &'static str = "The position along an axis.";

    fields! { "shape" => shape, "axis" => axis, "element" => element }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.axis("axis", self.axis, self.shape.len())?;
        cx.element(Subject::Field("element"), self.element, Elements::Numbers)?;
        cx.one(self.element, self.shape.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        movement::iota(cx.shape(&self.shape)?, self.axis, self.element).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let mut shape: Vec<Extent> = generator.shape().into_iter().map(Extent::Static).collect();
        if shape.is_empty() {
            shape.push(Extent::Static(3));
        }
        if generator.dynamic && generator.random.one_in(3) {
            shape[0] = Extent::Value(generator.dynamic_index(4)?);
        }
        let axis = generator.random.below(shape.len());
        let element = generator.element();
        Some((vec![], Self { shape, axis, element }))
    }

    fn axes(&self, _cx: &Context<'_>) -> Axes {
        Axes { counted: vec![self.axis], ..Axes::default() }
    }
}
