//! Calls that a command line asks for: methods and inputs.

use super::arrays::{self, Side};
use super::batches::{Batch, batches};
use super::io::{INTEGERS_BELOW, InputType, Inputs, Source, array_argument, read_array};
use super::methods::Methods;
use super::options::Common;
use super::ports::Ports;
use crate::diagnostic::{Diagnostic, Diagnostics};
use clap::Args;

/// Methods and inputs of the calls.
#[derive(Args)]
pub struct Calls {
    #[command(flatten)]
    methods: Methods,
    /// Inputs: in{call}_{index}, in{index}, the inputs' names, or an .npy
    #[arg(long, value_name = "IN.npz", conflicts_with_all = ["input", "random"])]
    inputs: Option<String>,
    /// An input of a single call, by number or name: in0=a.npy
    #[arg(long, value_name = "INPUT=A.npy", conflicts_with = "random")]
    input: Vec<String>,
    /// f32: quantize float32 arrays for quantized inputs
    #[arg(long = "input-type", value_enum, value_name = "TYPE", hide_possible_values = true)]
    input_type: Option<InputType>,
    /// Random inputs from this seed [default: 1]
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
}

impl Calls {
    /// Reads the inputs.
    ///
    /// # Errors
    /// Diagnostics if a file cannot be read or is no array, or if an argument names no input of the model.
    pub fn read(&self, model: &str) -> Result<Inputs, Diagnostics> {
        let source = match &self.inputs {
            Some(path) => Source::Archive(arrays::read(path, Side::Inputs, Ports::of(model), self.methods.first_name())?),
            None if self.input.is_empty() => Source::Random { seed: self.random.unwrap_or(1), below: INTEGERS_BELOW[0] },
            None => Source::Arrays(self.input.iter().map(|a| read_array(a, Ports::of(model))).collect::<Result<_, _>>()?),
        };
        Ok(Inputs { source, given_as: self.input_type })
    }

    /// Tests whether `--calls` has several methods. Such calls form a sequence.
    pub fn are_a_sequence(&self) -> bool {
        self.methods.are_a_sequence()
    }

    /// Returns the files from which inputs are read.
    ///
    /// # Errors
    /// A diagnostic if an argument is malformed.
    pub fn files(&self) -> Result<Vec<&str>, Diagnostic> {
        let arrays = self.input.iter().map(|argument| Ok(array_argument(argument)?.1));
        self.inputs.as_deref().map(Ok).into_iter().chain(arrays).collect()
    }

    /// Returns the calls, each with a model that can run it.
    ///
    /// # Errors
    /// Any diagnostic about the model or the inputs.
    pub fn batches(&self, model: &str, common: &Common) -> Result<Vec<Batch>, Diagnostics> {
        batches(model, common, &self.methods, &self.read(model)?)
    }
}
