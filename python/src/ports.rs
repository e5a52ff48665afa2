//! Inputs and outputs in Python.

use pyo3::prelude::*;

/// An input or output of a method.
#[pyclass(frozen, get_all, module = "modelc")]
pub struct Port {
    /// Name in the file.
    name: String,
    /// NumPy's name of the element type: `int8`, `bfloat16`.
    dtype: String,
    /// The largest extents.
    shape: Vec<u64>,
    /// The smallest extents; they equal `shape` for dimensions that are not dynamic.
    min_shape: Vec<u64>,
    /// One scale, or one for each channel; None for a port that is not quantized.
    scales: Option<Vec<f32>>,
    /// Zero points, one for each scale.
    zero_points: Option<Vec<i64>>,
    /// The dimension along which scales differ.
    axis: Option<usize>,
    /// Labels of the elements.
    labels: Vec<String>,
    /// Means, one or one for each channel, of the normalization `(x - mean) / std`. None if the file has none.
    mean: Option<Vec<f32>>,
    /// Standard deviations, one for each mean.
    std: Option<Vec<f32>>,
}

#[pymethods]
impl Port {
    /// Makes a port of a shared library from its description.
    #[new]
    #[pyo3(signature = (name, dtype, shape, min_shape, scales, zero_points, axis, labels, mean=None, std=None))]
    #[expect(clippy::too_many_arguments, reason = "the fields in their order")]
    fn from_description(
        name: String,
        dtype: String,
        shape: Vec<u64>,
        min_shape: Vec<u64>,
        scales: Option<Vec<f32>>,
        zero_points: Option<Vec<i64>>,
        axis: Option<usize>,
        labels: Vec<String>,
        mean: Option<Vec<f32>>,
        std: Option<Vec<f32>>,
    ) -> Self {
        Self { name, dtype, shape, min_shape, scales, zero_points, axis, labels, mean, std }
    }

    fn __repr__(&self) -> String {
        let extent = |(low, high): (&u64, &u64)| if low == high { high.to_string() } else { format!("{low}..{high}") };
        let shape: Vec<String> = self.min_shape.iter().zip(&self.shape).map(extent).collect();
        format!("<modelc.Port {:?} {}[{}]>", self.name, self.dtype, shape.join(", "))
    }
}

impl Port {
    fn new(port: &modelc::Port) -> Self {
        let quantization = port.quantization.as_ref();
        Self {
            name: port.name.clone(),
            dtype: port.element.numpy_name(),
            shape: port.extents.iter().map(|range| *range.end()).collect(),
            min_shape: port.extents.iter().map(|range| *range.start()).collect(),
            scales: quantization.map(|quantization| quantization.scales.clone()),
            zero_points: quantization.map(|quantization| quantization.zero_points.clone()),
            axis: quantization.filter(|quantization| quantization.scales.len() > 1).map(|quantization| quantization.axis),
            labels: port.labels.clone(),
            mean: port.normalization.as_ref().map(|normalization| normalization.mean.clone()),
            std: port.normalization.as_ref().map(|normalization| normalization.std.clone()),
        }
    }
}

/// Name, inputs and outputs of a method.
pub type Signature = (String, Vec<Port>, Vec<Port>);

/// Returns the methods of a model.
pub fn signatures(methods: &[modelc::Method]) -> Vec<Signature> {
    let ports = |ports: &[modelc::Port]| ports.iter().map(Port::new).collect();
    methods.iter().map(|method| (method.name.clone(), ports(&method.inputs), ports(&method.outputs))).collect()
}
