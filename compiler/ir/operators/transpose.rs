//! `transpose`: permutation of dimensions.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::{Misfit, Ranks, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;

/// Permutation of dimensions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transpose {
    /// The dimension of the operand for each one of the result.
    pub permutation: Vec<usize>,
}

impl Transpose {
    /// The permutation that takes this one back.
    pub fn inverse(&self) -> Self {
        let mut inverse = vec![0; self.permutation.len()];
        self.permutation.iter().enumerate().for_each(|(i, &p)| inverse[p] = i);
        Self { permutation: inverse }
    }

    /// Tests whether every dimension stays in its place.
    pub fn is_identity(&self) -> bool {
        self.permutation.iter().enumerate().all(|(i, &p)| p == i)
    }
}

impl Operator for Transpose {
    const NAME: &'static str = "transpose";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "Result dimension i is operand dimension permutation[i].";

    fields! { "permutation" => permutation }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        let rank = input.rank();
        cx.rank(Subject::Field("permutation"), self.permutation.len(), Ranks::Exactly(rank))?;
        let mut seen = vec![false; rank];
        let mut shape = Vec::with_capacity(rank);
        for &found in &self.permutation {
            let axis = cx.axis("permutation", found, rank)?;
            cx.require(!std::mem::replace(&mut seen[axis], true), || Misfit::Axis { field: "permutation", rank, found })?;
            shape.push(input.shape[axis]);
        }
        cx.one(input.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        movement::transpose(cx.tensor(0)?, &self.permutation).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|_| true)?;
        // Mostly the two between channels first and channels last, so that some cancel.
        let permutation = match generator.tensor_type(input).rank() {
            4 if !generator.random.one_in(4) => generator.random.pick(&[vec![0, 3, 1, 2], vec![0, 2, 3, 1]]).clone(),
            rank => {
                let mut list: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|i| list.swap(i, generator.random.below(i + 1)));
                list
            }
        };
        Some((vec![input], Self { permutation }))
    }

    fn axes(&self, _cx: &Context<'_>) -> Axes {
        Axes::of(vec![self.inverse().permutation.into_iter().map(Axis::Kept).collect()]).moving()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_takes_a_permutation_back() {
        let transpose = Transpose { permutation: vec![2, 0, 1] };
        assert_eq!(transpose.inverse().permutation, [1, 2, 0]);
        assert!(!transpose.is_identity() && Transpose { permutation: vec![0, 1] }.is_identity());
    }
}
