//! L2_NORMALIZATION and LOG_SOFTMAX over the last dimension, LOCAL_RESPONSE_NORMALIZATION.

use super::convolution::missing_options;
use super::fixed;
use super::operator::{Lowered, Operand, Operator, invalid};
use super::softmax::{DIFFERENCE_BITS, SUM_BITS, difference_factor, exponentials, look_up, scaled_difference, smallest_difference};
use crate::diagnostic::Diagnostic;
use crate::ir::{Comparison, ElementType, Extent, Reduction, ScalarOp, Value, WindowGeometry};
use crate::operators::fixed_point::divide_by_power_of_two;
use crate::operators::quantization::{Multiplier, integer_range};
use crate::operators::terms::Terms;
use ElementType::{F32, I8, I32, U8};

fn rows(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, [ElementType; 2], Vec<usize>), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    if input.rank() == 0 || input.shape.last() == Some(&0) {
        return Err(
            invalid(314, "the input must have a last dimension that is not empty").expected("rank 1 or more", format!("{:?}", input.shape))
        );
    }
    let axis = vec![operator.axis(-1, input.rank())?];
    let types = [input.element(), output.element];
    Ok((input, types, axis))
}

/// L2_NORMALIZATION: each row divided by its length, or by 10⁻⁶ if that is more.
pub(super) fn l2(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, types, axis) = rows(operator)?;
    let value = match types {
        [F32, F32] => float_l2(operator, &input, axis)?,
        [I8, I8] | [U8, U8] => integer_l2(operator, &input, axis)?,
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

fn float_l2(operator: &mut Operator<'_, '_, '_>, input: &Operand, axis: Vec<usize>) -> Result<Value, Diagnostic> {
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let square = terms.mul(x, x)?;
    let squares = operator.map(&[input.value], terms.finish(square))?;
    let sums = operator.builder().reduce(squares, Reduction::Sum, axis)?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, sum, least) = (terms.input(0), terms.input(1), terms.f32(1e-6));
    let length = terms.op(ScalarOp::Sqrt, &[sum])?;
    let length = terms.max(length, least)?;
    let x = terms.div(x, length)?;
    operator.map(&[input.value, sums], terms.finish(x))
}

/// The output counts in 128ths; int8 multiplies by 128 in the shift, uint8 before it.
fn integer_l2(operator: &mut Operator<'_, '_, '_>, input: &Operand, axis: Vec<usize>) -> Result<Value, Diagnostic> {
    let element = input.element();
    let zero_point = operator.affine(&input.info)?.zero_point;
    let mut terms = Terms::new(&[element]);
    let (x, zero) = (terms.input_as(0, I32), terms.i32(zero_point));
    let x = terms.sub(x, zero)?;
    let square = terms.mul(x, x)?;
    let squares = operator.map(&[input.value], terms.finish(square))?;
    let sums = operator.builder().reduce(squares, Reduction::Sum, axis)?;
    let mut terms = Terms::new(&[I32]);
    let sum = terms.input(0);
    let (mantissa, shift) = fixed::inverse_root(&mut terms, sum)?;
    let row = operator.builder().map_many(&[sums], terms.finish_many(vec![mantissa, shift]))?;
    let mut terms = Terms::new(&[element, I32, I32]);
    let (x, zero, mantissa, shift) = (terms.input_as(0, I32), terms.i32(zero_point), terms.input(1), terms.input(2));
    let (seven, centre) = (terms.i32(7), terms.i32(128));
    let x = terms.sub(x, zero)?;
    let x = if element == I8 {
        let shift = terms.add(shift, seven)?;
        let x = terms.requantize(x, mantissa, shift)?;
        terms.clamp_i32(x, (-128, 127))?
    } else {
        let x = terms.mul(x, centre)?;
        let x = terms.requantize(x, mantissa, shift)?;
        let x = terms.add(x, centre)?;
        terms.clamp_i32(x, (0, 255))?
    };
    let x = terms.convert(x, element);
    operator.map(&[input.value, row[0], row[1]], terms.finish(x))
}

/// LOG_SOFTMAX: x − max − log Σ e^(x − max).
pub(super) fn log_softmax(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, types, axis) = rows(operator)?;
    let value = match types {
        [F32, F32] => float_log_softmax(operator, &input, axis)?,
        [I8, I8] | [U8, U8] => integer_log_softmax(operator, &input, axis)?,
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

fn float_log_softmax(operator: &mut Operator<'_, '_, '_>, input: &Operand, axis: Vec<usize>) -> Result<Value, Diagnostic> {
    let largest = operator.builder().reduce(input.value, Reduction::Max, axis.clone())?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, top) = (terms.input(0), terms.input(1));
    let difference = terms.sub(x, top)?;
    let exponential = terms.softmax_power(difference)?;
    let exponentials = operator.map(&[input.value, largest], terms.finish(exponential))?;
    let sums = operator.builder().reduce(exponentials, Reduction::Sum, axis)?;
    let mut terms = Terms::new(&[F32, F32, F32]);
    let (x, top, sum) = (terms.input(0), terms.input(1), terms.input(2));
    let logarithm = terms.op(ScalarOp::Log, &[sum])?;
    let difference = terms.sub(x, top)?;
    let x = terms.sub(difference, logarithm)?;
    operator.map(&[input.value, largest, sums], terms.finish(x))
}

