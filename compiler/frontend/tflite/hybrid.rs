//! Dynamic-range operators: float activations quantized to int8 row by row when the program runs, against int8 weights.

use super::convolution::{Convolution, Kind};
use super::operator::{Operand, Operator, unsupported};
use super::requantize::filter_scales;
use super::tensor::TensorInfo;
use crate::diagnostic::Diagnostic;
use crate::ir::{Comparison, ElementType, FunctionBuilder, Node, Reduction, Scalar, ScalarOp, TensorType, Value};
use crate::operators::terms::{Term, Terms};
use ElementType::{F32, F64, I4, I8, I16, I32, U8};
use std::rc::Rc;

/// Rows of floats as integers: `real = scale × (integer − offset)`.
pub(super) struct Rows {
    /// The integers, i8, in the shape of the floats.
    pub integers: Value,
    /// The scale of each row, f32; the reduced axes have extent 1.
    pub scales: Value,
    /// The offset of each row, i32, in the shape of the scales; none when symmetric.
    pub offsets: Option<Value>,
}

/// Quantizes to −127..=127 with zero at 0: the scale is the largest magnitude over `axes` ÷ 127, and 1 for a row of zeros.
pub(super) fn symmetric_rows(builder: &mut FunctionBuilder<'_>, input: Value, axes: &[usize]) -> Result<Rows, Diagnostic> {
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let magnitude = terms.op(ScalarOp::Abs, &[x])?;
    let magnitudes = builder.map(&[input], terms.finish(magnitude))?;
    let largest = builder.reduce(magnitudes, Reduction::Max, axes.to_vec())?;

    let mut terms = Terms::new(&[F32]);
    let range = terms.input(0);
    let (steps, zero, one) = (terms.f32(127.0), terms.f32(0.0), terms.f32(1.0));
    let is_zero = terms.compare(Comparison::Equal, range, zero)?;
    let scale = terms.div(range, steps)?;
    let scale = terms.select(is_zero, one, scale)?;
    let inverse = terms.div(steps, range)?;
    let inverse = terms.select(is_zero, zero, inverse)?;
    let both = builder.map_many(&[largest], terms.finish_many(vec![scale, inverse]))?;

    let mut terms = Terms::new(&[F32, F32]);
    let (x, inverse) = (terms.input(0), terms.input(1));
    let scaled = terms.mul(x, inverse)?;
    let shifted = half_further_out(&mut terms, scaled)?;
    let integer = narrowed(&mut terms, shifted, (-127, 127))?;
    let integers = builder.map(&[input, both[1]], terms.finish(integer))?;
    Ok(Rows { integers, scales: both[0], offsets: None })
}

/// A float plus ½ away from zero: cutting its fraction off rounds the float. The sum itself is rounded, as in the reference, so that
/// the largest number below ½ becomes 1.
fn half_further_out(terms: &mut Terms, x: Node) -> Term {
    let (zero, half, minus_half) = (terms.f32(0.0), terms.f32(0.5), terms.f32(-0.5));
    let negative = terms.compare(Comparison::Less, x, zero)?;
    let out = terms.select(negative, minus_half, half)?;
    terms.add(x, out)
}

/// A float rounded half away from zero, clamped and narrowed to i8.
fn rounded(terms: &mut Terms, x: Node, bounds: (i32, i32)) -> Term {
    let x = terms.round_away(x)?;
    narrowed(terms, x, bounds)
}

/// A float without its fraction, clamped and narrowed to i8.
fn narrowed(terms: &mut Terms, x: Node, bounds: (i32, i32)) -> Term {
    let x = terms.convert(x, I32);
    let x = terms.clamp_i32(x, bounds)?;
    Ok(terms.convert(x, I8))
}

/// Quantizes to −128..=127 so that the row's range and zero both fit; the zero point is the one of the two ends whose arithmetic
/// errs less, in binary64.
pub(super) fn asymmetric_rows(builder: &mut FunctionBuilder<'_>, input: Value, axes: &[usize]) -> Result<Rows, Diagnostic> {
    let smallest = builder.reduce(input, Reduction::Min, axes.to_vec())?;
    let largest = builder.reduce(input, Reduction::Max, axes.to_vec())?;
    let mut terms = Terms::new(&[F32, F32]);
    let results = asymmetric_parameters(&mut terms)?;
    let parameters = builder.map_many(&[smallest, largest], terms.finish_many(results.to_vec()))?;

    let mut terms = Terms::new(&[F32, F32, I32]);
    let (x, inverse) = (terms.input(0), terms.input(1));
    let offset = terms.input_as(2, F32);
    let scaled = terms.mul(x, inverse)?;
    let shifted = terms.add(offset, scaled)?;
    let integer = rounded(&mut terms, shifted, (-128, 127))?;
    let integers = builder.map(&[input, parameters[1], parameters[2]], terms.finish(integer))?;
    Ok(Rows { integers, scales: parameters[0], offsets: Some(parameters[2]) })
}

