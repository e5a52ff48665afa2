//! Methods, inputs and outputs in the shapes of the model file.

use super::quantize;
use super::{Array, Error};
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::survey::LabelFile;
use crate::interface::extents_of;
use crate::ir::{self, ElementType, Function, Module, Normalization, Quantization, Value};
use std::ops::RangeInclusive;

/// A function of a model: a signature of a TFLite file, a method of an ExecuTorch program.
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// let model = modelc::Model::open("examples/digits/digits_int8.tflite")?;
/// let methods = model.methods()?;
/// assert_eq!((methods.len(), methods[0].inputs.len()), (1, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Method {
    /// Name in the file; `forward` if the file has none.
    pub name: String,
    /// Inputs in order.
    pub inputs: Vec<Port>,
    /// Outputs in order.
    pub outputs: Vec<Port>,
}

/// An input or output of a method.
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// use modelc::{Array, ElementType};
/// let model = modelc::Model::open("examples/digits/digits_int8.tflite")?;
/// let image = &model.methods()?[0].inputs[0];
/// assert_eq!((image.element, image.extents.clone()), (ElementType::I8, vec![1..=1, 8..=8, 8..=8, 1..=1]));
/// let real = Array::from_slice(&[1, 8, 8, 1], &[0.5f32; 64])?;
/// let quantized = image.quantize(&real)?;
/// assert_eq!(quantized.element(), ElementType::I8);
/// assert_eq!(image.dequantize(&quantized)?.element(), ElementType::F32);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Port {
    /// Name in the file; may be empty.
    pub name: String,
    /// Type of the elements.
    pub element: ElementType,
    /// Smallest and largest extent of each dimension; they differ only for dynamic dimensions.
    pub extents: Vec<RangeInclusive<u64>>,
    /// Quantization: the relation of integers to real numbers.
    ///
    /// ```
    /// # fn main() -> Result<(), modelc::Error> {
    /// let model = modelc::Model::open("tests/models/softmax_untrained_i8.tflite")?;
    /// let scales = model.methods()?[0].outputs[0].quantization.clone().map(|quantization| quantization.scales);
    /// assert_eq!(scales, Some(vec![1.0 / 256.0]));
    /// # Ok(())
    /// # }
    /// ```
    pub quantization: Option<Quantization>,
    /// Labels of the elements, from the metadata of the file.
    pub labels: Vec<String>,
    /// Normalization of real data for the model, from the metadata of the file.
    ///
    /// ```
    /// # fn main() -> Result<(), modelc::Error> {
    /// let model = modelc::Model::open("tests/models/softmax_untrained_i8.tflite")?;
    /// assert!(model.methods()?[0].inputs[0].normalization.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub normalization: Option<Normalization>,
    /// The only value that an input accepts.
    pub value: Option<Array>,
}

impl Method {
    /// Returns the methods of a module.
    pub(super) fn all(module: &Module, labels: &[LabelFile]) -> Vec<Self> {
        let mut methods: Vec<Self> = module.methods.iter().map(|method| Self::new(module, method)).collect();
        // The file's labels belong to its first subgraph.
        for list in labels {
            let sides = methods.first_mut().map(|method| if list.is_output { &mut method.outputs } else { &mut method.inputs });
            if let Some(port) = sides.and_then(|ports| ports.get_mut(list.port)).filter(|port| port.labels.is_empty()) {
                port.labels.clone_from(&list.labels);
            }
        }
        methods
    }

    fn new(module: &Module, method: &ir::Method) -> Self {
        let function = &module.functions[method.function];
        let ports = |ports: &[ir::Port], values: &[Value]| {
            ports.iter().zip(values).map(|(port, &value)| Port::new(port, function, value)).collect()
        };
        Self {
            name: method.name.clone(),
            inputs: ports(&method.inputs, &function.params),
            outputs: ports(&method.outputs, &function.results),
        }
    }
}

impl Port {
    fn new(port: &ir::Port, function: &Function, value: Value) -> Self {
        let ty = function.tensor(value);
        let buffer = extents_of(function, ty);
        let mut extents = buffer.clone();
        for (dimension, &source) in port.dim_order.order().into_iter().flatten().enumerate() {
            extents[usize::from(source)] = buffer[dimension].clone();
        }
        let largest: Vec<u64> = buffer.iter().map(|range| *range.end()).collect();
        let known = port.value.as_ref().map(|data| ir::Tensor { element: ty.element, shape: largest, bytes: data.bytes().to_vec() });
        Self {
            name: port.name.clone(),
            element: ty.element,
            extents,
            quantization: port.quantization.clone(),
            labels: vec![],
            normalization: port.notes.normalization.clone(),
            value: known.map(|known| port.from_buffer(&known).unwrap_or(known).into()),
        }
    }

    /// Returns the bytes of the largest array, in which 4-bit elements have a byte each.
    pub fn max_bytes(&self) -> u64 {
        let elements = self.extents.iter().fold(1u64, |n, range| n.saturating_mul(*range.end()));
        self.element.unpacked().bytes_for(elements).unwrap_or(u64::MAX)
    }

    /// Tests whether the shape depends on the call.
    pub fn is_dynamic(&self) -> bool {
        self.extents.iter().any(|range| range.start() != range.end())
    }

    /// Quantizes float32 numbers, with the rounding of the header's functions.
    ///
    /// # Errors
    /// MC0503 if the port is not quantized, or the array is not of float32.
    pub fn quantize(&self, real: &Array) -> Result<Array, Error> {
        let quantization = quantize::usable(self.quantization.as_ref(), self.element);
        let quantized = quantization.and_then(|quantization| quantize::quantized(real.tensor(), quantization, self.element));
        Ok(quantized.ok_or_else(|| self.not_quantized(real, "float32"))?.into())
    }

    /// Converts quantized integers to float32 numbers.
    ///
    /// # Errors
    /// MC0503 if the port is not quantized, or the array is not of its integers.
    pub fn dequantize(&self, integers: &Array) -> Result<Array, Error> {
        let quantization = quantize::usable(self.quantization.as_ref(), self.element);
        let real = quantization.and_then(|quantization| quantize::dequantized(integers.tensor(), quantization, self.element));
        Ok(real.ok_or_else(|| self.not_quantized(integers, &self.element.unpacked().numpy_name()))?.into())
    }

    fn not_quantized(&self, given: &Array, wanted: &str) -> Diagnostic {
        let error = Diagnostic::new(codes::ARRAY_TYPE, "the numbers cannot be converted with the port's scale and zero point");
        error.about_tensor(&self.name).expected(wanted, given.element().numpy_name())
    }
}
