//! Users' settings for reading a model.

use super::given::{Number, Sample};
use super::marks::GpuOperators;
use crate::ir::Data;
use serde::{Deserialize, Serialize};

/// A custom operator that a function of the application computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomSymbol {
    /// The operator's name in the file.
    pub operator: String,
    /// The function's symbol.
    pub symbol: String,
}

/// A user's settings for reading a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Shapes that replace the file's, by input number.
    pub shapes: Vec<(usize, Vec<u64>)>,
    /// Bounds of extents that are known only at run time.
    pub bounds: Vec<Bound>,
    /// Values that inputs have in every call, by input number: operators may then ask for them as numbers.
    pub values: Vec<(usize, Vec<Number>)>,
    /// Calls that the module must be able to run. They define input shapes that the file leaves open, and the value of an input that some operator
    /// must know.
    pub samples: Vec<Sample>,
    /// `true` if the weights must be replaceable: see [`Module::open_constants`].
    pub open_constants: bool,
    /// Custom operators that functions of the application compute.
    pub customs: Vec<CustomSymbol>,
    /// Names of inputs and outputs, which replace those of the file.
    pub port_names: Vec<PortName>,
    /// Files of tensors beside an ExecuTorch program: path and contents.
    pub data: Vec<(String, Data)>,
    /// Operators for a GPU, besides the ones that the file gives to it.
    pub gpu_operators: Option<GpuOperators>,
    /// The maximum number of instructions and operands that a method of an ExecuTorch program unfolds to, which limits endless loops; 2^18 by
    /// default.
    pub most_steps: Option<usize>,
    /// The runtime whose results a TFLite model gives.
    pub reference: Reference,
}

/// The runtime whose results a TFLite model gives, where runtimes differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reference {
    /// LiteRT's reference kernels.
    #[default]
    Litert,
    /// TFLite Micro. Sums of fully connected layers of int8 are scaled in fixed point, with two roundings.
    Tflm,
}

impl Reference {
    /// Returns the runtime's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Litert => "litert",
            Self::Tflm => "tflm",
        }
    }
}

/// The maximum of an extent of an input or output that is known only at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// `true` for an output, `false` for an input.
    pub is_output: bool,
    /// The number of the input or output.
    pub port: usize,
    /// The dimension.
    pub dimension: usize,
    /// The largest extent.
    pub most: u64,
}

/// The name of an input or output, in all methods.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PortName {
    /// Set for an output.
    pub is_output: bool,
    /// The number of the input or output.
    pub port: usize,
    /// Its name, an identifier.
    pub name: String,
}
