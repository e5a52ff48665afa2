//! The geometry of sliding windows.

use super::rule::Context;
use crate::axes::{Axis, Taps};
use crate::fault::{Misfit, Ranks, Subject};
use crate::types::{Extent, Interval};

/// The geometry of a sliding window; one number a spatial dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowGeometry {
    /// Steps between windows.
    pub strides: Vec<i64>,
    /// Steps between taps.
    pub dilation: Vec<i64>,
    /// Padding before the first element.
    pub padding_low: Vec<i64>,
    /// Padding after the last element.
    pub padding_high: Vec<i64>,
    /// The number of windows in each spatial dimension, if it is known only at run time; otherwise empty. The padding after the last element then is
    /// as large as these windows need.
    pub positions: Vec<Extent>,
    /// The part of `padding_low` that is left out at run time; empty if `positions` is.
    pub shift: Vec<Extent>,
}

impl WindowGeometry {
    /// Tests whether there are gaps between the taps (dilation).
    pub fn has_gaps(&self) -> bool {
        self.dilation.iter().any(|&step| step != 1)
    }

    /// Checks the lists against a window of `size`.
    pub(super) fn check(&self, cx: &Context<'_>, size: &[u64]) -> Result<(), Box<Misfit>> {
        let (n, most) = (size.len(), i64::from(i32::MAX));
        for (field, list, least) in [
            ("strides", &self.strides, 1),
            ("dilation", &self.dilation, 1),
            ("padding_low", &self.padding_low, 0),
            ("padding_high", &self.padding_high, 0),
        ] {
            cx.rank(Subject::Field(field), list.len(), Ranks::Exactly(n))?;
            cx.numbers(field, list, least, most)?;
        }
        for (d, &taps) in size.iter().enumerate() {
            cx.number("size", Some(d), i64::try_from(taps).unwrap_or(i64::MAX), 1, most)?;
        }
        self.check_run_time(cx, n)
    }

    /// Checks the run-time lists: a number of windows and a shift for each dimension, or both empty.
    fn check_run_time(&self, cx: &Context<'_>, n: usize) -> Result<(), Box<Misfit>> {
        let wanted = if self.positions.is_empty() && self.shift.is_empty() { 0 } else { n };
        for (field, list) in [("positions", &self.positions), ("shift", &self.shift)] {
            cx.rank(Subject::Field(field), list.len(), Ranks::Exactly(wanted))?;
            cx.shape(Subject::Field(field), list)?;
        }
        // A shift is at most the padding.
        for (dimension, (&shift, &high)) in self.shift.iter().zip(&self.padding_low).enumerate() {
            let (found, expected) = (cx.function.interval(shift), Interval { low: 0, high });
            let within = found.low >= 0 && found.high <= high;
            cx.require(within, || Misfit::Interval { field: "shift", dimension, expected, found })?;
        }
        Ok(())
    }

    /// Positions of a window of `size` taps along spatial dimension `d` of an input of `extent`.
    pub(super) fn positions(&self, cx: &Context<'_>, d: usize, size: u64, extent: Extent) -> Result<Extent, Box<Misfit>> {
        let too_large = |field| Box::new(Misfit::TooLarge { subject: Subject::Field(field) });
        let reach = (size - 1).checked_mul(self.dilation[d] as u64).and_then(|n| n.checked_add(1));
        let reach = reach.ok_or_else(|| too_large("dilation"))?;
        if let Some(&positions) = self.positions.get(d) {
            return Ok(cx.function.resolved(positions));
        }
        let Extent::Static(n) = extent else {
            return Err(Box::new(Misfit::Dynamic { operand: 0, dimension: d + 1, field: Some("positions") }));
        };
        let padded = n.checked_add(self.padding_low[d] as u64 + self.padding_high[d] as u64).ok_or_else(|| too_large("padding_high"))?;
        let room = padded.checked_sub(reach);
        Ok(Extent::Static(room.map_or(0, |room| room / self.strides[d] as u64 + 1)))
    }

    /// The effect along spatial dimension `d` of an input of extent `extent`, for a window of `size` taps.
    pub(super) fn axis(&self, cx: &Context<'_>, d: usize, size: u64, extent: Extent) -> Axis {
        let result = self.positions(cx, d, size, extent).ok();
        let is_single = size == 1 && self.strides[d] == 1 && self.padding_low[d] == 0;
        if is_single && result.map(|result| cx.function.resolved(result)) == Some(cx.function.resolved(extent)) {
            return Axis::Kept(d + 1);
        }
        if !self.positions.is_empty() {
            return Axis::Opaque;
        }
        Axis::Windowed(d + 1, Taps { size, stride: self.strides[d], dilation: self.dilation[d], low: self.padding_low[d] })
    }

    /// The geometry with other padding along an axis of the tensor. `None` if that is no spatial axis, or the number of windows is a run-time extent.
    pub(super) fn part(&self, axis: usize, low: i64, high: i64) -> Option<Self> {
        let mut part = self.clone();
        let d = axis.checked_sub(1)?;
        (*part.padding_low.get_mut(d)?, *part.padding_high.get_mut(d)?) = (low, high);
        self.positions.is_empty().then_some(part)
    }
}
