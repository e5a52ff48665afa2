//! Contractions of types without tiled kernels: element-wise products of broadcast operands, then a reduction. The products are never stored, since
//! the reduction computes them. The windows of a convolution are stored.

use crate::ir::{ElementType, Extent, Reduction, Scalar, Value, WindowGeometry};
use crate::operators::reduction::{Axes, reduce};
use crate::operators::{Error, Graph, extents};
use ElementType::{F64, I32, I64};

/// The maximum number of taps of all windows together. Real models have fewer.
const MOST_TAPS: u64 = 1 << 24;

/// The operands of a convolution and the geometry of its windows, as in `Convolution`.
pub struct Patches<'a> {
    /// `[N, spatial…, C]`
    pub input: Value,
    /// `[O, window…, C ÷ groups]`
    pub filter: Value,
    /// Groups of channels.
    pub groups: u64,
    /// Windows.
    pub geometry: &'a WindowGeometry,
    /// Steps between the input's elements, one a spatial dimension.
    pub input_dilation: &'a [i64],
}

/// Tests whether a contraction with this right operand's type is computed here.
pub fn is_reduced(right: ElementType) -> bool {
    matches!(right, F64 | I32 | I64)
}

/// `rows [… M, K] × transpose(columns [… N, K])`, summed in a type.
///
/// # Errors
/// When operands do not fit each other.
pub fn product(g: &mut Graph<'_>, rows: Value, columns: Value, accumulator: ElementType) -> Result<Value, Error> {
    let mut sides = Vec::new();
    for (side, added) in [(rows, 1), (columns, 2)] {
        let mut shape = g.extents(side);
        let place = shape.len().checked_sub(added).filter(|_| shape.len() >= 2).ok_or(Error::NoMatrix { rank: shape.len() })?;
        shape.insert(place, Extent::Static(1));
        sides.push(g.reshape(side, &shape)?);
    }
    summed(g, [sides[0], sides[1]], accumulator)
}

/// The sums along the last dimension of the products of two tensors that broadcast.
fn summed(g: &mut Graph<'_>, sides: [Value; 2], accumulator: ElementType) -> Result<Value, Error> {
    let products = g.compute::<Error>(&sides, |terms, x| {
        let (a, b) = (terms.convert(x[0], accumulator), terms.convert(x[1], accumulator));
        Ok(terms.mul(a, b)?)
    })?;
    let last = g.rank(products) - 1;
    reduce(g, products, Reduction::Sum, &[last], Axes::Dropped)
}

/// The sums of a convolution, `[N, spatial…, O]`.
///
/// # Errors
/// [`Error::DynamicExtent`] of spatial extents and channels, and when operands do not fit each other.
pub fn convolution(g: &mut Graph<'_>, conv: &Patches<'_>, accumulator: ElementType) -> Result<Value, Error> {
    let filter = g.shape(conv.filter)?;
    let [outputs, window @ .., of_group] = &filter[..] else { return Err(Error::NoImage { rank: filter.len() }) };
    let input = apart(g, conv.input, conv.input_dilation)?;
    let shape = g.extents(input);
    let channels = shape.last().and_then(|extent| extent.as_static()).ok_or(Error::DynamicExtent)?;
    if conv.groups == 0 || channels != of_group * conv.groups || !outputs.is_multiple_of(conv.groups) || shape.len() != filter.len() {
        return Err(Error::Groups { channels, groups: conv.groups });
    }
    let (patches, positions) = patches(g, input, conv, window)?;
    // [pixels, groups, 1, taps] against [groups, outputs of a group, taps].
    let taps = window.iter().product::<u64>() * of_group;
    let pixels = g.product(&[&[shape[0]], &extents(&positions)[..]].concat())?;
    let patches = g.reshape(patches, &[pixels, Extent::Static(conv.groups), Extent::Static(1), Extent::Static(taps)])?;
    let weights = g.reshape(conv.filter, &extents(&[conv.groups, outputs / conv.groups, taps]))?;
    let sums = summed(g, [patches, weights], accumulator)?;
    g.reshape(sums, &[&[shape[0]], &extents(&positions)[..], &[Extent::Static(*outputs)]].concat())
}

