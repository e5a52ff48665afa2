//! Contractions of dynamic range: float activations quantized to int8 row by row when the program runs, against int8 weights.

use super::matrix::Matrix;
use super::rows::{Rows, asymmetric_rows, symmetric_rows};
use super::{Convolution, Numerics, Transposed, products};
use crate::ir::operators::{BlockMatmul, block_unit};
use crate::ir::{ElementType, Node, Reduction, ScalarOp, Value, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{F32, I2, I4, I8, I16, I32};

/// The scaling of a convolution of floats with int8 weights.
pub struct ConvolutionRule<'s> {
    /// The filter's scales: one, or one an output channel.
    pub scales: &'s [f32],
    /// `true` if each output channel reads one input channel.
    pub is_depthwise: bool,
    /// Clamp.
    pub activation: Activation,
}

/// A convolution of floats with int8 weights, which quantizes each image as one row. If the whole filter has one scale, activations are symmetric.
/// With one scale for each channel, and in depthwise convolutions, they have an offset.
///
/// # Errors
/// [`Error::DynamicRangeGroups`] if groups share one scale.
pub fn convolution(g: &mut Graph<'_>, convolution: &Convolution, bias: Option<Value>, rule: &ConvolutionRule<'_>) -> Result<Value, Error> {
    let &ConvolutionRule { scales, is_depthwise, activation } = rule;
    let per_channel = is_depthwise || scales.iter().any(|scale| *scale != scales[0]);
    if !per_channel && convolution.groups != 1 {
        return Err(Error::DynamicRangeGroups);
    }
    let image_axes = [1, 2, 3];
    let rows =
        if per_channel { asymmetric_rows(g, convolution.input, &image_axes)? } else { symmetric_rows(g, convolution.input, &image_axes)? };
    let order = if per_channel && !is_depthwise { Order::FilterFirst } else { Order::FactorsFirst };
    image_products(g, convolution, &rows, bias, (scales, order), activation)
}

/// A transposed convolution of floats with int8 weights: an image is a row with an offset.
///
/// # Errors
/// When operands do not fit each other.
pub fn transposed(
    g: &mut Graph<'_>,
    transposed: &Transposed,
    bias: Option<Value>,
    scales: &[f32],
    activation: Activation,
) -> Result<Value, Error> {
    let axes: Vec<usize> = (1..g.rank(transposed.input)).collect();
    let rows = asymmetric_rows(g, transposed.input, &axes)?;
    transposed_products(g, transposed, &rows, bias, (scales, Order::FilterFirst), activation)
}

/// The order in which a sum is multiplied by its two scales. It decides the last bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// (sum × filter's scale) × row's scale
    FilterFirst,
    /// sum × (row's scale × filter's scale)
    FactorsFirst,
    /// (sum × row's scale) × filter's scale + bias, the last two fused: XNNPACK
    RowFirst,
}

impl Order {
    /// A sum times its scales, plus a bias.
    fn scaled(self, terms: &mut Terms, sum: Node, [row, filter]: [Node; 2], bias: Option<Node>) -> Term {
        let product = match self {
            Self::FilterFirst => {
                let scaled = terms.mul(sum, filter)?;
                terms.mul(scaled, row)?
            }
            Self::FactorsFirst => {
                let factor = terms.mul(row, filter)?;
                terms.mul(sum, factor)?
            }
            Self::RowFirst => {
                let scaled = terms.mul(sum, row)?;
                match bias {
                    Some(bias) => return terms.op(ScalarOp::Fma, &[scaled, filter, bias]),
                    None => terms.mul(scaled, filter)?,
                }
            }
        };
        bias.map_or(Ok(product), |bias| terms.add(product, bias))
    }
}

/// A convolution of quantized images, each with a scale of its own; the input of `convolution` is not read.
///
/// # Errors
/// When operands do not fit each other.
pub fn image_products(
    g: &mut Graph<'_>,
    convolution: &Convolution,
    rows: &Rows,
    bias: Option<Value>,
    (scales, order): (&[f32], Order),
    activation: Activation,
) -> Result<Value, Error> {
    let integers = without_offset(g, rows)?;
    let sums = Convolution { input: integers, ..convolution.clone() }.sums(g, ZeroPoints::NONE, I32)?;
    scaled_images(g, sums, rows.scales, bias, (scales, order), activation)
}

