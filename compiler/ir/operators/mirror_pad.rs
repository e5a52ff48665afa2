//! `mirror_pad`: a border mirrored from the inside.

use super::field::fields;
use super::pad::{backwards, given_extents, padded_shape};
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::Extent;

/// A border mirrored from the inside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MirrorPad {
    /// Positions before the first element in each dimension.
    pub low: Vec<i64>,
    /// Positions after the last element.
    pub high: Vec<i64>,
    /// `true` if the edge element itself is repeated.
    pub edge: bool,
    /// The extents with the border, if some are run-time extents; otherwise empty.
    pub padded: Vec<Extent>,
}

impl Operator for MirrorPad {
    const NAME: &'static str = "mirror_pad";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "A border mirrored at the edge, repeating the edge element itself if `edge`. `padded` as `pad` has it.";

    fields! { "low" => low, "high" => high, "edge" => edge, "padded" => padded }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        let shape = padded_shape(cx, &self.low, &self.high, &self.padded)?;
        for d in 0..input.rank() {
            if (self.low[d], self.high[d]) == (0, 0) {
                continue;
            }
            // The border must not reach past the mirrored side.
            let room = cx.function.interval(input.shape[d]).high.saturating_sub(i64::from(!self.edge));
            cx.number("low", Some(d), self.low[d], 0, room)?;
            cx.number("high", Some(d), self.high[d], 0, room)?;
        }
        cx.one(input.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        given_extents(movement::mirror_pad(cx.tensor(0)?, &self.low, &self.high, self.edge)?, &cx.shape(&self.padded)?)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|_| true)?;
        let edge = generator.random.one_in(2);
        let shape = generator.tensor_type(input).shape.clone();
        let mut amounts = [Vec::new(), Vec::new()];
        for &extent in &shape {
            let room = (generator.interval(extent).low - i64::from(!edge)).clamp(0, 2);
            amounts.iter_mut().for_each(|list| list.push(generator.random.between(0, room)));
        }
        let [low, high] = amounts;
        let padded = generator.padded(&shape, &low, &high)?;
        Some((vec![input], Self { low, high, edge, padded }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| ((self.low[axis], self.high[axis]) != (0, 0)).then_some(Axis::Opaque)).moving()
    }

    fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let [low, high] = [&self.low, &self.high].map(|list| backwards(list, permutation));
        Some(Self { low, high, edge: self.edge, padded: backwards(&self.padded, permutation) })
    }
}
