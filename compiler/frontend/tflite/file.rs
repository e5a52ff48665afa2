//! A TFLite file: the parts that lowering reads.

use super::tensor::{self, Buffers, TensorInfo};
use crate::diagnostic::{Diagnostic, Kind, codes};
use crate::frontend::{Bound, CustomSymbol, Reference};
use crate::schema::{flatbuffer_part, tflite as schema, verifier_options};
use std::rc::Rc;

/// An entry of the file's table of operator codes.
pub(super) struct OperatorCode {
    pub code: schema::BuiltinOperator,
    /// The operator's name, `CUSTOM:` and its own name for a custom one.
    pub name: String,
}

/// A subgraph with its tensors read.
pub(super) struct Subgraph<'a> {
    /// Its number in the file.
    pub index: usize,
    pub record: schema::SubGraph<'a>,
    pub name: String,
    /// The file's description of each tensor, or the reason why the tensor cannot be used.
    pub tensors: Vec<Result<Rc<TensorInfo>, Diagnostic>>,
}

/// The parts of a file that lowering reads.
pub(super) struct File<'a> {
    pub codes: Vec<OperatorCode>,
    pub buffers: Buffers<'a>,
    pub records: Vec<schema::SubGraph<'a>>,
    /// Custom operators that the application implements: their names, and the names of its functions.
    pub customs: &'a [CustomSymbol],
    /// Extents that are known only when the model runs.
    pub bounds: &'a [Bound],
    /// The runtime whose results operators give.
    pub reference: Reference,
}

impl<'a> File<'a> {
    /// Reads the subgraph of a number that is in range.
    pub fn subgraph(&self, index: usize) -> Result<Subgraph<'a>, Diagnostic> {
        read_subgraph(self.records[index], index, &self.buffers)
    }
}

/// The root of a file.
pub(super) fn open(bytes: &[u8]) -> Result<schema::Model<'_>, Diagnostic> {
    let model = schema::root_as_model_with_opts(&verifier_options(bytes.len()), flatbuffer_part(bytes)).map_err(|error| {
        Diagnostic::new(codes::DAMAGED_MODEL, "corrupt TFLite file").expected("a verified FlatBuffer", verification(&error))
    })?;
    if model.version() != 3 {
        return Err(
            Diagnostic::new(codes::SCHEMA_VERSION, "the schema version is not supported").expected("3", model.version().to_string())
        );
    }
    Ok(model)
}

/// The first line of a verifier's report.
fn verification(error: &flatbuffers::InvalidFlatbuffer) -> String {
    error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// A name that every operator repeats, cut to a length that no sound model has.
fn shortened(name: &str) -> String {
    name.chars().take(256).collect()
}

/// An entry of the table of operator codes.
pub(super) fn operator_code(record: schema::OperatorCode<'_>) -> OperatorCode {
    // Codes above 126 do not fit the old one-byte field, which then holds 127; files of either age are right about the larger one.
    let code = schema::BuiltinOperator(record.builtin_code().0.max(i32::from(record.deprecated_builtin_code())));
    let name = match (code, record.custom_code()) {
        (schema::BuiltinOperator::CUSTOM, Some(custom)) => format!("CUSTOM:{}", shortened(custom)),
        _ => code.variant_name().map_or_else(|| format!("number {}", code.0), str::to_owned),
    };
    OperatorCode { code, name }
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