/// A transposed convolution of quantized images.
///
/// # Errors
/// When operands do not fit each other.
pub fn transposed_products(
    g: &mut Graph<'_>,
    transposed: &Transposed,
    rows: &Rows,
    bias: Option<Value>,
    (scales, order): (&[f32], Order),
    activation: Activation,
) -> Result<Value, Error> {
    let input = without_offset(g, rows)?;
    let sums = Transposed { input, ..transposed.clone() }.build(g, None, &Numerics::plain(I32, Activation::NONE))?;
    scaled_images(g, sums, rows.scales, bias, (scales, order), activation)
}

/// Sums times the scales of their images and of the filter, plus a bias.
fn scaled_images(
    g: &mut Graph<'_>,
    sums: Value,
    row_scales: Value,
    bias: Option<Value>,
    (scales, order): (&[f32], Order),
    activation: Activation,
) -> Result<Value, Error> {
    let mut operands = vec![sums, row_scales];
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
    let bias = bias.map(|_| terms.input(types.len() - 1));
    let x = order.scaled(&mut terms, sum, [row_scale, filter_scale], bias)?;
    let x = activation.clamp_float(&mut terms, x)?;
    g.map(&operands, terms.finish(x))
}

/// The scaling of products of float rows with int8 weights.
pub struct RowRule<'s> {
    /// The weights' scales: one, or one a unit.
    pub scales: &'s [f32],
    /// `true` if rows are quantized with an offset.
    pub asymmetric: bool,
    /// Clamp.
    pub activation: Activation,
}

/// `rows [count, depth]` of floats times weights of eight bits or fewer, `[units, depth]`: each row is quantized on its own.
///
/// # Errors
/// When operands do not fit each other.
pub fn linear(g: &mut Graph<'_>, rows: Value, weights: Value, bias: Option<Value>, rule: &RowRule<'_>) -> Result<Value, Error> {
    let rows = if rule.asymmetric { asymmetric_rows(g, rows, &[1])? } else { symmetric_rows(g, rows, &[1])? };
    row_products(g, &rows, weights.into(), bias, (rule.scales, Order::FactorsFirst), rule.activation)
}

/// Quantized rows `[count, depth]` times weights of eight bits or fewer, `[units, depth]`, of one scale, or one a unit.
///
/// # Errors
/// When operands do not fit each other.
pub fn row_products(
    g: &mut Graph<'_>,
    rows: &Rows,
    weights: Matrix,
    bias: Option<Value>,
    (scales, order): (&[f32], Order),
    activation: Activation,
) -> Result<Value, Error> {
    let [integers, columns] = products::meet(g, rows.integers, weights.value)?;
    let (sums, element) = if is_one_block(g, weights.value)? {
        let units = g.shape(weights.value)?[0];
        let scales = g.constant_f32(&[units, 1], &vec![1.0; units as usize])?;
        (g.builder.block_matmul([integers, columns, scales], BlockMatmul { excess: weights.excess })?, F32)
    } else {
        debug_assert!(!weights.excess, "weights in excess code are rows of one block");
        (g.builder.matmul(integers, columns, ZeroPoints::NONE, I32)?, I32)
    };
    let mut operands = vec![sums, rows.scales];
    let mut types = vec![element, F32];
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
        let (offset, weight_sum) = (terms.input_as(offset, element), terms.input_as(weight_sum, element));
        let excess = terms.mul(offset, weight_sum)?;
        sum = terms.sub(sum, excess)?;
    }
    let sum = terms.convert(sum, F32);
    let row_scale = terms.input(1);
    let scale = match scale_input {
        Some(input) => terms.input(input),
        None => terms.f32(scales[0]),
    };
    let bias = bias_input.map(|bias| terms.input(bias));
    let x = order.scaled(&mut terms, sum, [row_scale, scale], bias)?;
    let x = activation.clamp_float(&mut terms, x)?;
    g.map(&operands, terms.finish(x))
}

/// Rows of up to this many packed weights have products with bytes whose sums are exact in binary32.
const EXACT: u64 = 1 << 14;

