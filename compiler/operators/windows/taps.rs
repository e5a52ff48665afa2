//! Windows with a run-time number of taps. Their filter is filled up with zero weights after its last tap, which change no sum of finite numbers. So
//! the windows of the filled filter have the positions of the original ones.

use super::{Along, Padding, Windows};
use crate::ir::{Extent, WindowGeometry};
use crate::operators::{Error, Graph};

impl Windows {
    /// The geometry of windows with these numbers of taps, at most [`Self::size`].
    ///
    /// # Errors
    /// The errors of strides, dilations or windows out of range, and of explicit padding.
    pub fn geometry_of_taps(&self, g: &mut Graph<'_>, extents: &[Extent], taps: &[Extent]) -> Result<WindowGeometry, Error> {
        if taps.iter().all(|taps| taps.as_static().is_some()) {
            return self.geometry(g, extents);
        }
        let mut geometry = WindowGeometry::default();
        for (d, (&extent, &taps)) in extents.iter().zip(taps).enumerate() {
            let along = Along::new(self.strides[d], self.size[d], self.dilation[d])?;
            let stride = Extent::Static(along.stride);
            let (low, positions, shift) = match &self.padding {
                Padding::Same => {
                    let most = (along.reach - 1) / 2;
                    let before = self.padding_before_taps(g, d, extent, taps)?;
                    (most, along.same(g, extent)?, g.sub(Extent::Static(most), before)?)
                }
                Padding::Valid => {
                    let reach = self.reach(g, d, taps)?;
                    let room = g.add(extent, stride)?;
                    let room = g.sub(room, reach)?;
                    (0, g.floor_div(room, stride)?, Extent::Static(0))
                }
                Padding::Symmetric { .. } | Padding::Sides { .. } => return Err(Error::DynamicExtent),
            };
            geometry.strides.push(self.strides[d]);
            geometry.dilation.push(self.dilation[d]);
            geometry.padding_low.push(i64::try_from(low).map_err(|_| Error::WindowTooLarge)?);
            geometry.padding_high.push(0);
            geometry.positions.push(positions);
            geometry.shift.push(shift);
        }
        Ok(geometry)
    }

    /// The padding before the first element of a dimension, for windows of `taps` taps.
    ///
    /// # Errors
    /// When the window is too large.
    pub fn padding_before_taps(&self, g: &mut Graph<'_>, d: usize, extent: Extent, taps: Extent) -> Result<Extent, Error> {
        if taps.as_static().is_some() || self.padding != Padding::Same {
            return self.padding_before(g, d, extent);
        }
        let along = Along::new(self.strides[d], self.size[d], self.dilation[d])?;
        let (positions, stride) = (along.same(g, extent)?, Extent::Static(along.stride));
        let reach = self.reach(g, d, taps)?;
        let end = g.mul(positions, stride)?;
        let end = g.add(end, reach)?;
        let all = g.add(extent, stride)?;
        let beyond = g.sub(end, all)?;
        g.floor_div(beyond, Extent::Static(2))
    }

    /// Elements from the first tap of a window to its last.
    fn reach(&self, g: &mut Graph<'_>, d: usize, taps: Extent) -> Result<Extent, Error> {
        let dilation = u64::try_from(self.dilation[d]).map_err(|_| Error::WindowStep { step: self.dilation[d] })?;
        let steps = g.sub(taps, Extent::Static(1))?;
        let steps = g.mul(steps, Extent::Static(dilation))?;
        g.add(steps, Extent::Static(1))
    }
}
