//! An operand as it is in front of a transpose.

use crate::ir::axes::Axis;
use crate::ir::{Extent, TensorType};

/// How an operand comes to be what it is in front of a transpose by a permutation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// It has one element, which meets all of the others: a number.
    Number,
    /// It is a constant, in another order then.
    Constant,
    /// It is transposed backwards, or is a transpose itself and then what that reads.
    Transposed,
}

impl Before {
    /// For an operand of a type that has these axes, in an instruction whose result has `rank` dimensions; none where there is no way.
    pub fn of(ty: &TensorType, is_constant: bool, axes: &[Axis], rank: usize) -> Option<Self> {
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
