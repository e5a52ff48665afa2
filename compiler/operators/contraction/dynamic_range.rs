//! Contractions of dynamic range: float activations quantized to int8 row by row when the program runs, against int8 weights.

use super::{Convolution, products};
use crate::ir::{Comparison, ElementType, Extent, Node, Reduction, Scalar, ScalarOp, Value};
use crate::operators::activation::Activation;
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{F32, F64, I4, I8, I16, I32};

/// Rows of floats as integers: `real = scale × (integer − offset)`.
pub struct Rows {
    /// The integers, i8, in the shape of the floats.
    pub integers: Value,
    /// The scale of each row, f32; the reduced axes have extent 1.
    pub scales: Value,
    /// The offset of each row, i32, in the shape of the scales; none when symmetric.
    pub offsets: Option<Value>,
}

/// Quantizes to −127..=127 with zero at 0: the scale is the largest magnitude over `axes` ÷ 127, and 1 for a row of zeros.
///
/// # Errors
/// When the input is no tensor of f32 with such axes.
pub fn symmetric_rows(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Rows, Error> {
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let magnitude = terms.op(ScalarOp::Abs, &[x])?;
    let magnitudes = g.map(&[input], terms.finish(magnitude))?;
    let largest = g.builder.reduce(magnitudes, Reduction::Max, axes.to_vec())?;

    let mut terms = Terms::new(&[F32]);
    let range = terms.input(0);
    let (steps, zero, one) = (terms.f32(127.0), terms.f32(0.0), terms.f32(1.0));
    let is_zero = terms.compare(Comparison::Equal, range, zero)?;
    let scale = terms.div(range, steps)?;
    let scale = terms.select(is_zero, one, scale)?;
    let inverse = terms.div(steps, range)?;
    let inverse = terms.select(is_zero, zero, inverse)?;
    let both = g.map_many(&[largest], terms.finish_many(vec![scale, inverse]))?;

    let mut terms = Terms::new(&[F32, F32]);
    let (x, inverse) = (terms.input(0), terms.input(1));
    let scaled = terms.mul(x, inverse)?;
    let shifted = half_further_out(&mut terms, scaled)?;
    let integer = narrowed(&mut terms, shifted, (-127, 127))?;
    let integers = g.map(&[input, both[1]], terms.finish(integer))?;
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
///
/// # Errors
/// When the input is no tensor of f32 with such axes.
pub fn asymmetric_rows(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Rows, Error> {
    let smallest = g.builder.reduce(input, Reduction::Min, axes.to_vec())?;
    let largest = g.builder.reduce(input, Reduction::Max, axes.to_vec())?;
    let mut terms = Terms::new(&[F32, F32]);
    let results = asymmetric_parameters(&mut terms)?;
    let parameters = g.map_many(&[smallest, largest], terms.finish_many(results.to_vec()))?;

    let mut terms = Terms::new(&[F32, F32, I32]);
    let (x, inverse) = (terms.input(0), terms.input(1));
    let offset = terms.input_as(2, F32);
    let scaled = terms.mul(x, inverse)?;
    let shifted = terms.add(offset, scaled)?;
    let integer = rounded(&mut terms, shifted, (-128, 127))?;
    let integers = g.map(&[input, parameters[1], parameters[2]], terms.finish(integer))?;
    Ok(Rows { integers, scales: parameters[0], offsets: Some(parameters[2]) })
}

/// Scale, inverse scale and offset from the smallest and largest element. A row of zeros has scale 1 and offset 0, and an inverse
/// of 0 that makes its integers 0.
fn asymmetric_parameters(terms: &mut Terms) -> Result<[Node; 3], Error> {
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

/// How a convolution of floats with int8 weights is scaled.
pub struct ConvolutionRule<'s> {
    /// The filter's scales: one, or one an output channel.
    pub scales: &'s [f32],
    /// Whether each output channel reads one input channel.
    pub is_depthwise: bool,
    /// Clamp.
    pub activation: Activation,
}

/// A convolution of floats with int8 weights: an image is a row. With one scale for the whole filter activations are symmetric; with one a
/// channel, and in depthwise convolutions, they have an offset.
///
/// # Errors
/// [`Error::DynamicRangeGroups`] where groups share one scale.
pub fn convolution(g: &mut Graph<'_>, convolution: &Convolution, bias: Option<Value>, rule: &ConvolutionRule<'_>) -> Result<Value, Error> {
    let &ConvolutionRule { scales, is_depthwise, activation } = rule;
    let per_channel = is_depthwise || scales.iter().any(|scale| *scale != scales[0]);
    if !per_channel && convolution.groups != 1 {
        return Err(Error::DynamicRangeGroups);
    }
    let image_axes = [1, 2, 3];
    let rows =
        if per_channel { asymmetric_rows(g, convolution.input, &image_axes)? } else { symmetric_rows(g, convolution.input, &image_axes)? };
    let integers = without_offset(g, &rows)?;
    let sums = Convolution { input: integers, ..convolution.clone() }.sums(g, (0, 0), I32)?;

    let mut operands = vec![sums, rows.scales];
    let mut types = vec![I32, F32];
    let varying = scales.len() > 1;
    if varying {
        operands.push(g.constant_f32(&[scales.len() as u64], scales)?);
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
    let x = activation.clamp_float(&mut terms, x)?;
    g.map(&operands, terms.finish(x))
}

/// How rows of floats times int8 weights are scaled.
pub struct RowRule<'s> {
    /// The weights' scales: one, or one a unit.
    pub scales: &'s [f32],
    /// Whether rows are quantized with an offset.
    pub asymmetric: bool,
    /// Clamp.
    pub activation: Activation,
}

/// `rows [count, depth]` of floats times int8 or int4 weights `[units, depth]`: each row is quantized on its own.
///
/// # Errors
/// When operands do not fit each other.
pub fn linear(g: &mut Graph<'_>, rows: Value, weights: Value, bias: Option<Value>, rule: &RowRule<'_>) -> Result<Value, Error> {
    let scales = rule.scales;
    let rows = if rule.asymmetric { asymmetric_rows(g, rows, &[1])? } else { symmetric_rows(g, rows, &[1])? };
    let sums = g.builder.matmul(rows.integers, weights, (0, 0), I32)?;
    let mut operands = vec![sums, rows.scales];
    let mut types = vec![I32, F32];
    let mut operand = |value: Value, element: ElementType| {
        operands.push(value);
        types.push(element);
        operands.len() - 1
    };
    let scale_input = if scales.len() > 1 { Some(operand(g.constant_f32(&[scales.len() as u64], scales)?, F32)) } else { None };
    let bias_input = bias.map(|bias| operand(bias, F32));
    let offset_inputs = match rows.offsets {
        Some(offsets) => Some((operand(offsets, I32), operand(weight_sums(g, weights)?, I32))),
        None => None,
    };
    let mut terms = Terms::new(&types);
    let mut sum = terms.input(0);
    if let Some((offset, weight_sum)) = offset_inputs {
        let (offset, weight_sum) = (terms.input(offset), terms.input(weight_sum));
        let excess = terms.mul(offset, weight_sum)?;
        sum = terms.sub(sum, excess)?;
    }
    let sum = terms.convert(sum, F32);
    let row_scale = terms.input(1);
    let scale = match scale_input {
        Some(input) => terms.input(input),
        None => terms.f32(scales[0]),
    };
    let factor = terms.mul(row_scale, scale)?;
    let mut x = terms.mul(sum, factor)?;
    if let Some(bias) = bias_input {
        let bias = terms.input(bias);
        x = terms.add(bias, x)?;
    }
    let x = rule.activation.clamp_float(&mut terms, x)?;
    g.map(&operands, terms.finish(x))
}

/// The sum of each row of weights `[units, depth]`.
fn weight_sums(g: &mut Graph<'_>, weights: Value) -> Result<Value, Error> {
    let shape = g.shape(weights)?;
    let &[units, depth] = &shape[..] else { return Err(Error::NoMatrix { rank: shape.len() }) };
    let element = g.element(weights);
    let Some(bytes) = g.known(weights) else {
        let wide = g.convert(weights, I32)?;
        let sums = g.builder.reduce(wide, Reduction::Sum, vec![1])?;
        return g.reshape(sums, &[Extent::Static(units)]);
    };
    let numbers = integers(element, bytes);
    let sums: Vec<i32> = numbers.chunks_exact(depth.max(1) as usize).take(units as usize).map(|row| row.iter().sum()).collect();
    g.constant_i32(&[units], &sums)
}

/// Products of float rows `[… M, K]` with int8 columns `[… N, K]` of one scale.
///
/// # Errors
/// When rows and columns do not fit each other.
pub fn matmul(g: &mut Graph<'_>, rows: Value, columns: Value, scale: f32, asymmetric: bool) -> Result<Value, Error> {
    products::meet(g, rows, columns)?;
    let axes = [g.rank(rows).saturating_sub(1)];
    let quantized = if asymmetric { asymmetric_rows(g, rows, &axes)? } else { symmetric_rows(g, rows, &axes)? };
    let sums = g.builder.matmul(quantized.integers, columns, (0, 0), I32)?;
    let mut operands = vec![sums, quantized.scales];
    if let Some(offsets) = quantized.offsets {
        let wide = g.convert(columns, I32)?;
        let axis = g.rank(columns) - 1;
        let column_sums = g.builder.reduce(wide, Reduction::Sum, vec![axis])?;
        let mut shape = g.extents(column_sums);
        shape.swap(axis - 1, axis);
        operands.extend([offsets, g.reshape(column_sums, &shape)?]);
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
    g.map(&operands, terms.finish(product))
}

/// The numbers in the bytes of an int8 or int4 filter.
pub fn integers(element: ElementType, bytes: &[u8]) -> Vec<i32> {
    let signed = |bits: u8| Scalar::from_bits(element, u64::from(bits)).as_i64() as i32;
    match element {
        I4 => bytes.iter().flat_map(|b| [signed(b & 15), signed(b >> 4)]).collect(),
        _ => bytes.iter().map(|&b| signed(b)).collect(),
    }
}

/// The integers minus their offset, in 16 bits where there is one, so that padded taps contribute nothing.
fn without_offset(g: &mut Graph<'_>, rows: &Rows) -> Result<Value, Error> {
    let Some(offsets) = rows.offsets else { return Ok(rows.integers) };
    let mut terms = Terms::new(&[I8, I32]);
    let (x, offset) = (terms.input_as(0, I16), terms.input_as(1, I16));
    let x = terms.sub(x, offset)?;
    g.map(&[rows.integers, offsets], terms.finish(x))
}
