//! The positions of windows along the spatial dimensions of an image, for static and run-time extents.

mod taps;

use super::{Error, Graph};
use crate::ir::{Extent, WindowGeometry};

/// Windows over any number of spatial dimensions; the lists have an entry for each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Taps of a window.
    pub size: Vec<u64>,
    /// Steps between windows.
    pub strides: Vec<i64>,
    /// Steps between taps.
    pub dilation: Vec<i64>,
    /// The padding around the image.
    pub padding: Padding,
}

/// The padding around an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Padding {
    /// Padding for ⌈extent ÷ stride⌉ windows. The larger half of an odd number is after the last element.
    Same,
    /// No padding.
    Valid,
    /// Equal padding on both sides of each dimension.
    Symmetric {
        /// Elements on one side.
        elements: Vec<i64>,
        /// `true` if a last window may reach beyond the padding, provided that it begins before the padding's end.
        partial: bool,
    },
    /// Explicit padding on each side of each dimension.
    Sides {
        /// Elements before the first.
        before: Vec<i64>,
        /// Elements after the last.
        after: Vec<i64>,
    },
}

impl Windows {
    /// The taps as the tensor language takes them.
    ///
    /// # Errors
    /// [`Error::WindowTooLarge`].
    pub fn signed_size(&self) -> Result<Vec<i64>, Error> {
        self.size.iter().map(|&n| i64::try_from(n).map_err(|_| Error::WindowTooLarge)).collect()
    }

    /// The geometry over an image of these spatial extents. If an extent is known only at run time, so is the number of windows.
    ///
    /// # Errors
    /// When strides, dilations or windows are out of range, or a window that may not reach beyond the image does.
    pub fn geometry(&self, g: &mut Graph<'_>, extents: &[Extent]) -> Result<WindowGeometry, Error> {
        let known: Option<Vec<u64>> = extents.iter().map(|extent| extent.as_static()).collect();
        if let Some(known) = known {
            return self.known_geometry(&known);
        }
        let mut geometry = WindowGeometry::default();
        for (d, &extent) in extents.iter().enumerate() {
            // Constraints are checked for the largest image, and the padding of static dimensions follows from it.
            let largest = self.along(d, g.bound(extent))?;
            let (low, positions, shift) = self.run_time(g, d, extent, largest.low)?;
            geometry.strides.push(self.strides[d]);
            geometry.dilation.push(self.dilation[d]);
            geometry.padding_low.push(low);
            geometry.padding_high.push(0);
            geometry.positions.push(positions);
            geometry.shift.push(shift);
        }
        Ok(geometry)
    }

    /// The geometry over an image of static extents.
    ///
    /// # Errors
    /// The errors of [`Self::geometry`].
    pub fn known_geometry(&self, extents: &[u64]) -> Result<WindowGeometry, Error> {
        let mut geometry = WindowGeometry::default();
        for (d, &extent) in extents.iter().enumerate() {
            let Borders { low, high } = self.along(d, extent)?;
            geometry.strides.push(self.strides[d]);
            geometry.dilation.push(self.dilation[d]);
            geometry.padding_low.push(low);
            geometry.padding_high.push(high);
        }
        Ok(geometry)
    }

    /// The padding along a dimension of a static extent.
    fn along(&self, d: usize, extent: u64) -> Result<Borders, Error> {
        let (stride, dilation) = (self.strides[d], self.dilation[d]);
        if stride < 1 || dilation < 1 {
            return Err(Error::WindowStep { step: stride.min(dilation) });
        }
        let misfit = || Error::WindowMisfit { extent, size: self.size[d] };
        let small = |n: u64| i64::try_from(n).ok().filter(|n| (1..1 << 31).contains(n)).ok_or_else(misfit);
        let (extent, taps) = (small(extent)?, small(self.size[d])?);
        let reach =
            (taps - 1).checked_mul(dilation).and_then(|n| n.checked_add(1)).filter(|&n| n < 1 << 61).ok_or(Error::WindowTooLarge)?;
        match &self.padding {
            Padding::Same => {
                let total = ((extent - 1) / stride * stride + reach - extent).max(0);
                Ok(Borders { low: total / 2, high: total - total / 2 })
            }
            Padding::Valid if reach <= extent => Ok(Borders { low: 0, high: 0 }),
            Padding::Valid => Err(misfit()),
            Padding::Sides { before, after } => {
                let (low, high) = (before[d], after[d]);
                let are_small = [low, high].iter().all(|n| (0..1 << 31).contains(n));
                let room = are_small.then(|| extent + low + high - reach).filter(|&n| n >= 0);
                room.map(|_| Borders { low, high }).ok_or_else(misfit)
            }
            Padding::Symmetric { elements, partial } => {
                let low = elements[d];
                let room = Some(low).filter(|low| (0..1 << 31).contains(low)).map(|low| extent + 2 * low - reach);
                // A first window that may reach beyond the padding may also be larger than all there is.
                let least = if *partial { 1 - stride } else { 0 };
                let room = room.filter(|&n| n >= least).ok_or_else(misfit)?;
                if !partial {
                    return Ok(Borders { low, high: low });
                }
                let positions = ((room + stride - 1) / stride + 1).min((extent + low + stride - 1) / stride);
                Ok(Borders { low, high: ((positions - 1) * stride + reach - extent - low).max(0) })
            }
        }
    }

