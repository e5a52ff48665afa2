//! Convolutions with bounds or of integers, pooling, and places in an image.

use super::scales::{INT8, Sums, affine, as_bytes, first, without_padding};
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::{Call, Translate, convolution, pool};
use crate::ir::{ElementType, Extent, NanRule, ScalarOp, Search, Value, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::contraction::{Convolution, Numerics, Transposed, depthwise_filter};
use crate::operators::graph::movement::inverse;
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use crate::operators::windows::{Padding, Windows};
use ElementType::{F32, I8, I32};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("et_vk.conv_with_clamp.default", clamped_convolution),
    ("conv_with_clamp.default", clamped_convolution),
    ("et_vk.q8ta_conv2d.default", |c| quantized_convolution(c, filter, Some(14))),
    ("et_vk.q8ta_conv2d_pw.default", |c| quantized_convolution(c, filter, Some(14))),
    ("et_vk.q8ta_conv2d_general.default", |c| quantized_convolution(c, filter, Some(14))),
    ("et_vk.q8ta_conv2d_im2col.default", |c| quantized_convolution(c, filter, Some(14))),
    ("et_vk.q8ta_conv2d_dw.default", |c| quantized_convolution(c, of_channels, Some(14))),
    ("et_vk.conv2d_q8ta_q8csw_q8to.default", |c| quantized_convolution(c, filter, None)),
    ("et_vk.conv2d_q8ta_q8csw_q8to_dw.default", |c| quantized_convolution(c, of_channels, None)),
    ("et_vk.conv2d_q8ta_q8csw.default", convolution_of_integers),
    ("et_vk.conv2d_q8csw.default", convolution_of_floats),
    ("et_vk.q8ta_conv2d_transposed.default", quantized_transposed),
    ("aten.max_pool2d.default", max_pool),
    ("et_vk.grid_priors.default", grid_priors),
];

/// (the arguments of a convolution, least, most)
fn clamped_convolution(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut y = convolution::convolved(c)?;
    for (argument, bound) in [(9, ScalarOp::Max(NanRule::Propagate)), (10, ScalarOp::Min(NanRule::Propagate))] {
        if let Some(number) = c.optional_number(argument)? {
            y = c.map(&[y], |b, n| {
                let ty = b.ty(n[0]);
                let number = b.constant(number.to_scalar(ty));
                Ok(b.op(bound, &[n[0], number])?)
            })?;
        }
    }
    c.finish(y)
}

/// Two numbers of an argument, from `low` to 2³¹ − 1.
fn pair(c: &Call<'_, '_, '_>, argument: usize, low: i64) -> Result<[i64; 2], Fault> {
    match c.per_dimension(argument, 2)?[..] {
        [a, b] if [a, b].iter().all(|n| (low..=i64::from(i32::MAX)).contains(n)) => Ok([a, b]),
        _ => Err(Fault::invalid(format!("argument {argument} is out of range")).expected(format!("{low} or more"), "less")),
    }
}

/// The parameters of convolutions with a filter of bytes.
struct Image {
    /// `[N, rows, columns, C]`
    input: Value,
    channels: u64,
    outputs: u64,
    size: [u64; 2],
    groups: u64,
}

/// The image in argument 0, and the window and groups in others.
fn image(c: &mut Call<'_, '_, '_>, window: usize, groups: usize) -> Result<Image, Fault> {
    let input = c.tensor(0)?;
    c.settle(input, [1])?;
    let of = |shape: &[Extent]| if shape.len() == 4 { shape[1].as_static() } else { None };
    let channels = of(&c.extents(input)).zip(of(&c.out_form(c.out())?.shape));
    let (channels, outputs) =
        channels.ok_or_else(|| Fault::invalid("needs an image").expected("4 dimensions", c.rank(input).to_string()))?;
    let groups = u64::try_from(c.int(groups)?).ok().filter(|&g| g > 0 && channels.is_multiple_of(g) && outputs.is_multiple_of(g));
    let groups = groups.ok_or_else(|| Fault::invalid("the channels do not divide into groups"))?;
    let size = pair(c, window, 1)?.map(i64::unsigned_abs);
    Ok(Image { input: c.transpose(input, &convolution::channels_last(4))?, channels, outputs, size, groups })
}

