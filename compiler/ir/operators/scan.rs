//! `scan`: partial results of a reduction.

use super::Reduction;
use super::Word;
use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Misfit};
use crate::interpret::scan;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::ElementType;

/// Partial results of a reduction along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// One of [`SCANS`].
    pub reduction: Reduction,
    /// The axis.
    pub axis: usize,
    /// `true` if each element is left out of its own result.
    pub exclusive: bool,
    /// `true` if the scan runs from the end.
    pub reverse: bool,
}

/// The reductions that `scan` knows.
const SCANS: &[Reduction] = &[Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min];

impl Operator for Scan {
    const NAME: &'static str = "scan";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "The reduction of all elements up to each one along an axis, that one left out if `exclusive`, from the end if `reverse`; integers wrap.";

    fields! { "reduction" => reduction, "axis" => axis, "exclusive" => exclusive, "reverse" => reverse }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.axis("axis", self.axis, input.rank())?;
        cx.operand_element(0, Elements::AllBut(ElementType::C64))?;
        let found = || self.reduction.word().to_owned();
        let expected = "sum, product, max or min";
        cx.require(SCANS.contains(&self.reduction), || Misfit::Malformed { field: "reduction", expected, found: found() })?;
        cx.one(input.element, input.shape.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let Self { reduction, axis, exclusive, reverse } = *self;
        scan::scan(cx.tensor(0)?, reduction, scan::Course { axis, exclusive, reverse }).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|ty| ty.rank() > 0 && ty.element != ElementType::C64)?;
        let axis = generator.random.below(generator.tensor_type(input).rank());
        let [exclusive, reverse] = [generator.random.one_in(2), generator.random.one_in(2)];
        Some((vec![input], Self { reduction: *generator.random.pick(SCANS), axis, exclusive, reverse }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| (axis == self.axis).then_some(Axis::Opaque))
    }
}
