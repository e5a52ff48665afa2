//! `index`: an index number.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{Interval, Type};

/// An index number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexConstant {
    /// The number.
    pub value: i64,
}

impl Operator for IndexConstant {
    const NAME: &'static str = "index";
    const OPERANDS: Arity = Arity::Exactly(0);
    const MEANING: &'static str = "An index number.";

    fields! { "value" => value }

    fn infer(&self, _cx: &Context<'_>) -> Types {
        Ok(vec![Type::Index(Interval::exactly(self.value))])
    }

    fn evaluate<'m>(&self, _cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        Ok(vec![Slot::Index(self.value)])
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        Some((vec![], Self { value: generator.random.between(0, 6) }))
    }
}
