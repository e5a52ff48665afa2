//! Windows over images whose rows and columns are known only when the model runs.

use super::convolution::{Spatial, window_geometry};
use super::operator::{Operand, Operator, invalid};
use crate::diagnostic::Diagnostic;
use crate::ir::{Extent, WindowGeometry};
use crate::schema::tflite::Padding;

/// The geometry of windows of a size over operand rows and columns, dimensions 1 and 2.
pub(super) fn geometry(
    operator: &mut Operator<'_, '_, '_>,
    spatial: &Spatial,
    input: &Operand,
    window: [u64; 2],
) -> Result<WindowGeometry, Diagnostic> {
    let extents = [input.extents[1], input.extents[2]];
    if let [Some(rows), Some(columns)] = extents.map(|extent| extent.as_static()) {
        return spatial.geometry([rows, columns], window);
    }
    let mut geometry = WindowGeometry::default();
    for d in 0..2 {
        // What must hold of the numbers is checked for the largest input; the shape of a dimension that is known follows from it.
        let most = input.shape[d + 1];
        let largest = window_geometry(spatial.padding, &[spatial.strides[d]], &[spatial.dilation[d]], &[most], &[window[d]])?;
        let along = Along { stride: largest.strides[0] as u64, reach: reach(&largest, window[d])? };
        geometry.strides.push(largest.strides[0]);
        geometry.dilation.push(largest.dilation[0]);
        let (low, positions, shift) = match (extents[d], spatial.padding) {
            (extent @ Extent::Static(_), padding) => {
                let positions = if padding == Padding::SAME { along.same(operator, extent)? } else { along.valid(operator, extent)? };
                (largest.padding_low[0], positions, Extent::Static(0))
            }
            (extent, Padding::SAME) => {
                let positions = along.same(operator, extent)?;
                let (low, shift) = along.padding(operator, extent, positions)?;
                (low, positions, shift)
            }
            (extent, _) => (0, along.valid(operator, extent)?, Extent::Static(0)),
        };
        geometry.padding_low.push(low);
        geometry.padding_high.push(0);
        geometry.positions.push(positions);
        geometry.shift.push(shift);
    }
    Ok(geometry)
}

/// The padding before the first element of an extent.
pub(super) fn padding_before(
    operator: &mut Operator<'_, '_, '_>,
    padding: Padding,
    stride: u64,
    extent: Extent,
    taps: u64,
) -> Result<Extent, Diagnostic> {
    if padding != Padding::SAME {
        return Ok(Extent::Static(0));
    }
    let along = Along { stride, reach: taps };
    let positions = along.same(operator, extent)?;
    let (most, less) = along.padding(operator, extent, positions)?;
    let most = u64::try_from(most).map_err(|_| invalid(312, "the window is too large"))?;
    Ok(operator.graph().sub(Extent::Static(most), less)?)
}

/// Elements that a window reaches over.
fn reach(geometry: &WindowGeometry, taps: u64) -> Result<u64, Diagnostic> {
    let reach = taps.checked_sub(1).and_then(|steps| steps.checked_mul(geometry.dilation[0] as u64)?.checked_add(1));
    reach.ok_or_else(|| invalid(312, "the window is too large"))
}

/// Windows along one dimension.
struct Along {
    stride: u64,
    reach: u64,
}

impl Along {
    /// ⌈extent ÷ stride⌉ windows.
    fn same(&self, operator: &mut Operator<'_, '_, '_>, extent: Extent) -> Result<Extent, Diagnostic> {
        Ok(operator.graph().ceil_div(extent, Extent::Static(self.stride))?)
    }

    /// As many windows as fit: ⌊(extent − reach + stride) ÷ stride⌋, none where none fits.
    fn valid(&self, operator: &mut Operator<'_, '_, '_>, extent: Extent) -> Result<Extent, Diagnostic> {
        let room = match self.stride.checked_sub(self.reach) {
            Some(more) => operator.graph().add(extent, Extent::Static(more))?,
            None => operator.graph().sub(extent, Extent::Static(self.reach - self.stride))?,
        };
        Ok(operator.graph().floor_div(room, Extent::Static(self.stride))?)
    }

    /// The most padding that SAME puts before the first element, and how much less it is for this extent: half of what the windows
    /// reach over beyond the extent, which is less than the reach of one.
    fn padding(&self, operator: &mut Operator<'_, '_, '_>, extent: Extent, positions: Extent) -> Result<(i64, Extent), Diagnostic> {
        let most = (self.reach - 1) / 2;
        let low = i64::try_from(most).map_err(|_| invalid(312, "the window is too large"))?;
        if self.stride == 1 {
            return Ok((low, Extent::Static(0)));
        }
        let end = operator.graph().mul(positions, Extent::Static(self.stride))?;
        let end = operator.graph().add(end, Extent::Static(self.reach))?;
        let beyond = operator.graph().sub(end, extent)?;
        let beyond = operator.graph().sub(beyond, Extent::Static(self.stride))?;
        let before = operator.graph().floor_div(beyond, Extent::Static(2))?;
        Ok((low, operator.graph().sub(Extent::Static(most), before)?))
    }
}
