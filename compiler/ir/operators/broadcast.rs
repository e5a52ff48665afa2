//! `broadcast`: repetition.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{self, Axes};
use crate::fault::{Ranks, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::Extent;

/// Repetition along axes of extent 1 and new leading axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Broadcast {
    /// The shape of the result.
    pub shape: Vec<Extent>,
}

impl Operator for Broadcast {
    const NAME: &'static str = "broadcast";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "Repetition along axes of extent 1 and new leading axes.";

    fields! { "shape" => shape }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.rank(Subject::Operand(0), input.rank(), Ranks::AtMost(self.shape.len()))?;
        let new = self.shape.len() - input.rank();
        for (dimension, (&from, &to)) in input.shape.iter().zip(&self.shape[new..]).enumerate() {
            if from != Extent::Static(1) {
                cx.extent(Subject::Operand(0), dimension, from, to)?;
            }
        }
        cx.one(input.element, self.shape.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        movement::broadcast(cx.tensor(0)?, &cx.shape(&self.shape)?).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|ty| ty.static_shape().is_some())?;
        let added = generator.random.below(2);
        let mut shape: Vec<u64> = generator.ints(added, 1, 3).iter().map(|&n| n as u64).collect();
        for extent in generator.shape_of(input) {
            shape.push(if extent == 1 { generator.random.between(1, 4) as u64 } else { extent });
        }
        Some((vec![input], Self { shape: shape.into_iter().map(Extent::Static).collect() }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let Ok(input) = cx.tensor(0) else { return Axes::opaque(cx) };
        Axes::of(vec![axes::broadcast(cx, &input.shape, &self.shape)]).moving()
    }
}
