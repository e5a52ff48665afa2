//! The contents of a TFLite file, without lowering.

use super::entries::entries;
use super::file::{open, operator_code};
use super::registry;
use crate::diagnostic::Diagnostics;
use crate::frontend::CustomSymbol;
use crate::frontend::survey::{MethodNames, Survey};
use crate::ir::data::Bytes;
use crate::schema::tflite as schema;
use std::sync::Arc;

/// Counts the operators of all subgraphs, and names the inputs and outputs of the entry points.
///
/// # Errors
/// A damaged file.
pub(in crate::frontend) fn survey(bytes: &Arc<dyn Bytes>, customs: &[CustomSymbol]) -> Result<Survey, Diagnostics> {
    let model = open((**bytes).as_ref())?;
    let codes: Vec<_> = model.operator_codes().into_iter().flatten().map(operator_code).collect();
    let subgraphs: Vec<schema::SubGraph<'_>> = model.subgraphs().into_iter().flatten().collect();
    let mut survey = Survey { labels: super::labels((**bytes).as_ref()), about: super::about((**bytes).as_ref()), ..Survey::default() };
    for operator in subgraphs.iter().flat_map(|subgraph| subgraph.operators().into_iter().flatten()) {
        match codes.get(operator.opcode_index() as usize) {
            Some(code) => survey.count(&code.name, registry::symbol(code, customs).is_some() || registry::lowering(code).is_ok()),
            None => survey.count("?", false),
        }
    }
    for entry in entries(&model, subgraphs.len())? {
        let subgraph = subgraphs[entry.subgraph];
        let names = |indices: Option<flatbuffers::Vector<'_, i32>>, given: &[(usize, String)]| {
            let name = |index: i32| {
                let index = usize::try_from(index).ok()?;
                let given = given.iter().find(|(tensor, _)| *tensor == index).map(|(_, name)| name.clone());
                let own = || subgraph.tensors().filter(|tensors| index < tensors.len())?.get(index).name().map(str::to_owned);
                given.or_else(own)
            };
            indices.into_iter().flatten().map(|index| name(index).unwrap_or_default()).collect()
        };
        survey.methods.push(MethodNames {
            inputs: names(subgraph.inputs(), &entry.input_names),
            outputs: names(subgraph.outputs(), &entry.output_names),
            name: entry.name,
        });
    }
    Ok(survey)
}
