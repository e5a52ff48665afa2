//! Models for calls, and the inputs of calls.

use super::arrays;
use super::options::Common;
use super::output::usage;
use super::ports::Ports;
use super::progress;
use crate::api::inputs::{Input, no_memory};
use crate::api::{Known, Loaded, Model};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::frontend::Bound;
use crate::frontend::given::Sample;
use crate::input;
use crate::ir::data::Bytes;
use crate::ir::random::Random;
use crate::ir::{ElementType, Module, Scalar, Tensor};
use crate::npz::{self, Archive};
use clap::ValueEnum;
use std::path::Path;
use std::sync::Arc;

/// Maps a file.
///
/// # Errors
/// A diagnostic if the file cannot be opened or mapped.
pub fn map(path: &str) -> Result<Arc<dyn Bytes>, Diagnostic> {
    input::map(Path::new(path))
}

/// Reads a model into the tensor language.
///
/// # Errors
/// Diagnostics if the file cannot be read, is invalid, or has unsupported contents.
pub fn read_model(path: &str, common: &Common) -> Result<Loaded, Diagnostics> {
    read(path, common, Known::default())
}

fn read(path: &str, common: &Common, known: Known) -> Result<Loaded, Diagnostics> {
    progress::during(&format!("reading {path}"), || Model::open(path)?.read(&common.settings(path)?, known))
}

/// Reads a model for known calls. Without `--shape` and `--bound`, extents that differ between calls become dynamic up to the largest one, if
/// all operators allow it.
///
/// # Errors
/// The errors of [`read_model`].
pub fn read_model_for(path: &str, common: &Common, inputs: &Inputs, samples: Vec<Sample>) -> Result<Loaded, Diagnostics> {
    let bounds = inputs.varying();
    let varying = !bounds.is_empty();
    match read(path, common, Known { samples: samples.clone(), bounds }) {
        Err(_) if varying => read(path, common, Known { samples, bounds: vec![] }),
        other => other,
    }
}

/// Limit of the inputs that are searched for differing extents.
const MOST_INPUTS: usize = 256;

/// The inputs of calls.
pub struct Inputs {
    /// Origin of the inputs.
    pub source: Source,
    /// Type of arrays that must be converted to the input's type.
    pub given_as: Option<InputType>,
}

/// Types that are converted to the type of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum InputType {
    /// Float32 values, quantized with the input's scale and zero point.
    F32,
}

/// Exclusive upper bounds of random integers of more than 8 bits. They are tried in order until all calls succeed, because the model may use
/// the integers as indices of tables.
pub const INTEGERS_BELOW: [u64; 4] = [100, 8, 2, 1];

/// Origin of inputs.
pub enum Source {
    /// An `.npz` archive.
    Archive(Archive),
    /// One array for each input, for a single call.
    Arrays(Vec<(usize, Tensor)>),
    /// Random numbers, for a single call.
    Random {
        /// Seed of the random numbers.
        seed: u64,
        /// Exclusive upper bound of integers of more than 8 bits.
        below: u64,
    },
}

impl Inputs {
    /// Returns the number of calls.
    pub fn calls(&self) -> usize {
        match &self.source {
            Source::Archive(archive) => archive.calls().max(1),
            _ => 1,
        }
    }

    /// Returns the method that an archive names for a call.
    pub fn method(&self, call: usize) -> Option<&str> {
        if let Source::Archive(archive) = &self.source { archive.texts.get(&format!("method{call}")).map(String::as_str) } else { None }
    }

    /// Returns the extents that differ between calls, if all calls are of one method.
    fn varying(&self) -> Vec<Bound> {
        let Source::Archive(archive) = &self.source else { return vec![] };
        let calls = archive.calls();
        let one_method = (1..calls).all(|call| self.method(call) == self.method(0));
        let mut bounds = Vec::new();
        for port in (0..MOST_INPUTS).take_while(|_| one_method) {
            let shapes: Vec<&[u64]> = (0..calls).filter_map(|call| Some(archive.input(call, port)?.shape.as_slice())).collect();
            let Some(first) = shapes.first().filter(|first| shapes.iter().all(|shape| shape.len() == first.len())) else { continue };
            for dimension in 0..first.len() {
                let most = shapes.iter().map(|shape| shape[dimension]).max().unwrap_or(0);
                if shapes.iter().any(|shape| shape[dimension] != most) {
                    bounds.push(Bound { is_output: false, port, dimension, most });
                }
            }
        }
        bounds
    }

    /// Returns the arrays of one call.
    pub fn sample(&self, method: Option<String>, call: usize) -> Sample {
        let inputs = match &self.source {
            Source::Archive(archive) => archive.inputs(call).into_iter().map(|(index, array)| (index, array.clone())).collect(),
            Source::Arrays(list) => list.clone(),
            Source::Random { .. } => vec![],
        };
        Sample { method, inputs }
    }

