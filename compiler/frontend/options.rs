//! What users may say about a model beside its file.

use super::given::{Number, Sample};
use super::marks::GpuOperators;
use crate::ir::Data;
use serde::{Deserialize, Serialize};

/// What users may say about a model beside its file.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Shapes that replace the file's, by input number.
    pub shapes: Vec<(usize, Vec<u64>)>,
    /// Extents that are known only when the model runs.
    pub bounds: Vec<Bound>,
    /// Values that inputs have in every call, by input number: operators may then ask for them as numbers.
    pub values: Vec<(usize, Vec<Number>)>,
    /// Calls that the module must be able to run: what the file leaves open of an input's shape is theirs, and so is the value of an
    /// input that some operator must know.
    pub samples: Vec<Sample>,
    /// Whether the weights are to be replaceable: see [`Module::open_constants`].
    pub open_constants: bool,
    /// Custom operators that functions of the application compute: the operator's name in the file, the function's symbol.
    pub customs: Vec<(String, String)>,
    /// Names of inputs and outputs, which replace those of the file.
    pub port_names: Vec<PortName>,
    /// Files of tensors beside an ExecuTorch program: path and contents.
    pub data: Vec<(String, Data)>,
    /// Operators that are for a GPU beside those that the file gives to one.
    pub gpu_operators: Option<GpuOperators>,
    /// Instructions and operands that a method of an ExecuTorch program may take to unfold, a loop that never ends among them; 2^18 by default.
    pub most_steps: Option<usize>,
}

/// The largest value of an extent of an input or output that is known only when the model runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// Whether it is of an output, and not of an input.
    pub is_output: bool,
    /// The number of the input or output.
    pub port: usize,
    /// The dimension.
    pub dimension: usize,
    /// The largest extent.
    pub most: u64,
}

/// The name of an input or output, the same of all methods.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PortName {
    /// Set for an output.
    pub is_output: bool,
    /// The number of the input or output.
    pub port: usize,
    /// Its name, an identifier.
    pub name: String,
}
