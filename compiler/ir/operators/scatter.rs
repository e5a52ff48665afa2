//! `scatter`: slices combined into a tensor.

use super::field::fields;
use super::gather::picked_shape;
use super::{Arity, Context, Operator, Proposal, Types};
use super::{Combination, Word};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Ranks, Subject};
use crate::interpret::scatter;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::types::ElementType;

/// Slices combined into a tensor at places picked by an index tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// The axis along which slices are placed.
    pub axis: usize,
    /// The number of leading dimensions that the tensor, the indices and the updates have in common.
    pub batch: usize,
    /// The operation that combines an element with its update.
    pub combination: Combination,
    /// `true` if a negative index leaves its slice out; otherwise it is an error.
    pub skips_negative: bool,
}

impl Operator for Scatter {
    const NAME: &'static str = "scatter";
    const OPERANDS: Arity = Arity::Exactly(3);
    const MEANING: &'static str = "The first operand with the slices that `gather` would pick by the second operand combined with the slices of the third, one after another in row-major order; an index outside the axis is an error, or leaves its slice out if it is negative and `skips_negative`.";

    fields! { "axis" => axis, "batch" => batch, "combination" => combination, "skips_negative" => skips_negative }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let (data, updates) = (cx.tensor(0)?, cx.tensor(2)?);
        let shape = picked_shape(cx, self.axis, self.batch)?;
        cx.operand_element(2, Elements::Among(vec![data.element]))?;
        cx.rank(Subject::Operand(2), updates.rank(), Ranks::Exactly(shape.len()))?;
        for (d, (&found, &expected)) in updates.shape.iter().zip(&shape).enumerate() {
            cx.extent(Subject::Operand(2), d, found, expected)?;
        }
        if self.combination != Combination::Set {
            cx.operand_element(0, Elements::AllBut(ElementType::C64))?;
        }
        cx.one(data.element, data.shape.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let (target, indices) = (cx.tensor(0)?, cx.tensor(1)?);
        let named = scatter::Named { axis: self.axis, batch: self.batch, skips_negative: self.skips_negative };
        let places = scatter::Places::new(named, target, &indices.integers()?, &indices.shape)?;
        scatter::scatter(target, cx.tensor(2)?, self.combination, &places).map(Slot::one)
    }

    /// Updates at random places of a tensor; sometimes negative indices, which are then left out.
    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let skips_negative = generator.random.one_in(3);
        let target = generator.tensor_where(|ty| ty.static_shape().is_some() && ty.rank() > 0)?;
        let (element, shape) = (generator.tensor_type(target).element, generator.shape_of(target));
        let axis = generator.random.below(shape.len());
        let batch = if generator.random.one_in(3) { generator.random.below(axis + 1) } else { 0 };
        if shape[axis] == 0 {
            return None;
        }
        let (mut index_shape, mut update_shape) = (shape[..batch].to_vec(), shape[..axis].to_vec());
        let rank = generator.random.below(3);
        let picked: Vec<u64> = generator.ints(rank, 1, 3).iter().map(|&n| n as u64).collect();
        index_shape.extend(&picked);
        update_shape.extend(&picked);
        update_shape.extend(&shape[axis + 1..]);
        let count = index_shape.iter().product::<u64>();
        let lowest = if skips_negative { -1 } else { 0 };
        let bytes = (0..count).flat_map(|_| (generator.random.between(lowest, shape[axis] as i64 - 1) as i32).to_le_bytes()).collect();
        let indices = generator.parameter(Tensor { element: ElementType::I32, shape: index_shape, bytes });
        let same = generator.tensor_where(|ty| ty.element == element && ty.static_shape().as_ref() == Some(&update_shape));
        let updates = match same {
            Some(value) => value,
            None => generator.leaf(element, &update_shape)?,
        };
        let is_complex = element == ElementType::C64;
        let combination = if is_complex { Combination::Set } else { *generator.random.pick(Combination::ALL) };
        Some((vec![target, indices, updates], Self { axis, batch, combination, skips_negative }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let (Ok(data), Ok(indices), Ok(updates)) = (cx.tensor(0), cx.tensor(1), cx.tensor(2)) else { return Axes::opaque(cx) };
        let picked = indices.rank() - self.batch;
        let update = |axis: usize| match axis {
            axis if axis < self.axis => Axis::Kept(axis),
            axis if axis < self.axis + picked => Axis::Gathered,
            axis => Axis::Kept(axis + 1 - picked),
        };
        Axes::of(vec![
            (0..data.rank()).map(|axis| if axis == self.axis { Axis::Gathered } else { Axis::Kept(axis) }).collect(),
            (0..indices.rank()).map(|axis| if axis < self.batch { Axis::Kept(axis) } else { Axis::Gathered }).collect(),
            (0..updates.rank()).map(update).collect(),
        ])
    }
}
