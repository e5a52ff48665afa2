//! BATCH_MATMUL and TRANSPOSE_CONV.

use super::activation::Activation;
use super::convolution::{self, Convolution, Kind, Spatial, missing_options, symmetric};
use super::hybrid;
use super::operator::{Lowered, Operand, Operator, invalid};
use super::requantize::{IntegerOutput, Scaling, integer_output, multiplier};
use super::shape::output_bounds;
use super::transposed_phases::RunTime;
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, ScalarOp, Value, WindowGeometry};
use crate::operators::terms::Terms;
use ElementType::{F32, I8, I16, I32, I64, U8};

/// The two innermost dimensions swapped.
fn swapped(operator: &mut Operator<'_, '_, '_>, operand: &Operand) -> Result<Value, Diagnostic> {
    let rank = operand.rank();
    let mut order: Vec<usize> = (0..rank - 2).collect();
    order.extend([rank - 1, rank - 2]);
    Ok(operator.builder().transpose(operand.value, order)?)
}

/// BATCH_MATMUL: either operand may be transposed first.
pub(super) fn batch_matmul(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_batch_mat_mul_options().ok_or_else(missing_options)?;
    let (left, right, output) = (operator.any_input(0)?, operator.any_input(1)?, operator.output(0)?);
    for operand in [&left, &right] {
        if operand.rank() < 2 {
            let found = format!("{:?}", operand.shape);
            return Err(invalid(314, "the tensor must be a matrix").about_tensor(&operand.info.name).expected("rank 2 or more", found));
        }
    }
    let types = [left.element(), right.element(), output.element];
    let inner = |operand: &Operand, swapped: bool| operand.extents[operand.rank() - if swapped { 2 } else { 1 }];
    operator.graph().equate(inner(&left, options.adj_x()), inner(&right, !options.adj_y()))?;
    operator.graph().meet_leading(&[left.value, right.value], 2)?;
    let rows = if options.adj_x() { swapped(operator, &left)? } else { left.value };
    // The tensor language takes the right operand transposed.
    let columns = if options.adj_y() { right.value } else { swapped(operator, &right)? };
    let value = match types {
        [F32, F32, F32] => operator.builder().matmul(rows, columns, (0, 0), F32)?,
        [F32, I8, F32] => {
            hybrid::matmul(operator, rows, columns, operator.affine(&right.info)?.scale, options.asymmetric_quantize_inputs())?
        }
        // The reference has no zero points here.
        [I8, I8, I32] => operator.builder().matmul(rows, columns, (0, 0), I32)?,
        [I8, I8, I8] => {
            let (from, by, to) = (operator.affine(&left.info)?, operator.affine(&right.info)?, operator.affine(&output)?);
            // The reference multiplies the scales in binary32.
            let factor = multiplier(f64::from(from.scale * by.scale) / f64::from(to.scale))?;
            let sums = operator.builder().matmul(rows, columns, (i64::from(from.zero_point), i64::from(by.zero_point)), I32)?;
            let output = IntegerOutput { element: output.element, affine: to, activation: Activation::NONE };
            integer_output(operator, sums, None, 1, &Scaling::FixedPoint(vec![factor]), &output)?
        }
        [I16, I8 | I16, I16] => {
            let (from, by, to) = (operator.affine(&left.info)?, operator.affine(&right.info)?, operator.affine(&output)?);
            symmetric(from, to)?;
            symmetric(by, to)?;
            let factor = multiplier(f64::from(from.scale * by.scale) / f64::from(to.scale))?;
            let sums = match right.element() {
                I8 => operator.builder().matmul(rows, columns, (0, 0), I64)?,
                _ => wide_products(operator, rows, columns)?,
            };
            let output = IntegerOutput { element: output.element, affine: to, activation: Activation::NONE };
            integer_output(operator, sums, None, 1, &Scaling::FixedPoint(vec![factor]), &output)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

/// Products of 16-bit matrices in 64 bits: those with the high bytes of the right one, and those with its low bytes.
fn wide_products(operator: &mut Operator<'_, '_, '_>, rows: Value, columns: Value) -> Result<Value, Diagnostic> {
    let mut sums = Vec::new();
    for (high, element) in [(false, U8), (true, I8)] {
        let mut terms = Terms::new(&[I16]);
        let x = terms.input_as(0, I32);
        let (mask, eight) = (terms.i32(0xFF), terms.i32(8));
        let byte = if high { terms.op(ScalarOp::ShiftRight, &[x, eight])? } else { terms.op(ScalarOp::And, &[x, mask])? };
        let byte = terms.convert(byte, element);
        let bytes = operator.map(&[columns], terms.finish(byte))?;
        sums.push(operator.builder().matmul(rows, bytes, (0, 0), I64)?);
    }
    let mut terms = Terms::new(&[I64; 2]);
    let (low, high, weight) = (terms.input(0), terms.input(1), terms.i64(256));
    let high = terms.mul(high, weight)?;
    let sum = terms.add(low, high)?;
    operator.map(&sums, terms.finish(sum))
}

/// TRANSPOSE_CONV: a convolution of the input dilated by the strides with the filter turned around. Inputs are the
/// result's shape, the filter `[O, height, width, C]`, the image, and perhaps a bias.
pub(super) fn transpose_conv(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=4, 1..=1)?;
    let options = operator.record.builtin_options_as_transpose_conv_options().ok_or_else(missing_options)?;
    let activation = Activation::from_code(options.fused_activation_function())?;
    let (list, filter, input) = (operator.input(0)?, operator.input(1)?, operator.any_input(2)?);
    operator.require_known(&input, 3)?;
    let bounds = output_bounds(operator);
    let wanted: Option<Vec<Extent>> = operator.extent_list(&list, "shapes", &bounds)?.into_iter().map(|item| item.extent()).collect();
    let extents = wanted.ok_or_else(|| invalid(301, "a dimension is negative"))?;
    let same_batch = extents.first() == input.extents.first();
    // What is known only when the model runs stands here with its bound, as in the input's shape.
    let wanted: Vec<u64> = extents.iter().map(|&extent| u64::try_from(operator.interval(extent).high).unwrap_or(0)).collect();
    if wanted.len() != 4
        || input.rank() != 4
        || filter.rank() != 4
        || !same_batch
        || extents[3] != Extent::Static(filter.shape[0])
        || filter.shape[3] != input.shape[3]
    {
        let found = format!("{wanted:?} from {:?} with {:?}", input.shape, filter.shape);
        return Err(invalid(311, "shapes of result, input and filter do not fit")
            .expected("[N, H, W, O] from [N, h, w, C] with [O, kh, kw, C]", found));
    }
    let spatial = Spatial { padding: options.padding(), strides: [options.stride_h(), options.stride_w()], dilation: [1, 1] };
    // The geometry of the convolution that this one is the transpose of.
    let forward = spatial.geometry([wanted[1], wanted[2]], [filter.shape[1], filter.shape[2]])?;
    let known = |extents: &[Extent]| extents[1..3].iter().all(|extent| extent.as_static().is_some());
    if !known(&input.extents) || !known(&extents) {
        let phases = RunTime { input, filter, wanted: extents, activation, bias_type: options.quantized_bias_type() };
        let value = phases.computed(operator, &spatial)?;
        return operator.bind(0, value);
    }
    let convolution = Convolution {
        filter_value: turned(operator, &filter)?,
        channel_axis: 0,
        channels: filter.shape[0],
        groups: 1,
        geometry: transposed(&forward, &input.shape[1..3], &filter.shape[1..3], &wanted[1..3])?,
        activation,
        bias_type: options.quantized_bias_type(),
        kind: Kind::Transposed,
        input_dilation: [forward.strides[0], forward.strides[1]],
        size: Some([wanted[1], wanted[2]]),
        bias_operand: 3,
        input,
        filter,
    };
    convolution::lower(operator, &convolution)
}

/// The geometry of the transpose of a convolution: its strides keep input elements apart, and the padding that is left of the
/// filter's reach gives the wanted extents. Extents are those of the spatial dimensions.
pub(super) fn transposed(forward: &WindowGeometry, input: &[u64], window: &[u64], wanted: &[u64]) -> Result<WindowGeometry, Diagnostic> {
    let dimensions = input.len();
    let dilation = forward.dilation.clone();
    let mut geometry = WindowGeometry { strides: vec![1; dimensions], dilation, ..WindowGeometry::default() };
    // From the first of so many elements to the last; a sum of two fits too.
    let reach = |elements: u64, step: i64| {
        let reach = (elements as i64 - 1).max(0).checked_mul(step).filter(|&n| n < 1 << 62);
        reach.ok_or_else(|| invalid(302, "the image or the filter is too large"))
    };
    for d in 0..dimensions {
        let dilated = reach(input[d], forward.strides[d])? + 1;
        let reach = reach(window[d], forward.dilation[d])?;
        let low = reach - forward.padding_low[d];
        geometry.padding_low.push(low);
        // Where the filter reaches past the wanted extent already, the result is cut.
        geometry.padding_high.push((wanted[d] as i64 + reach - low - dilated).max(0));
    }
    Ok(geometry)
}

/// A filter `[O, height, width, C]` with rows and columns in reverse: a constant is rearranged here, another by the program.
pub(super) fn turned(operator: &mut Operator<'_, '_, '_>, filter: &Operand) -> Result<Value, Diagnostic> {
    let [outputs, height, width, channels] = filter.shape[..] else { return Err(missing_options()) };
    let Some(bytes) = operator.constant_bytes(filter) else {
        let starts = super::operator::extents(&[0, height.saturating_sub(1), width.saturating_sub(1), 0]);
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
