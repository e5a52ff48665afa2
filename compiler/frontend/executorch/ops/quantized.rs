//! Quantization by explicit operators, and the choice of a scale.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{ElementType, Interval, Value};
use crate::operators::norms::over_dimension;
use crate::operators::promotion::{Number, Operand};
use crate::operators::quantize::{self, Parameter, Rounding, Scale};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("quantized_decomposed::quantize_per_tensor.out", |c| quantize(c, None, 3)),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out", |c| quantize(c, None, 3)),
    ("quantized_decomposed::quantize_per_channel.out", |c| quantize(c, Some(3), 4)),
    ("quantized_decomposed::choose_qparams.Tensor_out", choose_parameters),
    ("quantized_decomposed::dequantize_per_tensor.out", |c| dequantize(c, None)),
    ("quantized_decomposed::dequantize_per_tensor.Tensor_out", |c| dequantize(c, None)),
    ("quantized_decomposed::dequantize_per_channel.out", |c| dequantize(c, Some(3))),
];

/// Scale and zero point, arguments 1 and 2, as tensors or numbers that broadcast over the input.
fn scale(c: &mut Call<'_, '_, '_>, x: Value, axis: Option<usize>) -> Result<Scale, Fault> {
    let scale = c.operand(1)?;
    let zero_point = if c.is_none(2)? { Operand::Number(Number::Int(0)) } else { c.operand(2)? };
    let rank = c.graph().rank(x);
    let mut parameters = [Parameter::Number(0.0); 2];
    for (parameter, operand) in parameters.iter_mut().zip([scale, zero_point]) {
        let value = match operand {
            Operand::Number(number) => {
                *parameter = Parameter::Number(number.as_f64());
                continue;
            }
            Operand::Tensor(value) => value,
        };
        let value = match axis {
            None => c.reshape(value, &[])?,
            Some(argument) => {
                let axis = c.axis(c.int(argument)?, rank)?;
                if axis >= rank {
                    return Err(Fault::invalid("a scalar has no channels"));
                }
                let element = c.element(value);
                over_dimension(c.graph(), value, axis, rank, element)?
            }
        };
        *parameter = Parameter::Tensor(value);
    }
    Ok(Scale { scale: parameters[0], zero_point: parameters[1] })
}

/// A tensor as integers; the range of these begins at an argument.
pub(super) fn quantize(c: &mut Call<'_, '_, '_>, axis: Option<usize>, range: usize) -> Outcome {
    let x = c.tensor(0)?;
    let scale = scale(c, x, axis)?;
    let bounds = Interval::new(c.int(range)?, c.int(range + 1)?);
    let out = c.out_form(c.out())?.element;
    let y = quantize::quantize(c.graph(), x, &scale, bounds, Rounding::Even, out)?;
    c.finish(y)
}

/// Converts the integers of a tensor to real numbers.
pub(super) fn dequantize(c: &mut Call<'_, '_, '_>, axis: Option<usize>) -> Outcome {
    let x = c.tensor(0)?;
    let scale = scale(c, x, axis)?;
    let out = c.out_form(c.out())?.element;
    let y = quantize::dequantize(c.graph(), x, &scale, Rounding::Even, out)?;
    c.finish(y)
}

/// (input, low, high, eps, dtype, scale, zero point).
fn choose_parameters(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (bounds, eps) = (Interval::new(c.int(1)?, c.int(2)?), c.double(3)?);
    let x = c.cast(x, ElementType::F32)?;
    let axes: Vec<usize> = (0..c.rank(x)).collect();
    let found = quantize::spanning(c.graph(), x, &axes, bounds, eps)?;
    for (index, value) in [5, 6].into_iter().zip(found) {
        let shape = c.out_form(index)?.shape;
        let value = c.reshape_to(value, &shape)?;
        c.define(index, value)?;
    }
    Ok(())
}
