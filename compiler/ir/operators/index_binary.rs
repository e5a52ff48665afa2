//! `index_binary`: arithmetic on index values.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use super::{IndexOperation, Word};
use crate::interpret::{Evaluation, Slot, Step};
use crate::interval;
use crate::random::Generator;
use crate::types::Type;

/// Arithmetic on two index values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexBinary {
    /// The operation.
    pub operation: IndexOperation,
}

impl Operator for IndexBinary {
    const NAME: &'static str = "index_binary";
    const OPERANDS: Arity = Arity::Exactly(2);
    const MEANING: &'static str = "Arithmetic on two index values; division and remainder floor, and a zero divisor gives zero.";

    fields! { "operation" => operation }

    fn infer(&self, cx: &Context<'_>) -> Types {
        Ok(vec![Type::Index(interval::apply(self.operation, cx.index(0)?, cx.index(1)?))])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        Ok(vec![Slot::Index(interval::evaluate(self.operation, cx.index(0)?, cx.index(1)?))])
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let operands = vec![generator.index()?, generator.index()?];
        Some((operands, Self { operation: *generator.random.pick(IndexOperation::ALL) }))
    }
}
