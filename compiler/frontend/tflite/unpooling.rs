//! MaxPoolingWithArgmax2D and MaxUnpooling2D: max pooling that returns positions, and its inverse.
//!
//! There are two formats of positions, with different types. MediaPipe's positions are f32 and count taps of the window (row × window width + column,
//! plus 0.1). Positions of TFLite's perception kernels are i32 and count elements of the image.

use super::error::{invalid, unsupported};
use super::operator::{Lowered, Operand, Operator};
use super::{external, options};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType;
use crate::operators::unpooling::{self, Pool};
use crate::operators::windows::Padding;
use crate::schema::tflite::ActivationFunctionType;
use ElementType::{F32, I32};

/// Windows of more taps are no real model's.
const MAX_TAPS: i64 = 256;

/// The options: six 32-bit integers of the C structure of pooling parameters.
fn pool(options: &[u8]) -> Result<Pool, Diagnostic> {
    let missing =
        || invalid(codes::OPTIONS_UNREADABLE, "the options are too short").expected("at least 24 bytes", options.len().to_string());
    let bytes = options.get(..24).ok_or_else(missing)?;
    let numbers: Vec<i32> = bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let [padding, stride_width, stride_height, width, height, activation] = numbers[..] else { return Err(missing()) };
    let padding = match padding {
        1 => Padding::Same,
        2 => Padding::Valid,
        other => return Err(invalid(codes::OPTION_CHOICE, "unknown padding").expected("1 (same) or 2 (valid)", other.to_string())),
    };
    let activation = match activation {
        0 => ActivationFunctionType::NONE,
        1 => ActivationFunctionType::RELU,
        2 => ActivationFunctionType::RELU_N1_TO_1,
        3 => ActivationFunctionType::RELU6,
        other => return Err(unsupported(format!("the fused activation number {other} is not supported"))),
    };
    let positive = [stride_width, stride_height, width, height].iter().all(|&n| n >= 1);
    if !positive || i64::from(width) * i64::from(height) > MAX_TAPS {
        let found = format!("{height}x{width}, strides {stride_height}x{stride_width}");
        return Err(unsupported(format!("a window of {found} is not supported")));
    }
    let activation = options::activation(activation)?;
    Ok(Pool { padding, strides: [stride_height, stride_width], size: [height, width], activation })
}

fn image(operator: &mut Operator<'_, '_, '_>, index: usize) -> Result<Operand, Diagnostic> {
    let input = operator.input(index)?;
    if input.rank() == 4 {
        return Ok(input);
    }
    let found = format!("{:?}", input.shape);
    Err(invalid(codes::RANK, "the input must have four dimensions").about_tensor(&input.info.name).expected("rank 4", found))
}

/// MaxPoolingWithArgmax2D: each tap of the window is a strided slice; the first of the largest wins.
pub(super) fn max_pool_with_positions(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    let pool = pool(&external::options(operator)?)?;
    let input = image(operator, 0)?;
    let (output, places) = (operator.output(0)?, operator.output(1)?);
    if [input.element(), output.element] != [F32, F32] || !matches!(places.element, F32 | I32) {
        return Err(operator.type_error(&[input.element(), output.element, places.element]));
    }
    let [value, place] = unpooling::max_with_positions(operator.graph(), input.value, &pool, places.element == F32)?;
    operator.bind(0, value)?;
    operator.bind(1, place)
}

/// MaxUnpooling2D: each element is written to the position that pooling found. The rest is zero.
pub(super) fn max_unpool(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let pool = pool(&external::options(operator)?)?;
    let (input, places) = (image(operator, 0)?, image(operator, 1)?);
    let output = operator.output(0)?;
    if [input.element(), output.element] != [F32, F32] || !matches!(places.element(), F32 | I32) {
        return Err(operator.type_error(&[input.element(), places.element(), output.element]));
    }
    if places.shape != input.shape {
        let [expected, found] = [&input, &places].map(|operand| format!("{:?}", operand.shape));
        return Err(invalid(codes::SHAPES_DIFFER, "the positions do not fit the input").expected(expected, found));
    }
    let value = unpooling::spread(operator.graph(), [input.value, places.value], &pool)?;
    operator.bind(0, value)
}
