//! CONV_2D, DEPTHWISE_CONV_2D and CONV_3D.

use super::error::{invalid, missing_options, unsupported};
use super::filter::{bias, filter_scales, signed_filter, symmetric};
use super::open_filter::{OpenFilter, filled_bias, without_filling};
use super::operator::{Lowered, Operand, Operator};
use super::options::{activation, padding};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Value, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::contraction::dynamic_range::{self, ConvolutionRule};
use crate::operators::contraction::{Convolution, IntegerOutput, Numerics, Scaling, depthwise_filter};
use crate::operators::windows::Windows;
use crate::schema::tflite::{Conv3DOptions, Padding as PaddingCode, TensorType as TypeCode};
use ElementType::{F32, I2, I4, I8, I16, I32, I64, U8};

/// The parts of a convolution that define its numerics.
pub(super) struct Operands {
    /// The image.
    pub input: Operand,
    /// The filter, in the file's order.
    pub filter: Operand,
    /// The dimension of the filter that holds the output channels.
    pub channel_axis: usize,
    /// The actual number of output channels, if the filter is padded.
    pub outputs: Extent,
    /// The operand that holds the bias.
    pub bias: usize,
    /// Clamp of the output.
    pub activation: Activation,
    /// The type of the bias of 16-bit convolutions, from the options.
    pub bias_type: TypeCode,
}

/// The windows of a convolution of images whose filter is `[_, height, width, _]`.
fn windows(filter: &Operand, strides: [i32; 2], dilation: [i32; 2], kind: PaddingCode) -> Result<Windows, Diagnostic> {
    let [strides, dilation] = [strides, dilation].map(|numbers| numbers.map(i64::from).to_vec());
    Ok(Windows { size: filter.shape[1..3].to_vec(), strides, dilation, padding: padding(kind)? })
}

/// CONV_2D
pub(super) fn conv_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = operator.record.builtin_options_as_conv2d_options().ok_or_else(missing_options)?;
    let (input, filter) = image_and_filter(operator)?;
    let (strides, dilation) = ([options.stride_h(), options.stride_w()], [options.dilation_h_factor(), options.dilation_w_factor()]);
    let open = OpenFilter::new(operator, filter, (1..3, 0))?;
    let windows = windows(&open.filter, strides, dilation, options.padding())?;
    let geometry = open.geometry(operator, &windows, &input.extents[1..3])?;
    let OpenFilter { filter, outputs, .. } = open;
    let groups = groups(&input, filter.shape[3])?;
    let convolution = Convolution::new(input.value, filter.value, groups, geometry);
    let activation = activation(options.fused_activation_function())?;
    let operands = Operands { input, filter, channel_axis: 0, outputs, bias: 2, activation, bias_type: options.quantized_bias_type() };
    lower(operator, &convolution, &operands)
}

/// DEPTHWISE_CONV_2D: the filter is `[1, height, width, O]`, output channel o reads input channel o ÷ multiplier.
pub(super) fn depthwise_conv_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = operator.record.builtin_options_as_depthwise_conv2d_options().ok_or_else(missing_options)?;
    let (input, filter) = image_and_filter(operator)?;
    let (strides, dilation) = ([options.stride_h(), options.stride_w()], [options.dilation_h_factor(), options.dilation_w_factor()]);
    operator.require_known(&filter, 3)?;
    let open = OpenFilter::new(operator, filter, (1..3, 3))?;
    let windows = windows(&open.filter, strides, dilation, options.padding())?;
    let geometry = open.geometry(operator, &windows, &input.extents[1..3])?;
    let OpenFilter { filter, outputs, .. } = open;
    let (channels, groups) = (filter.shape[3], input.shape[3]);
    if filter.shape[0] != 1 || groups == 0 || channels % groups != 0 {
        let expected = format!("1 and a multiple of {groups}");
        return Err(invalid(codes::SHAPES_DIFFER, "the number of filter channels is not a multiple of the number of input channels")
            .expected(expected, format!("{} and {channels}", filter.shape[0])));
    }
    let weights = depthwise_filter(operator.graph(), filter.value)?;
    let convolution = Convolution::new(input.value, weights, groups, geometry);
    let activation = activation(options.fused_activation_function())?;
    let operands = Operands { input, filter, channel_axis: 3, outputs, bias: 2, activation, bias_type: TypeCode::FLOAT32 };
    lower(operator, &convolution, &operands)
}

