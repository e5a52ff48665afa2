//! Filters of convolutions whose extents are known only when the model runs. They are filled up with zeros to their largest extents: taps at the end of
//! each window, and output channels that are cut off again.

use super::operator::{Operand, Operator};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Scalar, Value, WindowGeometry};
use crate::operators::windows::Windows;
use std::ops::Range;

/// A filter padded to static extents, and its actual extents.
pub(super) struct OpenFilter {
    /// The filter, padded with zeros.
    pub filter: Operand,
    /// Taps along each dimension of a window.
    taps: Vec<Extent>,
    /// Output channels.
    pub outputs: Extent,
}

impl OpenFilter {
    /// A filter with its taps along some dimensions and its output channels along another. All other extents must be known.
    pub fn new(operator: &mut Operator<'_, '_, '_>, filter: Operand, (taps, outputs): (Range<usize>, usize)) -> Result<Self, Diagnostic> {
        let open = Self { taps: filter.extents[taps.clone()].to_vec(), outputs: filter.extents[outputs], filter };
        if open.filter.extents.iter().all(|extent| extent.as_static().is_some()) {
            return Ok(open);
        }
        let Operand { mut value, info, shape, .. } = open.filter;
        // Filters without a sign alone have a zero point that is not 0.
        let zero_point = info.quantization.as_ref().filter(|_| info.element == ElementType::U8).map_or(0, |q| q.zero_points[0]);
        for axis in taps.chain([outputs]) {
            value = filled(operator, value, axis, shape[axis], zero_point)?;
        }
        let filter = operator.operand(value, info);
        operator.require_known(&filter, 0)?;
        Ok(Self { filter, ..open })
    }

    /// The windows over an image.
    pub fn geometry(&self, operator: &mut Operator<'_, '_, '_>, windows: &Windows, image: &[Extent]) -> Result<WindowGeometry, Diagnostic> {
        Ok(windows.geometry_of_taps(operator.graph(), image, &self.taps)?)
    }

    /// The elements cut off a transposed convolution's result at its beginning, for a result of these extents.
    pub fn cut(&self, operator: &mut Operator<'_, '_, '_>, windows: &Windows, wanted: &[Extent]) -> Result<Vec<Extent>, Diagnostic> {
        let g = operator.graph();
        let cut = wanted.iter().zip(&self.taps).enumerate().map(|(d, (&extent, &taps))| windows.padding_before_taps(g, d, extent, taps));
        Ok(cut.collect::<Result<_, _>>()?)
    }

    /// Tests whether the numbers of taps are static.
    pub fn has_known_taps(&self) -> bool {
        self.taps.iter().all(|taps| taps.as_static().is_some())
    }
}

/// A tensor padded to `most` elements at the end of an axis, with numbers that stand for zero.
fn filled(operator: &mut Operator<'_, '_, '_>, value: Value, axis: usize, most: u64, zero_point: i64) -> Result<Value, Diagnostic> {
    let g = operator.graph();
    let mut shape = g.extents(value);
    if shape[axis].as_static().is_some() {
        return Ok(value);
    }
    let element = g.element(value);
    let zero = if element.is_float() { Scalar::float(element, 0.0) } else { Scalar::int(element, zero_point) };
    shape[axis] = Extent::Static(most);
    let zeros = g.filled(zero, &shape)?;
    let joined = g.concat(&[value, zeros], axis)?;
    Ok(g.slice_along(joined, axis, Extent::Static(0), Extent::Static(most))?)
}

/// A bias of the output channels that there are, filled up with zeros like the filter.
pub(super) fn filled_bias(operator: &mut Operator<'_, '_, '_>, bias: Value, channels: u64) -> Result<Value, Diagnostic> {
    filled(operator, bias, 0, channels, 0)
}

/// The output channels of a result that there are.
pub(super) fn without_filling(operator: &mut Operator<'_, '_, '_>, result: Value, outputs: Extent) -> Result<Value, Diagnostic> {
    if outputs.as_static().is_some() {
        return Ok(result);
    }
    let last = operator.graph().rank(result) - 1;
    Ok(operator.graph().slice_along(result, last, Extent::Static(0), outputs)?)
}
