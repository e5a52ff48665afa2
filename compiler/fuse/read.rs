//! Views through which a group reads operands: other tensors in memory that hold the same elements. Grouping decides on them once, so that no
//! kernel computes the operand, and schedules read the view.

use super::channel_planes::{ChannelPlanes, channel_planes};
use super::gathered::Gathered;
use super::turned::{Transposed, transposed_right};
use crate::ir::{Function, Inst, Op, Value, stored_right};

/// An operand that a group reads through a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Read {
    /// The operand.
    pub value: Value,
    /// The view.
    pub through: View,
}

/// The form in which the elements of an operand lie in memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum View {
    /// The left operand of a convolution lies in planes of channels.
    ChannelPlanes(ChannelPlanes),
    /// The right operand of a product is a transpose.
    Transposed(Transposed),
    /// The right operand of a contraction is a constant that is converted as it is read.
    Stored(Stored),
    /// An operand of element-wise work is picked from a tensor along rows and columns.
    Gathered(Gathered),
}

/// A constant that is narrower than its operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stored {
    /// The constant.
    pub source: Value,
    /// The number that is subtracted from each of its integers.
    pub subtracted: i64,
}

impl View {
    /// Returns the tensor in memory.
    pub fn source(&self) -> Value {
        match self {
            Self::ChannelPlanes(planes) => planes.source,
            Self::Transposed(transposed) => transposed.source,
            Self::Stored(stored) => stored.source,
            Self::Gathered(gathered) => gathered.source,
        }
    }
}

impl Read {
    /// Returns the operands of a contraction that it reads through views.
    pub(super) fn of_contraction(function: &Function, inst: Inst) -> Vec<Self> {
        let data = &function.insts[inst];
        if !matches!(data.op(), Op::Conv | Op::Matmul) {
            return vec![];
        }
        let left = channel_planes(function, data).map(View::ChannelPlanes);
        let stored = || {
            let (source, subtracted) = stored_right(function, data);
            (source != data.operands[1]).then_some(View::Stored(Stored { source, subtracted }))
        };
        let right = transposed_right(function, data).map(View::Transposed).or_else(stored);
        let views = data.operands.iter().zip([left, right]);
        views.filter_map(|(&value, view)| Some(Self { value, through: view? })).collect()
    }
}
