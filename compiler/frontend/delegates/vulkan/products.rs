//! Products with weights of integers: `[units, depth]`, a scale for each unit or for each group of neighbours in it.

use super::scales::{First, Form, INT8, Sums, affine, as_bytes, first, nibbles, without_padding};
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::{Call, Translate};
use crate::ir::{ElementType, Extent, Value, ZeroPoints};
use crate::operators::Error;
use crate::operators::activation::Activation;
use crate::operators::contraction::products::{as_rows, linear, meet};
use crate::operators::contraction::rows::Rows;
use crate::operators::contraction::{Numerics, blockwise};
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use ElementType::{F32, I8, I32};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten._weight_int8pack_mm.default", |c| of_bytes(c, None)),
    ("et_vk.linear_q8csw.default", |c| of_bytes(c, Some(3))),
    ("et_vk.linear_qcs4w.default", of_nibbles),
    ("et_vk.linear_q4gsw.default", of_groups),
    ("et_vk.q4gsw_linear.default", of_groups),
    ("et_vk.linear_dq8ca_q4gsw.default", of_rows_and_groups),
    ("et_vk.linear_q8ta_q8csw.default", of_integers),
    ("et_vk.q8ta_linear.default", to_integers),
    ("et_vk.q8ta_linear_gemv.default", to_integers),
];

/// Returns the depth, which is the input's last extent, and the number of units, the result's last extent.
fn depth_and_units(c: &mut Call<'_, '_, '_>, x: Value) -> Result<[u64; 2], Fault> {
    c.settle(x, c.rank(x).checked_sub(1))?;
    let last = |shape: Vec<Extent>| shape.last().and_then(|extent| extent.as_static());
    let both = (last(c.extents(x)), last(c.out_form(c.out())?.shape));
    let (Some(depth), Some(units)) = both else { return Err(Fault::unsupported("the depth of a product is not known")) };
    Ok([depth, units])
}

/// Rows of floats times a filter of floats.
fn multiplied(c: &mut Call<'_, '_, '_>, x: Value, filter: Value, bias: Option<usize>, units: u64) -> Outcome {
    let bias = match bias {
        Some(argument) => c.optional_tensor(argument)?,
        None => None,
    };
    let bias = bias.map(|bias| first(c, bias, units)).transpose()?;
    let x = c.cast(x, F32)?;
    let y = linear(c.graph(), x, filter, bias, &Numerics::plain(F32, Activation::NONE))?;
    c.finish(y)
}

/// Integers `[units, depth]` as floats, with scales `[units, groups]`.
pub(super) fn widened(c: &mut Call<'_, '_, '_>, integers: Value, scales: Value) -> Result<Value, Fault> {
    let (shape, groups) = (c.shape(integers)?, c.shape(scales)?[1]);
    let grouped = c.reshape(integers, &[shape[0], groups, shape[1] / groups])?;
    let scales = c.reshape(scales, &[shape[0], groups, 1])?;
    let scale = Scale { scale: Parameter::Tensor(scales), zero_point: Parameter::Number(0.0) };
    let wide = quantize::dequantize(c.graph(), grouped, &scale, Rounding::Even, F32)?;
    c.reshape(wide, &shape)
}

/// (x, weights, scales[, bias]): a scale for each unit of bytes.
fn of_bytes(c: &mut Call<'_, '_, '_>, bias: Option<usize>) -> Outcome {
    let (x, weights, scales) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let [depth, units] = depth_and_units(c, x)?;
    let weights = without_padding(c, weights, [units, depth])?;
    let scales = first(c, scales, units)?;
    let scales = c.reshape(scales, &[units, 1])?;
    let filter = widened(c, weights, scales)?;
    multiplied(c, x, filter, bias, units)
}

/// (x, weights, scales): a scale for each unit of four bits.
fn of_nibbles(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, weights, scales) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let [depth, units] = depth_and_units(c, x)?;
    let weights = nibbles(c, weights, depth, First::High, Form::Bytes)?;
    let weights = without_padding(c, weights, [units, depth])?;
    let scales = first(c, scales, units)?;
    let scales = c.reshape(scales, &[units, 1])?;
    let filter = widened(c, weights, scales)?;
    multiplied(c, x, filter, None, units)
}

/// Weights of four bits `[units, depth]` in a form, and scales `[units, groups]`, which are stored `[groups, units]`: arguments by number.
pub(super) fn grouped(
    c: &mut Call<'_, '_, '_>,
    [weights, scales, size]: [usize; 3],
    [depth, units]: [u64; 2],
    form: Form,
) -> Result<(Value, Value, u64), Fault> {
    let (weights, scales, size) = (c.tensor(weights)?, c.tensor(scales)?, c.int(size)?);
    let size = u64::try_from(size).ok().filter(|&size| size > 0 && depth.is_multiple_of(size));
    let size = size.ok_or_else(|| Fault::invalid("groups do not divide the depth of a product"))?;
    let weights = nibbles(c, weights, depth, First::Low, form)?;
    let weights = without_padding(c, weights, [units, depth])?;
    let scales = without_padding(c, scales, [depth / size, units])?;
    let scales = c.transpose(scales, &[1, 0])?;
    Ok((weights, c.graph().settled(scales)?, size))
}

