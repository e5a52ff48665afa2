//! Gradients, and 4-bit weights that are learned, for programs that train on a device.

use super::products::{grouped, widened};
use super::scales::Form;
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::{Call, Translate};
use crate::ir::{Comparison, ElementType, Extent, Reduction, Scalar, ScalarOp, Value};
use crate::operators::activation::Activation;
use crate::operators::contraction::Numerics;
use crate::operators::contraction::products::{as_rows, linear, swapped};
use crate::operators::reduction::{self, Axes};
use crate::operators::softmax::{log_softmax, softmax};
use crate::operators::{Error, extents};
use ElementType::{F32, I32, U8};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("et_vk.fused_ce.default", cross_entropy),
    ("et_vk.linear_dW.default", gradient_of_weights),
    ("et_vk.linear_q4gsw_backward.default", gradient_of_input),
    ("et_vk.q4gsw_requant.default", requantized),
];

/// (logits `[rows, classes]`, a label for each row, how many labels count): the mean of −log softmax at the labels, and its gradient. Rows whose label
/// is negative do not count.
fn cross_entropy(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (logits, labels, count) = (c.tensor(0)?, c.tensor(1)?, c.double(2)?);
    let (logits, labels) = (c.cast(logits, F32)?, c.cast(labels, I32)?);
    let shape = c.extents(logits);
    let &[rows, classes] = &shape[..] else {
        return Err(Fault::invalid("the logits are not a matrix").expected("2 dimensions", shape.len().to_string()));
    };
    let labels = c.reshape_to(labels, &[rows, Extent::Static(1)])?;
    let classes = c.graph().positions(&[Extent::Static(1), classes], 1, I32)?;
    let logarithms = log_softmax(c.graph(), logits, &[1])?;
    let losses = c.graph().compute::<Error>(&[logarithms, labels, classes], |terms, x| {
        let is_label = terms.compare(Comparison::Equal, x[1], x[2])?;
        let minus = terms.constant(Scalar::float(F32, -count));
        let (loss, zero) = (terms.div(x[0], minus)?, terms.f32(0.0));
        Ok(terms.select(is_label, loss, zero)?)
    })?;
    let loss = reduction::reduce(c.graph(), losses, Reduction::Sum, &[0, 1], Axes::Dropped)?;
    let shares = softmax(c.graph(), logits, &[1], 1.0, F32)?;
    let gradient = c.graph().compute::<Error>(&[shares, labels, classes], |terms, x| {
        let (none, zero, one) = (terms.i32(0), terms.f32(0.0), terms.f32(1.0));
        let is_label = terms.compare(Comparison::Equal, x[1], x[2])?;
        let wanted = terms.select(is_label, one, zero)?;
        let (difference, count) = (terms.sub(x[0], wanted)?, terms.constant(Scalar::float(F32, count)));
        let gradient = terms.div(difference, count)?;
        let counts = terms.compare(Comparison::GreaterEqual, x[1], none)?;
        Ok(terms.select(counts, gradient, zero)?)
    })?;
    c.define(3, loss)?;
    c.define(4, gradient)
}

/// (gradient of the result, x): the gradient of the weights of a linear layer, `[units, depth]`.
fn gradient_of_weights(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut columns = [c.tensor(0)?, c.tensor(1)?];
    for matrix in &mut columns {
        let wide = c.cast(*matrix, F32)?;
        let rows = as_rows(c.graph(), wide)?;
        *matrix = swapped(c.graph(), rows)?;
    }
    let y = linear(c.graph(), columns[0], columns[1], None, &Numerics::plain(F32, Activation::NONE))?;
    c.finish(y)
}

