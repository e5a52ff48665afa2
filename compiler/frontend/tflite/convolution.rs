//! CONV_2D, DEPTHWISE_CONV_2D, CONV_3D and the transposed convolutions.

use super::error::{invalid, missing_options, unsupported};
use super::filter::{bias, filter_scales, signed_filter, symmetric};
use super::operator::{Lowered, Operand, Operator};
use super::options::{activation, padding};
use super::shape::output_bounds;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Value};
use crate::operators::activation::Activation;
use crate::operators::contraction::dynamic_range::{self, ConvolutionRule};
use crate::operators::contraction::{Convolution, IntegerOutput, Numerics, Scaling, Transposed, depthwise_filter};
use crate::operators::extents;
use crate::operators::windows::{Padding, Windows};
use crate::schema::tflite::{Conv3DOptions, Padding as PaddingCode, TensorType as TypeCode};
use ElementType::{F32, I2, I4, I8, I16, I32, I64, U8};

/// What the numerics of a convolution follow from.
pub(super) struct Operands {
    /// The image.
    pub input: Operand,
    /// The filter, in the file's order.
    pub filter: Operand,
    /// The dimension of the filter that holds the output channels.
    pub channel_axis: usize,
    /// The operand that holds the bias.
    pub bias: usize,
    /// Clamp of the output.
    pub activation: Activation,
    /// Type of the bias of 16-bit convolutions, as the options have it.
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
    let windows = windows(&filter, strides, dilation, options.padding())?;
    let geometry = windows.geometry(operator.graph(), &input.extents[1..3])?;
    let groups = groups(&input, filter.shape[3])?;
    let convolution = Convolution::new(input.value, filter.value, groups, geometry);
    let activation = activation(options.fused_activation_function())?;
    let operands = Operands { input, filter, channel_axis: 0, bias: 2, activation, bias_type: options.quantized_bias_type() };
    lower(operator, &convolution, &operands)
}

/// DEPTHWISE_CONV_2D: the filter is `[1, height, width, O]`, output channel o reads input channel o ÷ multiplier.
pub(super) fn depthwise_conv_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let options = operator.record.builtin_options_as_depthwise_conv2d_options().ok_or_else(missing_options)?;
    let (input, filter) = image_and_filter(operator)?;
    let (strides, dilation) = ([options.stride_h(), options.stride_w()], [options.dilation_h_factor(), options.dilation_w_factor()]);
    let windows = windows(&filter, strides, dilation, options.padding())?;
    let geometry = windows.geometry(operator.graph(), &input.extents[1..3])?;
    let (channels, groups) = (filter.shape[3], input.shape[3]);
    if filter.shape[0] != 1 || groups == 0 || channels % groups != 0 {
        let expected = format!("1 and a multiple of {groups}");
        return Err(invalid(codes::SHAPES_DIFFER, "the number of filter channels is not a multiple of the number of input channels")
            .expected(expected, format!("{} and {channels}", filter.shape[0])));
    }
    let weights = depthwise_filter(operator.graph(), filter.value)?;
    let convolution = Convolution::new(input.value, weights, groups, geometry);
    let activation = activation(options.fused_activation_function())?;
    let operands = Operands { input, filter, channel_axis: 3, bias: 2, activation, bias_type: TypeCode::FLOAT32 };
    lower(operator, &convolution, &operands)
}

fn image_and_filter(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Operand), Diagnostic> {
    let (input, mut filter) = (operator.any_input(0)?, operator.input(1)?);
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
            let bias = bias(operator, operands.bias, Extent::Static(channels), &[F32])?.map(|(value, _)| value);
            dynamic_range::convolution(operator.graph(), convolution, bias, &rule)?
        }
        _ => {
            let (bias, numerics) = operands.numerics(operator)?;
            convolution.build(operator.graph(), bias, &numerics)?
        }
    };
    operator.bind(0, result)
}

impl Operands {
    fn channels(&self) -> u64 {
        self.filter.shape[self.channel_axis]
    }

