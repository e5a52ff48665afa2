//! TFLite files to the tensor language: the container, then one file a family of operators.
//!
//! The results are those of LiteRT's reference kernels: integers bit for bit, floats up to the order of sums.

mod arithmetic;
mod blocks;
mod borders;
mod branches;
mod calls;
mod comparison;
mod complex;
mod concatenation;
mod convolution;
mod custom;
mod detection;
mod division;
mod extents;
mod external;
mod filter;
mod flexbuffer;
mod fully_connected;
mod given;
mod indexing;
mod matrix;
mod normalization;
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
mod registry;
mod resize;
mod segments;
mod selection;
mod shape;
mod shared;
mod sigmoid16;
mod signal;
mod slicing;
mod sparse;
mod stablehlo_indexing;
mod subgraph;
mod survey;
mod tables;
mod tensor;
mod unary;
mod unpooling;
mod variables;

use super::{Bound, LoadOptions};
use crate::diagnostic::{Diagnostic, Diagnostics, Kind, codes};
use crate::ir::data::Bytes;
use crate::ir::{Method, Module, Port};
use crate::schema::{flatbuffer_part, tflite as schema, verifier_options};
use given::{Given, Input};
use operator::invalid;
use shared::Shared;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use subgraph::LoweredSubgraph;
pub(super) use survey::survey;
use tensor::{Buffers, TensorInfo};

/// An entry of the file's table of operator codes.
struct OperatorCode {
    code: schema::BuiltinOperator,
    /// The operator's name, `CUSTOM:` and its own name for a custom one.
    name: String,
}

/// A subgraph with its tensors read.
struct Subgraph<'a> {
    /// Its number in the file.
    index: usize,
    record: schema::SubGraph<'a>,
    name: String,
    /// What the file says of each tensor, or why it cannot be used.
    tensors: Vec<Result<Rc<TensorInfo>, Diagnostic>>,
}

/// The parts of a file that lowering reads.
struct File<'a> {
    codes: Vec<OperatorCode>,
    buffers: Buffers<'a>,
    records: Vec<schema::SubGraph<'a>>,
    /// Custom operators that the application computes: their names, and those of its functions.
    customs: &'a [(String, String)],
    /// Extents that are known only when the model runs.
    bounds: &'a [Bound],
}

impl<'a> File<'a> {
    /// Reads the subgraph of a number that is in range.
    fn subgraph(&self, index: usize) -> Result<Subgraph<'a>, Diagnostic> {
        read_subgraph(self.records[index], index, &self.buffers)
    }
}

/// What a user calls: a name, a subgraph, and names for its inputs and outputs.
struct Entry {
    name: String,
    subgraph: usize,
    input_names: Vec<(usize, String)>,
    output_names: Vec<(usize, String)>,
}

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
    };
    let entries = entries(&model, file.records.len())?;
    let of_method = |sample: &Option<String>| entries.iter().find(|entry| sample.as_ref().is_none_or(|name| *name == entry.name));
    let samples = options.samples.iter().filter_map(|sample| Some((of_method(&sample.method)?.subgraph, sample))).collect();
    let mut given = Given::new(options, samples);
    loop {
        let (loaded, asked) = load_with(&file, &entries, &given);
        // What operators turned out to ask for is known in the next attempt; there are at most as many as inputs.
        if !given.bind(&asked) {
            let module = loaded?;
            return unused(&module, options).map_or(Ok(module), |error| Err(error.into()));
        }
    }
}

/// The root of a file.
fn open(bytes: &[u8]) -> Result<schema::Model<'_>, Diagnostic> {
    let model = schema::root_as_model_with_opts(&verifier_options(bytes.len()), flatbuffer_part(bytes)).map_err(|error| {
        Diagnostic::new(codes::DAMAGED_MODEL, "the file is no sound TFLite model").expected("a verified FlatBuffer", verification(&error))
    })?;
    if model.version() != 3 {
        return Err(
            Diagnostic::new(codes::SCHEMA_VERSION, "the schema version is not supported").expected("3", model.version().to_string())
        );
    }
    Ok(model)
}

/// The error for what is given for an input or output that no method has.
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

