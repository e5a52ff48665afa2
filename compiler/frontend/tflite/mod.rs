//! TFLite files to the tensor language: the container, then one file a family of operators.
//!
//! The results equal LiteRT's reference kernels: integers bit for bit, floats up to the order of sums.

mod arithmetic;
mod binary;
mod blocks;
mod borders;
mod branches;
mod callee;
mod calls;
mod comparison;
mod complex;
mod concatenation;
mod convolution;
mod counter;
mod counters;
mod custom;
mod densify;
mod detection;
mod division;
mod entries;
mod error;
mod extents;
mod external;
mod file;
mod filter;
mod flexbuffer;
mod fully_connected;
mod given;
mod growth;
mod indexing;
mod labels;
mod lengths;
mod loops;
mod matrix;
mod merged;
mod metadata;
mod normalization;
mod open_filter;
mod operator;
mod options;
mod ordering;
mod padding;
mod pooling;
mod ports;
mod quantize;
mod recurrent;
mod reduce_window;
mod reduction;
mod regions;
mod registry;
mod resize;
mod segments;
mod selection;
mod shape;
mod shared;
mod short_rows;
mod sigmoid16;
mod signal;
mod slicing;
mod sparse;
mod stablehlo_indexing;
mod states;
mod subgraph;
mod survey;
mod tables;
mod tensor;
mod transposed_convolution;
mod unary;
mod unpooling;
mod variables;
mod walk;

use super::LoadOptions;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::data::Bytes;
use crate::ir::{Method, Module, Port};
use entries::{Entry, entries};
use file::{File, open, operator_code};
use given::{Found, Given};
pub(super) use labels::labels;
pub(super) use metadata::about;
use shared::Shared;
use std::sync::Arc;
pub(super) use survey::survey;
use tensor::Buffers;
use walk::LoweredSubgraph;

/// The names of the operators that are compiled: built-in ones in alphabetical order, then custom ones.
pub fn operators() -> impl Iterator<Item = &'static str> {
    let built_in = registry::SUPPORTED.iter().filter_map(|(code, _)| code.variant_name());
    built_in.chain(custom::SUPPORTED.iter().map(|(name, _)| *name))
}

/// The operators that a runtime has and that are not compiled, and why.
pub fn refused() -> impl Iterator<Item = (&'static str, &'static str)> {
    registry::REFUSED.iter().filter_map(|(code, reason)| Some((code.variant_name()?, *reason)))
}

/// Loads a TFLite file.
///
/// # Errors
/// Everything found wrong with it, or not supported.
pub(super) fn load(bytes: &Arc<dyn Bytes>, options: &LoadOptions) -> Result<Module, Diagnostics> {
    let slice: &[u8] = (**bytes).as_ref();
    let model = open(slice)?;
    let file = File {
        codes: model.operator_codes().into_iter().flatten().map(operator_code).collect(),
        buffers: Buffers { owner: bytes.clone(), bytes: slice, table: model.buffers() },
        records: model.subgraphs().into_iter().flatten().collect(),
        customs: &options.customs,
        bounds: &options.bounds,
        reference: options.reference,
    };
    let entries = entries(&model, file.records.len())?;
    let of_method = |sample: &Option<String>| entries.iter().find(|entry| sample.as_ref().is_none_or(|name| *name == entry.name));
    let samples = options.samples.iter().filter_map(|sample| Some((of_method(&sample.method)?.subgraph, sample))).collect();
    let mut given = Given::new(options, samples);
    loop {
        let (loaded, found) = load_with(&file, &entries, &given);
        // The next attempt knows more of the inputs: values that operators asked for, or narrower ranges of extents. So there is a last one.
        if !given.learn(found) {
            let mut module = loaded?;
            metadata::add_normalizations(&mut module, &entries, slice);
            return unused(&module, options).map_or(Ok(module), |error| Err(error.into()));
        }
    }
}

/// The error for a setting of an input or output that no method has.
fn unused(module: &Module, options: &LoadOptions) -> Option<Diagnostic> {
    let given = options.shapes.iter().map(|(input, _)| (codes::SHAPE_GIVEN, "shape", false, *input));
    let given = given.chain(options.values.iter().map(|(input, _)| (codes::VALUE_GIVEN, "value", false, *input)));
    let mut given = given.chain(options.bounds.iter().map(|bound| (codes::SHAPE_GIVEN, "bound", bound.is_output, bound.port)));
    let count = |method: &Method, is_output: bool| if is_output { method.outputs.len() } else { method.inputs.len() };
    let unused = given.find(|(_, _, is_output, port)| module.methods.iter().all(|method| count(method, *is_output) <= *port));
    unused.map(|(code, what, is_output, port)| {
        let side = if is_output { "output" } else { "input" };
        Diagnostic::new(code, format!("a {what} is given for {side} {port}, which the model does not have"))
    })
}

/// Lowers every entry with the settings of its inputs. Also returns what operators require of the inputs.
fn load_with(file: &File<'_>, entries: &[Entry], given: &Given<'_>) -> (Result<Module, Diagnostics>, Found) {
    let mut module = Module::default();
    let mut shared = Shared::new(file);
    let mut lowered: Vec<Option<LoweredSubgraph>> = vec![None; file.records.len()];
    let mut errors = Vec::new();
    for entry in entries {
        if lowered[entry.subgraph].is_none() {
            match walk::lower(entry.subgraph, given, &mut module, &mut shared) {
                Ok(function) => lowered[entry.subgraph] = Some(function),
                Err(diagnostics) => errors.extend(diagnostics),
            }
        }
        if let Some(lowered) = &lowered[entry.subgraph] {
            module.methods.push(method(entry, lowered));
        }
    }
    if errors.is_empty() {
        return (Ok(module), shared.found);
    }
    // A value that one operator could do without may be needed by a later one.
    shared.found.asked.extend(shared.wished);
    (Err(Diagnostics(errors)), shared.found)
}

fn method(entry: &Entry, lowered: &LoweredSubgraph) -> Method {
    let ports = |ports: &[ports::Port], names: &[(usize, String)]| {
        let port = |port: &ports::Port| {
            let name = names.iter().find(|(tensor, _)| *tensor == port.tensor).map_or(&port.name, |(_, name)| name);
            Port { name: name.clone(), quantization: port.quantization.clone(), value: port.value.clone(), ..Port::default() }
        };
        ports.iter().map(port).collect()
    };
    Method {
        name: entry.name.clone(),
        function: lowered.function,
        inputs: ports(&lowered.inputs, &entry.input_names),
        outputs: ports(&lowered.outputs, &entry.output_names),
    }
}
