//! Convolution. Programs hold channels behind the batch, the IR has them last: transposes stand around each one, and the filter is
//! transposed when the model is loaded.

use super::super::fault::Fault;
use super::Translate;
use super::call::Call;
use super::matrix::{accumulator, add_bias};
use crate::ir::{Extent, Scalar, Value, WindowGeometry};
use crate::operators::extents;
use crate::operators::graph::inverse;

pub(super) const OPERATORS: &[(&str, Translate)] = &[("aten::convolution.out", convolution)];

/// What the call says beside its tensors; one number a spatial dimension.
struct Geometry {
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    output_padding: Vec<i64>,
    groups: u64,
}

/// Channels from behind the batch to the end.
pub(super) fn channels_last(rank: usize) -> Vec<usize> {
    let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != 1).collect();
    permutation.push(1);
    permutation
}

fn convolution(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let (input, weight, bias) = (c.tensor(0)?, c.tensor(1)?, c.optional_tensor(2)?);
    let rank = c.rank(input);
    if rank < 3 || c.shape(weight)?.len() != rank {
        return Err(Fault::unsupported("needs an input with batch and channels").expected("3 to 5 dimensions", rank.to_string()));
    }
    let groups = u64::try_from(c.int(8)?).ok().filter(|&g| g > 0).ok_or_else(|| Fault::invalid("groups must be positive"))?;
    let geometry = Geometry {
        stride: limited(c.per_dimension(3, rank - 2)?, 1, "stride")?,
        padding: limited(c.per_dimension(4, rank - 2)?, 0, "padding")?,
        dilation: limited(c.per_dimension(5, rank - 2)?, 1, "dilation")?,
        output_padding: limited(c.per_dimension(7, rank - 2)?, 0, "output padding")?,
        groups,
    };
    let permutation = channels_last(rank);
    let input = c.transpose(input, &permutation)?;
    let y = if c.flag(6)? { transposed(c, input, weight, &geometry)? } else { plain(c, input, weight, &geometry)? };
    let y = match bias {
        Some(bias) => add_bias(c, y, bias)?,
        None => y,
    };
    let y = c.transpose(y, &inverse(&permutation))?;
    c.finish(y)
}

/// Numbers from `low` to 2³¹ − 1.
fn limited(list: Vec<i64>, low: i64, what: &str) -> Result<Vec<i64>, Fault> {
    match list.iter().find(|n| !(low..=i64::from(i32::MAX)).contains(n)) {
        Some(n) => Err(Fault::invalid(format!("{what} is out of range")).expected(format!("{low} or more"), n.to_string())),
        None => Ok(list),
    }
}

fn plain(c: &mut Call<'_, '_, '_>, input: Value, weight: Value, g: &Geometry) -> Result<Value, Fault> {
    let rank = c.shape(weight)?.len();
    let filter = c.transpose(weight, &channels_last(rank))?;
    let filter = c.graph().settle_transpose(filter)?;
    let mut geometry = WindowGeometry {
        strides: g.stride.clone(),
        dilation: g.dilation.clone(),
        padding_low: g.padding.clone(),
        padding_high: g.padding.clone(),
        ..WindowGeometry::default()
    };
    let (extents, window) = (c.extents(input), c.shape(filter)?);
    if let channels @ Extent::Value(_) = extents[rank - 1] {
        c.translator.equate(channels, Extent::Static(window[rank - 1].saturating_mul(g.groups)))?;
    }
    if extents[1..rank - 1].iter().any(|extent| extent.as_static().is_none()) {
        for d in 0..rank - 2 {
            geometry.positions.push(windows(c, extents[d + 1], window[d + 1], g, d)?);
        }
        geometry.shift = vec![Extent::Static(0); rank - 2];
    }
    let sum = accumulator(c.element(input))?;
    Ok(c.builder().conv(input, filter, geometry, g.groups, (0, 0), sum)?)
}

