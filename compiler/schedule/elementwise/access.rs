//! How each operand's elements follow the position in the output.

use crate::fuse::gathered::{gathered, integers};
use crate::ir::Value as Tensor;
use crate::schedule::context::Context;
use crate::schedule::quantity::Quantity;

/// How an operand's element index follows from the output position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// The same element for every position.
    Single,
    /// Element by element as the output.
    Same,
    /// One element a channel (the last dimension).
    Channel,
    /// One element a pixel (all dimensions but the last).
    Pixel,
    /// Strides in elements a dimension, 0 where the operand repeats.
    Strided(Vec<Quantity>),
    /// Picked along some dimensions from another tensor; the last is as the output's.
    Picked(Picked),
}

/// An operand that is read where its elements lie in the tensor that they are picked from: see [`crate::fuse::gathered`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    /// What it is picked from.
    pub source: Tensor,
    /// For each dimension but the last, in elements of the source.
    pub starts: Vec<Starts>,
}

/// Where the slices of a dimension begin, in what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// One after the other.
    Each(i64),
    /// Slices that are picked.
    At(Vec<i64>),
}

impl Picked {
    /// What a tensor is picked from by instructions of the group; nothing where none does.
    pub fn new(cx: &Context<'_>, value: Tensor) -> Option<Self> {
        let gathered = gathered(cx.function, &cx.group.insts, value)?;
        let shape = cx.shape(gathered.source).ok()?;
        let starts = |d: usize| {
            let stride = shape[d + 1..].iter().product::<u64>() as i64;
            Some(match gathered.positions.iter().find(|(axis, _)| *axis == d) {
                Some(&(_, constant)) => Starts::At(integers(cx.module, constant)?.into_iter().map(|position| position * stride).collect()),
                None => Starts::Each(stride),
            })
        };
        let starts = (0..shape.len() - 1).map(starts).collect::<Option<_>>()?;
        Some(Self { source: gathered.source, starts })
    }
}

/// The access of an operand of one shape in an output of another, the operand's broadcasting to the output's.
pub fn access(operand: &[Quantity], output: &[Quantity]) -> Access {
    let offset = output.len() - operand.len();
    let one = Quantity::known(1);
    let extent = |d: usize| if d < offset { &one } else { &operand[d - offset] };
    let rank = output.len();
    if operand.iter().all(|n| n.is(1)) {
        return Access::Single;
    }
    if (0..rank).all(|d| *extent(d) == output[d]) {
        return Access::Same;
    }
    let last = rank - 1;
    if *extent(last) == output[last] && (0..last).all(|d| extent(d).is(1)) {
        return Access::Channel;
    }
    if extent(last).is(1) && (0..last).all(|d| *extent(d) == output[d]) {
        return Access::Pixel;
    }
    let mut strides = vec![Quantity::known(0); rank];
    let mut step = Quantity::known(1);
    for d in (0..rank).rev() {
        if !extent(d).is(1) {
            strides[d] = step.clone();
        }
        step = step.times(extent(d));
    }
    Access::Strided(strides)
}

/// Whether an operand broadcasts to an output: extents that are not known must be the same ones.
pub fn fits(operand: &[Quantity], output: &[Quantity]) -> bool {
    let Some(offset) = output.len().checked_sub(operand.len()) else { return false };
    operand.iter().zip(&output[offset..]).all(|(have, want)| have.is(1) || have == want)
}

/// Whether an operand with these strides is the same in all channels of a pixel.
pub fn is_same_in_channels(strides: &[Quantity]) -> bool {
    strides.last().is_some_and(|stride| stride.is(0))
}