fn image_and_filter(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Operand), Diagnostic> {
    let (input, mut filter) = (operator.any_input(0)?, operator.any_input(1)?);
    operator.require_known(&input, 3)?;
    if input.element() == F32 {
        filter = signed_filter(operator, filter)?;
    }
    require_rank(&input, 4, "four")?;
    require_rank(&filter, 4, "four")?;
    Ok((input, filter))
}

fn require_rank(operand: &Operand, rank: usize, word: &str) -> Lowered {
    if operand.rank() == rank {
        return Ok(());
    }
    let error = invalid(codes::RANK, format!("the tensor must have {word} dimensions")).about_tensor(&operand.info.name);
    Err(error.expected(format!("rank {rank}"), format!("{:?}", operand.shape)))
}

/// The groups of an input whose filter reads this many channels.
fn groups(input: &Operand, of_group: u64) -> Result<u64, Diagnostic> {
    let channels = input.shape.last().copied().unwrap_or(0);
    if of_group == 0 || !channels.is_multiple_of(of_group) {
        let expected = format!("a divisor of {channels}");
        return Err(
            invalid(codes::SHAPES_DIFFER, "the filter's channels do not divide the input's").expected(expected, of_group.to_string())
        );
    }
    Ok(channels / of_group)
}

/// The convolution as result 0.
fn lower(operator: &mut Operator<'_, '_, '_>, convolution: &Convolution, operands: &Operands) -> Lowered {
    let types = [operands.input.element(), operands.filter.element(), operator.output(0)?.element];
    let result = match types {
        [F32, I8 | I4 | I2, F32] => {
            let channels = operands.channels();
            let scales = filter_scales(&operands.filter, operands.channel_axis, channels)?;
            let rule = ConvolutionRule { scales: &scales, is_depthwise: operands.channel_axis != 0, activation: operands.activation };
            let bias = operands.bias(operator, &[F32])?.map(|(value, _)| value);
            dynamic_range::convolution(operator.graph(), convolution, bias, &rule)?
        }
        _ => {
            let (bias, numerics) = operands.numerics(operator)?;
            convolution.build(operator.graph(), bias, &numerics)?
        }
    };
    let result = without_filling(operator, result, operands.outputs)?;
    operator.bind(0, result)
}

impl Operands {
    /// Output channels of the filter.
    pub fn channels(&self) -> u64 {
        self.filter.shape[self.channel_axis]
    }

    /// The bias, if there is one.
    pub fn bias(&self, operator: &mut Operator<'_, '_, '_>, types: &[ElementType]) -> Result<Option<(Value, ElementType)>, Diagnostic> {
        let Some((value, element)) = bias(operator, self.bias, self.outputs, types)? else { return Ok(None) };
        Ok(Some((filled_bias(operator, value, self.channels())?, element)))
    }

    /// The bias and the numerics, from the file's description of the tensors.
    pub fn numerics(&self, operator: &mut Operator<'_, '_, '_>) -> Result<(Option<Value>, Numerics), Diagnostic> {
        let types = [self.input.element(), self.filter.element(), operator.output(0)?.element];
        match types {
            [F32, F32, F32] => {
                let bias = self.bias(operator, &[F32])?.map(|(value, _)| value);
                Ok((bias, Numerics::plain(F32, self.activation)))
            }
            [I8, I8 | I4 | I2, I8] => self.integer(operator, false),
            [U8, U8, U8] => self.integer(operator, true),
            [I16, I8 | I4 | I2, I16] => self.wide(operator),
            _ => Err(operator.type_error(&types)),
        }
    }

    /// 8-bit input, filter and output. `legacy` is uint8, where the filter has a zero point and the scales multiply in f32.
    fn integer(&self, operator: &mut Operator<'_, '_, '_>, legacy: bool) -> Result<(Option<Value>, Numerics), Diagnostic> {
        let output = operator.output(0)?;
        let (from, to) = (operator.affine(&self.input.info)?, operator.affine(&output)?);
        let scales = filter_scales(&self.filter, self.channel_axis, self.channels())?;
        let is_read = legacy || scales.len() == 1;
        let filter_zero_point = self.filter.info.quantization.as_ref().filter(|_| is_read).map_or(0, |q| q.zero_points[0]);
        if legacy && scales.len() > 1 {
            return Err(unsupported("uint8 filters with a scale for each channel are not supported"));
        }
        if !legacy && filter_zero_point != 0 {
            return Err(invalid(codes::ZERO_POINT, "the zero point of an int8 filter must be 0").about_tensor(&self.filter.info.name));
        }
        let scaling = if legacy { Scaling::fixed_point_of_product } else { Scaling::fixed_point };
        let numerics = Numerics::Integer {
            zero_points: ZeroPoints { left: from.zero_point.into(), right: filter_zero_point },
            accumulator: I32,
            scaling: scaling(from.scale, &scales, to.scale)?,
            output: IntegerOutput::new(output.element, to, self.activation)?,
        };
        Ok((self.bias(operator, &[I32])?.map(|(value, _)| value), numerics))
    }