/// The filter as `[O, rows, columns, C ÷ groups]`, from rows of taps and channels.
fn filter(c: &mut Call<'_, '_, '_>, image: &Image, argument: usize) -> Result<Value, Fault> {
    let ([rows, columns], channels) = (image.size, image.channels / image.groups);
    let weights = c.tensor(argument)?;
    let depth = rows.checked_mul(columns).and_then(|taps| taps.checked_mul(channels));
    let depth = depth.ok_or_else(|| Fault::invalid("the window is too large"))?;
    let weights = without_padding(c, weights, [image.outputs, depth])?;
    c.reshape(weights, &[image.outputs, rows, columns, channels])
}

/// The filter `[rows, columns, O]` of a convolution of each channel alone.
fn of_channels(c: &mut Call<'_, '_, '_>, image: &Image, argument: usize) -> Result<Value, Fault> {
    let weights = c.tensor(argument)?;
    let shape = c.shape(weights)?;
    let [rows, columns] = image.size;
    if shape != [rows, columns, image.outputs] || image.groups != image.channels {
        return Err(Fault::invalid("the filter does not fit the channels")
            .expected(format!("[{rows}, {columns}, {}]", image.outputs), format!("{shape:?}")));
    }
    let filter = c.reshape(weights, &[1, rows, columns, image.outputs])?;
    Ok(depthwise_filter(c.graph(), filter)?)
}

