//! `fft`: Fourier transforms of complex numbers.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::fourier;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent};

/// Fourier transforms of complex numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fourier;

impl Operator for Fourier {
    const NAME: &'static str = "fft";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "Fourier transforms Σ x[j] e^(−2πi jk ÷ n) of complex numbers: floats [… n, 2], real and imaginary parts in the last dimension; n is a power of two.";

    fields! {}

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.rank(Subject::Operand(0), input.rank(), Ranks::AtLeast(2))?;
        let last = input.rank() - 1;
        cx.extent(Subject::Operand(0), last, input.shape[last], Extent::Static(2))?;
        cx.known(0, last)?;
        transformed(cx, last - 1)?;
        cx.one(input.element, input.shape.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        fourier::fourier(cx.tensor(0)?, false).map(Slot::one)
    }

    fn work(&self, cx: &Context<'_>) -> Option<u64> {
        // A butterfly for each factor of the length.
        Some(u64::from(u64::BITS - cx.known_shape(0)?.last()?.leading_zeros()))
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        Some((vec![generator.transformed(2)?], Self))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| (axis + 2 >= rank).then_some(Axis::Opaque))
    }
}

/// The length of the transforms along a dimension.
pub(super) fn transformed(cx: &Context<'_>, dimension: usize) -> Result<u64, Box<Misfit>> {
    cx.operand_element(0, Elements::Among(vec![ElementType::F32, ElementType::F64]))?;
    let found = cx.tensor(0)?.shape[dimension];
    let length = found.as_static().filter(|n| n.is_power_of_two());
    length.ok_or_else(|| Box::new(Misfit::Multiple { operand: 0, dimension, of: None, found }))
}