/// How many windows there are along a dimension.
fn windows(c: &mut Call<'_, '_, '_>, extent: Extent, size: u64, g: &Geometry, d: usize) -> Result<Extent, Fault> {
    let reach = (size.max(1) - 1).saturating_mul(g.dilation[d] as u64).saturating_add(1);
    let padded = c.graph().add(extent, Extent::Static(2 * g.padding[d] as u64))?;
    // One more than the room for windows to move in, so that none fit where it is 0.
    let more = c.graph().add(padded, Extent::Static(g.stride[d] as u64))?;
    let room = c.graph().sub(more, Extent::Static(reach))?;
    Ok(c.graph().floor_div(room, Extent::Static(g.stride[d] as u64))?)
}

/// The transposed convolution: the input with stride − 1 zeros behind each element, convolved with the filter turned around.
fn transposed(c: &mut Call<'_, '_, '_>, input: Value, weight: Value, g: &Geometry) -> Result<Value, Fault> {
    let filter = turned_filter(c, weight, g.groups)?;
    let shape = c.shape(filter)?;
    let spread = spread_input(c, input, &g.stride)?;
    let spatial = g.stride.len();
    let (mut low, mut high) = (vec![0; spatial + 2], vec![0; spatial + 2]);
    for d in 0..spatial {
        let reach = (shape[d + 1] as i64 - 1).saturating_mul(g.dilation[d]);
        low[d + 1] = reach - g.padding[d];
        high[d + 1] = reach - g.padding[d] + g.output_padding[d] - (g.stride[d] - 1);
    }
    let zero = Scalar::int(c.element(input), 0);
    let padded = c.builder().pad(spread, low, high, zero)?;
    let geometry = WindowGeometry {
        strides: vec![1; spatial],
        dilation: g.dilation.clone(),
        padding_low: vec![0; spatial],
        padding_high: vec![0; spatial],
        ..WindowGeometry::default()
    };
    let sum = accumulator(c.element(input))?;
    Ok(c.builder().conv(padded, filter, geometry, g.groups, (0, 0), sum)?)
}

/// [I, O ÷ groups, window…] to [O, window…, I ÷ groups], the window read backwards.
fn turned_filter(c: &mut Call<'_, '_, '_>, weight: Value, groups: u64) -> Result<Value, Fault> {
    let shape = c.shape(weight)?;
    let rank = shape.len();
    if shape[0] % groups != 0 {
        return Err(Fault::invalid(format!("{} input channels do not divide into {groups} groups", shape[0])));
    }
    let mut split = vec![groups, shape[0] / groups];
    split.extend(&shape[1..]);
    let weight = c.reshape(weight, &split)?;
    // [groups, I ÷ groups, O ÷ groups, window…] to [groups, O ÷ groups, window…, I ÷ groups].
    let mut permutation = vec![0];
    permutation.extend(2..=rank);
    permutation.push(1);
    let weight = c.transpose(weight, &permutation)?;
    let mut joined = vec![groups.saturating_mul(shape[1])];
    joined.extend(&shape[2..]);
    joined.push(shape[0] / groups);
    let weight = c.reshape(weight, &joined)?;
    let backwards = |d: usize| d > 0 && d + 1 < rank && joined[d] > 0;
    let start: Vec<u64> = (0..rank).map(|d| if backwards(d) { joined[d] - 1 } else { 0 }).collect();
    let stride = (0..rank).map(|d| if backwards(d) { -1 } else { 1 }).collect();
    Ok(c.builder().slice(weight, extents(&start), extents(&joined), stride)?)
}

/// stride − 1 zeros behind each element of the spatial dimensions.
fn spread_input(c: &mut Call<'_, '_, '_>, input: Value, stride: &[i64]) -> Result<Value, Fault> {
    if stride.iter().all(|&s| s == 1) {
        return Ok(input);
    }
    let shape = c.shape(input)?;
    let mut split = vec![shape[0]];
    let (mut high, mut joined) = (vec![0], vec![shape[0]]);
    for (&extent, &s) in shape[1..].iter().zip(stride) {
        split.extend([extent, 1]);
        high.extend([0, s - 1]);
        joined.push(extent.saturating_mul(s as u64));
    }
    let channels = shape[shape.len() - 1];
    split.push(channels);
    high.push(0);
    joined.push(channels);
    let split = c.reshape(input, &split)?;
    let zero = Scalar::int(c.element(input), 0);
    let low = vec![0; high.len()];
    let padded = c.builder().pad(split, low, high, zero)?;
    c.reshape(padded, &joined)
}
