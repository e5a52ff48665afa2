//! CONV_2D and DEPTHWISE_CONV_2D.

use super::activation::Activation;
use super::operator::{Lowered, Operand, Operator, extents, invalid, unsupported};
use super::requantize::{IntegerOutput, Scaling, bias, filter_scales, float_output, integer_output, multiplier};
use super::{hybrid, operator::Affine, run_time_windows};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Value, WindowGeometry};
use crate::schema::tflite::{Padding, TensorType as TypeCode};
use ElementType::{F32, I4, I8, I16, I32, I64, U8};

/// Strides, window and padding of two spatial dimensions, height first.
#[derive(Clone, Debug)]
pub(super) struct Spatial {
    /// How borders are padded.
    pub padding: Padding,
    /// Steps between windows.
    pub strides: [i32; 2],
    /// Steps between taps.
    pub dilation: [i32; 2],
}

impl Spatial {
    /// The geometry for an input and a window of these sizes. With SAME padding there are ⌈input ÷ stride⌉ windows, and the
    /// larger half of an odd padding lies behind.
    pub fn geometry(&self, input: [u64; 2], window: [u64; 2]) -> Result<WindowGeometry, Diagnostic> {
        window_geometry(self.padding, &self.strides, &self.dilation, &input, &window)
    }
}

/// [`Spatial::geometry`] of any number of dimensions.
pub(super) fn window_geometry(
    padding: Padding,
    strides: &[i32],
    dilation: &[i32],
    input: &[u64],
    window: &[u64],
) -> Result<WindowGeometry, Diagnostic> {
    let mut geometry = WindowGeometry::default();
    for d in 0..input.len() {
        let (stride, dilation) = (i64::from(strides[d]), i64::from(dilation[d]));
        if stride < 1 || dilation < 1 {
            return Err(invalid(312, "strides and dilation must be positive").expected("1 or more", stride.min(dilation).to_string()));
        }
        let too_large = || invalid(312, "the window does not fit the input").expected(format!("1 to {}", input[d]), window[d].to_string());
        let small = |n: u64| i64::try_from(n).ok().filter(|n| (1..1 << 31).contains(n)).ok_or_else(too_large);
        let (extent, taps) = (small(input[d])?, small(window[d])?);
        let reach = (taps - 1) * dilation + 1;
        let total = match padding {
            Padding::SAME => ((extent - 1) / stride * stride + reach - extent).max(0),
            Padding::VALID if reach <= extent => 0,
            Padding::VALID => return Err(too_large()),
            other => return Err(invalid(313, "unknown padding").expected("SAME or VALID", format!("{other:?}"))),
        };
        geometry.strides.push(stride);
        geometry.dilation.push(dilation);
        geometry.padding_low.push(total / 2);
        geometry.padding_high.push(total - total / 2);
    }
    Ok(geometry)
}

/// A convolution of either kind, its filter as `[O, height, width, channels of a group]`.
pub(super) struct Convolution {
    /// Operand 0.
    pub input: Operand,
    /// Operand 1.
    pub filter: Operand,
    /// The filter's value in the order above.
    pub filter_value: Value,
    /// The dimension of operand 1 that holds the output channels.
    pub channel_axis: usize,
    /// Number of output channels.
    pub channels: u64,
    /// Groups of channels.
    pub groups: u64,
    /// Windows.
    pub geometry: WindowGeometry,
    /// Clamp of the output.
    pub activation: Activation,
    /// Type of the bias of 16-bit convolutions, as the options have it.
    pub bias_type: TypeCode,
    /// Which operator it is.
    pub kind: Kind,
    /// Step between the input's elements.
    pub input_dilation: [i64; 2],
    /// Rows and columns of the result, where there may be fewer than windows.
    pub size: Option<[u64; 2]>,
    /// The operand that holds the bias.
    pub bias_operand: usize,
}

/// Operators that are convolutions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// CONV_2D.
    Plain,
    /// DEPTHWISE_CONV_2D.
    Depthwise,
    /// TRANSPOSE_CONV.
    Transposed,
}

/// CONV_2D
pub(super) fn conv_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = operator.record.builtin_options_as_conv2d_options().ok_or_else(missing_options)?;
    let (input, filter) = image_and_filter(operator)?;
    let spatial = Spatial {
        padding: options.padding(),
        strides: [options.stride_h(), options.stride_w()],
        dilation: [options.dilation_h_factor(), options.dilation_w_factor()],
    };
    let geometry = run_time_windows::geometry(operator, &spatial, &input, [filter.shape[1], filter.shape[2]])?;
    let (channels, of_group) = (filter.shape[0], filter.shape[3]);
    if of_group == 0 || input.shape[3] % of_group != 0 {
        let expected = format!("a divisor of {}", input.shape[3]);
        return Err(invalid(311, "the filter's channels do not divide the input's").expected(expected, of_group.to_string()));
    }
    let convolution = Convolution {
        filter_value: filter.value,
        channel_axis: 0,
        channels,
        groups: input.shape[3] / of_group,
        geometry,
        activation: Activation::from_code(options.fused_activation_function())?,
        bias_type: options.quantized_bias_type(),
        kind: Kind::Plain,
        input_dilation: [1; 2],
        size: None,
        bias_operand: 2,
        input,
        filter,
    };
    lower(operator, &convolution)
}