/// Tests whether weights are packed constants whose rows may be one block each. A block's sum is a float. In a row this short all sums are whole
/// numbers that binary32 holds exactly, so the result is rounded once, as with integers.
fn is_one_block(g: &Graph<'_>, weights: Value) -> Result<bool, Error> {
    let element = g.element(weights);
    if !matches!(element, I2 | I4) || g.known(weights).is_none() {
        return Ok(false);
    }
    Ok(is_block(element, g.shape(weights)?.last().copied().unwrap_or(0)))
}

/// Tests whether rows of `depth` packed weights may be one block each.
pub fn is_block(element: ElementType, depth: u64) -> bool {
    depth > 0 && depth <= EXACT && depth.is_multiple_of(block_unit(element))
}

/// The sum of each row of weights `[units, depth]`.
fn weight_sums(g: &mut Graph<'_>, weights: Matrix) -> Result<Value, Error> {
    let extents = g.extents(weights.value);
    let &[units, _] = &extents[..] else { return Err(Error::NoMatrix { rank: extents.len() }) };
    if g.known(weights.value).is_none() {
        let wide = g.convert(weights.value, I32)?;
        let sums = g.builder.reduce(wide, Reduction::Sum, vec![1])?;
        return g.reshape(sums, &[units]);
    }
    let (shape, element) = (g.shape(weights.value)?, g.element(weights.value));
    let &[units, depth] = &shape[..] else { return Err(Error::NoMatrix { rank: shape.len() }) };
    let Some(bytes) = g.known(weights.value) else { return Err(Error::NoMatrix { rank: shape.len() }) };
    let mut sums = weights.sums(element, bytes, depth);
    sums.truncate(units as usize);
    g.release(weights.value);
    g.constant_i32(&[units], &sums)
}

/// Products of float rows `[… M, K]` with int8 columns `[… N, K]` of one scale, or one a column.
///
/// # Errors
/// When rows and columns do not fit each other.
pub fn matmul(g: &mut Graph<'_>, rows: Value, columns: Value, scales: &[f32], asymmetric: bool) -> Result<Value, Error> {
    let [rows, columns] = products::meet(g, rows, columns)?;
    let axes = [g.rank(rows).saturating_sub(1)];
    let quantized = if asymmetric { asymmetric_rows(g, rows, &axes)? } else { symmetric_rows(g, rows, &axes)? };
    let sums = g.builder.matmul(quantized.integers, columns, ZeroPoints::NONE, I32)?;
    let (mut operands, mut types) = (vec![sums, quantized.scales], vec![I32, F32]);
    if let Some(offsets) = quantized.offsets {
        let wide = g.convert(columns, I32)?;
        let axis = g.rank(columns) - 1;
        let column_sums = g.builder.reduce(wide, Reduction::Sum, vec![axis])?;
        let mut shape = g.extents(column_sums);
        shape.swap(axis - 1, axis);
        operands.extend([offsets, g.reshape(column_sums, &shape)?]);
        types.extend([I32, I32]);
    }
    if scales.len() > 1 {
        operands.push(g.constant_f32(&[scales.len() as u64], scales)?);
        types.push(F32);
    }
    let mut terms = Terms::new(&types);
    let mut sum = terms.input(0);
    if quantized.offsets.is_some() {
        let (offset, column_sum) = (terms.input(2), terms.input(3));
        let excess = terms.mul(offset, column_sum)?;
        sum = terms.sub(sum, excess)?;
    }
    let (sum, row_scale) = (terms.convert(sum, F32), terms.input(1));
    let scale = if scales.len() > 1 { terms.input(types.len() - 1) } else { terms.f32(scales[0]) };
    let factor = terms.mul(row_scale, scale)?;
    let product = terms.mul(factor, sum)?;
    g.map(&operands, terms.finish(product))
}

/// Subtracts the rows' offsets, if there are any, in 16 bits, so that padded taps contribute nothing.
fn without_offset(g: &mut Graph<'_>, rows: &Rows) -> Result<Value, Error> {
    let Some(offsets) = rows.offsets else { return Ok(rows.integers) };
    let mut terms = Terms::new(&[I8, I32]);
    let (x, offset) = (terms.input_as(0, I16), terms.input_as(1, I16));
    let x = terms.sub(x, offset)?;
    g.map(&[rows.integers, offsets], terms.finish(x))
}
