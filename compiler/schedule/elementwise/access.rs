//! Accesses of operands: the relation between a position in the output and the operand's element.

use crate::fuse::gathered::integers;
use crate::ir::Value as Tensor;
use crate::schedule::context::Context;
use crate::schedule::quantity::Quantity;

/// Relation between a position in the output and the index of an operand's element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// One element for all positions.
    Single,
    /// The element with the output's own index.
    Same,
    /// One element for each channel (index of the last dimension).
    Channel,
    /// One element for each pixel (index of all dimensions but the last).
    Pixel,
    /// Strides of the dimensions, in elements. They are 0 in dimensions that the operand broadcasts along.
    Strided(Vec<Quantity>),
    /// Slices picked from another tensor along some dimensions. The last dimension is the output's.
    Picked(Picked),
}

/// An operand that is read in place, in the tensor that its slices are picked from: see [`crate::fuse::gathered`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    /// Tensor that slices are picked from.
    pub source: Tensor,
    /// Starts of the slices, in elements of the source, for each dimension but the last.
    pub starts: Vec<Starts>,
}

/// Starts of a dimension's slices, relative to the slice that contains them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// All slices in order, at multiples of a stride.
    Each(i64),
    /// Picked slices, by their starts.
    At(Vec<i64>),
}

impl Picked {
    /// Finds the tensor that instructions of the group pick `value` from. `None` if it is computed otherwise.
    pub fn new(cx: &Context<'_>, value: Tensor) -> Option<Self> {
        let gathered = cx.group.gathered(value)?;
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

/// Returns the access of an operand that broadcasts to the output, from the shapes of both.
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

/// Tests whether an operand broadcasts to an output. Run-time extents must be the same extents.
pub fn fits(operand: &[Quantity], output: &[Quantity]) -> bool {
    let Some(offset) = output.len().checked_sub(operand.len()) else { return false };
    operand.iter().zip(&output[offset..]).all(|(have, want)| have.is(1) || have == want)
}

/// Tests whether an operand with these strides has one element for all channels of a pixel.
pub fn is_same_in_channels(strides: &[Quantity]) -> bool {
    strides.last().is_some_and(|stride| stride.is(0))
}
