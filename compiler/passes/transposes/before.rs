//! An operand as it is in front of a transpose.

use crate::ir::axes::Axis;
use crate::ir::{Extent, Operation, TensorType};

/// The form of an operand in front of a transpose by a permutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// A single element that broadcasts over all others.
    Number,
    /// A constant, which is then permuted.
    Constant,
    /// A list of positions, which stays as it is: its dimension is not one of the picked tensor's.
    Same,
    /// A tensor that gets the inverse transpose, or the source of a transpose.
    Transposed,
}

impl Before {
    /// Returns the form of an operand of a type with these axes, if the result has `rank` dimensions. `None` if there is no such form.
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

    /// Returns the form of an operand whose axes are those of the result, or broadcast.
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
