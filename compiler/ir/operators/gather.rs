//! `gather`: slices picked by an index tensor.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::types::{ElementType, Extent};

/// Slices picked by an index tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gather {
    /// The axis of operand 0 along which slices are picked.
    pub axis: usize,
    /// The number of leading dimensions that both operands have in common.
    pub batch: usize,
}

impl Operator for Gather {
    const NAME: &'static str = "gather";
    const OPERANDS: Arity = Arity::Exactly(2);
    const MEANING: &'static str =
        "Slices of the first operand along `axis`, picked by the integers of the second; the first `batch` dimensions of both are common.";

    fields! { "axis" => axis, "batch" => batch }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let data = cx.tensor(0)?;
        cx.one(data.element, picked_shape(cx, self.axis, self.batch)?)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let indices = cx.tensor(1)?;
        movement::gather(cx.tensor(0)?, self.axis, self.batch, &indices.integers()?, &indices.shape).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let source = generator.tensor_where(|ty| ty.rank() > 0)?;
        // Indices fit the smallest possible extent, and common dimensions are static.
        let extents = generator.tensor_type(source).shape.clone();
        let least = |&extent: &Extent| generator.interval(extent).low.max(0) as u64;
        let shape: Vec<u64> = extents.iter().map(least).collect();
        let axis = generator.random.below(shape.len());
        let known = extents[..axis].iter().take_while(|extent| extent.as_static().is_some()).count();
        let batch = if generator.random.one_in(3) { generator.random.below(known + 1) } else { 0 };
        if shape[axis] == 0 {
            return None;
        }
        let mut index_shape = shape[..batch].to_vec();
        let rank = generator.random.below(3);
        index_shape.extend(generator.ints(rank, 1, 3).iter().map(|&n| n as u64));
        let count = index_shape.iter().product::<u64>();
        let bytes = (0..count).flat_map(|_| (generator.random.between(0, shape[axis] as i64 - 1) as i32).to_le_bytes()).collect();
        let indices = generator.parameter(Tensor { element: ElementType::I32, shape: index_shape, bytes });
        Some((vec![source, indices], Self { axis, batch }))
    }

    fn picked_along(&self) -> Option<usize> {
        (self.batch == 0).then_some(self.axis)
    }

    fn part(&self, axis: usize, low: i64, high: i64) -> Option<Self> {
        (axis < self.axis && self.batch == 0 && low == 0 && high == 0).then(|| self.clone())
    }

    fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let axis = *permutation.get(self.axis)?;
        (self.batch == 0).then_some(Self { axis, batch: 0 })
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let (Ok(data), Ok(indices)) = (cx.tensor(0), cx.tensor(1)) else { return Axes::opaque(cx) };
        let picked = indices.rank() - self.batch;
        Axes::of(vec![
            (0..data.rank()).map(|axis| source_axis(axis, self.axis, picked)).collect(),
            (0..indices.rank()).map(|axis| Axis::Kept(if axis < self.batch { axis } else { self.axis + axis - self.batch })).collect(),
        ])
        .moving()
    }
}

/// The axis of the result for an axis of operand 0, if `picked` dimensions take the place of `picked_along`.
fn source_axis(axis: usize, picked_along: usize, picked: usize) -> Axis {
    match axis {
        axis if axis < picked_along => Axis::Kept(axis),
        axis if axis > picked_along => Axis::Kept(axis - 1 + picked),
        _ => Axis::Gathered,
    }
}

/// The shape of a gather from operand 0 by operand 1.
pub(super) fn picked_shape(cx: &Context<'_>, axis: usize, batch: usize) -> Result<Vec<Extent>, Box<Misfit>> {
    let (data, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.operand_element(1, Elements::Among(vec![ElementType::I32, ElementType::I64]))?;
    let axis = cx.axis("axis", axis, data.rank())?;
    cx.axis("batch", batch, axis + 1)?;
    cx.rank(Subject::Operand(1), indices.rank(), Ranks::AtLeast(batch))?;
    for d in 0..batch {
        cx.extent(Subject::Operand(1), d, indices.shape[d], data.shape[d])?;
    }
    let mut shape = data.shape[..axis].to_vec();
    shape.extend_from_slice(&indices.shape[batch..]);
    shape.extend_from_slice(&data.shape[axis + 1..]);
    cx.shape(Subject::Result, &shape)
}
