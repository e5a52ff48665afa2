//! Convolution. Programs hold channels after the batch, and the tensor language has them last. So transposes stand around each one. The filter is
//! transposed when the model is read.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::matrix::{accumulator, plain, widened};
use crate::ir::{Extent, Value};
use crate::operators::contraction::{Convolution, Transposed, transposed_filter};
use crate::operators::graph::movement::inverse;
use crate::operators::windows::{Padding, Windows};

pub(super) const OPERATORS: &[(&str, Translate)] = &[("aten::convolution.out", convolution)];

/// The arguments of the call besides tensors; one number a spatial dimension.
#[derive(Clone)]
pub struct Geometry {
    /// Steps between windows.
    pub stride: Vec<i64>,
    /// Elements on either side.
    pub padding: Vec<i64>,
    /// Steps between taps.
    pub dilation: Vec<i64>,
    /// Elements added after the last one of a transposed convolution's result.
    pub output_padding: Vec<i64>,
    /// Groups of channels.
    pub groups: u64,
}

/// Channels from after the batch to the end.
pub fn channels_last(rank: usize) -> Vec<usize> {
    let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != 1).collect();
    permutation.push(1);
    permutation
}

fn convolution(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let y = convolved(c)?;
    c.finish(y)
}

/// The result of a convolution whose arguments are the call's first ones.
///
/// # Errors
/// When they do not fit each other.
pub fn convolved(c: &mut Call<'_, '_, '_>) -> Result<Value, Fault> {
    let (input, weight, bias) = (c.tensor(0)?, c.tensor(1)?, c.optional_tensor(2)?);
    let rank = c.graph().rank(input);
    if rank < 3 || c.graph().rank(weight) != rank {
        return Err(Fault::unsupported("needs an input with batch and channels").expected("3 to 5 dimensions", rank.to_string()));
    }
    let geometry = geometry(c, [3, 4, 5, 7, 8], rank - 2)?;
    let numerics = plain(accumulator(c.element(input))?, c.out_form(c.out())?.element);
    let (input, weight) = (widened(c, input)?, widened(c, weight)?);
    let permutation = channels_last(rank);
    let input = c.transpose(input, &permutation)?;
    let y = if c.flag(6)? {
        let transposed = transposed(c, input, weight, geometry)?;
        transposed.build(c.graph(), bias, &numerics)?
    } else {
        let convolution = forward(c, input, weight, geometry)?;
        convolution.build(c.graph(), bias, &numerics)?
    };
    c.transpose(y, &inverse(&permutation))
}

/// Reads the geometry of a convolution. `arguments` are the positions of stride, padding, dilation, output padding and groups.
///
/// # Errors
/// When a number is out of range.
pub fn geometry(c: &Call<'_, '_, '_>, arguments: [usize; 5], spatial: usize) -> Result<Geometry, Fault> {
    let [stride, padding, dilation, output_padding, groups] = arguments;
    let groups = u64::try_from(c.int(groups)?).unwrap_or(0);
    geometry_of(c, [stride, padding, dilation], Some(output_padding), (groups, spatial))
}

/// Reads the geometry of a convolution with known groups, and optionally an output padding.
///
/// # Errors
/// When a number is out of range.
pub fn geometry_of(
    c: &Call<'_, '_, '_>,
    [stride, padding, dilation]: [usize; 3],
    output_padding: Option<usize>,
    (groups, spatial): (u64, usize),
) -> Result<Geometry, Fault> {
    if groups == 0 {
        return Err(Fault::invalid("groups must be positive"));
    }
    let output_padding = output_padding.map_or_else(|| Ok(vec![0; spatial]), |index| c.per_dimension(index, spatial))?;
    Ok(Geometry {
        stride: limited(c.per_dimension(stride, spatial)?, 1, "stride")?,
        padding: limited(c.per_dimension(padding, spatial)?, 0, "padding")?,
        dilation: limited(c.per_dimension(dilation, spatial)?, 1, "dilation")?,
        output_padding: limited(output_padding, 0, "output padding")?,
        groups,
    })
}

/// The windows of a convolution that is not transposed.
pub fn windows(geometry: &Geometry, size: Vec<u64>) -> Windows {
    let Geometry { stride, padding, dilation, .. } = geometry.clone();
    Windows { size, strides: stride, dilation, padding: Padding::Symmetric { elements: padding, partial: false } }
}

/// Numbers from `low` to 2³¹ − 1.
fn limited(list: Vec<i64>, low: i64, what: &str) -> Result<Vec<i64>, Fault> {
    match list.iter().find(|n| !(low..=i64::from(i32::MAX)).contains(n)) {
        Some(n) => Err(Fault::invalid(format!("{what} is out of range")).expected(format!("{low} or more"), n.to_string())),
        None => Ok(list),
    }
}

/// The extents between the first and the last.
fn spatial(c: &mut Call<'_, '_, '_>, image: Value) -> Vec<Extent> {
    let shape = c.graph().extents(image);
    shape[1..shape.len() - 1].to_vec()
}

fn forward(c: &mut Call<'_, '_, '_>, input: Value, weight: Value, geometry: Geometry) -> Result<Convolution, Fault> {
    let groups = geometry.groups;
    let size = c.shape(weight)?[2..].to_vec();
    let filter = c.transpose(weight, &channels_last(size.len() + 2))?;
    let filter = c.graph().settle_transpose(filter)?;
    let windows = windows(&geometry, size);
    let extents = spatial(c, input);
    let geometry = windows.geometry(c.graph(), &extents)?;
    Ok(Convolution::new(input, filter, groups, geometry))
}

fn transposed(c: &mut Call<'_, '_, '_>, input: Value, weight: Value, geometry: Geometry) -> Result<Transposed, Fault> {
    let size = c.shape(weight)?[2..].to_vec();
    let filter = transposed_filter(c.graph(), weight, geometry.groups)?;
    let extents = spatial(c, input);
    let (cut, wanted) = transposed_extents(c, &extents, &size, &geometry)?;
    Ok(Transposed { input, filter, groups: geometry.groups, strides: geometry.stride, dilation: geometry.dilation, cut, wanted })
}

/// The number of elements to cut off a transposed convolution's result at the beginning, and the final extents. An extent is (extent − 1) · stride +
/// dilation · (size − 1) + 1 + output padding − 2 · padding.
///
/// # Errors
/// When the window is too large.
pub fn transposed_extents(
    c: &mut Call<'_, '_, '_>,
    spatial: &[Extent],
    size: &[u64],
    geometry: &Geometry,
) -> Result<(Vec<Extent>, Vec<Extent>), Fault> {
    let Geometry { stride, padding, dilation, output_padding, .. } = geometry;
    let mut wanted = Vec::with_capacity(size.len());
    for (d, &extent) in spatial.iter().enumerate() {
        let reach = size[d].saturating_sub(1).checked_mul(dilation[d].unsigned_abs()).and_then(|n| n.checked_add(1));
        let reach = reach.and_then(|n| n.checked_add(output_padding[d].unsigned_abs()));
        let reach = reach.ok_or_else(|| Fault::invalid("the window is too large"))?;
        let g = c.graph();
        let steps = g.sub(extent, Extent::Static(1))?;
        let last = g.mul(steps, Extent::Static(stride[d].unsigned_abs()))?;
        let full = g.add(last, Extent::Static(reach))?;
        wanted.push(g.sub(full, Extent::Static(2 * padding[d].unsigned_abs()))?);
    }
    Ok((padding.iter().map(|n| Extent::Static(n.unsigned_abs())).collect(), wanted))
}