/// DEPTHWISE_CONV_2D: the filter is `[1, height, width, O]`, output channel o reads input channel o ÷ multiplier.
pub(super) fn depthwise_conv_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = operator.record.builtin_options_as_depthwise_conv2d_options().ok_or_else(missing_options)?;
    let (input, filter) = image_and_filter(operator)?;
    let spatial = Spatial {
        padding: options.padding(),
        strides: [options.stride_h(), options.stride_w()],
        dilation: [options.dilation_h_factor(), options.dilation_w_factor()],
    };
    let geometry = run_time_windows::geometry(operator, &spatial, &input, [filter.shape[1], filter.shape[2]])?;
    let (channels, groups) = (filter.shape[3], input.shape[3]);
    if filter.shape[0] != 1 || groups == 0 || channels % groups != 0 {
        let expected = format!("1 and a multiple of {groups}");
        return Err(invalid(311, "the filter's channels are no multiple of the input's")
            .expected(expected, format!("{} and {channels}", filter.shape[0])));
    }
    let convolution = Convolution {
        filter_value: channels_first(operator, &filter)?,
        channel_axis: 3,
        channels,
        groups,
        geometry,
        activation: Activation::from_code(options.fused_activation_function())?,
        bias_type: TypeCode::FLOAT32,
        kind: Kind::Depthwise,
        input_dilation: [1; 2],
        size: None,
        bias_operand: 2,
        input,
        filter,
    };
    lower(operator, &convolution)
}

pub(super) fn missing_options() -> Diagnostic {
    invalid(211, "the operator's options are missing")
}

fn image_and_filter(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Operand), Diagnostic> {
    let (input, mut filter) = (operator.any_input(0)?, operator.input(1)?);
    operator.require_known(&input, 3)?;
    if input.element() == F32 {
        filter = hybrid::signed_filter(operator, filter)?;
    }
    for operand in [&input, &filter] {
        if operand.rank() != 4 {
            let found = format!("{:?}", operand.shape);
            return Err(invalid(314, "the tensor must have four dimensions").about_tensor(&operand.info.name).expected("rank 4", found));
        }
    }
    Ok((input, filter))
}

/// A filter `[1, h, w, O]` as `[O, h, w, 1]`: a constant one is rearranged here, another by the program.
fn channels_first(operator: &mut Operator<'_, '_, '_>, filter: &Operand) -> Result<Value, Diagnostic> {
    let [_, height, width, channels] = filter.shape[..] else { return Err(missing_options()) };
    let bits = filter.element().bits();
    let Some(bytes) = operator.constant_bytes(filter).filter(|_| bits >= 8) else {
        return Ok(operator.builder().transpose(filter.value, vec![3, 1, 2, 0])?);
    };
    let (size, channels, taps) = (bits as usize / 8, channels as usize, (height * width) as usize);
    let mut rearranged = Vec::with_capacity(bytes.len());
    for channel in 0..channels {
        for tap in 0..taps {
            let start = (tap * channels + channel) * size;
            rearranged.extend_from_slice(&bytes[start..start + size]);
        }
    }
    let value = operator.constant(filter.element(), &[channels as u64, height, width, 1], rearranged)?;
    operator.builder().function.values[value].name = Some(filter.info.name.clone());
    Ok(value)
}

/// The convolution as result 0.
pub(super) fn lower(operator: &mut Operator<'_, '_, '_>, convolution: &Convolution) -> Lowered {
    let result = computed(operator, convolution)?;
    operator.bind(0, result)
}

/// Sums, bias, scale and activation in the types of the operands.
pub(super) fn computed(operator: &mut Operator<'_, '_, '_>, convolution: &Convolution) -> Result<Value, Diagnostic> {
    let output = operator.output(0)?;
    let types = [convolution.input.element(), convolution.filter.element(), output.element];
    match types {
        [F32, F32, F32] => float(operator, convolution),
        [I8, I8 | I4, I8] => integer(operator, convolution, false),
        [U8, U8, U8] => integer(operator, convolution, true),
        [I16, I8, I16] => wide(operator, convolution),
        [F32, I8 | I4, F32] if convolution.kind != Kind::Transposed => hybrid::convolution(operator, convolution),
        _ => Err(operator.type_error(&types)),
    }
}

