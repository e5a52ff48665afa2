//! `non_max_suppression`: the best of overlapping boxes.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::search;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::types::{ElementType, Extent};

/// The best of overlapping boxes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NonMaxSuppression {
    /// The maximum number of boxes for each row of scores.
    pub count: i64,
}

impl Operator for NonMaxSuppression {
    const NAME: &'static str = "non_max_suppression";
    const OPERANDS: Arity = Arity::Exactly(5);
    const MEANING: &'static str = "For each row of scores [R, N] of boxes [N, 4] (two opposite corners y, x, y, x): at most `count` times the first box of the highest score above the score threshold, which drops every box that overlaps it by the overlap threshold or more (intersection ÷ union) and, where sigma is above 0, multiplies the other scores by exp(−overlap² ÷ 2 sigma). Operands: boxes, scores, overlap threshold, score threshold, sigma. Results: positions [R, count] and their scores, zeros after the last, and how many [R].";

    fields! { "count" => count }

    fn infer(&self, cx: &Context<'_>) -> Types {
        for operand in 0..5 {
            cx.operand_element(operand, Elements::Among(vec![ElementType::F32]))?;
        }
        for operand in 0..2 {
            cx.rank(Subject::Operand(operand), cx.tensor(operand)?.rank(), Ranks::Exactly(2))?;
        }
        let (boxes, scores) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
        cx.extent(Subject::Operand(0), 1, boxes[1], Extent::Static(4))?;
        cx.extent(Subject::Operand(1), 1, scores[1], boxes[0])?;
        let fits = cx.function.interval(boxes[0]).high <= i64::from(i32::MAX / 8);
        cx.require(fits, || Misfit::TooLarge { subject: Subject::Operand(0) })?;
        (2..5).try_for_each(|operand| cx.count(operand, 1))?;
        cx.number("count", None, self.count, 0, i32::MAX.into())?;
        let shape = vec![scores[0], Extent::Static(self.count as u64)];
        let (positions, values) = (cx.one(ElementType::I32, shape.clone())?, cx.one(ElementType::F32, shape)?);
        Ok([positions, values, cx.one(ElementType::I32, vec![scores[0]])?].concat())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        Ok(Slot::all(search::non_max_suppression(&cx.tensors()?, self.count as usize)?))
    }

    /// A few boxes with corners on a small grid, so that they overlap.
    fn work(&self, cx: &Context<'_>) -> Option<u64> {
        cx.known_shape(0)?.first().copied()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let (rows, boxes) = (generator.random.between(1, 3) as u64, generator.random.between(1, 20) as u64);
        let mut numbers = |count: u64, low: i64, high: i64, step: f32| {
            let numbers = (0..count).flat_map(|_| (generator.random.between(low, high) as f32 * step).to_le_bytes());
            numbers.collect::<Vec<u8>>()
        };
        let (corners, scores) = (numbers(4 * boxes, 0, 6, 0.5), numbers(rows * boxes, -2, 12, 0.125));
        let thresholds = [numbers(1, 1, 9, 0.1), numbers(1, -1, 4, 0.125), numbers(1, 0, 1, 0.5)];
        let tensor = |shape: &[u64], bytes| Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes };
        let mut operands = vec![generator.parameter(tensor(&[boxes, 4], corners)), generator.parameter(tensor(&[rows, boxes], scores))];
        operands.extend(thresholds.map(|bytes| generator.parameter(tensor(&[], bytes))));
        Some((operands, Self { count: generator.random.between(0, 8) }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let mut axes = Axes::opaque(cx);
        if let Some(rows) = axes.operands.get_mut(1).and_then(|scores| scores.first_mut()) {
            *rows = Axis::Kept(0);
        }
        axes
    }
}
