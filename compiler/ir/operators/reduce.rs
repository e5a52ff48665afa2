//! `reduce`: reductions over whole axes.

use super::Reduction;
use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::Elements;
use crate::interpret::reduce;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent};

/// Elements that a random product takes together: factors of magnitudes up to ten stay within the range of binary32.
const MOST_FACTORS: u64 = 32;

/// A reduction over whole axes, which stay with extent 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reduce {
    /// The operation that combines elements.
    pub reduction: Reduction,
    /// The axes.
    pub axes: Vec<usize>,
}

impl Operator for Reduce {
    const NAME: &'static str = "reduce";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "A reduction over axes, which keep extent 1; integers wrap.";

    fields! { "reduction" => reduction, "axes" => axes }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.operand_element(0, Elements::AllBut(ElementType::C128))?;
        let mut shape = input.shape.clone();
        for &axis in &self.axes {
            shape[cx.axis("axes", axis, input.rank())?] = Extent::Static(1);
        }
        cx.one(input.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        reduce::reduce(cx.tensor(0)?, self.reduction, &self.axes).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|_| true)?;
        let (element, rank) = (generator.tensor_type(input).element, generator.tensor_type(input).rank());
        let axes: Vec<usize> = (0..rank).filter(|_| generator.random.one_in(2)).collect();
        let shape = generator.tensor_type(input).static_shape();
        let factors = shape.map_or(u64::MAX, |shape| axes.iter().filter_map(|&axis| shape.get(axis)).product());
        let reduction = match generator.reduction(element) {
            // In one order many factors overflow before the zero among them, and in another they do not.
            Reduction::Product if element.is_float() && factors > MOST_FACTORS => Reduction::Sum,
            other => other,
        };
        Some((vec![input], Self { reduction, axes }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| self.axes.contains(&axis).then_some(Axis::Reduced))
    }

    fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let axes: Option<Vec<usize>> = self.axes.iter().map(|&axis| permutation.get(axis).copied()).collect();
        Some(Self { axes: axes?, ..self.clone() })
    }
}
