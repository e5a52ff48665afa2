//! `index_load`: an index read from a tensor.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::fault::{Elements, Misfit};
use crate::interpret::fail;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::types::{ElementType, Interval, Type};

/// An index read from a one-element integer tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexLoad {
    /// The range of the index. A value outside it is an error at run time.
    pub interval: Interval,
}

impl Default for IndexLoad {
    fn default() -> Self {
        Self { interval: Interval::UNBOUNDED }
    }
}

impl Operator for IndexLoad {
    const NAME: &'static str = "index_load";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str =
        "The index in a one-element integer tensor; a value outside the interval is an error when the program runs.";

    fields! { "interval" => interval }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.operand_element(0, Elements::Integers)?;
        cx.count(0, 1)?;
        let Interval { low, high } = self.interval;
        let expected = "a smallest and a largest number in this order";
        cx.require(low <= high, || Misfit::Malformed { field: "interval", expected, found: format!("{low}..={high}") })?;
        Ok(vec![Type::Index(self.interval)])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let n = cx.tensor(0)?.index()?;
        let Interval { low, high } = self.interval;
        if (low..=high).contains(&n) { Ok(vec![Slot::Index(n)]) } else { fail(format!("{n} is outside {low}..={high}")) }
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let n = generator.random.between(-3, 9);
        let tensor = Tensor { element: ElementType::I64, shape: vec![1], bytes: n.to_le_bytes().to_vec() };
        let interval = Interval { low: n - generator.random.between(0, 3), high: n + generator.random.between(0, 3) };
        Some((vec![generator.parameter(tensor)], Self { interval }))
    }
}
