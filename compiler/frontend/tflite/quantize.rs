//! QUANTIZE, DEQUANTIZE, FAKE_QUANT and CAST.

use super::error::{invalid, missing_options, unsupported};
use super::filter;
use super::operator::{Lowered, Operand, Operator};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Interval, Scalar, Value};
use crate::operators::quantization::integer_range;
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use crate::operators::terms::Terms;
use ElementType::{Bf16, Bool, C64, F16, F32, F64, I2, I4, I8, I16, I32, U4, U8};

/// The scale of a tensor of some rank: numbers, or constants that vary along one dimension.
fn scale(operator: &mut Operator<'_, '_, '_>, info: &TensorInfo, rank: usize) -> Result<Scale, Diagnostic> {
    match &info.quantization {
        Some(quantization) if quantization.scales.len() > 1 => {
            let mut broadcast = vec![1; rank];
            broadcast[quantization.axis] = quantization.scales.len() as u64;
            let zero_points: Vec<i32> = quantization.zero_points.iter().map(|&z| z as i32).collect();
            let scale = Parameter::Tensor(operator.constant_f32(&broadcast, &quantization.scales)?);
            Ok(Scale { scale, zero_point: Parameter::Tensor(operator.constant_i32(&broadcast, &zero_points)?) })
        }
        _ => {
            let affine = operator.affine(info)?;
            Ok(Scale { scale: Parameter::Number(affine.scale.into()), zero_point: Parameter::Number(affine.zero_point.into()) })
        }
    }
}

/// QUANTIZE: from floats, or from another integer scale. Packed integers that the program computes have a byte each; constants stay packed.
pub(super) fn quantize(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    let result = match types {
        [F32, I2 | I4 | U4 | I8 | U8 | I16] => {
            let scale = scale(operator, &output, input.rank())?;
            let Interval { low, high } = integer_range(output.element).ok_or_else(|| unsupported("no such quantized type"))?;
            let bounds = Interval::new(low.into(), high.into());
            let is_constant = operator.constant_bytes(&input).is_some();
            let element = if is_constant { output.element } else { output.element.unpacked() };
            quantize::quantize(operator.graph(), input.value, &scale, bounds, Rounding::Away, element)?
        }
        [I8 | U8, I8 | U8 | I16] | [I16, I8 | I16 | I32] | [I32, I8 | I16] => {
            let (from, to) = (operator.affine(&input.info)?, operator.affine(&output)?);
            quantize::requantize(operator.graph(), input.value, from, to, output.element)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, result)
}

/// DEQUANTIZE: `scale × (x − zero point)`.
pub(super) fn dequantize(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    let result = match types {
        [F16, F16] => input.value,
        [F16, F32] => operator.graph().convert(input.value, F32)?,
        [I2 | I4, F16 | F32] if input.info.blocks.is_some() => dequantize_blocks(operator, &input, output.element)?,
        [I2 | I4 | U4 | I8 | U8 | I16, F16 | F32] => {
            let scale = scale(operator, &input.info, input.rank())?;
            quantize::dequantize(operator.graph(), input.value, &scale, Rounding::Away, output.element)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, result)
}

/// A matrix whose rows are cut into blocks with a scale each.
fn dequantize_blocks(operator: &mut Operator<'_, '_, '_>, input: &Operand, element: ElementType) -> Result<Value, Diagnostic> {
    let Some(blocks) = input.info.blocks else { return Err(operator.type_error(&[input.element(), element])) };
    let scales = filter::block_scales(operator, input, blocks)?;
    let [units, count] = operator.shape(scales)?[..] else { return Err(operator.type_error(&[input.element(), element])) };
    let apart = operator.reshape(input.value, &[units, count, blocks.size])?;
    let scale = Parameter::Tensor(operator.reshape(scales, &[units, count, 1])?);
    let scale = Scale { scale, zero_point: Parameter::Number(0.0) };
    let real = quantize::dequantize(operator.graph(), apart, &scale, Rounding::Away, element)?;
    operator.reshape(real, &input.shape)
}

/// FAKE_QUANT: floats rounded to the steps of a quantized scale over a range, which is moved a little so that zero is one of them.
pub(super) fn fake_quant(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_fake_quant_options().ok_or_else(missing_options)?;
    let (low, high, bits) = (options.min(), options.max(), options.num_bits());
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    if types != [F32, F32] {
        return Err(operator.type_error(&types));
    }
    let has_zero = low <= 0.0 && high >= 0.0 && low < high;
    if !((2..=16).contains(&bits) && has_zero) {
        let found = format!("{bits} bits from {low} to {high}");
        return Err(invalid(codes::OPTION_RANGE, "the quantized range is not sound").expected("2 to 16 bits, zero within the range", found));
    }
    let steps = Interval::new(f32::from(u8::from(options.narrow_range())), ((1 << bits) - 1) as f32);
    let value = quantize::round_to_steps(operator.graph(), input.value, Interval { low, high }, steps)?;
    operator.bind(0, value)
}

/// CAST: C++'s conversions. A float beyond an integer type gives its nearest number, NaN the largest. Complex numbers go by their real
/// part.
pub(super) fn cast(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    let castable = |e: ElementType| e.is_integer() || matches!(e, Bool | F16 | Bf16 | F32 | F64 | C64);
    // The reference makes packed integers of floats alone.
    let packs_others = types[1].is_packed() && types[0] != F32;
    if packs_others || types.iter().any(|&e| !castable(e)) {
        return Err(operator.type_error(&types));
    }
    if types == [C64, C64] {
        return operator.bind(0, input.value);
    }
    let value = if types[0] == C64 { super::complex::part(operator, &input, 0)? } else { input.value };
    let result = if types[1] == C64 {
        let real = converted(operator, value, F32)?;
        super::complex::from_real(operator, real)?
    } else {
        converted(operator, value, types[1])?
    };
    operator.bind(0, result)
}

fn converted(operator: &mut Operator<'_, '_, '_>, value: Value, to: ElementType) -> Result<Value, Diagnostic> {
    let from = operator.builder().tensor(value).element;
    let Some((_, largest)) = to.integer_range().filter(|_| from.is_float()) else {
        return Ok(operator.graph().convert(value, to)?);
    };
    let mut terms = Terms::new(&[from]);
    let x = terms.input(0);
    let integer = match integer_range(to) {
        Some(range) if to.is_packed() => {
            let wide = terms.convert(x, I32);
            let clamped = terms.clamp_i32(wide, range)?;
            terms.convert(clamped, to.unpacked())
        }
        _ => terms.convert(x, to),
    };
    let largest = terms.constant(Scalar::from_bits(to.unpacked(), largest as u64));
    let known = terms.compare(Comparison::Equal, x, x)?;
    let result = terms.select(known, integer, largest)?;
    operator.map(&[value], terms.finish(result))
}
