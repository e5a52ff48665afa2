//! `arg_reduce`: the position of the extreme element along an axis.

use super::Search;
use super::Word;
use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Subject};
use crate::interpret::reduce;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent};

/// The position of the smallest or largest element along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArgReduce {
    /// The extreme to search.
    pub search: Search,
    /// The axis, which keeps extent 1.
    pub axis: usize,
    /// The type of the positions.
    pub element: ElementType,
}

impl Operator for ArgReduce {
    const NAME: &'static str = "arg_reduce";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "The first position of the extreme element along an axis, which keeps extent 1.";

    fields! { "search" => search, "axis" => axis, "element" => element }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.operand_element(0, Elements::AllBut(ElementType::C128))?;
        let mut shape = input.shape.clone();
        shape[cx.axis("axis", self.axis, input.rank())?] = Extent::Static(1);
        cx.element(Subject::Field("element"), self.element, Elements::Integers)?;
        cx.one(self.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        reduce::arg_reduce(cx.tensor(0)?, self.search, self.axis, self.element).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|ty| ty.rank() > 0)?;
        let axis = generator.random.below(generator.tensor_type(input).rank());
        let element = *generator.random.pick(&[ElementType::I32, ElementType::I64]);
        let search = *generator.random.pick(Search::ALL);
        Some((vec![input], Self { search, axis, element }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| (axis == self.axis).then_some(Axis::Reduced))
    }

    fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        Some(Self { axis: *permutation.get(self.axis)?, ..self.clone() })
    }
}
