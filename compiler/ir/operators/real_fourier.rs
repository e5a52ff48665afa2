//! `rfft`: Fourier transforms of real numbers.

use super::field::fields;
use super::fourier::transformed;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Ranks, Subject};
use crate::interpret::fourier;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::Extent;

/// Fourier transforms of real numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RealFourier;

impl Operator for RealFourier {
    const NAME: &'static str = "rfft";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "Fourier transforms of floats [… n], n a power of two; the first half and the middle of each, [… n ÷ 2 + 1, 2], since the rest are their conjugates.";

    fields! {}

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.rank(Subject::Operand(0), input.rank(), Ranks::AtLeast(1))?;
        let length = transformed(cx, input.rank() - 1)?;
        let mut shape = input.shape.clone();
        shape.pop();
        shape.extend([Extent::Static(length / 2 + 1), Extent::Static(2)]);
        cx.one(input.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        fourier::fourier(cx.tensor(0)?, true).map(Slot::one)
    }

    fn work(&self, cx: &Context<'_>) -> Option<u64> {
        // A butterfly for each factor of the length.
        Some(u64::from(u64::BITS - cx.known_shape(0)?.last()?.leading_zeros()))
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        Some((vec![generator.transformed(1)?], Self))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| (axis + 1 >= rank).then_some(Axis::Opaque))
    }
}
