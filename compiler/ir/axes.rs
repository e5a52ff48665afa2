//! The dependence of an operator's results on slices of its operands, axis by axis.
//!
//! A *slice* of a tensor is its part at one position along an axis. For each axis of each operand, [`Axis`] names the slices of the results that
//! depend on one slice of the operand. No other slices of any result depend on it.
//!
//! [`Axis::Kept`] says more. Take slice *i* of all operands that keep an axis at the same place of the result, and the whole of the other operands.
//! The operator then computes slice *i* of every result. Fields that hold extents hold the extents of the slices then.
//! For example, `matmul` of `[B, M, K]` and `[B, N, K]` keeps B, M and N, and reduces K.
//!
//! Everything that cuts tensors (bands of rows, batches, run-time extents) uses this description, and knows no operator. [`Axis::Opaque`] is sound
//! for every axis, so an operator may always say less than is true.

use super::entities::Value;
use super::operators::Context;
use super::types::Extent;

/// The effect of an operator along one axis of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    /// Slice *i* reaches slice *i* of every result along this axis of the result.
    Kept(usize),
    /// Slice *i* reaches the slices of every result along an axis whose window covers it.
    Windowed(usize, Taps),
    /// The extent is 1: the one slice reaches every slice of every result along this axis of the result.
    Broadcast(usize),
    /// Every slice reaches the whole of every result, which has extent 1 along this axis, or no such axis.
    Reduced,
    /// Another operand selects, at run time, which slices of the results a slice reaches.
    Gathered,
    /// No statement: every slice may reach every element of the results.
    Opaque,
}

/// A sliding window along one axis. Tap *t* of position *p* of the result sees the operand at `p × stride + t × dilation − low`, if the operand has
/// this position. There are `size` taps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taps {
    /// The number of taps.
    pub size: u64,
    /// Positions of the operand from one position of the result to the next.
    pub stride: i64,
    /// Positions of the operand from one tap to the next.
    pub dilation: i64,
    /// Positions that the first window begins in front of the operand.
    pub low: i64,
}

impl Taps {
    /// A single tap.
    pub fn single(stride: i64, low: i64) -> Self {
        Self { size: 1, stride, dilation: 1, low }
    }

    /// Tests whether position `result` sees position `operand`.
    pub fn sees(&self, result: u64, operand: u64) -> bool {
        let first = i128::from(result) * i128::from(self.stride) - i128::from(self.low);
        let distance = i128::from(operand) - first;
        let dilation = i128::from(self.dilation);
        distance % dilation == 0 && (0..i128::from(self.size)).contains(&(distance / dilation))
    }
}

/// The effect of an operator along the axes of its operands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Axes {
    /// One entry for each axis of each operand. An index or a token has none.
    pub operands: Vec<Vec<Axis>>,
    /// Axes of the results along which an element depends on its position, whatever the operands are. Examples are all axes of a constant, and the
    /// axis of an `iota`.
    pub counted: Vec<usize>,
    /// `true` if operand 0 and the result have the same elements in row-major order. A run of leading slices of one is then a run of the other's,
    /// whatever their shapes are.
    pub in_order: bool,
    /// `true` if the operator computes nothing: each element of a result is an element of an operand, or a number of the operator's own.
    pub moves: bool,
}

impl Axes {
    /// Axes of the operands alone.
    pub fn of(operands: Vec<Vec<Axis>>) -> Self {
        Self { operands, ..Self::default() }
    }

    /// Axes that say nothing of any operand.
    pub fn opaque(cx: &Context<'_>) -> Self {
        Self::of(cx.operands.iter().map(|&operand| vec![Axis::Opaque; rank(cx, operand)]).collect())
    }

    /// All axes of one operand stay where they are, but for those that `other` names.
    pub fn kept(rank: usize, other: impl Fn(usize) -> Option<Axis>) -> Self {
        Self::of(vec![(0..rank).map(|axis| other(axis).unwrap_or(Axis::Kept(axis))).collect()])
    }

    /// Marks the operator as one that computes nothing ([`Self::moves`]).
    pub fn moving(self) -> Self {
        Self { moves: true, ..self }
    }

    /// The axes of the results at which they keep each axis of an operand; `None` unless they keep all.
    pub fn places(&self, operand: usize) -> Option<Vec<usize>> {
        let place = |axis: &Axis| if let Axis::Kept(at) = *axis { Some(at) } else { None };
        self.operands.get(operand)?.iter().map(place).collect()
    }

    /// The axis of an operand that the results keep at `result`.
    pub fn keeper(&self, operand: usize, result: usize) -> Option<usize> {
        self.operands.get(operand)?.iter().position(|axis| *axis == Axis::Kept(result))
    }
}

fn rank(cx: &Context<'_>, operand: Value) -> usize {
    cx.function.values()[operand].ty.as_tensor().map_or(0, |ty| ty.rank())
}

/// The axes of an operand that broadcasts to a shape as NumPy does, trailing dimensions aligned.
pub(super) fn broadcast(cx: &Context<'_>, operand: &[Extent], result: &[Extent]) -> Vec<Axis> {
    let new = result.len().saturating_sub(operand.len());
    let along = |(axis, &extent): (usize, &Extent)| {
        let (own, whole) = (cx.function.resolved(extent), result.get(new + axis).map(|&extent| cx.function.resolved(extent)));
        match own {
            Extent::Static(1) if whole != Some(Extent::Static(1)) => Axis::Broadcast(new + axis),
            _ => Axis::Kept(new + axis),
        }
    };
    operand.iter().enumerate().map(along).collect()
}

#[cfg(test)]
mod tests;