/// Scale, inverse scale and offset from the smallest and largest element. A row of zeros has scale 1 and offset 0, and an inverse
/// of 0 that makes its integers 0.
fn asymmetric_parameters(terms: &mut Terms) -> Result<[Node; 3], Diagnostic> {
    let (zero, one) = (terms.f32(0.0), terms.f32(1.0));
    let (smallest, largest) = (terms.input(0), terms.input(1));
    let low = terms.min(zero, smallest)?;
    let high = terms.max(zero, largest)?;
    let empty = terms.compare(Comparison::Equal, low, high)?;
    let (low, high) = (terms.convert(low, F64), terms.convert(high, F64));
    let (first, last, steps) = (terms.f64(-128.0), terms.f64(127.0), terms.f64(255.0));
    let range = terms.sub(high, low)?;
    let scale = terms.div(range, steps)?;
    let (low_steps, high_steps) = (terms.div(low, scale)?, terms.div(high, scale)?);
    let (from_low, from_high) = (terms.sub(first, low_steps)?, terms.sub(last, high_steps)?);
    let error = |terms: &mut Terms, end: f64, steps: Node| {
        let magnitude = terms.op(ScalarOp::Abs, &[steps])?;
        let end = terms.f64(end);
        terms.add(end, magnitude)
    };
    let (low_error, high_error) = (error(terms, 128.0, low_steps)?, error(terms, 127.0, high_steps)?);
    let low_is_better = terms.compare(Comparison::Less, low_error, high_error)?;
    let zero_point = terms.select(low_is_better, from_low, from_high)?;
    let zero_point = terms.round_away(zero_point)?;
    let zero_point = terms.max(zero_point, first)?;
    let zero_point = terms.min(zero_point, last)?;
    let zero_point = terms.convert(zero_point, I32);
    let no_offset = terms.i32(0);
    let offset = terms.select(empty, no_offset, zero_point)?;
    let scale = terms.convert(scale, F32);
    let scale = terms.select(empty, one, scale)?;
    let inverse = terms.div(one, scale)?;
    let inverse = terms.select(empty, zero, inverse)?;
    Ok([scale, inverse, offset])
}

/// Hybrid CONV_2D and DEPTHWISE_CONV_2D: an image is a row. With one scale for the whole filter activations are symmetric; with one a
/// channel, and in depthwise convolutions, they have an offset.
pub(super) fn convolution(operator: &mut Operator<'_, '_, '_>, convolution: &Convolution) -> Result<Value, Diagnostic> {
    let is_depthwise = convolution.kind == Kind::Depthwise;
    let scales = filter_scales(&convolution.filter, convolution.channel_axis, convolution.channels)?;
    let per_channel = is_depthwise || scales.iter().any(|scale| *scale != scales[0]);
    if !per_channel && convolution.groups != 1 {
        return Err(unsupported("grouped convolutions of floats with one int8 filter scale are not supported"));
    }
    let bias = convolution.bias(operator, &[F32])?.map(|(value, _)| value);
    let image_axes = [1, 2, 3];
    let rows = if per_channel {
        asymmetric_rows(operator.builder(), convolution.input.value, &image_axes)?
    } else {
        symmetric_rows(operator.builder(), convolution.input.value, &image_axes)?
    };
    let integers = without_offset(operator, &rows)?;
    let sums = convolution.sums(operator, integers, (0, 0), I32)?;

    let mut operands = vec![sums, rows.scales];
    let mut types = vec![I32, F32];
    let varying = scales.len() > 1;
    if varying {
        operands.push(operator.constant_f32(&[convolution.channels], &scales)?);
        types.push(F32);
    }
    if let Some(bias) = bias {
        operands.push(bias);
        types.push(F32);
    }
    let mut terms = Terms::new(&types);
    let (sum, row_scale) = (terms.input_as(0, F32), terms.input(1));
    let filter_scale = if varying { terms.input(2) } else { terms.f32(scales[0]) };
    // The order of these products is the reference's, and decides their last bits.
    let mut x = if per_channel && !is_depthwise {
        let scaled = terms.mul(sum, filter_scale)?;
        terms.mul(scaled, row_scale)?
    } else {
        let factor = terms.mul(row_scale, filter_scale)?;
        terms.mul(sum, factor)?
    };
    if bias.is_some() {
        let bias = terms.input(types.len() - 1);
        x = terms.add(x, bias)?;
    }
    let x = convolution.activation.clamp_float(&mut terms, x)?;
    operator.map(&operands, terms.finish(x))
}