/// (gradient of the result, weights of four bits, scales, group size): the gradient of the input of a linear layer.
fn gradient_of_input(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (gradient, weights) = (c.tensor(0)?, c.tensor(1)?);
    c.settle(gradient, c.rank(gradient).checked_sub(1))?;
    let units = c.extents(gradient).last().and_then(|extent| extent.as_static());
    let units = units.ok_or_else(|| Fault::unsupported("the depth of a product is not known"))?;
    let depth = c.shape(weights)?.last().map_or(0, |bytes| bytes.saturating_mul(2));
    let (weights, scales, _) = grouped(c, [1, 2, 3], [depth, units], Form::Bytes)?;
    let filter = widened(c, weights, scales)?;
    let filter = swapped(c.graph(), filter)?;
    let gradient = c.cast(gradient, F32)?;
    let y = linear(c.graph(), gradient, filter, None, &Numerics::plain(F32, Activation::NONE))?;
    c.finish(y)
}

/// (weights `[units, depth]`, scales `[groups, units]`, group size): weights of four bits, 8 more than the number they stand for, two a byte.
fn requantized(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (weights, scales, size) = (c.tensor(0)?, c.tensor(1)?, c.int(2)?);
    let shape = c.shape(weights)?;
    let size = u64::try_from(size).ok().filter(|&size| size > 0);
    let (&[units, depth], Some(size)) = (&shape[..], size) else { return Err(Fault::invalid("the weights are not a matrix with groups")) };
    let scales = scales_of_columns(c, scales, [units, depth], size)?;
    let weights = c.cast(weights, F32)?;
    let codes = c.graph().compute::<Error>(&[weights, scales], |terms, x| {
        let (zero, eight, low, high) = (terms.f32(0.0), terms.f32(8.0), terms.f32(-8.0), terms.f32(7.0));
        let quotient = terms.div(x[0], x[1])?;
        let steps = terms.op(ScalarOp::RoundEven, &[quotient])?;
        let is_scaled = terms.compare(Comparison::NotEqual, x[1], zero)?;
        let steps = terms.select(is_scaled, steps, zero)?;
        let above = terms.max(steps, low)?;
        let inside = terms.min(above, high)?;
        Ok(terms.add(inside, eight)?)
    })?;
    // The last high half of an odd row is 0.
    let codes = c.graph().pad(codes, &[0, 0], &[0, (depth % 2) as i64], Scalar::float(F32, 0.0))?;
    let halves = [0, 1].map(|first| {
        let count = [Extent::Static(units), Extent::Static(depth.div_ceil(2))];
        c.graph().slice(codes, &extents(&[0, first]), &count, &[1, 2])
    });
    let [low, high] = halves;
    let bytes = c.graph().compute::<Error>(&[low?, high?], |terms, x| {
        let sixteen = terms.f32(16.0);
        let high = terms.mul(x[1], sixteen)?;
        let byte = terms.add(x[0], high)?;
        Ok(terms.convert(byte, U8))
    })?;
    c.finish(bytes)
}

/// The scale of each element of `[units, depth]`, of scales `[groups, units]`.
fn scales_of_columns(c: &mut Call<'_, '_, '_>, scales: Value, [units, depth]: [u64; 2], size: u64) -> Result<Value, Fault> {
    let shape = c.shape(scales)?;
    if shape.len() != 2 || shape[0] < depth.div_ceil(size) || shape[1] != units {
        let wanted = format!("[{}, {units}]", depth.div_ceil(size));
        return Err(Fault::invalid("the scales do not fit the groups").expected(wanted, format!("{shape:?}")));
    }
    let scales = c.cast(scales, F32)?;
    let scales = c.transpose(scales, &[1, 0])?;
    let scales = c.reshape(scales, &[units, shape[0], 1])?;
    let each = c.graph().broadcast(scales, &extents(&[units, shape[0], size]))?;
    let columns = c.graph().product(&extents(&[shape[0], size]))?;
    let each = c.reshape_to(each, &[Extent::Static(units), columns])?;
    Ok(c.graph().slice_along(each, 1, Extent::Static(0), Extent::Static(depth))?)
}
