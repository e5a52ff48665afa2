//! An operand as it is in front of a transpose.

use crate::ir::axes::Axis;
use crate::ir::{Extent, Operation, TensorType};

/// How an operand comes to be what it is in front of a transpose by a permutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// It has one element, which meets all of the others: a number.
    Number,
    /// It is a constant, in another order then.
    Constant,
    /// It stays as it is: a list of positions, whose dimension is none of what they are positions of.
    Same,
    /// It is transposed backwards, or is a transpose itself and then what that reads.
    Transposed,
}

impl Before {
    /// For one of an operation's operands, of a type that has these axes, where the result has `rank` dimensions; none where there is no way.
    pub fn in_operation(
        (operation, operand): (&Operation, usize),
        ty: &TensorType,
        is_constant: bool,
        axes: &[Axis],
        rank: usize,
    ) -> Option<Self> {
        match (operation.picked_along(), operand) {
            (None, _) => Self::of(ty, is_constant, axes, rank),
            (Some(_), 0) => (ty.rank() == rank).then_some(Self::Transposed),
            (Some(_), _) => (ty.rank() == 1).then_some(Self::Same),
        }
    }

    /// The same of an operand that meets the result dimension by dimension.
    fn of(ty: &TensorType, is_constant: bool, axes: &[Axis], rank: usize) -> Option<Self> {
        let meets_all = axes.iter().all(|axis| matches!(axis, Axis::Kept(_) | Axis::Broadcast(_)));
        let is_one = ty.shape.iter().all(|extent| *extent == Extent::Static(1));
        let is_static = ty.shape.iter().all(|extent| extent.as_static().is_some());
        if meets_all && is_one {
            Some(Self::Number)
        } else if is_constant && is_static && ty.rank() <= rank {
            Some(Self::Constant)
        } else {
            (ty.rank() == rank).then_some(Self::Transposed)
        }
    }
}
