//! Normalization of rows and channels; [`super::reduction::normalized`] brings any axes to mean 0 and variance 1.

use super::reduction::{Axes, centred_squares, inverse_root, mean, normalized, scaled_differences};
use super::terms::Terms;
use super::{Error, Graph, fixed};
use crate::ir::{ElementType, Extent, Interval, Reduction, Scalar, ScalarOp, Value, WindowGeometry};
use ElementType::{F32, I8, I32};

/// Rows of f32, the last dimension, each divided by its length, or by 10⁻⁶ if that is more.
///
/// # Errors
/// When elements are no floats.
pub fn l2(g: &mut Graph<'_>, input: Value) -> Result<Value, Error> {
    let axis = vec![g.rank(input).saturating_sub(1)];
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let square = terms.mul(x, x)?;
    let squares = g.map(&[input], terms.finish(square))?;
    let sums = g.builder.reduce(squares, Reduction::Sum, axis)?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, sum, least) = (terms.input(0), terms.input(1), terms.f32(1e-6));
    let length = terms.op(ScalarOp::Sqrt, &[sum])?;
    let length = terms.max(length, least)?;
    let x = terms.div(x, length)?;
    g.map(&[input, sums], terms.finish(x))
}

/// The L2 normalization of 8-bit integers. The output has a scale of 1 ÷ 128. int8 multiplies by 128 in the shift, uint8 before it.
///
/// # Errors
/// When elements are no integers of 8 bits.
pub fn quantized_l2(g: &mut Graph<'_>, input: Value, zero_point: i32) -> Result<Value, Error> {
    let element = g.element(input);
    let axis = vec![g.rank(input).saturating_sub(1)];
    let mut terms = Terms::new(&[element]);
    let (x, zero) = (terms.input_as(0, I32), terms.i32(zero_point));
    let x = terms.sub(x, zero)?;
    let square = terms.mul(x, x)?;
    let squares = g.map(&[input], terms.finish(square))?;
    let sums = g.builder.reduce(squares, Reduction::Sum, axis)?;
    let mut terms = Terms::new(&[I32]);
    let sum = terms.input(0);
    let (mantissa, shift) = fixed::inverse_root(&mut terms, sum)?;
    let row = g.map_many(&[sums], terms.finish_many(vec![mantissa, shift]))?;
    let mut terms = Terms::new(&[element, I32, I32]);
    let (x, zero, mantissa, shift) = (terms.input_as(0, I32), terms.i32(zero_point), terms.input(1), terms.input(2));
    let (seven, centre) = (terms.i32(7), terms.i32(128));
    let x = terms.sub(x, zero)?;
    let x = if element == I8 {
        let shift = terms.add(shift, seven)?;
        let x = terms.requantize(x, mantissa, shift)?;
        terms.clamp_i32(x, Interval::new(-128, 127))?
    } else {
        let x = terms.mul(x, centre)?;
        let x = terms.requantize(x, mantissa, shift)?;
        let x = terms.add(x, centre)?;
        terms.clamp_i32(x, Interval::new(0, 255))?
    };
    let x = terms.convert(x, element);
    g.map(&[input, row[0], row[1]], terms.finish(x))
}

/// The parameters of a local response normalization.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LocalResponse {
    /// The number of channels before each one.
    pub radius: u64,
    /// The addend of the scaled sum of squares.
    pub bias: f32,
    /// Factor of the sum of squares.
    pub alpha: f32,
    /// Exponent.
    pub beta: f32,
}