/// Reads a filter for an image from an argument.
type Filter = fn(&mut Call<'_, '_, '_>, &Image, usize) -> Result<Value, Fault>;

/// An image with its filter, where windows lie as the stride, padding and dilation say that follow argument `window`.
fn windowed(c: &mut Call<'_, '_, '_>, image: &Image, filter: Value, window: usize) -> Result<Convolution, Fault> {
    let windows = Windows {
        size: image.size.to_vec(),
        strides: pair(c, window + 1, 1)?.to_vec(),
        padding: Padding::Symmetric { elements: pair(c, window + 2, 0)?.to_vec(), partial: false },
        dilation: pair(c, window + 3, 1)?.to_vec(),
    };
    let spatial = c.extents(image.input)[1..3].to_vec();
    let geometry = windows.geometry(c.graph(), &spatial)?;
    Ok(Convolution::new(image.input, filter, image.groups, geometry))
}

/// (x, its scale and zero point, weights, sums, scales, scale and zero point of the result, bias, window, stride, padding, dilation, groups[, activation])
fn quantized_convolution(c: &mut Call<'_, '_, '_>, filter: Filter, activation: Option<usize>) -> Outcome {
    let image = image(c, 9, 13)?;
    let filter = filter(c, &image, 3)?;
    let zero_point = c.int(2)?;
    let sums = windowed(c, &image, filter, 9)?.sums(c.graph(), ZeroPoints::of_left(zero_point), I32)?;
    finish_sums(c, sums, image.outputs, activation)
}

/// (x, its scale and zero point, weights, sums, scales, bias, window, stride, padding, dilation, groups): floats that are brought to integers first.
fn convolution_of_integers(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut image = image(c, 7, 11)?;
    let filter = filter(c, &image, 3)?;
    let zero_point = c.int(2)?;
    let scale = affine(c.double(1)?, c.double(2)?);
    image.input = quantize::quantize(c.graph(), image.input, &scale, INT8, Rounding::Even, I8)?;
    let sums = windowed(c, &image, filter, 7)?.sums(c.graph(), ZeroPoints::of_left(zero_point), I32)?;
    let real = Sums { input: 1, weights: 5, bias: 6 }.real(c, sums, image.outputs)?;
    finish_image(c, real)
}

/// (x, weights, scales, bias, window, stride, padding, dilation, groups): floats, and a scale for each output of bytes.
fn convolution_of_floats(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut image = image(c, 4, 8)?;
    let filter = filter(c, &image, 1)?;
    let scales = c.tensor(2)?;
    let scales = first(c, scales, image.outputs)?;
    let scales = c.reshape(scales, &[image.outputs, 1, 1, 1])?;
    let scale = Scale { scale: Parameter::Tensor(scales), zero_point: Parameter::Number(0.0) };
    let filter = quantize::dequantize(c.graph(), filter, &scale, Rounding::Even, F32)?;
    let bias = c.optional_tensor(3)?.map(|bias| first(c, bias, image.outputs)).transpose()?;
    image.input = c.cast(image.input, F32)?;
    let y = windowed(c, &image, filter, 4)?.build(c.graph(), bias, &Numerics::plain(F32, Activation::NONE))?;
    finish_image(c, y)
}

/// (x, …, window, stride, padding, output padding, dilation, groups, activation), the first ones as a convolution has them.
fn quantized_transposed(c: &mut Call<'_, '_, '_>) -> Outcome {
    let image = image(c, 9, 14)?;
    let filter = filter(c, &image, 3)?;
    let filter = c.cast(filter, F32)?;
    // Whole numbers as floats: sums of them are exact.
    let zero_point = c.double(2)?;
    let scale = affine(1.0, zero_point);
    let input = quantize::dequantize(c.graph(), image.input, &scale, Rounding::Even, F32)?;
    let (stride, padding, more, dilation) = (pair(c, 10, 1)?, pair(c, 11, 0)?, pair(c, 12, 0)?, pair(c, 13, 1)?);
    let spatial = c.extents(image.input)[1..3].to_vec();
    let geometry = convolution::Geometry {
        stride: stride.to_vec(),
        padding: padding.to_vec(),
        dilation: dilation.to_vec(),
        output_padding: more.to_vec(),
        groups: image.groups,
    };
    let (cut, wanted) = convolution::transposed_extents(c, &spatial, &image.size, &geometry)?;
    let transposed = Transposed { input, filter, groups: image.groups, strides: geometry.stride, dilation: geometry.dilation, cut, wanted };
    let sums = transposed.build(c.graph(), None, &Numerics::plain(F32, Activation::NONE))?;
    finish_sums(c, sums, image.outputs, Some(15))
}

/// Sums, channels last, as the bytes of the result.
fn finish_sums(c: &mut Call<'_, '_, '_>, sums: Value, outputs: u64, activation: Option<usize>) -> Outcome {
    let real = Sums { input: 1, weights: 5, bias: 8 }.real(c, sums, outputs)?;
    let y = as_bytes(c, real, 6, activation)?;
    finish_image(c, y)
}

/// An image whose channels come last as the result.
fn finish_image(c: &mut Call<'_, '_, '_>, y: Value) -> Outcome {
    let y = c.transpose(y, &inverse(&convolution::channels_last(4)))?;
    c.finish(y)
}

fn max_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let y = pool::largest(c, 2, Search::Max)?;
    c.finish(y)
}

/// (image, stride, offset): the place of each pixel as (column + offset)·stride and (row + offset)·stride, `[rows · columns, 2]`.
fn grid_priors(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (shape, stride, offset) = (c.shape_of(0)?, c.double(1)?, c.double(2)?);
    let [.., Extent::Static(rows), Extent::Static(columns)] = shape[..] else {
        return Err(Fault::unsupported("places are asked for in an image of unknown extents"));
    };
    let places = rows.checked_mul(columns).filter(|&places| places < 1 << 26);
    let places = places.ok_or_else(|| Fault::unsupported("places are asked for in an image that is too large"))?;
    let place = |n: u64| ((n as f64 + offset) * stride) as f32;
    let numbers: Vec<f32> = (0..rows).flat_map(|row| (0..columns).flat_map(move |column| [place(column), place(row)])).collect();
    let y = c.graph().constant_f32(&[places, 2], &numbers)?;
    c.finish(y)
}
