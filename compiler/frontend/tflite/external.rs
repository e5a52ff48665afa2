//! Custom operators that the application computes: their tensors are handed over as they are.

use super::error::{invalid, unsupported};
use super::operator::{Lowered, Operator};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, External, TensorType, Type};

/// An operator that becomes a call of `symbol`.
pub(super) fn external(operator: &mut Operator<'_, '_, '_>, symbol: &str) -> Lowered {
    let mut operands = Vec::new();
    let mut quantization = Vec::new();
    for index in 0..operator.input_count() {
        let Some(input) = operator.optional_input(index)? else {
            return Err(unsupported(format!("input {index} of the custom operator is left out, which its function could not see")));
        };
        operands.push(input.value);
        quantization.push(affine(operator, &input.info));
    }
    let mut results = Vec::new();
    for index in 0..operator.output_count() {
        let info = operator.output(index)?;
        results.push(Type::Tensor(TensorType::of(info.element, &info.shape)));
        quantization.push(affine(operator, &info));
    }
    if results.is_empty() {
        return Err(unsupported("a custom operator without outputs is not supported"));
    }
    let (scales, zero_points): (Vec<f32>, Vec<i32>) = quantization.into_iter().unzip();
    let options = options(operator)?;
    let builder = operator.builder();
    let mut constant = |element: ElementType, bytes: Vec<u8>| {
        let count = bytes.len() as u64 * 8 / u64::from(element.bits());
        builder.module.add_constant(TensorType::of(element, &[count]), bytes.into())
    };
    let external = External {
        symbol: symbol.to_owned(),
        options: constant(ElementType::U8, options),
        scales: constant(ElementType::F32, scales.iter().flat_map(|scale| scale.to_le_bytes()).collect()),
        zero_points: constant(ElementType::I32, zero_points.iter().flat_map(|point| point.to_le_bytes()).collect()),
        results,
    };
    for (index, value) in builder.external(&operands, external)?.into_iter().enumerate() {
        operator.bind(index, value)?;
    }
    Ok(())
}

/// The single scale and zero point of a tensor; zeros if it has none or several.
fn affine(operator: &Operator<'_, '_, '_>, info: &TensorInfo) -> (f32, i32) {
    operator.affine(info).map_or((0.0, 0), |affine| (affine.scale, affine.zero_point))
}

/// The bytes of the operator's options: in the operator, or, in large files, after the FlatBuffer.
pub(super) fn options(operator: &Operator<'_, '_, '_>) -> Result<Vec<u8>, Diagnostic> {
    if let Some(options) = operator.record.custom_options() {
        return Ok(options.bytes().to_vec());
    }
    let (offset, size) = (operator.record.large_custom_options_offset(), operator.record.large_custom_options_size());
    if offset <= 1 || size == 0 {
        return Ok(vec![]);
    }
    let range = usize::try_from(offset).ok().zip(offset.checked_add(size).and_then(|end| usize::try_from(end).ok()));
    let bytes = range.and_then(|(start, end)| operator.lowering.shared.file.buffers.bytes.get(start..end));
    bytes.map(<[u8]>::to_vec).ok_or_else(|| invalid(codes::OPTIONS_UNREADABLE, "the options of the custom operator lie outside the file"))
}
