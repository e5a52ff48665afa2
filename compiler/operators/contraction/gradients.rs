//! The gradient of a convolution by its filter, which is a convolution again. That by its image is a transposed one.

use super::{Convolution, Numerics};
use crate::ir::{Extent, Value};
use crate::operators::windows::Windows;
use crate::operators::{Error, Graph, extents};

/// The gradient of a filter `[O, C ÷ groups, window…]`, from the image `[N, C, extents…]` and the gradient `[N, O, extents…]` of the result.
///
/// An element of the filter meets every window of every image, so the sum runs over the batch and the windows. The batch takes the place of the
/// channels, and the result's gradient takes the place of the filter. Strides and dilation are exchanged.
///
/// # Errors
/// [`Error::Groups`], and where extents are not known.
pub fn of_filter(
    g: &mut Graph<'_>,
    [image, gradient]: [Value; 2],
    windows: &Windows,
    groups: u64,
    numerics: &Numerics,
) -> Result<Value, Error> {
    let (shape, results) = (g.shape(image)?, g.shape(gradient)?);
    let spatial = windows.size.len();
    let (batch, channels) = (shape[0], shape[1]);
    if groups == 0 || !channels.is_multiple_of(groups) {
        return Err(Error::Groups { channels, groups });
    }
    let apart = [&[batch, groups, channels / groups], &shape[2..]].concat();
    let image = g.reshape(image, &extents(&apart))?;
    let order: Vec<usize> = (2..spatial + 3).chain([1, 0]).collect();
    let image = g.transpose(image, &order)?;
    let together = [&[channels / groups], &shape[2..], &[groups * batch]].concat();
    let image = g.reshape(image, &extents(&together))?;
    let order: Vec<usize> = (1..spatial + 2).chain([0]).collect();
    let filter = g.transpose(gradient, &order)?;
    let exchanged = Windows {
        size: results[2..].to_vec(),
        strides: windows.dilation.clone(),
        dilation: windows.strides.clone(),
        padding: windows.padding.clone(),
    };
    let geometry = exchanged.geometry(g, &extents(&shape[2..]))?;
    let mut sums = Convolution::new(image, filter, groups, geometry).build(g, None, numerics)?;
    // Elements of the image that no window reaches make the result larger than the filter.
    for (d, &size) in windows.size.iter().enumerate() {
        sums = g.slice_along(sums, d + 1, Extent::Static(0), Extent::Static(size))?;
    }
    let order: Vec<usize> = [spatial + 1, 0].into_iter().chain(1..=spatial).collect();
    g.transpose(sums, &order)
}
