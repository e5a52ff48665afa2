//! BATCH_MATMUL and TRANSPOSE_CONV.

use super::activation::Activation;
use super::convolution::{Convolution, Spatial, missing_options};
use super::operator::{Lowered, Operand, Operator, invalid};
use super::requantize::{IntegerOutput, Scaling, bias, filter_scales, float_output, integer_output, multiplier};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Scalar, Value, WindowGeometry};
use crate::schema::tflite::TensorType as TypeCode;
use ElementType::{F32, I8, I32};

/// The two innermost dimensions swapped.
fn swapped(operator: &mut Operator<'_, '_, '_>, operand: &Operand) -> Result<Value, Diagnostic> {
    let rank = operand.rank() as i64;
    let mut order: Vec<i64> = (0..rank - 2).collect();
    order.extend([rank - 1, rank - 2]);
    Ok(operator.builder().transpose(operand.value, order)?)
}

/// BATCH_MATMUL: either operand may be transposed first.
pub(super) fn batch_matmul(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_batch_mat_mul_options().ok_or_else(missing_options)?;
    let (left, right, output) = (operator.input(0)?, operator.input(1)?, operator.output(0)?);
    for operand in [&left, &right] {
        if operand.rank() < 2 {
            let found = format!("{:?}", operand.shape);
            return Err(invalid(314, "the tensor must be a matrix").about_tensor(&operand.info.name).expected("rank 2 or more", found));
        }
    }
    let types = [left.element(), right.element(), output.element];
    let rows = if options.adj_x() { swapped(operator, &left)? } else { left.value };
    // The tensor language takes the right operand transposed.
    let columns = if options.adj_y() { right.value } else { swapped(operator, &right)? };
    let value = match types {
        [F32, F32, F32] => operator.builder().matmul(rows, columns, (0, 0), F32)?,
        [I8, I8, I8] => {
            let (from, by, to) = (operator.affine(&left.info)?, operator.affine(&right.info)?, operator.affine(&output)?);
            // The reference multiplies the scales in binary32.
            let factor = multiplier(f64::from(from.scale * by.scale) / f64::from(to.scale))?;
            let sums = operator.builder().matmul(rows, columns, (i64::from(from.zero_point), i64::from(by.zero_point)), I32)?;
            let output = IntegerOutput { element: output.element, affine: to, activation: Activation::NONE };
            integer_output(operator, sums, None, 1, &Scaling::FixedPoint(vec![factor]), &output)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

/// TRANSPOSE_CONV: the input spread apart by the strides, zeros between, under the filter turned around. Inputs are the
/// result's shape, the filter `[O, height, width, C]`, the image, and perhaps a bias.
pub(super) fn transpose_conv(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=4, 1..=1)?;
    let options = operator.record.builtin_options_as_transpose_conv_options().ok_or_else(missing_options)?;
    let activation = Activation::from_code(options.fused_activation_function())?;
    let (list, filter, input, output) = (operator.input(0)?, operator.input(1)?, operator.input(2)?, operator.output(0)?);
    let wanted: Result<Vec<u64>, _> = operator.integers(&list, "shapes")?.into_iter().map(u64::try_from).collect();
    let wanted = wanted.map_err(|_| invalid(301, "a dimension is negative"))?;
    if wanted.len() != 4
        || input.rank() != 4
        || filter.rank() != 4
        || wanted[0] != input.shape[0]
        || wanted[3] != filter.shape[0]
        || filter.shape[3] != input.shape[3]
    {
        let found = format!("{wanted:?} from {:?} with {:?}", input.shape, filter.shape);
        return Err(invalid(311, "shapes of result, input and filter do not fit")
            .expected("[N, H, W, O] from [N, h, w, C] with [O, kh, kw, C]", found));
    }
    let spatial = Spatial { padding: options.padding(), strides: [options.stride_h(), options.stride_w()], dilation: [1, 1] };
    // The geometry of the convolution that this one is the transpose of.
    let forward = spatial.geometry([wanted[1], wanted[2]], [filter.shape[1], filter.shape[2]])?;
    let types = [input.element(), filter.element(), output.element];
    let zero_point = match types {
        [F32, F32, F32] => 0,
        [I8, I8, I8] => operator.affine(&input.info)?.zero_point,
        _ => return Err(operator.type_error(&types)),
    };
    let spread = spread(operator, &input, &filter, &wanted, &forward, zero_point)?;
    let turned = turned(operator, &filter)?;
    let geometry = WindowGeometry { strides: vec![1; 2], dilation: vec![1; 2], padding_low: vec![0; 2], padding_high: vec![0; 2] };
    let channels = filter.shape[0];
    let convolution = Convolution {
        filter_value: turned,
        channel_axis: 0,
        channels,
        groups: 1,
        geometry,
        activation,
        bias_type: TypeCode::FLOAT32,
        depthwise: false,
        input,
        filter,
    };
    let value = if types[0] == F32 {
        let bias = bias(operator, 3, channels, &[F32])?.map(|(value, _)| value);
        let sums = convolution.sums(operator, spread, (0, 0), F32)?;
        float_output(operator, sums, bias, activation)?
    } else {
        let (from, to) = (operator.affine(&convolution.input.info)?, operator.affine(&output)?);
        let scales = filter_scales(&convolution.filter, 0, channels)?;
        let multipliers: Result<Vec<_>, _> =
            scales.iter().map(|&scale| multiplier(f64::from(from.scale) * f64::from(scale) / f64::from(to.scale))).collect();
        let bias = bias(operator, 3, channels, &[I32])?.map(|(value, _)| value);
        let sums = convolution.sums(operator, spread, (i64::from(zero_point), 0), I32)?;
        let output = IntegerOutput { element: output.element, affine: to, activation };
        integer_output(operator, sums, bias, channels, &Scaling::FixedPoint(multipliers?), &output)?
    };
    operator.bind(0, value)
}

/// The image with `stride − 1` zeros behind each pixel, bordered so that a plain convolution gives the wanted shape.
fn spread(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    filter: &Operand,
    wanted: &[u64],
    forward: &WindowGeometry,
    zero_point: i32,
) -> Result<Value, Diagnostic> {
    let [n, h, w, c] = input.shape[..] else { return Err(missing_options()) };
    let zero = Scalar::int(input.element(), i64::from(zero_point));
    let mut value = operator.reshape(input.value, &[n, h, 1, w, 1, c])?;
    let gaps: Vec<i64> = forward.strides.iter().map(|stride| stride - 1).collect();
    if gaps.iter().any(|&gap| gap > 0) {
        value = operator.builder().pad(value, vec![0; 6], vec![0, 0, gaps[0], 0, gaps[1], 0], zero)?;
    }
    let extent = |d: usize| input.shape[d + 1].checked_mul(forward.strides[d] as u64);
    let (Some(height), Some(width)) = (extent(0), extent(1)) else { return Err(invalid(302, "the image is too large")) };
    let value = operator.reshape(value, &[n, height, width, c])?;
    let (mut low, mut high) = (vec![0; 4], vec![0; 4]);
    for (d, spread) in [height, width].into_iter().enumerate() {
        let window = filter.shape[d + 1] as i64;
        low[d + 1] = window - 1 - forward.padding_low[d];
        high[d + 1] = wanted[d + 1] as i64 + window - 1 - low[d + 1] - spread as i64;
    }
    Ok(operator.builder().pad(value, low, high, zero)?)
}

/// A filter `[O, height, width, C]` with rows and columns in reverse: a constant is rearranged here, another by the program.
fn turned(operator: &mut Operator<'_, '_, '_>, filter: &Operand) -> Result<Value, Diagnostic> {
    let [outputs, height, width, channels] = filter.shape[..] else { return Err(missing_options()) };
    let Some(bytes) = operator.constant_bytes(filter) else {
        let starts = super::operator::extents(&[0, height - 1, width - 1, 0]);
        let sizes = super::operator::extents(&filter.shape);
        return Ok(operator.builder().slice(filter.value, starts, sizes, vec![1, -1, -1, 1])?);
    };
    let pixel = channels as usize * (filter.element().bits() as usize / 8);
    let image = (height * width) as usize * pixel;
    let turned = (0..outputs as usize)
        .flat_map(|output| bytes[output * image..(output + 1) * image].chunks_exact(pixel.max(1)).rev().flatten().copied());
    let turned: Vec<u8> = turned.collect();
    operator.constant(filter.element(), &filter.shape, turned)
}
