//! CONCATENATION, PACK and UNPACK.

use super::error::{invalid, missing_options, unsupported};
use super::operator::{Affine, Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Interval, Value};
use crate::operators::quantize::at_zero_point;
use crate::operators::terms::Terms;
use crate::operators::{joins, slices};
use crate::schema::tflite::ActivationFunctionType;
use ElementType::{F32, I4, I8, I16, U8};

fn inputs(operator: &mut Operator<'_, '_, '_>) -> Result<Vec<Operand>, Diagnostic> {
    let count = operator.input_count();
    operator.arity(1..=count.max(1), 1..=1)?;
    (0..count).map(|index| operator.any_input(index)).collect()
}

/// CONCATENATION: int8 inputs have the output's scale, uint8 ones are brought to it.
pub(super) fn concatenation(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_concatenation_options().ok_or_else(missing_options)?;
    if options.fused_activation_function() != ActivationFunctionType::NONE {
        return Err(unsupported("a fused activation is not supported here"));
    }
    let inputs = inputs(operator)?;
    let output = operator.output(0)?;
    let axis = operator.axis(i64::from(options.axis()), inputs[0].rank())?;
    // The reference joins packed integers of four bits with a sign alone.
    if output.element.is_packed() && output.element != I4 {
        return Err(operator.type_error(&[output.element]));
    }
    let mut values = Vec::new();
    for input in &inputs {
        let quantized = input.info.quantization.is_some() && output.quantization.is_some();
        let value = match input.element() {
            U8 if quantized => {
                let (from, to) = (operator.affine(&input.info)?, operator.affine(&output)?);
                rescaled(operator, input.value, from, to)?
            }
            I8 | I16 if quantized => {
                let (from, to) = (operator.affine(&input.info)?, operator.affine(&output)?);
                let differs = if input.element() == I16 { from.zero_point != 0 || to.zero_point != 0 } else { from != to };
                if differs {
                    let message = "the scale or zero point of an input differs from the output's";
                    return Err(invalid(codes::SCALE, message).about_tensor(&input.info.name).expected(to.to_string(), from.to_string()));
                }
                input.value
            }
            _ => operator.graph().unpacked(input.value)?,
        };
        values.push(value);
    }
    let value = joins::joined(operator.graph(), &values, axis)?;
    operator.bind(0, value)
}

/// A uint8 tensor on another scale: the reference computes `round(x × scale + bias) + zero point` in binary32.
fn rescaled(operator: &mut Operator<'_, '_, '_>, value: Value, from: Affine, to: Affine) -> Result<Value, Diagnostic> {
    if from == to {
        return Ok(value);
    }
    let inverse = 1.0 / to.scale;
    let scale = from.scale * inverse;
    let bias = -(from.zero_point as f32) * scale;
    let mut terms = Terms::new(&[U8]);
    let x = terms.input_as(0, F32);
    let (scale, bias, zero_point) = (terms.f32(scale), terms.f32(bias), terms.i32(to.zero_point));
    let x = terms.mul(x, scale)?;
    let x = terms.add(x, bias)?;
    let x = at_zero_point(&mut terms, x, zero_point, Interval::new(0, 255))?;
    let x = terms.convert(x, U8);
    operator.map(&[value], terms.finish(x))
}

/// PACK: tensors of equal shape joined along a new axis.
pub(super) fn pack(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_pack_options().ok_or_else(missing_options)?;
    let inputs = inputs(operator)?;
    let axis = operator.axis(i64::from(options.axis()), inputs[0].rank() + 1)?;
    let mut values = Vec::new();
    for input in &inputs {
        if input.shape != inputs[0].shape {
            let expected = format!("{:?}", inputs[0].shape);
            return Err(invalid(codes::SHAPES_DIFFER, "packed tensors differ in shape")
                .about_tensor(&input.info.name)
                .expected(expected, format!("{:?}", input.shape)));
        }
        values.push(operator.graph().unpacked(input.value)?);
    }
    let value = joins::stacked(operator.graph(), &values, axis)?;
    operator.bind(0, value)
}

/// UNPACK: the slices along an axis, each without it.
pub(super) fn unpack(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_unpack_options().ok_or_else(missing_options)?;
    let count = operator.output_count();
    operator.arity(1..=1, 1..=count.max(1))?;
    let input = operator.any_input(0)?;
    let axis = operator.axis(i64::from(options.axis()), input.rank())?;
    if input.extents[axis] != Extent::Static(count as u64) {
        return Err(invalid(codes::OPERAND_COUNT, "there are not as many outputs as slices")
            .expected(input.shape[axis].to_string(), count.to_string()));
    }
    for index in 0..count {
        let value = slices::selected(operator.graph(), input.value, axis, Extent::Static(index as u64))?;
        operator.bind(index, value)?;
    }
    Ok(())
}
