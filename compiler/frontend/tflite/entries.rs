//! The entry points of a file.

use super::error::invalid;
use crate::diagnostic::{Diagnostic, codes};
use crate::schema::tflite as schema;

/// An entry point: a name, a subgraph, and names for its inputs and outputs.
pub(super) struct Entry {
    pub name: String,
    pub subgraph: usize,
    pub input_names: Vec<(usize, String)>,
    pub output_names: Vec<(usize, String)>,
}

/// The entry points: one a signature, named `forward` unless there are several; the first subgraph without signatures.
pub(super) fn entries(model: &schema::Model<'_>, subgraphs: usize) -> Result<Vec<Entry>, Diagnostic> {
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
