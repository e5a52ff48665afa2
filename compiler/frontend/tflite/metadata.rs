//! A file's metadata of the model and its tensors: the entry `TFLITE_METADATA`.
//!
//! The graph does not depend on the metadata, so unreadable metadata count as missing, and are no error.

use super::entries::Entry;
use super::file::open;
use crate::frontend::survey::About;
use crate::ir::{self, Module, Normalization};
use crate::schema::metadata::{self, ModelMetadata, SubGraphMetadata, TensorMetadata};
use crate::schema::verifier_options;

/// The entry of a model's metadata that names the tensors.
const ENTRY: &str = "TFLITE_METADATA";

/// The metadata of a file.
pub(super) fn metadata(bytes: &[u8]) -> Option<ModelMetadata<'_>> {
    let model = open(bytes).ok()?;
    let entry = model.metadata()?.iter().find(|entry| entry.name() == Some(ENTRY))?;
    let (buffers, index) = (model.buffers()?, entry.buffer() as usize);
    let data = (index < buffers.len()).then(|| buffers.get(index).data().map(|data| data.bytes()))??;
    metadata::root_as_model_metadata_with_opts(&verifier_options(data.len()), data).ok()
}

/// The metadata of the first subgraph, the only one that has some.
pub(super) fn subgraph<'a>(metadata: &ModelMetadata<'a>) -> Option<SubGraphMetadata<'a>> {
    metadata.subgraph_metadata()?.iter().next()
}

/// The file's description of the model as a whole.
pub(in crate::frontend) fn about(bytes: &[u8]) -> About {
    let Some(metadata) = metadata(bytes) else { return About::default() };
    let text = |text: Option<&str>| text.unwrap_or_default().trim().to_owned();
    About { description: text(metadata.description()), author: text(metadata.author()), license: text(metadata.license()) }
}

/// Adds the normalization of numbers before quantization to the ports of methods.
pub(super) fn add_normalizations(module: &mut Module, entries: &[Entry], bytes: &[u8]) {
    let Some(subgraph) = metadata(bytes).as_ref().and_then(subgraph) else { return };
    let methods = module.methods.iter_mut().zip(entries).filter(|(_, entry)| entry.subgraph == 0);
    for (method, _) in methods {
        let sides = [(&mut method.inputs, subgraph.input_tensor_metadata()), (&mut method.outputs, subgraph.output_tensor_metadata())];
        for (ports, tensors) in sides {
            add(ports, tensors.into_iter().flatten());
        }
    }
}

fn add<'a>(ports: &mut [ir::Port], tensors: impl Iterator<Item = TensorMetadata<'a>>) {
    for (port, tensor) in ports.iter_mut().zip(tensors) {
        port.notes.normalization = normalization(&tensor);
    }
}

/// The first usable normalization of a tensor: equal numbers of means and deviations, all finite, and no deviation 0.
fn normalization(tensor: &TensorMetadata<'_>) -> Option<Normalization> {
    tensor.process_units().into_iter().flatten().find_map(|unit| {
        let options = unit.options_as_normalization_options()?;
        let [mean, std] = [options.mean(), options.std()].map(|list| list.into_iter().flatten().collect::<Vec<f32>>());
        let is_usable = !mean.is_empty() && mean.iter().all(|x| x.is_finite()) && std.iter().all(|x| x.is_finite() && *x != 0.0);
        (is_usable && mean.len() == std.len()).then_some(Normalization { mean, std })
    })
}