/// Each element of f32 times (bias + alpha × the sum of squares)^−beta. The sum runs over the channels, the last dimension, from one radius before
/// the element to one less than a radius after it.
///
/// # Errors
/// When elements are no floats.
pub fn local_response(g: &mut Graph<'_>, input: Value, numerics: &LocalResponse) -> Result<Value, Error> {
    let LocalResponse { radius, bias, alpha, beta } = *numerics;
    let channels = g.bounds(input).last().copied().unwrap_or(1);
    // A window that reaches beyond all channels sees no more than one that reaches them all.
    let radius = radius.min(channels) as i64;
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let square = terms.mul(x, x)?;
    let squares = g.map(&[input], terms.finish(square))?;
    // The channels as the one spatial dimension of an image.
    let shape = g.extents(input);
    let Some((&along, outer)) = shape.split_last() else { return Err(Error::NoMatrix { rank: 0 }) };
    let pixels = g.product(outer)?;
    let squares = g.reshape(squares, &[pixels, along, Extent::Static(1)])?;
    let after = (radius - 1).max(0);
    let mut geometry = WindowGeometry {
        strides: vec![1],
        dilation: vec![1],
        padding_low: vec![radius],
        padding_high: vec![after],
        ..WindowGeometry::default()
    };
    if along.as_static().is_none() {
        (geometry.positions, geometry.shift) = (vec![along], vec![Extent::Static(0)]);
    }
    let sums = g.builder.window(squares, Reduction::Sum, vec![radius + after + 1], geometry)?;
    let sums = g.reshape(sums, &shape)?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, sum) = (terms.input(0), terms.input(1));
    // A radius of zero takes nothing, not even the element itself.
    let alpha = if radius == 0 { 0.0 } else { alpha };
    let (bias, alpha, exponent) = (terms.f32(bias), terms.f32(alpha), terms.f32(-beta));
    let scaled = terms.mul(alpha, sum)?;
    let base = terms.add(bias, scaled)?;
    let factor = terms.op(ScalarOp::Pow, &[base, exponent])?;
    let x = terms.mul(x, factor)?;
    g.map(&[input, sums], terms.finish(x))
}

/// A vector over one dimension, shaped to broadcast over a tensor of a rank, in a type.
///
/// # Errors
/// When elements leave 64 bits.
pub fn over_dimension(g: &mut Graph<'_>, vector: Value, dimension: usize, rank: usize, element: ElementType) -> Result<Value, Error> {
    let mut shape = vec![Extent::Static(1); rank];
    let own = g.extents(vector);
    shape[dimension] = g.product(&own)?;
    let vector = g.reshape(vector, &shape)?;
    g.convert(vector, element)
}

/// Vectors over the channels of a batch normalization.
#[derive(Clone, Copy, Debug)]
pub struct Channels {
    /// The factor; 1 if `None`.
    pub weight: Option<Value>,
    /// The addend; 0 if `None`.
    pub bias: Option<Value>,
    /// Mean.
    pub mean: Value,
    /// Variance.
    pub variance: Value,
}

/// x·a + b over one dimension, with a = weight ÷ √(variance + epsilon) and b = bias − mean·a. It is computed in a given type; the result has x's. a
/// and b are computed separately, so that they fold for constants.
///
/// # Errors
/// When the vectors do not fit the dimension.
pub fn batch_norm(
    g: &mut Graph<'_>,
    x: Value,
    channels: Channels,
    (dimension, ty): (usize, ElementType),
    epsilon: f64,
) -> Result<Value, Error> {
    let (rank, element) = (g.rank(x), g.element(x));
    let Channels { weight, bias, mean, variance } = channels;
    let mut vectors = [variance, mean].to_vec();
    vectors.extend(weight.into_iter().chain(bias));
    for vector in &mut vectors {
        *vector = over_dimension(g, *vector, dimension, rank, ty)?;
    }
    let scale_inputs = [vec![vectors[0]], weight.map(|_| vectors[2]).into_iter().collect()].concat();
    let scale = g.compute(&scale_inputs, |t, n| {
        let epsilon = t.constant(Scalar::float(ty, epsilon));
        let sum = t.add(n[0], epsilon)?;
        let root = t.op(ScalarOp::Sqrt, &[sum])?;
        let one = t.constant(Scalar::float(ty, 1.0));
        let numerator = n.get(1).copied().unwrap_or(one);
        Ok::<_, Error>(t.div(numerator, root)?)
    })?;
    let offset_inputs = [vec![vectors[1], scale], bias.and(vectors.last().copied()).into_iter().collect()].concat();
    let offset = g.compute(&offset_inputs, |t, n| {
        let product = t.mul(n[0], n[1])?;
        let zero = t.constant(Scalar::float(ty, 0.0));
        let bias = n.get(2).copied().unwrap_or(zero);
        Ok::<_, Error>(t.sub(bias, product)?)
    })?;
    g.compute(&[x, scale, offset], |t, n| {
        let x = t.convert(n[0], ty);
        let product = t.mul(x, n[1])?;
        let sum = t.add(product, n[2])?;
        Ok(t.convert(sum, element))
    })
}

