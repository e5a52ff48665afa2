//! Tensors of a TFLite file: type, shape, quantization and constant bytes, all checked.

use crate::diagnostic::{self, Diagnostic, codes};
use crate::ir::data::Bytes;
use crate::ir::{Data, ElementType, Quantization, TensorType};
use crate::schema::{range_in, tflite as schema};
use schema::TensorType as Code;
use std::sync::Arc;

/// Blocks of this many elements along the last dimension of a tensor; one scale each in another tensor of the file. The zero points are 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub size: u64,
    pub scales: usize,
}

/// A tensor of a subgraph.
#[derive(Clone, Debug)]
pub(super) struct TensorInfo {
    /// Its name; `#7` when the file gives none.
    pub name: String,
    /// Type of the elements.
    pub element: ElementType,
    /// The shape in the file; a batch of unknown size is 1 there.
    pub shape: Vec<u64>,
    /// `true` if the number of dimensions is known. A tensor without it has the shape of a scalar.
    pub has_rank: bool,
    /// `true` for each dimension that the file leaves open. Its extent in `shape` is a placeholder.
    pub open: Vec<bool>,
    /// Scales and zero points, when the file gives scales.
    pub quantization: Option<Quantization>,
    /// Blocks with a scale each, if the tensor is quantized like this.
    pub blocks: Option<Blocks>,
    /// The bytes of a constant, or the first contents of a variable tensor.
    pub data: Option<Data>,
    /// `true` if the tensor keeps its contents from call to call.
    pub is_variable: bool,
}

/// The parts of a file that tensors refer to.
pub(super) struct Buffers<'a> {
    /// The file.
    pub owner: Arc<dyn Bytes>,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The table of buffers.
    pub table: Option<flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<schema::Buffer<'a>>>>,
}

fn invalid(code: diagnostic::Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, message)
}

fn unsupported(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::TENSOR_UNSUPPORTED, message)
}

/// The element type of a type code.
pub(super) fn element_of(code: Code) -> Option<ElementType> {
    Some(match code {
        Code::FLOAT32 => ElementType::F32,
        Code::FLOAT16 => ElementType::F16,
        Code::BFLOAT16 => ElementType::Bf16,
        Code::FLOAT64 => ElementType::F64,
        Code::INT32 => ElementType::I32,
        Code::UINT8 => ElementType::U8,
        Code::INT64 => ElementType::I64,
        Code::BOOL => ElementType::Bool,
        Code::INT16 => ElementType::I16,
        Code::COMPLEX64 => ElementType::C64,
        Code::COMPLEX128 => ElementType::C128,
        Code::INT8 => ElementType::I8,
        Code::UINT64 => ElementType::U64,
        Code::UINT32 => ElementType::U32,
        Code::UINT16 => ElementType::U16,
        Code::INT2 => ElementType::I2,
        Code::INT4 => ElementType::I4,
        Code::UINT4 => ElementType::U4,
        _ => return None,
    })
}

/// Reads tensor number `index`.
///
/// # Errors
/// *Invalid* when the record contradicts itself. *Unsupported* when it is sound but has a type or storage that cannot be compiled. The latter matters
/// only if an operator uses it.
pub(super) fn read(record: schema::Tensor<'_>, index: usize, buffers: &Buffers<'_>) -> Result<TensorInfo, Diagnostic> {
    let name = record.name().filter(|name| !name.is_empty()).map_or_else(|| format!("#{index}"), str::to_owned);
    read_named(record, name.clone(), buffers).map_err(|diagnostic| diagnostic.about_tensor(name))
}

