//! Filters and biases of contractions, as files have them.

use super::error::{invalid, unsupported};
use super::operator::{Affine, Operand, Operator};
use super::tensor::{Blocks, TensorInfo};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, TensorType, Value};
use ElementType::{F16, I8, U8};
use std::rc::Rc;

/// The scales of the filter, one or one a channel; a scale of zero is a channel without weights.
pub(super) fn filter_scales(filter: &Operand, axis: usize, channels: u64) -> Result<Vec<f32>, Diagnostic> {
    let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&filter.info.name);
    let Some(quantization) = &filter.info.quantization else {
        return Err(at(invalid(codes::QUANTIZATION_MISSING, "the tensor has no quantization").expected("scales", "none")));
    };
    let scales = &quantization.scales;
    if scales.len() == 1 {
        return Ok(scales.clone());
    }
    if quantization.axis != axis || scales.len() as u64 != channels {
        let found = format!("{} scales along dimension {}", scales.len(), quantization.axis);
        return Err(at(invalid(codes::SCALE_COUNT, "the filter's scales do not fit its channels")
            .expected(format!("{channels} along dimension {axis}"), found)));
    }
    // LiteRT's depthwise kernels, whose channels lie along the last dimension, do not read the zero points.
    if axis == 0 && quantization.zero_points.iter().any(|&zero_point| zero_point != 0) {
        return Err(at(invalid(codes::ZERO_POINT, "zero points of a filter with a scale for each channel must be 0")));
    }
    Ok(scales.clone())
}

/// A bias as a value of shape `[channels]`, its type among `types`.
pub(super) fn bias(
    operator: &mut Operator<'_, '_, '_>,
    index: usize,
    channels: Extent,
    types: &[ElementType],
) -> Result<Option<(Value, ElementType)>, Diagnostic> {
    let Some(bias) = operator.any_optional_input(index)? else { return Ok(None) };
    let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&bias.info.name);
    let count = operator.graph().product(&bias.extents)?;
    if let (Extent::Static(count), Extent::Static(channels)) = (count, channels)
        && count != channels
    {
        return Err(at(invalid(codes::SHAPES_DIFFER, "the bias does not fit the output channels")
            .expected(format!("{channels} elements"), count.to_string())));
    }
    if !types.contains(&bias.element()) {
        let expected: Vec<_> = types.iter().map(|element| element.name()).collect();
        return Err(at(unsupported("the bias has a type that is not supported").expected(expected.join(" or "), bias.element().name())));
    }
    let value = operator.graph().reshape(bias.value, &[count])?;
    Ok(Some((operator.graph().agree(value, 0, channels)?, bias.element())))
}

/// A filter of bytes without a sign holds int8: the files of old converters call them uint8.
pub(super) fn signed_filter(operator: &mut Operator<'_, '_, '_>, filter: Operand) -> Result<Operand, Diagnostic> {
    if filter.element() != U8 {
        return Ok(filter);
    }
    let info = Rc::new(TensorInfo { element: I8, ..(*filter.info).clone() });
    let value = match operator.graph().constant_of(filter.value) {
        Some(constant) => {
            let module = &mut *operator.builder().module;
            let data = module.constants[constant].data.clone();
            let constant = module.add_constant(TensorType::of(I8, &filter.shape), data);
            operator.builder().constant(constant)?
        }
        None => operator.graph().bitcast(filter.value, I8)?,
    };
    Ok(Operand { value, info, ..filter })
}

/// The scales of a matrix whose rows are cut into blocks: constants of f32, `[rows, blocks]`.
pub(super) fn block_scales(
    operator: &mut Operator<'_, '_, '_>,
    matrix: &Operand,
    Blocks { size, scales }: Blocks,
) -> Result<Value, Diagnostic> {
    let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&matrix.info.name);
    let [units, depth] = matrix.shape[..] else { return Err(at(invalid(codes::RANK, "a tensor in blocks must have two dimensions"))) };
    let per_byte = matrix.element().per_byte();
    if size == 0 || !size.is_multiple_of(per_byte) || !depth.is_multiple_of(size) {
        let error = invalid(codes::SCALE_COUNT, "the tensor's rows do not divide into its blocks");
        return Err(at(error.expected(format!("a multiple of {per_byte} that divides the depth"), format!("{size} of {depth}"))));
    }
    let blocks = depth / size;
    let info = operator.tensor(scales)?;
    let values = info.data.as_ref().filter(|_| info.element == F16).map(|data| halves(data.bytes()));
    let values = values.filter(|list| list.len() as u64 == units * blocks).ok_or_else(|| {
        let error = invalid(codes::SCALE_COUNT, "the scales do not fit the tensor's blocks").about_tensor(&info.name);
        error.expected(format!("{} constants of f16", units * blocks), format!("{} {:?}", info.element.name(), info.shape))
    })?;
    operator.constant_f32(&[units, blocks], &values)
}

fn halves(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(2).map(|pair| half::f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect()
}

/// 16-bit quantization has no zero points.
pub(super) fn symmetric(input: Affine, output: Affine) -> Result<(), Diagnostic> {
    if (input.zero_point, output.zero_point) == (0, 0) {
        return Ok(());
    }
    let found = format!("{} and {}", input.zero_point, output.zero_point);
    Err(invalid(codes::ZERO_POINT, "zero points of 16-bit tensors must be 0").expected("0", found))
}
