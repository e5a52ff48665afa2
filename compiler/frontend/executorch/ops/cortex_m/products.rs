//! Convolutions and products of matrices. Offsets are negated zero points. Filters lie as convolutions take them, `[O, window…, C ÷ groups]`.

use super::numbers::{bias, bytes, multiplier, of_channels, output, small};
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::call::Call;
use crate::frontend::executorch::ops::convolution::channels_last;
use crate::frontend::executorch::ops::convolution::{Geometry, geometry_of, transposed_extents, windows};
use crate::ir::{ElementType, Value, ZeroPoints};
use crate::operators::contraction::products::{linear as rows_by, matmul};
use crate::operators::contraction::{Convolution, IntegerOutput, Numerics, Scaling, Transposed, depthwise_filter};
use crate::operators::graph::movement::inverse;
use crate::operators::quantization::Multiplier;

type Outcome = Result<(), Fault>;

/// Sums of products of bytes.
fn numerics(zero_points: ZeroPoints, multipliers: Vec<Multiplier>, output: IntegerOutput) -> Numerics {
    Numerics::Integer { zero_points, accumulator: ElementType::I32, scaling: Scaling::FixedPoint(multipliers), output }
}

/// An image of bytes with its channels last, which it has in the file, too, or not.
pub(super) fn image(c: &mut Call<'_, '_, '_>, last: bool) -> Result<Value, Fault> {
    let image = bytes(c, 0)?;
    of_rank(c, image, 0, 4)?;
    if last { Ok(image) } else { c.transpose(image, &channels_last(4)) }
}

/// An image as the result of a call.
pub(super) fn finish_image(c: &mut Call<'_, '_, '_>, image: Value, last: bool) -> Outcome {
    let image = if last { image } else { c.transpose(image, &inverse(&channels_last(4)))? };
    c.finish(image)
}

fn of_rank(c: &Call<'_, '_, '_>, value: Value, index: usize, rank: usize) -> Outcome {
    let found = c.rank(value);
    if found == rank {
        return Ok(());
    }
    Err(Fault::invalid(format!("argument {index} has a wrong number of dimensions")).expected(rank.to_string(), found.to_string()))
}

/// A filter's shape.
fn filter(c: &mut Call<'_, '_, '_>) -> Result<(Value, [u64; 4]), Fault> {
    let filter = bytes(c, 1)?;
    of_rank(c, filter, 1, 4)?;
    let shape = c.shape(filter)?;
    Ok((filter, [shape[0], shape[1], shape[2], shape[3]]))
}

/// Channels of an image with its channels last.
fn channels(c: &Call<'_, '_, '_>, image: Value) -> Result<u64, Fault> {
    let unknown = || Fault::unsupported("the channels must be known at compile time");
    c.extents(image)[3].as_static().ok_or_else(unknown)
}

/// (input, filter, bias, stride, padding, dilation, input offset, output offset, multipliers, shifts, least, most, scratch).
pub(super) fn convolution(c: &mut Call<'_, '_, '_>, last: bool) -> Outcome {
    let input = image(c, last)?;
    let (filter, [outputs, height, width, of_group]) = filter(c)?;
    let groups = channels(c, input)?.checked_div(of_group).unwrap_or(0);
    let convolution = (filter, [outputs, height, width], groups);
    convolved(c, input, last, convolution, 6)
}

/// A depthwise convolution: a depth multiplier comes before the offsets, and the filter is `[1, window…, O]`.
pub(super) fn depthwise(c: &mut Call<'_, '_, '_>, last: bool) -> Outcome {
    let input = image(c, last)?;
    let (filter, [_, height, width, outputs]) = filter(c)?;
    let filter = depthwise_filter(c.graph(), filter)?;
    let groups = channels(c, input)?;
    convolved(c, input, last, (filter, [outputs, height, width], groups), 7)
}