/// An image with zeros between its elements, so that they are some steps apart.
fn apart(g: &mut Graph<'_>, image: Value, steps: &[i64]) -> Result<Value, Error> {
    let mut x = image;
    let zero = Scalar::from_bits(g.element(image), 0);
    for (d, &step) in steps.iter().enumerate().filter(|(_, step)| **step > 1) {
        let (axis, shape) = (d + 1, g.extents(x));
        let count = shape[axis].as_static().filter(|&n| n > 0).ok_or(Error::DynamicExtent)?;
        let mut split = shape.clone();
        split.insert(axis + 1, Extent::Static(1));
        let single = g.reshape(x, &split)?;
        let (low, mut high) = (vec![0; split.len()], vec![0; split.len()]);
        high[axis + 1] = step - 1;
        let spread = g.pad(single, &low, &high, zero)?;
        let mut joined = shape;
        joined[axis] = Extent::Static(count * step.unsigned_abs());
        let spread = g.reshape(spread, &joined)?;
        x = g.slice_along(spread, axis, Extent::Static(0), Extent::Static((count - 1) * step.unsigned_abs() + 1))?;
    }
    Ok(x)
}

/// The elements under each window, `[N, positions…, groups, window…, C ÷ groups]`, and the positions.
fn patches(g: &mut Graph<'_>, input: Value, conv: &Patches<'_>, window: &[u64]) -> Result<(Value, Vec<u64>), Error> {
    let (geometry, count) = (conv.geometry, window.len());
    let zero = Scalar::from_bits(g.element(input), 0);
    let border = |sides: &[i64]| [&[0], sides, &[0]].concat();
    let mut x = g.pad(input, &border(&geometry.padding_low), &border(&geometry.padding_high), zero)?;
    let mut positions = Vec::new();
    for (d, &taps) in window.iter().enumerate().rev() {
        let extent = g.extents(x)[d + 1].as_static().ok_or(Error::DynamicExtent)?;
        let (stride, dilation) = (geometry.strides[d].unsigned_abs(), geometry.dilation[d].unsigned_abs());
        let reach = (taps.max(1) - 1).checked_mul(dilation).and_then(|n| n.checked_add(1)).ok_or(Error::WindowTooLarge)?;
        let along = extent.checked_sub(reach).map_or(0, |room| room / stride.max(1) + 1);
        if along.saturating_mul(taps) > MOST_TAPS {
            return Err(Error::TooManyWindows { most: MOST_TAPS });
        }
        let places: Vec<i32> = (0..along).flat_map(|o| (0..taps).map(move |t| (o * stride + t * dilation) as i32)).collect();
        let places = g.constant_i32(&[along, taps], &places)?;
        x = g.gather(x, places, d + 1)?;
        positions.insert(0, along);
    }
    let mut split = g.extents(x);
    let channels = split.pop().and_then(|extent| extent.as_static()).ok_or(Error::DynamicExtent)?;
    split.extend([Extent::Static(conv.groups), Extent::Static(channels / conv.groups)]);
    let x = g.reshape(x, &split)?;
    // [N, position, taps, position, taps, …, groups, C ÷ groups].
    let mut order: Vec<usize> = vec![0];
    order.extend((0..count).map(|d| 2 * d + 1));
    order.push(2 * count + 1);
    order.extend((0..count).map(|d| 2 * d + 2));
    order.push(2 * count + 2);
    Ok((g.transpose(x, &order)?, positions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ZeroPoints;
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn products_are_those_of_tiles() {
        let (a, b) = (Floats::varied(&[2, 3, 4]), Floats::varied(&[2, 5, 4]));
        let expected = run(&[&a, &b], &|g, v| Ok(g.builder.matmul(v[0], v[1], ZeroPoints::NONE, ElementType::F32)?));
        for open in [&[][..], &[[0, 1]]] {
            assert_eq!(run_with(&[&a, &b], open, &|g, v| product(g, v[0], v[1], ElementType::F32)), expected);
        }
    }
}
