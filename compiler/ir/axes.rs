//! What operators do along the axes of tensors.
//!
//! A *slice* of a tensor is what it has at one position along an axis. For each axis of each operand, [`Axis`] says which slices of the
//! results one slice of the operand reaches: changing a slice changes no other slices of any result. [`Axis::Kept`] says more: the
//! operator, applied to slices of the same number of all operands that keep an axis at the same place of the result, and to the whole of
//! the other operands, gives the slice of that number of every result (fields that speak of extents say those of the slices then).
//! Whoever cuts tensors (bands of rows, batches, run-time extents) asks this, and knows no operator. An operator may always say less
//! than is true: [`Axis::Opaque`] is sound for every axis.

use super::module::Value;
use super::operators::Context;
use super::types::Extent;

/// What an operator does along one axis of an operand.
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
    /// Another operand says, when the program runs, which slices reach what.
    Gathered,
    /// Nothing is said.
    Opaque,
}

/// A sliding window along one axis: position *p* of the result sees the operand at `p × stride + t × dilation − low` for every tap
/// *t* below `size`, as far as the operand reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taps {
    /// How many taps.
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

    /// Whether position `result` sees position `operand`.
    pub fn sees(&self, result: u64, operand: u64) -> bool {
        let first = i128::from(result) * i128::from(self.stride) - i128::from(self.low);
        let distance = i128::from(operand) - first;
        let dilation = i128::from(self.dilation);
        distance % dilation == 0 && (0..i128::from(self.size)).contains(&(distance / dilation))
    }
}

/// What an operator does along the axes of its operands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Axes {
    /// For each operand one entry an axis; an index or a token has none.
    pub operands: Vec<Vec<Axis>>,
    /// Axes of the results along which elements follow from their position, whatever the operands are.
    pub counted: Vec<usize>,
    /// Whether the elements of operand 0 are those of the result in the same row-major order, so that a run of leading slices of the one is a
    /// run of the other's, whatever their shapes are.
    pub in_order: bool,
    /// Whether the operator computes nothing: elements of the results are elements of the operands, or numbers of the operator's own.
    pub moves: bool,
}

impl Axes {
    /// Axes of the operands alone.
    pub fn of(operands: Vec<Vec<Axis>>) -> Self {
        Self { operands, ..Self::default() }
    }

    /// Nothing is said of any axis.
    pub fn opaque(cx: &Context<'_>) -> Self {
        Self::of(cx.operands.iter().map(|&operand| vec![Axis::Opaque; rank(cx, operand)]).collect())
    }

    /// All axes of one operand stay where they are, but for those that `other` names.
    pub fn kept(rank: usize, other: impl Fn(usize) -> Option<Axis>) -> Self {
        Self::of(vec![(0..rank).map(|axis| other(axis).unwrap_or(Axis::Kept(axis))).collect()])
    }

    /// The same of an operator that computes nothing.
    pub fn moving(self) -> Self {
        Self { moves: true, ..self }
    }

    /// Where the results keep each axis of an operand; nothing if they do not keep all.
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
    cx.function.values[operand].ty.as_tensor().map_or(0, |ty| ty.rank())
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