/// A convolution whose offsets begin at an argument.
fn convolved(
    c: &mut Call<'_, '_, '_>,
    input: Value,
    last: bool,
    (filter, sizes, groups): (Value, [u64; 3], u64),
    offsets: usize,
) -> Outcome {
    let [outputs, height, width] = sizes;
    let geometry = geometry_of(c, [3, 4, 5], None, (groups, 2))?;
    let numerics = scaled(c, offsets, outputs)?;
    let bias = bias(c, 2, outputs)?;
    let spatial = c.extents(input)[1..3].to_vec();
    let windows = windows(&geometry, vec![height, width]).geometry(c.graph(), &spatial)?;
    let y = Convolution::new(input, filter, groups, windows).build(c.graph(), bias, &numerics)?;
    finish_image(c, y, last)
}

/// Input offset, output offset, multipliers, shifts, least and most.
fn scaled(c: &mut Call<'_, '_, '_>, first: usize, outputs: u64) -> Result<Numerics, Fault> {
    let multipliers = of_channels(c, first + 2, outputs)?;
    let offset = small(c, first)?;
    Ok(numerics(ZeroPoints::of_left(-i64::from(offset)), multipliers, output(c, [first + 1, first + 4, first + 5])?))
}

/// (input, filter, bias, stride, padding, output padding, dilation, input offset, output offset, multipliers, shifts, least, most, scratch, scratch).
pub(super) fn transposed(c: &mut Call<'_, '_, '_>, last: bool) -> Outcome {
    let input = image(c, last)?;
    let (filter, [outputs, height, width, inputs]) = filter(c)?;
    if channels(c, input)? != inputs {
        return Err(Fault::unsupported("a transposed convolution in groups"));
    }
    let geometry = geometry_of(c, [3, 4, 6], Some(5), (1, 2))?;
    let numerics = scaled(c, 7, outputs)?;
    let bias = bias(c, 2, outputs)?;
    let spatial = c.extents(input)[1..3].to_vec();
    let (cut, wanted) = transposed_extents(c, &spatial, &[height, width], &geometry)?;
    let Geometry { stride, dilation, groups, .. } = geometry;
    let y = Transposed { input, filter, groups, strides: stride, dilation, cut, wanted }.build(c.graph(), bias, &numerics)?;
    finish_image(c, y, last)
}

/// (input, weights, bias, sums of the kernel, input offset, filter offset, output offset, multipliers, shifts, most, least). With MVE, the sums of
/// the kernel include the bias and the terms of the input's offset. Otherwise there are no sums.
pub(super) fn linear(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, weights) = (bytes(c, 0)?, bytes(c, 1)?);
    of_rank(c, weights, 1, 2)?;
    let outputs = c.shape(weights)?[0];
    let [offset, of_filter] = [small(c, 4)?, small(c, 5)?].map(|offset| -i64::from(offset));
    let (bias, offset) = match bias(c, 3, outputs)? {
        Some(sums) => (Some(sums), 0),
        None => (bias(c, 2, outputs)?, offset),
    };
    let numerics = numerics(ZeroPoints { left: offset, right: of_filter }, vec![only_multiplier(c)?], output(c, [6, 10, 9])?);
    let y = rows_by(c.graph(), input, weights, bias, &numerics)?;
    c.finish(y)
}

/// The one multiplier of two lists, arguments 7 and 8.
fn only_multiplier(c: &Call<'_, '_, '_>) -> Result<Multiplier, Fault> {
    let mut found = [0; 2];
    for (number, index) in found.iter_mut().zip([7, 8]) {
        let list = c.ints(index)?;
        let [only] = list[..] else {
            return Err(Fault::invalid(format!("argument {index} has a wrong length")).expected("1", list.len().to_string()));
        };
        *number = i32::try_from(only).map_err(|_| Fault::invalid(format!("argument {index} is out of range")))?;
    }
    super::numbers::of_range(found[0], found[1])
}

/// (left, offset, transposed right, offset, output zero point, multiplier, shift, scratch).
pub(super) fn batch_matmul(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (rows, columns) = (bytes(c, 0)?, bytes(c, 2)?);
    of_rank(c, rows, 0, 3)?;
    of_rank(c, columns, 2, 3)?;
    let offsets = ZeroPoints { left: -i64::from(small(c, 1)?), right: -i64::from(small(c, 3)?) };
    let numerics = numerics(offsets, vec![multiplier(c, 5)?], super::numbers::any_byte(small(c, 4)?)?);
    let y = matmul(c.graph(), rows, columns, None, &numerics)?;
    c.finish(y)
}
