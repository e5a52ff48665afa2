//! `reshape`: the same elements under another shape.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Misfit, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{Extent, TensorType, Type};

/// The elements in the same row-major order under another shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reshape {
    /// The shape.
    pub shape: Vec<Extent>,
}

impl Operator for Reshape {
    const NAME: &'static str = "reshape";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "The same elements in row-major order under another shape of as many elements.";

    fields! { "shape" => shape }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        let result = TensorType::new(input.element, cx.shape(Subject::Field("shape"), &self.shape)?);
        if let (Some(found), Some(expected)) = (input.static_elements(), result.static_elements()) {
            cx.require(found == expected, || Misfit::Count { subject: Subject::Operand(0), expected, found: Some(found) })?;
        }
        Ok(vec![Type::Tensor(result)])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        movement::reshape(cx.tensor(0)?, cx.shape(&self.shape)?).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let (input, shape) = generator.reshape()?;
        Some((vec![input], Self { shape }))
    }

    /// Keeps an axis if operand and result have equal numbers of slices there, and equal numbers of elements after each of them.
    fn axes(&self, cx: &Context<'_>) -> Axes {
        let Ok(input) = cx.tensor(0) else { return Axes::opaque(cx) };
        let same = |axis: usize, result: usize| {
            let (own, other) = (cx.function.resolved(input.shape[axis]), cx.function.resolved(self.shape[result]));
            let inner = || (cx.function.size(&input.shape[axis + 1..]), cx.function.size(&self.shape[result + 1..]));
            own == other && own != Extent::Static(1) && matches!(inner(), (Some(a), Some(b)) if a == b && a.known > 0)
        };
        let along = |axis: usize| (0..self.shape.len()).find(|&result| same(axis, result)).map_or(Axis::Opaque, Axis::Kept);
        Axes { operands: vec![(0..input.rank()).map(along).collect()], in_order: true, moves: true, ..Axes::default() }
    }
}