impl Convolution {
    /// The sums of products.
    pub fn sums(
        &self,
        operator: &mut Operator<'_, '_, '_>,
        input: Value,
        zero_points: (i64, i64),
        accumulator: ElementType,
    ) -> Result<Value, Diagnostic> {
        let geometry = (self.geometry.clone(), self.input_dilation.to_vec());
        let sums = operator.builder().dilated_conv(input, self.filter_value, geometry, self.groups, zero_points, accumulator)?;
        let shape = operator.extents_of(sums);
        match self.size {
            Some(size) if shape[1..3] != extents(&size) => {
                let [height, width] = size.map(Extent::Static);
                let wanted = vec![shape[0], height, width, shape[3]];
                Ok(operator.builder().slice(sums, extents(&[0; 4]), wanted, vec![1; 4])?)
            }
            _ => Ok(sums),
        }
    }

    /// The bias, its type among `types`.
    pub fn bias(&self, operator: &mut Operator<'_, '_, '_>, types: &[ElementType]) -> Result<Option<(Value, ElementType)>, Diagnostic> {
        bias(operator, self.bias_operand, self.channels, types)
    }
}

fn float(operator: &mut Operator<'_, '_, '_>, convolution: &Convolution) -> Result<Value, Diagnostic> {
    let bias = convolution.bias(operator, &[F32])?.map(|(value, _)| value);
    let sums = convolution.sums(operator, convolution.input.value, (0, 0), F32)?;
    float_output(operator, sums, bias, convolution.activation)
}

/// 8-bit input, filter and output. `legacy` is uint8, where the filter has a zero point and the scales multiply in f32.
fn integer(operator: &mut Operator<'_, '_, '_>, convolution: &Convolution, legacy: bool) -> Result<Value, Diagnostic> {
    let output = operator.output(0)?;
    let (input_affine, output_affine) = (operator.affine(&convolution.input.info)?, operator.affine(&output)?);
    let scales = filter_scales(&convolution.filter, convolution.channel_axis, convolution.channels)?;
    let filter_zero_point = convolution.filter.info.quantization.as_ref().map_or(0, |q| q.zero_points[0]);
    if legacy && scales.len() > 1 {
        return Err(unsupported("uint8 filters with a scale for each channel are not supported"));
    }
    if !legacy && filter_zero_point != 0 {
        return Err(invalid(306, "the zero point of an int8 filter must be 0").about_tensor(&convolution.filter.info.name));
    }
    let multipliers = scales.iter().map(|&scale| {
        let product = if legacy { f64::from(input_affine.scale * scale) } else { f64::from(input_affine.scale) * f64::from(scale) };
        multiplier(product / f64::from(output_affine.scale))
    });
    let multipliers: Vec<_> = multipliers.collect::<Result<_, _>>()?;
    let bias = convolution.bias(operator, &[I32])?.map(|(value, _)| value);
    let sums = convolution.sums(operator, convolution.input.value, (i64::from(input_affine.zero_point), filter_zero_point), I32)?;
    let output = IntegerOutput { element: output.element, affine: output_affine, activation: convolution.activation };
    integer_output(operator, sums, bias, convolution.channels, &Scaling::FixedPoint(multipliers), &output)
}

/// 16-bit input and output with an 8-bit filter; the sums have the bias's type.
fn wide(operator: &mut Operator<'_, '_, '_>, convolution: &Convolution) -> Result<Value, Diagnostic> {
    let output = operator.output(0)?;
    let (input_affine, output_affine) = (operator.affine(&convolution.input.info)?, operator.affine(&output)?);
    symmetric(input_affine, output_affine)?;
    let scales = filter_scales(&convolution.filter, convolution.channel_axis, convolution.channels)?;
    let multipliers =
        scales.iter().map(|&scale| multiplier(f64::from(input_affine.scale) * f64::from(scale) / f64::from(output_affine.scale)));
    let multipliers: Vec<_> = multipliers.collect::<Result<_, _>>()?;
    let bias = convolution.bias(operator, &[I32, I64])?;
    let accumulator = bias.map_or(I64, |(_, element)| element);
    if accumulator == I32 && convolution.bias_type != TypeCode::INT32 {
        return Err(unsupported("a 32-bit bias of a 16-bit convolution needs quantized_bias_type INT32"));
    }
    if multipliers.iter().any(|m| m.shift >= 8) {
        return Err(invalid(304, "the ratio of the scales is out of range").expected("below 2^7", "more"));
    }
    let sums = convolution.sums(operator, convolution.input.value, (0, 0), accumulator)?;
    let output = IntegerOutput { element: output.element, affine: output_affine, activation: convolution.activation };
    integer_output(operator, sums, bias.map(|(value, _)| value), convolution.channels, &Scaling::FixedPoint(multipliers), &output)
}

/// 16-bit quantization has no zero points.
pub(super) fn symmetric(input: Affine, output: Affine) -> Result<(), Diagnostic> {
    if (input.zero_point, output.zero_point) == (0, 0) {
        return Ok(());
    }
    let found = format!("{} and {}", input.zero_point, output.zero_point);
    Err(invalid(306, "zero points of 16-bit tensors must be 0").expected("0", found))
}
