//! `constant`: a constant tensor.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::Axes;
use crate::entities;
use crate::fault::Misfit;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{TensorType, Type};

/// A constant tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constant {
    /// The constant of the module.
    pub data: entities::Constant,
}

impl Operator for Constant {
    const NAME: &'static str = "constant";
    const OPERANDS: Arity = Arity::Exactly(0);
    const MEANING: &'static str = "A constant tensor.";

    fields! { "data" => data }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let data = cx.module.constant(self.data).ok_or_else(|| Box::new(Misfit::Missing { field: "data" }))?;
        Ok(vec![Type::Tensor(data.ty.clone())])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        cx.constant(self.data).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let (element, shape) = (generator.element(), generator.shape());
        let tensor = generator.tensor(element, &shape);
        let data = generator.draft.add_constant(TensorType::of(element, &shape), tensor.bytes.into());
        Some((vec![], Self { data }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.module.constant(self.data).map_or(0, |data| data.ty.rank());
        Axes { counted: (0..rank).collect(), ..Axes::default() }
    }
}
