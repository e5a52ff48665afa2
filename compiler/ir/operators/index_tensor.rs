//! `index_tensor`: a tensor holding an index.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::fault::{Elements, Subject};
use crate::interpret::Array;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::scalar::Scalar;
use crate::types::ElementType;

/// A one-element integer tensor holding an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexTensor {
    /// The tensor's element type.
    pub element: ElementType,
}

impl Operator for IndexTensor {
    const NAME: &'static str = "index_tensor";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "A zero-dimensional integer tensor holding an index.";

    fields! { "element" => element }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.index(0)?;
        cx.element(Subject::Field("element"), self.element, Elements::Among(vec![ElementType::I32, ElementType::I64]))?;
        cx.one(self.element, vec![])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let bytes = Scalar::int(self.element, cx.index(0)?).to_bytes();
        Ok(Slot::one(Array::new(self.element, vec![], bytes)))
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let index = generator.index()?;
        Some((vec![index], Self { element: *generator.random.pick(&[ElementType::I32, ElementType::I64]) }))
    }
}
