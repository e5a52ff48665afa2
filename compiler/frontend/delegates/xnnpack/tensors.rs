//! The tensors of a graph, by their ids.

use super::subgraph::{Datatype, Quantization, Scales, Tensor};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::operators::MAX_RANK;
use crate::ir::{ElementType, Interval};
use crate::operators::quantization::{Affine, integer_range};
use crate::schema::xnnpack as schema;
use std::collections::HashMap;

/// The id of no tensor.
const NO_ID: u32 = u32::MAX;

pub(super) fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::PROGRAM_STRUCTURE, message)
}

/// The tensors so far, by their ids.
pub(super) struct Tensors {
    /// The tensors in the order of the file.
    pub(super) list: Vec<Tensor>,
    ids: HashMap<u32, usize>,
    constants: usize,
    is_first_version: bool,
}

impl Tensors {
    /// Creates an empty list for a graph with `constants` constants.
    pub(super) fn new(constants: usize, is_first_version: bool) -> Self {
        Self { list: Vec::new(), ids: HashMap::new(), constants, is_first_version }
    }

    /// Reads the next tensor. Returns its number and its table.
    ///
    /// # Errors
    /// When it contradicts itself, or another has its id.
    pub(super) fn add<'b>(&mut self, value: schema::XValue<'b>) -> Result<(usize, schema::XNNTensorValue<'b>), Diagnostic> {
        let number = self.list.len();
        let (table, tensor) = self.tensor(value).map_err(|fault| fault.about_tensor(format!("tensor {number}")))?;
        if self.ids.insert(table.id_out(), number).is_some() {
            return Err(invalid(format!("two tensors of the XNNPACK graph have id {}", table.id_out())));
        }
        self.list.push(tensor);
        Ok((number, table))
    }

    /// The tensor of an id.
    pub(super) fn tensor_of(&self, id: u32) -> Result<usize, Diagnostic> {
        self.ids.get(&id).copied().ok_or_else(|| invalid(format!("the XNNPACK graph has no tensor of id {id}")))
    }

    /// The tensor of an id; `None` for the id of no tensor.
    pub(super) fn optional(&self, id: u32) -> Result<Option<usize>, Diagnostic> {
        if id == NO_ID { Ok(None) } else { self.tensor_of(id).map(Some) }
    }

    fn constant(&self, number: u32) -> Result<Option<usize>, Diagnostic> {
        match number as usize {
            0 => Ok(None),
            n if n < self.constants => Ok(Some(n)),
            n => Err(invalid(format!("constant {n} does not exist")).expected(format!("less than {}", self.constants), n.to_string())),
        }
    }

    fn tensor<'b>(&self, value: schema::XValue<'b>) -> Result<(schema::XNNTensorValue<'b>, Tensor), Diagnostic> {
        let quantized = value.xvalue_union_as_xnn_quantized_tensor_value();
        let table = match &quantized {
            Some(quantized) => quantized.tensor_value(),
            None => value.xvalue_union_as_xnn_tensor_value(),
        };
        let table = table.ok_or_else(|| invalid("a tensor of the XNNPACK graph has a type but no contents"))?;
        let dims: Vec<u64> = table.dims().into_iter().flatten().map(u64::from).collect();
        if dims.len() > MAX_RANK {
            return Err(invalid("too many dimensions").expected(format!("at most {MAX_RANK}"), dims.len().to_string()));
        }
        // Zero extents are left out, so that no product on the way to a tensor's size overflows either.
        let elements = dims.iter().filter(|&&n| n != 0).try_fold(1u64, |product, &n| product.checked_mul(n));
        elements
            .filter(|&n| n < 1 << 60)
            .ok_or_else(|| invalid("the tensor is too large").expected("less than 2^60 elements", format!("{dims:?}")))?;
        let datatype = self.datatype(table.datatype())?;
        let quantization = match quantized {
            Some(quantized) => self.quantization(&quantized, dims.len())?,
            None => Quantization::None,
        };
        check_zero_point(datatype, &quantization)?;
        Ok((table, Tensor { datatype, dims, quantization, constant: self.constant(table.constant_buffer_idx())? }))
    }

    fn datatype(&self, datatype: schema::XNNDatatype) -> Result<Datatype, Diagnostic> {
        use schema::XNNDatatype as T;
        Ok(match datatype {
            T::xnn_datatype_quint8 if self.is_first_version => Datatype::Element(ElementType::I32),
            T::xnn_datatype_fp32 => Datatype::Element(ElementType::F32),
            T::xnn_datatype_fp16 => Datatype::Element(ElementType::F16),
            T::xnn_datatype_bf16 => Datatype::Element(ElementType::Bf16),
            T::xnn_datatype_qint8 | T::xnn_datatype_qcint8 => Datatype::Element(ElementType::I8),
            T::xnn_datatype_quint8 => Datatype::Element(ElementType::U8),
            T::xnn_datatype_qint32 | T::xnn_datatype_qcint32 | T::xnn_datatype_int32 => Datatype::Element(ElementType::I32),
            // Packing is the runtime's; the numbers are the same.
            T::xnn_datatype_qdint8 | T::xnn_datatype_qpint8 => Datatype::DynamicBytes,
            T::xnn_datatype_pfp32 => Datatype::Element(ElementType::F32),
            T::xnn_datatype_qcint4 | T::xnn_datatype_qbint4 => Datatype::Nibbles,
            other => {
                let name = other.variant_name().map_or_else(|| format!("{}", other.0), str::to_owned);
                return Err(invalid(format!("a tensor of the XNNPACK graph has elements of type {name}")));
            }
        })
    }

    fn quantization(&self, table: &schema::XNNQuantizedTensorValue<'_>, rank: usize) -> Result<Quantization, Diagnostic> {
        let axis = |axis: i32| {
            let fits = usize::try_from(axis).ok().filter(|&axis| axis < rank);
            fits.ok_or_else(|| {
                invalid("the dimension of the scales does not exist").expected(format!("less than {rank}"), axis.to_string())
            })
        };
        let scales = |numbers: Option<flatbuffers::Vector<'_, f32>>, constant: u32, count: u32| {
            Ok::<_, Diagnostic>(match self.constant(constant)? {
                Some(constant) => Scales::Constant { constant, count: u64::from(count) },
                None => Scales::Numbers(numbers.into_iter().flatten().collect()),
            })
        };
        if let Some(quant) = table.quant_params_as_per_tensor_quant() {
            let (scale, zero_point) = (quant.scale(), quant.zero_point());
            if !(scale > 0.0 && scale.is_finite()) {
                return Err(invalid("a scale is not positive").expected("a finite number above 0", scale.to_string()));
            }
            return Ok(Quantization::Tensor(Affine { scale, zero_point }));
        }
        if let Some(quant) = table.quant_params_as_per_channel_quant() {
            let scales = scales(quant.scale(), quant.scale_buffer_idx(), quant.num_scales())?;
            return Ok(Quantization::Channels { axis: axis(quant.channel_dim())?, scales });
        }
        if let Some(quant) = table.quant_params_as_per_token_dynamic_quant() {
            let dimensions = usize::try_from(quant.num_nonbatch_dims()).ok().filter(|&n| n <= rank);
            let dimensions = dimensions.ok_or_else(|| invalid("a row has more dimensions than its tensor"))?;
            return Ok(Quantization::Rows { dimensions });
        }
        if let Some(quant) = table.quant_params_as_per_channel_group_quant() {
            let size = u64::try_from(quant.group_size()).ok().filter(|&n| n > 0).ok_or_else(|| invalid("a group has no elements"))?;
            let older: Vec<f32> = quant.scale_bf16().into_iter().flatten().map(|bits| f32::from_bits(u32::from(bits) << 16)).collect();
            let scales = match scales(quant.scale(), quant.scale_buffer_idx(), quant.num_scales())? {
                Scales::Numbers(numbers) if numbers.is_empty() => Scales::Numbers(older),
                scales => scales,
            };
            return Ok(Quantization::Groups { size, scales });
        }
        Ok(Quantization::None)
    }
}

/// Checks that a zero point is an integer of its type.
fn check_zero_point(datatype: Datatype, quantization: &Quantization) -> Result<(), Diagnostic> {
    let (Datatype::Element(element), Quantization::Tensor(affine)) = (datatype, quantization) else { return Ok(()) };
    let Some(Interval { low, high }) = integer_range(element) else { return Ok(()) };
    if (low..=high).contains(&affine.zero_point) {
        return Ok(());
    }
    Err(invalid("a zero point is out of range for its type").expected(format!("{low} to {high}"), affine.zero_point.to_string()))
}