/// Lowers every entry with what is given for its inputs; says beside which inputs operators must know.
fn load_with(file: &File<'_>, entries: &[Entry], given: &Given<'_>) -> (Result<Module, Diagnostics>, BTreeSet<Input>) {
    let mut module = Module::default();
    let mut shared = Shared::new(file);
    let mut lowered: Vec<Option<LoweredSubgraph>> = vec![None; file.records.len()];
    let mut errors = Vec::new();
    for entry in entries {
        if lowered[entry.subgraph].is_none() {
            match subgraph::lower(entry.subgraph, given, &mut module, &mut shared) {
                Ok(function) => lowered[entry.subgraph] = Some(function),
                Err(diagnostics) => errors.extend(diagnostics),
            }
        }
        if let Some(lowered) = &lowered[entry.subgraph] {
            module.methods.push(method(entry, lowered));
        }
    }
    if errors.is_empty() {
        return (Ok(module), shared.asked);
    }
    // What an operator could do without may be what another one after it cannot.
    shared.asked.extend(shared.wished);
    (Err(Diagnostics(errors)), shared.asked)
}

/// The first line of a verifier's report.
fn verification(error: &flatbuffers::InvalidFlatbuffer) -> String {
    error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// A name that every operator repeats, cut to a length that no sound model has.
fn shortened(name: &str) -> String {
    name.chars().take(256).collect()
}

fn operator_code(record: schema::OperatorCode<'_>) -> OperatorCode {
    // Codes above 126 do not fit the old one-byte field, which then holds 127; files of either age are right about the larger one.
    let code = schema::BuiltinOperator(record.builtin_code().0.max(i32::from(record.deprecated_builtin_code())));
    let name = match (code, record.custom_code()) {
        (schema::BuiltinOperator::CUSTOM, Some(custom)) => format!("CUSTOM:{}", shortened(custom)),
        _ => code.variant_name().map_or_else(|| format!("number {}", code.0), str::to_owned),
    };
    OperatorCode { code, name }
}

/// The entry points: one a signature, named `forward` unless there are several; the first subgraph without signatures.
fn entries(model: &schema::Model<'_>, subgraphs: usize) -> Result<Vec<Entry>, Diagnostic> {
    let signatures: Vec<schema::SignatureDef<'_>> = model.signature_defs().into_iter().flatten().collect();
    let in_range = |index: usize| {
        let error =
            || invalid(codes::SUBGRAPH_INDEX, "there is no such subgraph").expected(format!("below {subgraphs}"), index.to_string());
        if index < subgraphs { Ok(index) } else { Err(error()) }
    };
    if signatures.is_empty() {
        let entry = Entry { name: "forward".into(), subgraph: in_range(0)?, input_names: Vec::new(), output_names: Vec::new() };
        return Ok(vec![entry]);
    }
    let several = signatures.len() > 1;
    let names = |maps: Option<flatbuffers::Vector<'_, flatbuffers::ForwardsUOffset<schema::TensorMap<'_>>>>| {
        let named = |map: schema::TensorMap<'_>| Some((map.tensor_index() as usize, map.name()?.to_owned()));
        maps.into_iter().flatten().filter_map(named).collect()
    };
    let mut entries: Vec<Entry> = Vec::new();
    for signature in signatures {
        let name = signature.signature_key().filter(|key| several && !key.is_empty()).unwrap_or("forward").to_owned();
        if entries.iter().any(|entry| entry.name == name) {
            return Err(invalid(codes::SIGNATURE_NAME, format!("two signatures are called {name:?}")));
        }
        let subgraph = in_range(signature.subgraph_index() as usize)?;
        entries.push(Entry { name, subgraph, input_names: names(signature.inputs()), output_names: names(signature.outputs()) });
    }
    Ok(entries)
}

fn read_subgraph<'a>(record: schema::SubGraph<'a>, index: usize, buffers: &Buffers<'a>) -> Result<Subgraph<'a>, Diagnostic> {
    let name = record.name().filter(|name| !name.is_empty()).map_or_else(|| format!("subgraph{index}"), shortened);
    let mut tensors = Vec::new();
    for (position, tensor) in record.tensors().into_iter().flatten().enumerate() {
        let read = tensor::read(tensor, position, buffers).map(Rc::new);
        match read {
            Err(diagnostic) if diagnostic.kind() != Kind::Unsupported => return Err(diagnostic.in_function(name)),
            other => tensors.push(other),
        }
    }
    Ok(Subgraph { index, record, name, tensors })
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
