//! CONV_3D and CONV_3D_TRANSPOSE, of floats alone, as the reference has them.

use super::activation::Activation;
use super::convolution::{missing_options, window_geometry};
use super::matrix::transposed;
use super::operator::{Lowered, Operand, Operator, extents, invalid};
use super::requantize::{bias, float_output};
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::F32;
use crate::ir::{Value, WindowGeometry};
use crate::schema::tflite::Conv3DOptions;

fn options<'a>(operator: &Operator<'_, 'a, '_>) -> Result<Conv3DOptions<'a>, Diagnostic> {
    operator.record.builtin_options_as_conv3d_options().ok_or_else(missing_options)
}

fn volume(operand: &Operand) -> Result<(), Diagnostic> {
    if operand.rank() == 5 {
        return Ok(());
    }
    let found = format!("{:?}", operand.shape);
    Err(invalid(314, "the tensor must have five dimensions").about_tensor(&operand.info.name).expected("rank 5", found))
}

fn geometry(options: &Conv3DOptions<'_>, input: &[u64], window: &[u64]) -> Result<WindowGeometry, Diagnostic> {
    let strides = [options.stride_d(), options.stride_h(), options.stride_w()];
    let dilation = [options.dilation_d_factor(), options.dilation_h_factor(), options.dilation_w_factor()];
    window_geometry(options.padding(), &strides, &dilation, input, window)
}

fn all_floats(operator: &mut Operator<'_, '_, '_>, input: &Operand, filter: &Operand) -> Result<(), Diagnostic> {
    let types = [input.element(), filter.element(), operator.output(0)?.element];
    if types == [F32; 3] { Ok(()) } else { Err(operator.type_error(&types)) }
}

/// CONV_3D: input `[N, depth, height, width, C]`, filter `[depth, height, width, C ÷ groups, O]`.
pub(super) fn conv_3d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = options(operator)?;
    let (input, filter) = (operator.input(0)?, operator.input(1)?);
    volume(&input)?;
    volume(&filter)?;
    all_floats(operator, &input, &filter)?;
    let (of_group, channels) = (filter.shape[3], filter.shape[4]);
    if of_group == 0 || !input.shape[4].is_multiple_of(of_group) {
        let expected = format!("a divisor of {}", input.shape[4]);
        return Err(invalid(311, "the filter's channels do not divide the input's").expected(expected, of_group.to_string()));
    }
    let geometry = geometry(&options, &input.shape[1..4], &filter.shape[..3])?;
    let weights = operator.builder().transpose(filter.value, vec![4, 0, 1, 2, 3])?;
    let sums = operator.builder().conv(input.value, weights, geometry, input.shape[4] / of_group, (0, 0), F32)?;
    finish(operator, sums, 2, channels, &options)
}

/// CONV_3D_TRANSPOSE: the result's shape, the filter `[depth, height, width, O, C]`, the input, and perhaps a bias.
pub(super) fn conv_3d_transpose(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=4, 1..=1)?;
    let options = options(operator)?;
    let (list, filter, input) = (operator.input(0)?, operator.input(1)?, operator.input(2)?);
    volume(&input)?;
    volume(&filter)?;
    all_floats(operator, &input, &filter)?;
    let wanted: Result<Vec<u64>, _> = operator.integers(&list, "shapes")?.into_iter().map(u64::try_from).collect();
    let wanted = wanted.map_err(|_| invalid(301, "a dimension is negative"))?;
    let channels = filter.shape[3];
    if wanted.len() != 5 || wanted[0] != input.shape[0] || wanted[4] != channels || filter.shape[4] != input.shape[4] {
        let found = format!("{wanted:?} from {:?} with {:?}", input.shape, filter.shape);
        let expected = "[N, D, H, W, O] from [N, d, h, w, C] with [kd, kh, kw, O, C]";
        return Err(invalid(311, "shapes of result, input and filter do not fit").expected(expected, found));
    }
    let forward = geometry(&options, &wanted[1..4], &filter.shape[..3])?;
    let geometry = transposed(&forward, &input.shape[1..4], &filter.shape[..3], &wanted[1..4])?;
    let weights = operator.builder().transpose(filter.value, vec![3, 0, 1, 2, 4])?;
    let shape = operator.shape(weights)?;
    let last = |d: usize| shape[d].saturating_sub(1);
    let (starts, sizes) = (extents(&[0, last(1), last(2), last(3), 0]), extents(&shape));
    let weights = operator.builder().slice(weights, starts, sizes, vec![1, -1, -1, -1, 1])?;
    let sums = operator.builder().dilated_conv(input.value, weights, (geometry, forward.strides), 1, (0, 0), F32)?;
    let sums = if operator.shape(sums)? == wanted {
        sums
    } else {
        operator.builder().slice(sums, extents(&[0; 5]), extents(&wanted), vec![1; 5])?
    };
    finish(operator, sums, 3, channels, &options)
}

fn finish(operator: &mut Operator<'_, '_, '_>, sums: Value, bias_operand: usize, channels: u64, options: &Conv3DOptions<'_>) -> Lowered {
    let bias = bias(operator, bias_operand, channels, &[F32])?.map(|(value, _)| value);
    let activation = Activation::from_code(options.fused_activation_function())?;
    let value = float_output(operator, sums, bias, activation)?;
    operator.bind(0, value)
}