/// Results count in sixteenths down from the largest integer: differences from the row's maximum less the logarithm, with four integer
/// bits. Differences that would leave the range with the logarithm give the smallest integer.
fn integer_log_softmax(operator: &mut Operator<'_, '_, '_>, input: &Operand, axis: Vec<usize>) -> Result<Value, Diagnostic> {
    const RESULT_BITS: i32 = 4;
    let element = input.element();
    let scale = operator.affine(&input.info)?.scale;
    let error = || invalid(304, "the input's scale is out of range").expected("above 2^-26", scale.to_string());
    let factor = difference_factor(scale, 1.0).ok_or_else(error)?;
    let table = exponentials(scale, 1.0).ok_or_else(error)?;
    let bytes = |list: &[i32]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let addends: Vec<i32> = table.iter().map(|&n| divide_by_power_of_two(n, SUM_BITS)).collect();
    let addends = operator.table(I32, bytes(&addends));
    let scaled: Vec<i32> = (-255..=0).map(|difference| scaled_difference(difference, factor)).collect();
    let scaled = operator.table(I32, bytes(&scaled));

    let largest = operator.builder().reduce(input.value, Reduction::Max, axis.clone())?;
    let mut terms = Terms::new(&[element, element]);
    let addend = look_up(&mut terms, addends)?;
    let addends = operator.map(&[input.value, largest], terms.finish(addend))?;
    let sums = operator.builder().reduce(addends, Reduction::Sum, axis)?;

    // The smallest difference that the row's logarithm leaves room for.
    let inverse = Multiplier::from_real(2f64.powi(31 - factor.shift) / f64::from(factor.mantissa)).ok_or_else(error)?;
    let mut terms = Terms::new(&[I32]);
    let sum = terms.input(0);
    let logarithm = fixed::logarithm(&mut terms, sum, SUM_BITS as i32, DIFFERENCE_BITS as i32)?;
    let lowest = terms.i32(i32::MIN);
    let room = terms.add(logarithm, lowest)?;
    let least = terms.requantize_by(room, inverse)?;
    let bound = terms.i32(smallest_difference(factor) - 1);
    let least = terms.max(bound, least)?;
    let row = operator.builder().map_many(&[sums], terms.finish_many(vec![logarithm, least]))?;

    let (lowest, highest) = integer_range(element).ok_or_else(error)?;
    let mut terms = Terms::new(&[element, element, I32, I32]);
    let (x, top, logarithm, least) = (terms.input_as(0, I32), terms.input_as(1, I32), terms.input(2), terms.input(3));
    let difference = terms.sub(x, top)?;
    let scaled = look_up(&mut terms, scaled)?;
    let result = terms.sub(scaled, logarithm)?;
    let result = fixed::divide(&mut terms, result, 31 - DIFFERENCE_BITS as i32 - RESULT_BITS)?;
    let zero = terms.i32(highest);
    let result = terms.add(result, zero)?;
    let result = terms.clamp_i32(result, (lowest, highest))?;
    let (fits, smallest) = (terms.compare(Comparison::Greater, difference, least)?, terms.i32(lowest));
    let result = terms.select(fits, result, smallest)?;
    let result = terms.convert(result, element);
    operator.map(&[input.value, largest, row[0], row[1]], terms.finish(result))
}

/// LOCAL_RESPONSE_NORMALIZATION: each element times (bias + alpha × the sum of squares)^−beta, over the channels from one radius before it to
/// one less than a radius behind it.
pub(super) fn local_response(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_local_response_normalization_options().ok_or_else(missing_options)?;
    let (radius, bias, alpha, beta) = (options.radius(), options.bias(), options.alpha(), options.beta());
    let (input, types, _) = rows(operator)?;
    if types != [F32, F32] {
        return Err(operator.type_error(&types));
    }
    let channels = input.shape.last().copied().unwrap_or(1);
    // A window that reaches beyond all channels sees no more than one that reaches them all.
    let radius = u64::try_from(radius).map_err(|_| invalid(312, "the radius is negative").expected("0 or more", radius.to_string()))?;
    let radius = radius.min(channels) as i64;
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let square = terms.mul(x, x)?;
    let squares = operator.map(&[input.value], terms.finish(square))?;
    // The channels as the one spatial dimension of an image.
    let last = input.rank() - 1;
    let (pixels, along) = (operator.graph().product(&input.extents[..last])?, input.extents[last]);
    let squares = operator.reshape_to(squares, &[pixels, along, Extent::Static(1)])?;
    let behind = (radius - 1).max(0);
    let mut geometry = WindowGeometry {
        strides: vec![1],
        dilation: vec![1],
        padding_low: vec![radius],
        padding_high: vec![behind],
        ..WindowGeometry::default()
    };
    if along.as_static().is_none() {
        (geometry.positions, geometry.shift) = (vec![along], vec![Extent::Static(0)]);
    }
    let sums = operator.builder().window(squares, Reduction::Sum, vec![radius + behind + 1], geometry)?;
    let sums = operator.reshape_to(sums, &input.extents)?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, sum) = (terms.input(0), terms.input(1));
    // A radius of zero takes nothing, not even the element itself.
    let alpha = if radius == 0 { 0.0 } else { alpha };
    let (bias, alpha, exponent) = (terms.f32(bias), terms.f32(alpha), terms.f32(-beta));
    let scaled = terms.mul(alpha, sum)?;
    let base = terms.add(bias, scaled)?;
    let factor = terms.op(ScalarOp::Pow, &[base, exponent])?;
    let x = terms.mul(x, factor)?;
    let value = operator.map(&[input.value, sums], terms.finish(x))?;
    operator.bind(0, value)
}