fn read_named(record: schema::Tensor<'_>, name: String, buffers: &Buffers<'_>) -> Result<TensorInfo, Diagnostic> {
    let mut shape = Vec::new();
    for extent in record.shape().into_iter().flatten() {
        shape.push(
            u64::try_from(extent)
                .map_err(|_| invalid(codes::NEGATIVE_DIMENSION, "a dimension is negative").expected("0 or more", extent.to_string()))?,
        );
    }
    let element =
        element_of(record.type_()).ok_or_else(|| unsupported(format!("tensors of type {:?} are not supported", record.type_())))?;
    let bytes = checked_bytes(element, &shape)?;
    let data = match record.sparsity() {
        Some(sparsity) if element.bits() >= 8 => sparse_constant(&record, &sparsity, element, &shape, buffers)?,
        Some(_) => return Err(unsupported(format!("sparse constants of type {element} are not supported"))),
        None => constant(&record, bytes, buffers)?,
    };
    let blocks = record.quantization().and_then(|record| blocks(&record));
    let quantization = match record.quantization() {
        Some(record) if !element.is_float() && blocks.is_none() => quantization(record, element, &shape)?,
        _ => None,
    };
    let has_rank = record.has_rank() || !shape.is_empty();
    let signature: Vec<i32> = record.shape_signature().into_iter().flatten().collect();
    let open = (0..shape.len()).map(|d| signature.len() == shape.len() && signature[d] < 0).collect();
    Ok(TensorInfo { name, element, shape, has_rank, open, quantization, blocks, data, is_variable: record.is_variable() })
}

/// The bytes of a dense tensor, checked against the limits of the tensor language. An extent of zero does not excuse the others.
pub(super) fn checked_bytes(element: ElementType, shape: &[u64]) -> Result<u64, Diagnostic> {
    let elements = shape.iter().filter(|&&n| n != 0).try_fold(1u64, |product, &n| product.checked_mul(n));
    let fits = elements.is_some_and(|n| n <= crate::ir::operators::MAX_ELEMENTS) && shape.len() <= crate::ir::operators::MAX_RANK;
    TensorType::of(element, shape).static_bytes().filter(|_| fits).ok_or_else(|| {
        let expected = format!("at most {} dimensions and 2^40 elements", crate::ir::operators::MAX_RANK);
        invalid(codes::TOO_MANY_ELEMENTS, "the shape has too many dimensions or elements").expected(expected, format!("{shape:?}"))
    })
}

/// The bytes of a sparse constant, made dense.
fn sparse_constant(
    record: &schema::Tensor<'_>,
    sparsity: &schema::SparsityParameters<'_>,
    element: ElementType,
    shape: &[u64],
    buffers: &Buffers<'_>,
) -> Result<Option<Data>, Diagnostic> {
    let Some(range) = stored_range(record, buffers)? else { return Ok(None) };
    let stored = buffers.bytes.get(range).ok_or_else(|| invalid(codes::BUFFER_RANGE, "the constant extends beyond the end of the file"))?;
    let dense = super::sparse::dense(sparsity, shape, element.bits() as usize / 8, stored)?;
    Ok(Some(Data::sparse(dense)))
}

/// The constant bytes of a tensor that needs `bytes` of them; `None` for a tensor that is computed.
fn constant(record: &schema::Tensor<'_>, bytes: u64, buffers: &Buffers<'_>) -> Result<Option<Data>, Diagnostic> {
    let Some(range) = stored_range(record, buffers)? else { return Ok(None) };
    let available = (range.end - range.start) as u64;
    if available < bytes {
        return Err(invalid(codes::SHORT_CONSTANT, "the constant is shorter than its shape")
            .expected(format!("{bytes} bytes"), format!("{available} bytes")));
    }
    let range = range.start..range.start + bytes as usize;
    let data = Data::range_of(buffers.owner.clone(), range)
        .ok_or_else(|| invalid(codes::BUFFER_RANGE, "the constant extends beyond the end of the file"))?;
    Ok(Some(data))
}

/// The range of a constant tensor's bytes in the file; `None` for a computed tensor.
fn stored_range(record: &schema::Tensor<'_>, buffers: &Buffers<'_>) -> Result<Option<std::ops::Range<usize>>, Diagnostic> {
    if record.external_buffer() != 0 {
        return Err(unsupported("constants in a file of their own are not supported"));
    }
    let count = buffers.table.map_or(0, |table| table.len());
    let index = record.buffer() as usize;
    if index == 0 && count == 0 {
        return Ok(None);
    }
    if index >= count {
        return Err(invalid(codes::BUFFER_INDEX, "the buffer index is out of range").expected(format!("below {count}"), index.to_string()));
    }
    let Some(buffer) = buffers.table.map(|table| table.get(index)) else { return Ok(None) };
    byte_range(&buffer, buffers.bytes)
}

