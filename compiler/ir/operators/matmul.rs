//! `matmul`: products of matrices.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::Accumulation;
use crate::axes::{self, Axes, Axis};
use crate::fault::{Ranks, Subject};
use crate::interpret::contract;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, ZeroPoints};

/// A batched product with a transposed right operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matmul {
    /// Subtracted from each element of the left operand.
    pub left_zero_point: i64,
    /// Subtracted from each element of the right operand.
    pub right_zero_point: i64,
    /// The type of the sums.
    pub accumulator: ElementType,
    /// The rounding of float sums.
    pub accumulation: Accumulation,
}

impl Operator for Matmul {
    const NAME: &'static str = "matmul";
    const OPERANDS: Arity = Arity::Exactly(2);
    const MEANING: &'static str = "Batched product of [… M, K] with the transpose of [… N, K], zero points subtracted first; leading dimensions broadcast; result [… M, N] in the accumulator's type.";

    fields! { "left_zero_point" => left_zero_point, "right_zero_point" => right_zero_point, "accumulator" => accumulator, "accumulation" => accumulation }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let (left, right) = (cx.tensor(0)?, cx.tensor(1)?);
        for (operand, ty) in [(0, left), (1, right)] {
            cx.rank(Subject::Operand(operand), ty.rank(), Ranks::AtLeast(2))?;
        }
        let (l, r) = (left.shape.split_at(left.rank() - 2), right.shape.split_at(right.rank() - 2));
        cx.extent(Subject::Operand(1), right.rank() - 1, r.1[1], l.1[1])?;
        cx.accumulator(self.accumulator)?;
        cx.zero_point(0, "left_zero_point", self.left_zero_point)?;
        cx.zero_point(1, "right_zero_point", self.right_zero_point)?;
        let mut shape = cx.broadcast(&[l.0, r.0])?;
        shape.extend([l.1[0], r.1[0]]);
        cx.one(self.accumulator, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let zero_points = ZeroPoints { left: self.left_zero_point, right: self.right_zero_point };
        contract::matmul(cx.tensor(0)?, cx.tensor(1)?, zero_points, self.accumulator).map(Slot::one)
    }

    fn work(&self, cx: &Context<'_>) -> Option<u64> {
        cx.known_shape(0)?.last().copied()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let left = generator.tensor_where(|ty| ty.static_shape().is_some() && ty.rank() >= 2)?;
        let (element, shape) = (generator.tensor_type(left).element, generator.shape_of(left));
        let rows = generator.random.between(1, 5) as u64;
        let mut other: Vec<u64> = if generator.random.one_in(2) { shape[..shape.len() - 2].to_vec() } else { vec![] };
        other.extend([rows, shape[shape.len() - 1]]);
        let right = generator.weights(element, &other)?;
        let (left_zero_point, right_zero_point) = (generator.zero_point(element), generator.zero_point(element));
        Some((
            vec![left, right],
            Self { left_zero_point, right_zero_point, accumulator: generator.accumulator(element)?, ..Self::default() },
        ))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let (Ok(left), Ok(right)) = (cx.tensor(0), cx.tensor(1)) else { return Axes::opaque(cx) };
        let leading = [left, right].map(|ty| &ty.shape[..ty.rank() - 2]);
        let Ok(batch) = cx.broadcast(&leading) else { return Axes::opaque(cx) };
        let own = |operand: usize| {
            let matrices = [Axis::Kept(batch.len() + operand), Axis::Reduced];
            [axes::broadcast(cx, leading[operand], &batch), matrices.to_vec()].concat()
        };
        Axes::of(vec![own(0), own(1)])
    }
}