    /// The bias and the numerics of what the file says of the tensors.
    pub fn numerics(&self, operator: &mut Operator<'_, '_, '_>) -> Result<(Option<Value>, Numerics), Diagnostic> {
        let types = [self.input.element(), self.filter.element(), operator.output(0)?.element];
        match types {
            [F32, F32, F32] => {
                let bias = bias(operator, self.bias, Extent::Static(self.channels()), &[F32])?.map(|(value, _)| value);
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
            zero_points: (i64::from(from.zero_point), filter_zero_point),
            accumulator: I32,
            scaling: scaling(from.scale, &scales, to.scale)?,
            output: IntegerOutput::new(output.element, to, self.activation)?,
        };
        Ok((bias(operator, self.bias, Extent::Static(self.channels()), &[I32])?.map(|(value, _)| value), numerics))
    }

    /// 16-bit input and output with an 8-bit filter; the sums have the bias's type.
    fn wide(&self, operator: &mut Operator<'_, '_, '_>) -> Result<(Option<Value>, Numerics), Diagnostic> {
        let output = operator.output(0)?;
        let (from, to) = (operator.affine(&self.input.info)?, operator.affine(&output)?);
        symmetric(from, to)?;
        let scales = filter_scales(&self.filter, self.channel_axis, self.channels())?;
        let scaling = Scaling::fixed_point(from.scale, &scales, to.scale)?;
        let bias = bias(operator, self.bias, Extent::Static(self.channels()), &[I32, I64])?;
        let accumulator = bias.map_or(I64, |(_, element)| element);
        if accumulator == I32 && self.bias_type != TypeCode::INT32 {
            return Err(unsupported("a 32-bit bias of a 16-bit convolution needs quantized_bias_type INT32"));
        }
        if matches!(&scaling, Scaling::FixedPoint(list) if list.iter().any(|m| m.shift >= 15)) {
            return Err(invalid(codes::SCALE, "the ratio of the scales is out of range").expected("below 2^14", "more"));
        }
        let output = IntegerOutput::new(output.element, to, self.activation)?;
        Ok((bias.map(|(value, _)| value), Numerics::Integer { zero_points: (0, 0), accumulator, scaling, output }))
    }
}

/// TRANSPOSE_CONV: the result's shape, the filter `[O, height, width, C]`, the image, and perhaps a bias.
pub(super) fn transpose_conv(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=4, 1..=1)?;
    let options = operator.record.builtin_options_as_transpose_conv_options().ok_or_else(missing_options)?;
    let activation = activation(options.fused_activation_function())?;
    let (list, filter, input) = (operator.input(0)?, operator.input(1)?, operator.any_input(2)?);
    operator.require_known(&input, 3)?;
    let bounds = output_bounds(operator);
    let wanted: Option<Vec<Extent>> = operator.extent_list(&list, "shapes", &bounds)?.into_iter().map(|item| item.extent()).collect();
    let wanted = wanted.ok_or_else(|| invalid(codes::NEGATIVE_DIMENSION, "a dimension is negative"))?;
    // What is known only when the model runs stands here with its bound, as in the input's shape.
    let largest: Vec<u64> = wanted.iter().map(|&extent| operator.graph().bound(extent)).collect();
    if wanted.len() != 4
        || input.rank() != 4
        || filter.rank() != 4
        || wanted.first() != input.extents.first()
        || wanted[3] != Extent::Static(filter.shape[0])
        || filter.shape[3] != input.shape[3]
    {
        let found = format!("{largest:?} from {:?} with {:?}", input.shape, filter.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "shapes of result, input and filter do not fit")
            .expected("[N, H, W, O] from [N, h, w, C] with [O, kh, kw, C]", found));
    }
    let windows = Windows {
        size: filter.shape[1..3].to_vec(),
        strides: [options.stride_h(), options.stride_w()].map(i64::from).to_vec(),
        dilation: vec![1; 2],
        padding: padding(options.padding())?,
    };
    let transposed = transpose(operator, windows, (&input, filter.value), &wanted[1..3])?;
    let operands = Operands { input, filter, channel_axis: 0, bias: 3, activation, bias_type: options.quantized_bias_type() };
    lower_transposed(operator, &transposed, &operands)
}