/// (x, weights, scales, group size, bias)
fn of_groups(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let sizes = depth_and_units(c, x)?;
    let (weights, scales, size) = grouped(c, [1, 2, 3], sizes, Form::Nibbles)?;
    let rows = c.cast(x, F32)?;
    let rows = as_rows(c.graph(), rows)?;
    let filter = in_groups(c, weights, scales, size)?;
    let y = blockwise::of_rows(c.graph(), rows, filter)?;
    of_units(c, y, x, 4, sizes[1])
}

/// A filter of groups.
fn in_groups(c: &mut Call<'_, '_, '_>, weights: Value, scales: Value, size: u64) -> Result<blockwise::Filter, Fault> {
    let weights = c.graph().settled(weights)?;
    if !size.is_multiple_of(2) {
        return Err(Fault::unsupported("the groups of a filter are not pairs of 4-bit integers"));
    }
    let scales = c.cast(scales, F32)?;
    let scales = c.graph().settled(scales)?;
    blockwise::Filter::new(c.graph(), weights.into(), scales, size).ok_or(Fault::Consequence)
}

/// Products `[rows, units]` with the bias that the call may have, in the shape of an input but for its last extent.
fn of_units(c: &mut Call<'_, '_, '_>, mut y: Value, x: Value, bias: usize, units: u64) -> Outcome {
    if let Some(bias) = c.optional_tensor(bias)? {
        let bias = first(c, bias, units)?;
        let bias = c.cast(bias, F32)?;
        y = c.graph().compute::<Error>(&[y, bias], |terms, x| Ok(terms.add(x[0], x[1])?))?;
    }
    let mut shape = c.extents(x);
    shape.pop();
    shape.push(Extent::Static(units));
    let y = c.reshape_to(y, &shape)?;
    c.finish(y)
}

/// (x, scales and zero points of its rows, weights, sums, scales, group size, bias): rows are brought to integers first.
fn of_rows_and_groups(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let sizes = depth_and_units(c, x)?;
    let (weights, scales, size) = grouped(c, [3, 5, 6], sizes, Form::Nibbles)?;
    let rows = quantized_rows(c, x)?;
    let filter = in_groups(c, weights, scales, size)?;
    let y = blockwise::products(c.graph(), rows, filter)?;
    of_units(c, y, x, 7, sizes[1])
}

/// Rows of floats as integers of the scales and zero points in arguments 1 and 2, one each.
fn quantized_rows(c: &mut Call<'_, '_, '_>, x: Value) -> Result<Rows, Fault> {
    let x = c.cast(x, F32)?;
    let x = as_rows(c.graph(), x)?;
    let columns = [c.extents(x)[0], Extent::Static(1)];
    let (scales, offsets) = (c.tensor(1)?, c.tensor(2)?);
    let (scales, offsets) = (c.reshape_to(scales, &columns)?, c.reshape_to(offsets, &columns)?);
    let (scales, offsets) = (c.cast(scales, F32)?, c.cast(offsets, I32)?);
    let scale = Scale { scale: Parameter::Tensor(scales), zero_point: Parameter::Tensor(offsets) };
    let integers = quantize::quantize(c.graph(), x, &scale, INT8, Rounding::Even, I8)?;
    Ok(Rows { integers, scales, offsets: Some(offsets) })
}

/// Sums of products of bytes, the input's zero point in argument 2 and the weights in argument 3.
fn sums(c: &mut Call<'_, '_, '_>, x: Value, [depth, units]: [u64; 2]) -> Result<Value, Fault> {
    let (weights, zero_point) = (c.tensor(3)?, c.int(2)?);
    let weights = without_padding(c, weights, [units, depth])?;
    let mut shape = c.extents(x);
    let rows = as_rows(c.graph(), x)?;
    meet(c.graph(), rows, weights)?;
    let sums = c.graph().builder.matmul(rows, weights, ZeroPoints::of_left(zero_point), I32)?;
    shape.pop();
    shape.push(Extent::Static(units));
    c.reshape_to(sums, &shape)
}

/// (x, its scale and zero point, weights, sums, scales, bias): integers, or floats that are brought to integers first.
fn of_integers(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut x = c.tensor(0)?;
    if c.element(x).is_float() {
        let scale = affine(c.double(1)?, c.double(2)?);
        x = quantize::quantize(c.graph(), x, &scale, INT8, Rounding::Even, I8)?;
    }
    let sizes = depth_and_units(c, x)?;
    let sums = sums(c, x, sizes)?;
    let y = Sums { input: 1, weights: 5, bias: 6 }.real(c, sums, sizes[1])?;
    c.finish(y)
}

/// (x, its scale and zero point, weights, sums, scales, scale and zero point of the result, bias, activation)
fn to_integers(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let sizes = depth_and_units(c, x)?;
    let sums = sums(c, x, sizes)?;
    let real = Sums { input: 1, weights: 5, bias: 8 }.real(c, sums, sizes[1])?;
    let y = as_bytes(c, real, 6, Some(9))?;
    c.finish(y)
}