/// Products of float rows `[… M, K]` with int8 columns `[… N, K]` of one scale.
pub(super) fn matmul(
    operator: &mut Operator<'_, '_, '_>,
    rows: Value,
    columns: Value,
    scale: f32,
    asymmetric: bool,
) -> Result<Value, Diagnostic> {
    let last = |operator: &Operator<'_, '_, '_>, value| operator.axis(-1, operator.extents_of(value).len());
    let axes = [last(operator, rows)?];
    let quantized =
        if asymmetric { asymmetric_rows(operator.builder(), rows, &axes)? } else { symmetric_rows(operator.builder(), rows, &axes)? };
    let sums = operator.builder().matmul(quantized.integers, columns, (0, 0), I32)?;
    let mut operands = vec![sums, quantized.scales];
    if let Some(offsets) = quantized.offsets {
        let wide = super::pooling::widen(operator, columns, I32)?;
        let axis = last(operator, columns)?;
        let column_sums = operator.builder().reduce(wide, Reduction::Sum, vec![axis])?;
        let mut shape = operator.extents_of(column_sums);
        shape.swap(axis - 1, axis);
        operands.extend([offsets, operator.reshape_to(column_sums, &shape)?]);
    }
    let mut terms = Terms::new(&[I32, F32, I32, I32][..operands.len()]);
    let mut sum = terms.input(0);
    if operands.len() == 4 {
        let (offset, column_sum) = (terms.input(2), terms.input(3));
        let excess = terms.mul(offset, column_sum)?;
        sum = terms.sub(sum, excess)?;
    }
    let (sum, row_scale, scale) = (terms.convert(sum, F32), terms.input(1), terms.f32(scale));
    let factor = terms.mul(row_scale, scale)?;
    let product = terms.mul(factor, sum)?;
    operator.map(&operands, terms.finish(product))
}

/// The numbers in the bytes of an int8 or int4 filter.
pub(super) fn weights(element: ElementType, bytes: &[u8]) -> Vec<i32> {
    let signed = |bits: u8| Scalar::from_bits(element, u64::from(bits)).as_i64() as i32;
    match element {
        I4 => bytes.iter().flat_map(|b| [signed(b & 15), signed(b >> 4)]).collect(),
        _ => bytes.iter().map(|&b| signed(b)).collect(),
    }
}

/// A filter of bytes without a sign holds int8: the files of old converters call them uint8.
pub(super) fn signed_filter(operator: &mut Operator<'_, '_, '_>, filter: Operand) -> Result<Operand, Diagnostic> {
    if filter.element() != U8 {
        return Ok(filter);
    }
    let info = Rc::new(TensorInfo { element: I8, ..(*filter.info).clone() });
    let value = match operator.graph().constant_of(filter.value) {
        Some(constant) => {
            let module = &mut *operator.builder().module;
            let data = module.constants[constant].data.clone();
            let constant = module.add_constant(TensorType::of(I8, &filter.shape), data);
            operator.builder().constant(constant)?
        }
        None => operator.builder().bitcast(filter.value, I8)?,
    };
    Ok(Operand { value, info, ..filter })
}

/// The integers minus their offset, in 16 bits where there is one, so that padded taps contribute nothing.
fn without_offset(operator: &mut Operator<'_, '_, '_>, rows: &Rows) -> Result<Value, Diagnostic> {
    let Some(offsets) = rows.offsets else { return Ok(rows.integers) };
    let mut terms = Terms::new(&[I8, I32]);
    let (x, offset) = (terms.input_as(0, I16), terms.input_as(1, I16));
    let x = terms.sub(x, offset)?;
    operator.map(&[rows.integers, offsets], terms.finish(x))
}
