//! TRANSPOSE_CONV, CONV_3D_TRANSPOSE and MediaPipe's Convolution2DTransposeBias.

use super::convolution::{Operands, options_3d, volumes, windows_3d};
use super::error::{invalid, missing_options};
use super::filter::filter_scales;
use super::open_filter::{OpenFilter, without_filling};
use super::operator::{Lowered, Operand, Operator};
use super::options::{activation, padding};
use super::shape::output_bounds;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType::{F32, I8};
use crate::ir::{Extent, Value};
use crate::operators::activation::Activation;
use crate::operators::contraction::{Transposed, dynamic_range};
use crate::operators::extents;
use crate::operators::windows::{Padding, Windows};
use crate::schema::tflite::TensorType as TypeCode;

/// TRANSPOSE_CONV: the result's shape, the filter `[O, height, width, C]`, the image, and perhaps a bias.
pub(super) fn transpose_conv(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=4, 1..=1)?;
    let options = operator.record.builtin_options_as_transpose_conv_options().ok_or_else(missing_options)?;
    let activation = activation(options.fused_activation_function())?;
    let (list, filter, input) = (operator.input(0)?, operator.any_input(1)?, operator.any_input(2)?);
    operator.require_known(&input, 3)?;
    let bounds = output_bounds(operator);
    let wanted: Option<Vec<Extent>> = operator.extent_list(&list, "shapes", &bounds)?.into_iter().map(|item| item.extent()).collect();
    let wanted = wanted.ok_or_else(|| invalid(codes::NEGATIVE_DIMENSION, "a dimension is negative"))?;
    // Run-time extents have their bounds here, as in the input's shape.
    let largest: Vec<u64> = wanted.iter().map(|&extent| operator.graph().bound(extent)).collect();
    if wanted.len() != 4
        || input.rank() != 4
        || filter.rank() != 4
        || wanted.first() != input.extents.first()
        || wanted[3] != filter.extents[0]
        || filter.extents[3] != input.extents[3]
    {
        let found = format!("{largest:?} from {:?} with {:?}", input.shape, filter.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "shapes of result, input and filter do not fit")
            .expected("[N, H, W, O] from [N, h, w, C] with [O, kh, kw, C]", found));
    }
    let open = OpenFilter::new(operator, filter, (1..3, 0))?;
    let windows = Windows {
        size: open.filter.shape[1..3].to_vec(),
        strides: [options.stride_h(), options.stride_w()].map(i64::from).to_vec(),
        dilation: vec![1; 2],
        padding: padding(options.padding())?,
    };
    let transposed = transpose(operator, windows, (&input, &open, open.filter.value), &wanted[1..3])?;
    let OpenFilter { filter, outputs, .. } = open;
    let operands = Operands { input, filter, channel_axis: 0, outputs, bias: 3, activation, bias_type: options.quantized_bias_type() };
    lower_transposed(operator, &transposed, &operands)
}

/// The transpose of the convolution of an image of the extents `wanted` by these windows.
fn transpose(
    operator: &mut Operator<'_, '_, '_>,
    windows: Windows,
    (input, open, filter): (&Operand, &OpenFilter, Value),
    wanted: &[Extent],
) -> Result<Transposed, Diagnostic> {
    if open.has_known_taps() {
        let largest: Vec<u64> = wanted.iter().map(|&extent| operator.graph().bound(extent)).collect();
        windows.known_geometry(&largest)?;
    }
    let cut = open.cut(operator, &windows, wanted)?;
    let Windows { strides, dilation, .. } = windows;
    Ok(Transposed { input: input.value, filter, groups: 1, strides, dilation, cut, wanted: wanted.to_vec() })
}

/// The transposed convolution as result 0.
fn lower_transposed(operator: &mut Operator<'_, '_, '_>, transposed: &Transposed, operands: &Operands) -> Lowered {
    let types = [operands.input.element(), operands.filter.element(), operator.output(0)?.element];
    let result = match types {
        [F32, I8, F32] => {
            let channels = operands.channels();
            let scales = filter_scales(&operands.filter, operands.channel_axis, channels)?;
            let bias = operands.bias(operator, &[F32])?.map(|(value, _)| value);
            dynamic_range::transposed(operator.graph(), transposed, bias, &scales, operands.activation)?
        }
        _ => {
            let (bias, numerics) = operands.numerics(operator)?;
            transposed.build(operator.graph(), bias, &numerics)?
        }
    };
    let result = without_filling(operator, result, operands.outputs)?;
    operator.bind(0, result)
}

