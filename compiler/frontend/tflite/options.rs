//! Activations fused into operators, and paddings, by their codes in the file.

use super::error::{invalid, unsupported};
use crate::diagnostic::{Diagnostic, codes};
use crate::operators::activation::Activation;
use crate::operators::windows::Padding;
use crate::schema::tflite::{ActivationFunctionType, Padding as PaddingCode};

/// The activation of a code.
pub(super) fn activation(code: ActivationFunctionType) -> Result<Activation, Diagnostic> {
    match code {
        ActivationFunctionType::NONE => Ok(Activation::NONE),
        ActivationFunctionType::RELU => Ok(Activation::RELU),
        ActivationFunctionType::RELU6 => Ok(Activation::RELU6),
        ActivationFunctionType::RELU_N1_TO_1 => Ok(Activation::RELU_N1_TO_1),
        other => Err(unsupported(format!("the fused activation {other:?} is not supported"))),
    }
}

/// The padding of a code.
pub(super) fn padding(code: PaddingCode) -> Result<Padding, Diagnostic> {
    match code {
        PaddingCode::SAME => Ok(Padding::Same),
        PaddingCode::VALID => Ok(Padding::Valid),
        other => Err(invalid(codes::OPTION_CHOICE, "unknown padding").expected("SAME or VALID", format!("{other:?}"))),
    }
}