/// The range of a buffer in the file; `None` for an empty one. Large files keep buffers after the FlatBuffer, by offset and size.
fn byte_range(buffer: &schema::Buffer<'_>, file: &[u8]) -> Result<Option<std::ops::Range<usize>>, Diagnostic> {
    if let Some(inline) = buffer.data().filter(|data| !data.is_empty()) {
        return Ok(Some(range_in(file, inline.bytes())));
    }
    // Offsets 0 and 1 mean that there is none.
    if buffer.offset() <= 1 {
        return Ok(None);
    }
    let end = buffer.offset().checked_add(buffer.size()).filter(|&end| end <= file.len() as u64);
    let end = end.ok_or_else(|| {
        let found = format!("{} bytes at {}", buffer.size(), buffer.offset());
        invalid(codes::BUFFER_RANGE, "a buffer extends beyond the end of the file").expected(format!("at most {} bytes", file.len()), found)
    })?;
    Ok(Some(buffer.offset() as usize..end as usize))
}

/// Blocks whose zero points are all 0: the reference has no others.
fn blocks(record: &schema::QuantizationParameters<'_>) -> Option<Blocks> {
    let details = record.details_as_blockwise_quantization()?;
    Some(Blocks { size: u64::try_from(details.block_size()).ok()?, scales: usize::try_from(details.scales()).ok()? })
}

/// Scales and zero points: one of each, or one for each index of the quantized dimension. `None` without scales.
fn quantization(
    record: schema::QuantizationParameters<'_>,
    element: ElementType,
    shape: &[u64],
) -> Result<Option<Quantization>, Diagnostic> {
    if record.details().is_some() {
        return Err(unsupported(format!("quantization of kind {:?} is not supported", record.details_type())));
    }
    let scales: Vec<f32> = record.scale().into_iter().flatten().collect();
    if scales.is_empty() {
        return Ok(None);
    }
    if let Some(scale) = scales.iter().find(|scale| !scale.is_finite() || **scale < 0.0) {
        return Err(
            invalid(codes::SCALE, "a quantization scale is not a positive number").expected("a finite number above 0", scale.to_string())
        );
    }
    let mut zero_points: Vec<i64> = record.zero_point().into_iter().flatten().collect();
    if zero_points.is_empty() {
        zero_points = vec![0; scales.len()];
    }
    if zero_points.len() != scales.len() {
        let expected = format!("{} zero points", scales.len());
        return Err(
            invalid(codes::SCALE_COUNT, "scales and zero points differ in number").expected(expected, zero_points.len().to_string())
        );
    }
    let axis = if scales.len() == 1 { 0 } else { quantized_axis(record.quantized_dimension(), scales.len(), shape)? };
    let (low, high) = element.integer_range().unwrap_or((0, 0));
    if let Some(zero_point) = zero_points.iter().find(|z| !(low..=high).contains(&i128::from(**z))) {
        return Err(
            invalid(codes::ZERO_POINT, "a zero point does not fit the type").expected(format!("{low} to {high}"), zero_point.to_string())
        );
    }
    Ok(Some(Quantization { scales, zero_points, axis }))
}

fn quantized_axis(axis: i32, scales: usize, shape: &[u64]) -> Result<usize, Diagnostic> {
    // Old converters gave one-dimensional tensors, biases, the dimension of their filter.
    if shape == [scales as u64] {
        return Ok(0);
    }
    let extent = usize::try_from(axis).ok().and_then(|axis| shape.get(axis));
    if extent != Some(&(scales as u64)) {
        let found = format!("{scales} scales along dimension {axis} of {shape:?}");
        return Err(
            invalid(codes::SCALE_COUNT, "the number of scales does not fit the quantized dimension").expected("one scale a slice", found)
        );
    }
    Ok(axis as usize)
}
