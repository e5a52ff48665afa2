//! `pad`: a border of one value.

use super::field::fields;
use super::transpose::Transpose;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis, Taps};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::{Array, fail, movement};
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::scalar::Scalar;
use crate::types::{ElementType, Extent};

/// A border of one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pad {
    /// Positions before the first element in each dimension; a negative amount crops.
    pub low: Vec<i64>,
    /// Positions after the last element.
    pub high: Vec<i64>,
    /// The value.
    pub value: Scalar,
    /// The extents with the border, if some are known only at run time; otherwise empty.
    pub padded: Vec<Extent>,
}

impl Operator for Pad {
    const NAME: &'static str = "pad";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "A border of one value; a negative amount crops. `padded` are the extents with the border where some are known only when the program runs, and else nothing.";

    fields! { "low" => low, "high" => high, "value" => value, "padded" => padded }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.operand_element(0, Elements::AllBut(ElementType::C128))?;
        cx.element(Subject::Field("value"), self.value.element(), Elements::Among(vec![input.element]))?;
        cx.one(input.element, padded_shape(cx, &self.low, &self.high, &self.padded)?)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let padded = movement::pad(cx.tensor(0)?, &self.low, &self.high, &self.value.to_bytes())?;
        given_extents(padded, &cx.shape(&self.padded)?)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|_| true)?;
        let element = generator.tensor_type(input).element;
        let shape = generator.tensor_type(input).shape.clone();
        // Only static extents may be cropped.
        let least = |extent: &Extent| if extent.as_static().is_some() { -1 } else { 0 };
        let low: Vec<i64> = shape.iter().map(|extent| generator.random.between(least(extent), 2)).collect();
        let high = generator.ints(shape.len(), 0, 2);
        let value = if generator.random.one_in(2) { Scalar::from_bits(element, 0) } else { generator.scalar(element) };
        let padded = generator.padded(&shape, &low, &high)?;
        Some((vec![input], Self { low, high, value, padded }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| {
            let moved = (self.low[axis], self.high[axis]) != (0, 0);
            moved.then(|| Axis::Windowed(axis, Taps::single(1, self.low[axis])))
        })
        .moving()
    }

    fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let [low, high] = [&self.low, &self.high].map(|list| backwards(list, permutation));
        Some(Self { low, high, value: self.value, padded: backwards(&self.padded, permutation) })
    }

    fn part(&self, axis: usize, low: i64, high: i64) -> Option<Self> {
        let mut part = self.clone();
        (*part.low.get_mut(axis)?, *part.high.get_mut(axis)?) = (low, high);
        // A crop is no border.
        (self.padded.is_empty() && self.low[axis] >= 0 && self.high[axis] >= 0).then_some(part)
    }
}

/// Permutes a list from the dimensions of a transpose's result to its operand's. An empty list stays empty.
pub(super) fn backwards<T: Clone>(items: &[T], permutation: &[usize]) -> Vec<T> {
    if items.is_empty() {
        return vec![];
    }
    Transpose { permutation: permutation.to_vec() }.inverse().permutation.into_iter().map(|i| items[i].clone()).collect()
}

/// The shape of operand 0 with a border.
pub(super) fn padded_shape(cx: &Context<'_>, low: &[i64], high: &[i64], given: &[Extent]) -> Result<Vec<Extent>, Box<Misfit>> {
    let input = cx.tensor(0)?;
    let given = cx.shape(Subject::Field("padded"), given)?;
    let rank = input.rank();
    for (field, length) in [("low", low.len()), ("high", high.len()), ("padded", if given.is_empty() { rank } else { given.len() })] {
        cx.rank(Subject::Field(field), length, Ranks::Exactly(rank))?;
    }
    let mut shape = input.shape.clone();
    for d in 0..rank {
        if (low[d], high[d]) == (0, 0) {
            continue;
        }
        let Extent::Static(n) = shape[d] else {
            let given = given.get(d).ok_or_else(|| Box::new(Misfit::Dynamic { operand: 0, dimension: d, field: Some("padded") }))?;
            // A run-time extent is not cropped.
            for (field, amount) in [("low", low[d]), ("high", high[d])] {
                cx.number(field, Some(d), amount, 0, i64::MAX)?;
            }
            shape[d] = cx.function.resolved(*given);
            continue;
        };
        let padded = i128::from(n) + i128::from(low[d]) + i128::from(high[d]);
        let misfit = || Misfit::Number { field: "padded", dimension: Some(d), least: 0, most: u64::MAX.into(), found: padded };
        shape[d] = Extent::Static(u64::try_from(padded).map_err(|_| Box::new(misfit()))?);
        if let Some(&given) = given.get(d) {
            cx.extent(Subject::Field("padded"), d, given, shape[d])?;
        }
    }
    Ok(shape)
}

/// Checks a result against a given shape, if there is one.
pub(super) fn given_extents<'m>(result: Array<'m>, given: &[usize]) -> Step<Vec<Slot<'m>>> {
    if given.is_empty() || result.shape == given {
        return Ok(Slot::one(result));
    }
    fail(format!("the shape is {:?}, not {given:?}", result.shape))
}