    /// 16-bit input and output with an 8-bit filter; the sums have the bias's type.
    fn wide(&self, operator: &mut Operator<'_, '_, '_>) -> Result<(Option<Value>, Numerics), Diagnostic> {
        let output = operator.output(0)?;
        let (from, to) = (operator.affine(&self.input.info)?, operator.affine(&output)?);
        symmetric(from, to)?;
        let scales = filter_scales(&self.filter, self.channel_axis, self.channels())?;
        let scaling = Scaling::fixed_point(from.scale, &scales, to.scale)?;
        let bias = self.bias(operator, &[I32, I64])?;
        let accumulator = bias.map_or(I64, |(_, element)| element);
        if accumulator == I32 && self.bias_type != TypeCode::INT32 {
            return Err(unsupported("a 32-bit bias of a 16-bit convolution needs quantized_bias_type INT32"));
        }
        if matches!(&scaling, Scaling::FixedPoint(list) if list.iter().any(|m| m.shift >= 15)) {
            return Err(invalid(codes::SCALE, "the ratio of the scales is out of range").expected("below 2^14", "more"));
        }
        let output = IntegerOutput::new(output.element, to, self.activation)?;
        Ok((bias.map(|(value, _)| value), Numerics::Integer { zero_points: ZeroPoints::NONE, accumulator, scaling, output }))
    }
}

pub(super) fn options_3d<'a>(operator: &Operator<'_, 'a, '_>) -> Result<Conv3DOptions<'a>, Diagnostic> {
    operator.record.builtin_options_as_conv3d_options().ok_or_else(missing_options)
}

pub(super) fn windows_3d(options: &Conv3DOptions<'_>, size: &[u64]) -> Result<Windows, Diagnostic> {
    Ok(Windows {
        size: size.to_vec(),
        strides: [options.stride_d(), options.stride_h(), options.stride_w()].map(i64::from).to_vec(),
        dilation: [options.dilation_d_factor(), options.dilation_h_factor(), options.dilation_w_factor()].map(i64::from).to_vec(),
        padding: padding(options.padding())?,
    })
}

/// Image and filter of three dimensions, of floats alone, as the reference has them.
pub(super) fn volumes(operator: &mut Operator<'_, '_, '_>, input: usize) -> Result<(Operand, Operand), Diagnostic> {
    let (input, filter) = (operator.any_input(input)?, operator.any_input(1)?);
    require_rank(&input, 5, "five")?;
    require_rank(&filter, 5, "five")?;
    operator.require_known(&input, 4)?;
    let types = [input.element(), filter.element(), operator.output(0)?.element];
    if types == [F32; 3] { Ok((input, filter)) } else { Err(operator.type_error(&types)) }
}

/// CONV_3D: input `[N, depth, height, width, C]`, filter `[depth, height, width, C ÷ groups, O]`.
pub(super) fn conv_3d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = options_3d(operator)?;
    let (input, filter) = volumes(operator, 0)?;
    let open = OpenFilter::new(operator, filter, (0..3, 4))?;
    let geometry = open.geometry(operator, &windows_3d(&options, &open.filter.shape[..3])?, &input.extents[1..4])?;
    let OpenFilter { filter, outputs, .. } = open;
    let groups = groups(&input, filter.shape[3])?;
    let weights = operator.graph().transpose(filter.value, &[4, 0, 1, 2, 3])?;
    let convolution = Convolution::new(input.value, weights, groups, geometry);
    let activation = activation(options.fused_activation_function())?;
    let operands = Operands { input, filter, channel_axis: 4, outputs, bias: 2, activation, bias_type: TypeCode::FLOAT32 };
    lower(operator, &convolution, &operands)
}
