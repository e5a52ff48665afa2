//! SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION over the last dimension, LOCAL_RESPONSE_NORMALIZATION.

use super::error::{invalid, missing_options};
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType;
use crate::operators::norms::{self, LocalResponse};
use crate::operators::softmax;
use ElementType::{F16, F32, I8, I16, U8};

/// The operand, whose last dimension is not empty, and the types of operand and result.
fn rows(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, [ElementType; 2]), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    if input.rank() == 0 || input.shape.last() == Some(&0) {
        return Err(invalid(codes::RANK, "the input must have a last dimension that is not empty")
            .expected("rank 1 or more", format!("{:?}", input.shape)));
    }
    let types = [input.element(), output.element];
    Ok((input, types))
}

/// SOFTMAX
pub(super) fn softmax(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_softmax_options().ok_or_else(missing_options)?;
    let (input, types) = rows(operator)?;
    let (beta, axes) = (options.beta(), [input.rank() - 1]);
    let value = match types {
        [F32, F32] => softmax::softmax(operator.graph(), input.value, &axes, beta, F32)?,
        [F16, F16] => {
            let wide = operator.graph().convert(input.value, F32)?;
            softmax::softmax(operator.graph(), wide, &axes, beta, F16)?
        }
        [I16, I16] => {
            let scale = operator.affine(&input.info)?.scale;
            softmax::wide::softmax(operator.graph(), input.value, scale, beta)?
        }
        [I8, I8 | I16] | [U8, U8 | I16] => {
            let scale = operator.affine(&input.info)?.scale;
            softmax::narrow::softmax(operator.graph(), input.value, scale, beta, types[1])?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

/// LOG_SOFTMAX
pub(super) fn log_softmax(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, types) = rows(operator)?;
    let value = match types {
        [F32, F32] => softmax::log_softmax(operator.graph(), input.value, &[input.rank() - 1])?,
        [I8, I8] | [U8, U8] => {
            let scale = operator.affine(&input.info)?.scale;
            softmax::narrow::log_softmax(operator.graph(), input.value, scale)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

/// L2_NORMALIZATION: each row divided by its length, or by 10⁻⁶ if that is more.
pub(super) fn l2(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, types) = rows(operator)?;
    let value = match types {
        [F32, F32] => norms::l2(operator.graph(), input.value)?,
        [I8, I8] | [U8, U8] => {
            let zero_point = operator.affine(&input.info)?.zero_point;
            norms::quantized_l2(operator.graph(), input.value, zero_point)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

/// LOCAL_RESPONSE_NORMALIZATION
pub(super) fn local_response(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_local_response_normalization_options().ok_or_else(missing_options)?;
    let (input, types) = rows(operator)?;
    if types != [F32, F32] {
        return Err(operator.type_error(&types));
    }
    let radius = options.radius();
    let radius = u64::try_from(radius)
        .map_err(|_| invalid(codes::OPTION_RANGE, "the radius is negative").expected("0 or more", radius.to_string()))?;
    let numerics = LocalResponse { radius, bias: options.bias(), alpha: options.alpha(), beta: options.beta() };
    let value = norms::local_response(operator.graph(), input.value, &numerics)?;
    operator.bind(0, value)
}