/// The transpose of the convolution of an image of the extents `wanted` by these windows.
fn transpose(
    operator: &mut Operator<'_, '_, '_>,
    windows: Windows,
    (input, filter): (&Operand, Value),
    wanted: &[Extent],
) -> Result<Transposed, Diagnostic> {
    let g = operator.graph();
    let largest: Vec<u64> = wanted.iter().map(|&extent| g.bound(extent)).collect();
    windows.known_geometry(&largest)?;
    let cut = (0..wanted.len()).map(|d| windows.padding_before(g, d, wanted[d])).collect::<Result<_, _>>()?;
    let Windows { strides, dilation, .. } = windows;
    Ok(Transposed { input: input.value, filter, groups: 1, strides, dilation, cut, wanted: wanted.to_vec() })
}

/// The transposed convolution as result 0.
pub(super) fn lower_transposed(operator: &mut Operator<'_, '_, '_>, transposed: &Transposed, operands: &Operands) -> Lowered {
    let types = [operands.input.element(), operands.filter.element(), operator.output(0)?.element];
    let result = match types {
        [F32, I8, F32] => {
            let channels = operands.channels();
            let scales = filter_scales(&operands.filter, operands.channel_axis, channels)?;
            let bias = bias(operator, operands.bias, Extent::Static(channels), &[F32])?.map(|(value, _)| value);
            dynamic_range::transposed(operator.graph(), transposed, bias, &scales, operands.activation)?
        }
        _ => {
            let (bias, numerics) = operands.numerics(operator)?;
            transposed.build(operator.graph(), bias, &numerics)?
        }
    };
    operator.bind(0, result)
}

fn options_3d<'a>(operator: &Operator<'_, 'a, '_>) -> Result<Conv3DOptions<'a>, Diagnostic> {
    operator.record.builtin_options_as_conv3d_options().ok_or_else(missing_options)
}

fn windows_3d(options: &Conv3DOptions<'_>, size: &[u64]) -> Result<Windows, Diagnostic> {
    Ok(Windows {
        size: size.to_vec(),
        strides: [options.stride_d(), options.stride_h(), options.stride_w()].map(i64::from).to_vec(),
        dilation: [options.dilation_d_factor(), options.dilation_h_factor(), options.dilation_w_factor()].map(i64::from).to_vec(),
        padding: padding(options.padding())?,
    })
}

/// Image and filter of three dimensions, of floats alone, as the reference has them.
fn volumes(operator: &mut Operator<'_, '_, '_>, input: usize) -> Result<(Operand, Operand), Diagnostic> {
    let (input, filter) = (operator.any_input(input)?, operator.input(1)?);
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
    let groups = groups(&input, filter.shape[3])?;
    let geometry = windows_3d(&options, &filter.shape[..3])?.geometry(operator.graph(), &input.extents[1..4])?;
    let weights = operator.graph().transpose(filter.value, &[4, 0, 1, 2, 3])?;
    let convolution = Convolution::new(input.value, weights, groups, geometry);
    let activation = activation(options.fused_activation_function())?;
    lower(operator, &convolution, &Operands { input, filter, channel_axis: 4, bias: 2, activation, bias_type: TypeCode::FLOAT32 })
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
    let fits = wanted.len() == 5 && wanted[0] == input.extents[0] && wanted[4] == Extent::Static(filter.shape[3]);
    if !fits || filter.shape[4] != input.shape[4] {
        let found = format!("{largest:?} from {:?} with {:?}", input.shape, filter.shape);
        let expected = "[N, D, H, W, O] from [N, d, h, w, C] with [kd, kh, kw, O, C]";
        return Err(invalid(codes::SHAPES_DIFFER, "shapes of result, input and filter do not fit").expected(expected, found));
    }
    let windows = windows_3d(&options, &filter.shape[..3])?;
    let weights = operator.graph().transpose(filter.value, &[3, 0, 1, 2, 4])?;
    let transposed = transpose(operator, windows, (&input, weights), &wanted[1..4])?;
    let activation = activation(options.fused_activation_function())?;
    let operands = Operands { input, filter, channel_axis: 3, bias: 3, activation, bias_type: TypeCode::FLOAT32 };
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
    let operands = Operands { input, filter, channel_axis: 0, bias: 2, activation: Activation::NONE, bias_type: TypeCode::FLOAT32 };
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