/// x·weight + bias, both optional and converted to x's type.
///
/// # Errors
/// When they do not broadcast.
pub fn scaled_and_moved(g: &mut Graph<'_>, x: Value, weight: Option<Value>, bias: Option<Value>) -> Result<Value, Error> {
    let ty = g.element(x);
    let operands: Vec<Value> = [Some(x), weight, bias].into_iter().flatten().collect();
    g.compute(&operands, |t, n| {
        let mut rest = n[1..].iter();
        let mut y = n[0];
        for (present, operation) in [(weight.is_some(), ScalarOp::Mul), (bias.is_some(), ScalarOp::Add)] {
            if let (true, Some(&vector)) = (present, rest.as_slice().first()) {
                rest.next();
                let vector = t.convert(vector, ty);
                y = t.op(operation, &[y, vector])?;
            }
        }
        Ok(y)
    })
}

/// Groups of neighbours along dimension 1, each with all later dimensions brought to mean 0 and variance 1. The other results are the means and the
/// inverses of the deviations, `[N, groups, 1]`.
///
/// # Errors
/// [`Error::Groups`], and where extents after the batch are not known.
pub fn group_norm(g: &mut Graph<'_>, x: Value, groups: u64, epsilon: f64) -> Result<[Value; 3], Error> {
    let shape = g.extents(x);
    let channels = shape.get(1).and_then(|extent| extent.as_static()).ok_or(Error::DynamicExtent)?;
    if groups == 0 || !channels.is_multiple_of(groups) {
        return Err(Error::Groups { channels, groups });
    }
    let (rank, known) = (shape.len(), Extent::Static);
    let later: Vec<usize> = (2..rank).collect();
    // One group, and one for each channel, leave the dimensions as they are: that holds in any order of them.
    let [y, mean, inverse] = match groups {
        1 => normalized(g, x, &(1..rank).collect::<Vec<_>>(), epsilon)?,
        _ if rank > 2 && groups == channels => normalized(g, x, &later, epsilon)?,
        _ if rank > 2 => return by_channels(g, x, [groups, channels / groups], epsilon),
        _ => {
            let of_group = [&[shape[0], known(groups), known(channels / groups)], &shape[2..]].concat();
            let split = g.reshape(x, &of_group)?;
            let [y, mean, inverse] = normalized(g, split, &(2..=rank).collect::<Vec<_>>(), epsilon)?;
            [g.reshape(y, &shape)?, mean, inverse]
        }
    };
    let statistics = [shape[0], known(groups), known(1)];
    Ok([y, g.reshape(mean, &statistics)?, g.reshape(inverse, &statistics)?])
}

/// Group normalization for groups of `of_group` channels. Only the means of channels are split into groups, so the large tensors are read in memory
/// order. The mean of a group is the mean of its channels' means.
fn by_channels(g: &mut Graph<'_>, x: Value, [groups, of_group]: [u64; 2], epsilon: f64) -> Result<[Value; 3], Error> {
    let shape = g.extents(x);
    let later: Vec<usize> = (2..shape.len()).collect();
    let of_groups = |g: &mut Graph<'_>, value: Value| {
        let means = mean(g, value, &later, Axes::Kept)?;
        let channels = g.extents(means);
        let split = g.reshape(means, &[shape[0], Extent::Static(groups), Extent::Static(of_group)])?;
        Ok::<_, Error>((mean(g, split, &[2], Axes::Kept)?, g.extents(split), channels))
    };
    let (means, split, channels) = of_groups(g, x)?;
    let repeated = |g: &mut Graph<'_>, value: Value| {
        let of_channels = g.broadcast(value, &split)?;
        g.reshape(of_channels, &channels)
    };
    let mean = repeated(g, means)?;
    let squares = centred_squares(g, x, mean)?;
    let (variances, ..) = of_groups(g, squares)?;
    let inverses = inverse_root(g, variances, epsilon)?;
    let inverse = repeated(g, inverses)?;
    Ok([scaled_differences(g, x, mean, inverse)?, means, inverses])
}

#[cfg(test)]
mod tests;