    /// The maximum padding before the first element, the number of windows, and the shift that reduces the padding, along a dimension.
    fn run_time(&self, g: &mut Graph<'_>, d: usize, extent: Extent, low: i64) -> Result<(i64, Extent, Extent), Error> {
        let along = Along::new(self.strides[d], self.size[d], self.dilation[d])?;
        let none = Extent::Static(0);
        match &self.padding {
            Padding::Same => {
                let positions = along.same(g, extent)?;
                match extent {
                    Extent::Static(_) => Ok((low, positions, none)),
                    Extent::Value(_) => {
                        let (low, shift) = along.padding(g, extent, positions)?;
                        Ok((low, positions, shift))
                    }
                }
            }
            Padding::Valid => Ok((0, along.valid(g, extent)?, none)),
            Padding::Sides { before, after } => {
                let padded = g.add(extent, Extent::Static(before[d].unsigned_abs() + after[d].unsigned_abs()))?;
                Ok((low, along.valid(g, padded)?, none))
            }
            Padding::Symmetric { partial, .. } => {
                let before = Extent::Static(low.unsigned_abs());
                let (padded, begun) = (g.add(extent, Extent::Static(2 * low.unsigned_abs()))?, g.add(extent, before)?);
                let positions = along.valid(g, padded)?;
                if !partial {
                    return Ok((low, positions, none));
                }
                let room = g.sub(padded, Extent::Static(along.reach))?;
                let steps = g.ceil_div(room, Extent::Static(along.stride))?;
                let (partial, begun) = (g.add(steps, Extent::Static(1))?, g.ceil_div(begun, Extent::Static(along.stride))?);
                Ok((low, g.min(partial, begun)?, none))
            }
        }
    }

    /// The padding before the first element of a dimension of some extent.
    ///
    /// # Errors
    /// When the window is too large.
    pub fn padding_before(&self, g: &mut Graph<'_>, d: usize, extent: Extent) -> Result<Extent, Error> {
        match &self.padding {
            Padding::Valid => Ok(Extent::Static(0)),
            Padding::Symmetric { elements: before, .. } | Padding::Sides { before, .. } => {
                Ok(Extent::Static(u64::try_from(before[d]).unwrap_or(0)))
            }
            Padding::Same => {
                let along = Along::new(self.strides[d], self.size[d], self.dilation[d])?;
                let positions = along.same(g, extent)?;
                let (most, less) = along.padding(g, extent, positions)?;
                let most = u64::try_from(most).map_err(|_| Error::WindowTooLarge)?;
                g.sub(Extent::Static(most), less)
            }
        }
    }
}

/// Padding on both sides of a dimension.
struct Borders {
    low: i64,
    high: i64,
}

/// Windows along one dimension.
struct Along {
    stride: u64,
    /// Elements from the first tap of a window to its last.
    reach: u64,
}

impl Along {
    fn new(stride: i64, taps: u64, dilation: i64) -> Result<Self, Error> {
        let reach = taps.checked_sub(1).and_then(|steps| steps.checked_mul(u64::try_from(dilation).ok()?)?.checked_add(1));
        let stride = u64::try_from(stride).ok().filter(|&n| n > 0).ok_or(Error::WindowStep { step: stride })?;
        Ok(Self { stride, reach: reach.ok_or(Error::WindowTooLarge)? })
    }

    /// ⌈extent ÷ stride⌉ windows.
    fn same(&self, g: &mut Graph<'_>, extent: Extent) -> Result<Extent, Error> {
        g.ceil_div(extent, Extent::Static(self.stride))
    }

    /// The number of windows that fit: ⌊(extent − reach + stride) ÷ stride⌋, or 0.
    fn valid(&self, g: &mut Graph<'_>, extent: Extent) -> Result<Extent, Error> {
        let room = match self.stride.checked_sub(self.reach) {
            Some(more) => g.add(extent, Extent::Static(more))?,
            None => g.sub(extent, Extent::Static(self.reach - self.stride))?,
        };
        g.floor_div(room, Extent::Static(self.stride))
    }

    /// The largest padding that SAME needs before the first element, and the shift for this extent. The padding is half of the windows' reach beyond
    /// the extent, which is less than one window's reach.
    fn padding(&self, g: &mut Graph<'_>, extent: Extent, positions: Extent) -> Result<(i64, Extent), Error> {
        let most = (self.reach - 1) / 2;
        let low = i64::try_from(most).map_err(|_| Error::WindowTooLarge)?;
        if self.stride == 1 {
            return Ok((low, Extent::Static(0)));
        }
        let end = g.mul(positions, Extent::Static(self.stride))?;
        let end = g.add(end, Extent::Static(self.reach))?;
        let beyond = g.sub(end, extent)?;
        let beyond = g.sub(beyond, Extent::Static(self.stride))?;
        let before = g.floor_div(beyond, Extent::Static(2))?;
        Ok((low, g.sub(Extent::Static(most), before)?))
    }
}

#[cfg(test)]
mod tests;