    /// Returns the inputs of one call of a method, with the types and shapes of its ports.
    ///
    /// # Errors
    /// A diagnostic if an input is missing or does not fit.
    pub fn of_call(&self, module: &Module, method: usize, call: usize) -> Result<Vec<Tensor>, Diagnostic> {
        let quantizes = self.given_as == Some(InputType::F32);
        let mut inputs = Vec::new();
        for (index, input) in Input::of_method(module, method).iter().enumerate() {
            let position = input.port.position(index);
            let name = format!("in{call}_{position}");
            let given = match &self.source {
                Source::Archive(archive) => archive.input(call, position),
                Source::Arrays(list) => list.iter().find(|(i, _)| *i == position).map(|(_, tensor)| tensor),
                Source::Random { seed, below } => {
                    inputs.push(made_up(input, seed.wrapping_add(index as u64), *below)?);
                    continue;
                }
            };
            let given = given.ok_or_else(|| self.missing(input, position, call))?;
            inputs.push(input.buffer(given, quantizes, &name).map_err(|error| offer(error, given, input))?);
        }
        Ok(inputs)
    }

    /// Makes the error for an input without an array.
    fn missing(&self, input: &Input, position: usize, call: usize) -> Diagnostic {
        let wanted = format!("{}{:?}", input.element.numpy_name(), input.largest_shape());
        let name = &input.port.name;
        match &self.source {
            Source::Archive(archive) => arrays::missing(archive, position, call, (name, wanted)),
            _ => Diagnostic::new(codes::ARRAY_MISSING, format!("no array is given for in{position} {name:?}"))
                .expected(wanted, "nothing")
                .help(format!("give it too: `--input in{position}=a.npy`")),
        }
    }
}

/// Adds advice to an error about a float array for a quantized input.
fn offer(error: Diagnostic, given: &Tensor, input: &Input) -> Diagnostic {
    let is_float = given.element == ElementType::F32 && error.code == codes::ARRAY_TYPE;
    let Some(scales) = input.scales().filter(|_| is_float) else { return error };
    let by = match (&scales.scales[..], &scales.zero_points[..]) {
        ([scale], [zero_point]) => format!("scale, {scale}, and zero point, {zero_point}"),
        _ => "scales and zero points".into(),
    };
    error.help(format!("`--input-type f32` quantizes floats by the input's {by}"))
}

/// Parses `in0=a.npy` into an input, by number or name, and a file.
///
/// # Errors
/// A diagnostic if the argument is malformed.
pub fn array_argument(argument: &str) -> Result<(&str, &str), Diagnostic> {
    let parsed = argument.split_once('=').filter(|(input, path)| !input.is_empty() && !path.is_empty());
    parsed.ok_or_else(|| usage(format!("--input {argument} is not understood")).expected("in0=a.npy", argument))
}

/// Reads the array of `in0=a.npy`.
///
/// # Errors
/// Diagnostics if the argument is malformed or names no input, or if the file cannot be read.
pub fn read_array(argument: &str, ports: Ports<'_>) -> Result<(usize, Tensor), Diagnostics> {
    let (input, path) = array_argument(argument)?;
    let input = ports.input(input)?;
    let bytes = map(path)?;
    Ok((input, npz::parse_npy((*bytes).as_ref()).map_err(|d| d.in_file(path))?))
}

/// Returns a value for an input: its fixed value, or random numbers.
fn made_up(input: &Input, seed: u64, below: u64) -> Result<Tensor, Diagnostic> {
    let shape = input.largest_shape();
    match &input.port.value {
        Some(value) => Ok(Tensor { element: input.element, shape, bytes: value.bytes().to_vec() }),
        None => random(input.element, &shape, seed, below),
    }
}

/// Returns a tensor of random numbers: floats in −1..1, truth values, and integers. 8-bit integers cover the whole range, wider ones 0 to
/// `below`.
fn random(element: ElementType, shape: &[u64], seed: u64, below: u64) -> Result<Tensor, Diagnostic> {
    let mut tensor = Tensor::zeros(element, shape).ok_or_else(|| no_memory(element, shape))?;
    let element = element.part();
    let size = (element.bits() / 8).max(1) as usize;
    let mut numbers = Random::new(seed);
    for slot in tensor.bytes.chunks_exact_mut(size) {
        let bits = numbers.bits();
        let scalar = match element {
            _ if element.is_float() => Scalar::float(element, (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0),
            ElementType::Bool => Scalar::int(element, (bits >> 63) as i64),
            _ if element.bits() <= 8 => Scalar::int(element, bits as i64),
            _ => Scalar::int(element, (bits % below.max(1)) as i64),
        };
        slot.copy_from_slice(&scalar.to_bytes()[..size]);
    }
    Ok(tensor)
}