/// CONV_3D_TRANSPOSE: the result's shape, the filter `[depth, height, width, O, C]`, the input, and perhaps a bias.
pub(super) fn conv_3d_transpose(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=4, 1..=1)?;
    let options = options_3d(operator)?;
    let list = operator.input(0)?;
    let (input, filter) = volumes(operator, 2)?;
    let bounds = output_bounds(operator);
    let wanted: Option<Vec<Extent>> = operator.extent_list(&list, "shapes", &bounds)?.into_iter().map(|item| item.extent()).collect();
    let wanted = wanted.ok_or_else(|| invalid(codes::NEGATIVE_DIMENSION, "a dimension is negative"))?;
    let largest: Vec<u64> = wanted.iter().map(|&extent| operator.graph().bound(extent)).collect();
    let fits = wanted.len() == 5 && wanted[0] == input.extents[0] && wanted[4] == filter.extents[3];
    if !fits || filter.extents[4] != input.extents[4] {
        let found = format!("{largest:?} from {:?} with {:?}", input.shape, filter.shape);
        let expected = "[N, D, H, W, O] from [N, d, h, w, C] with [kd, kh, kw, O, C]";
        return Err(invalid(codes::SHAPES_DIFFER, "shapes of result, input and filter do not fit").expected(expected, found));
    }
    let open = OpenFilter::new(operator, filter, (0..3, 3))?;
    let windows = windows_3d(&options, &open.filter.shape[..3])?;
    let weights = operator.graph().transpose(open.filter.value, &[3, 0, 1, 2, 4])?;
    let transposed = transpose(operator, windows, (&input, &open, weights), &wanted[1..4])?;
    let activation = activation(options.fused_activation_function())?;
    let OpenFilter { filter, outputs, .. } = open;
    let operands = Operands { input, filter, channel_axis: 3, outputs, bias: 3, activation, bias_type: TypeCode::FLOAT32 };
    lower_transposed(operator, &transposed, &operands)
}

/// MediaPipe's Convolution2DTransposeBias: input `[N, h, w, C]`, filter `[O, kh, kw, C]`, bias `[O]`. Its options are three 32-bit numbers: the
/// padding (1 for SAME, 2 for VALID), the step along the width, and the step along the height. The result's extents follow from the input's.
pub(super) fn transpose_bias(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let [code, stride_width, stride_height] = transpose_bias_options(operator)?;
    let (input, filter) = (operator.input(0)?, operator.input(1)?);
    let types = [input.element(), filter.element(), operator.output(0)?.element];
    if types != [F32; 3] {
        return Err(operator.type_error(&types));
    }
    if input.rank() != 4 || filter.rank() != 4 || filter.shape[3] != input.shape[3] {
        let found = format!("{:?} with {:?}", input.shape, filter.shape);
        return Err(
            invalid(codes::SHAPES_DIFFER, "shapes of input and filter do not fit").expected("[N, h, w, C] with [O, kh, kw, C]", found)
        );
    }
    let padding = match code {
        1 => Padding::Same,
        2 => Padding::Valid,
        other => return Err(invalid(codes::OPTION_CHOICE, "unknown padding").expected("1 or 2", other.to_string())),
    };
    let strides = [stride_height, stride_width].map(i64::from);
    let too_large = || invalid(codes::OPTION_RANGE, "strides and windows must be positive and small");
    let (mut wanted, mut cut) = (vec![], vec![]);
    for (d, &stride) in strides.iter().enumerate() {
        let (extent, taps) = (input.shape[d + 1] as i64, filter.shape[d + 1] as i64);
        let small = |n: i64| (1..1 << 31).contains(&n);
        if !(small(stride) && small(extent) && small(taps)) {
            return Err(too_large());
        }
        let total = if padding == Padding::Same { (taps - (extent - 1) % stride - 1).max(0) } else { 0 };
        let output = stride * (extent - 1) + taps - total;
        wanted.push(u64::try_from(output).ok().filter(|&n| n > 0).ok_or_else(too_large)?);
        cut.push(total as u64 / 2);
    }
    let transposed = Transposed {
        input: input.value,
        filter: filter.value,
        groups: 1,
        strides: strides.to_vec(),
        dilation: vec![1; 2],
        cut: extents(&cut),
        wanted: extents(&wanted),
    };
    let outputs = filter.extents[0];
    let operands =
        Operands { input, filter, channel_axis: 0, outputs, bias: 2, activation: Activation::NONE, bias_type: TypeCode::FLOAT32 };
    lower_transposed(operator, &transposed, &operands)
}

/// The first three numbers of the options.
fn transpose_bias_options(operator: &Operator<'_, '_, '_>) -> Result<[i32; 3], Diagnostic> {
    let bytes = operator.record.custom_options().map(|options| options.bytes()).unwrap_or_default();
    let number = |i: usize| Some(i32::from_le_bytes(bytes.get(4 * i..4 * i + 4)?.try_into().ok()?));
    let short =
        || invalid(codes::OPTIONS_MISSING, "the operator's options are too short").expected("12 bytes", format!("{} bytes", bytes.len()));
    Ok([number(0).ok_or_else(short)?, number(1).ok_or_else(short)?, number(2).ok_or_else(short)?])
}
