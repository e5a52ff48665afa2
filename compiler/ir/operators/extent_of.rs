//! `extent_of`: an extent as an index.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::Type;

/// An extent of a tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtentOf {
    /// The axis.
    pub axis: usize,
}

impl Operator for ExtentOf {
    const NAME: &'static str = "extent_of";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "An extent of a tensor as an index.";

    fields! { "axis" => axis }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        let axis = cx.axis("axis", self.axis, input.rank())?;
        Ok(vec![Type::Index(cx.function.interval(input.shape[axis]))])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        Ok(vec![Slot::Index(cx.tensor(0)?.shape[self.axis] as i64)])
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let dynamic = generator.tensor_where(|ty| ty.static_shape().is_none());
        let input = dynamic.or_else(|| generator.tensor_where(|ty| ty.rank() > 0))?;
        let axis = generator.random.below(generator.tensor_type(input).rank());
        Some((vec![input], Self { axis }))
    }
}
