//! Lists of labels that a file has for its tensors: named in its metadata, and packed into a zip archive behind the FlatBuffer.
//!
//! The graph does not depend on them, so metadata that cannot be read give no labels, and no error.

use super::metadata::{metadata, subgraph};
use crate::frontend::survey::LabelFile;
use crate::schema::metadata::{AssociatedFileType, TensorMetadata};
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// Lists of more bytes are not read: a header is not a place for them.
const MOST_BYTES: u64 = 4 << 20;

/// The lists of labels of the first subgraph, outputs first. Among the lists of a tensor, lists without a language come first.
pub(in crate::frontend) fn labels(bytes: &[u8]) -> Vec<LabelFile> {
    let Some(subgraph) = metadata(bytes).as_ref().and_then(subgraph) else { return vec![] };
    let Ok(mut archive) = ZipArchive::new(Cursor::new(bytes)) else { return vec![] };
    let sides = [(true, subgraph.output_tensor_metadata()), (false, subgraph.input_tensor_metadata())];
    let mut found = Vec::new();
    for (is_output, tensors) in sides {
        for (port, tensor) in tensors.into_iter().flatten().enumerate() {
            found.extend(of_tensor(&mut archive, PortNumber { is_output, port }, &tensor));
        }
    }
    found
}

/// A port of the first subgraph.
#[derive(Clone, Copy)]
struct PortNumber {
    is_output: bool,
    port: usize,
}

fn of_tensor(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    PortNumber { is_output, port }: PortNumber,
    tensor: &TensorMetadata<'_>,
) -> Vec<LabelFile> {
    let mut found = Vec::new();
    for file in tensor.associated_files().into_iter().flatten() {
        let is_list = matches!(file.type_(), AssociatedFileType::TENSOR_AXIS_LABELS | AssociatedFileType::TENSOR_VALUE_LABELS);
        let Some(name) = file.name().filter(|_| is_list) else { continue };
        let Some(labels) = lines(archive, name) else { continue };
        found.push(LabelFile { is_output, port, file: name.to_owned(), locale: file.locale().unwrap_or_default().to_owned(), labels });
    }
    found.sort_by_key(|list| !list.locale.is_empty());
    found
}

/// The lines of a file in the archive.
fn lines(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Option<Vec<String>> {
    let entry = archive.by_name(name).ok().filter(|entry| entry.size() <= MOST_BYTES)?;
    let mut text = Vec::new();
    entry.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
}
