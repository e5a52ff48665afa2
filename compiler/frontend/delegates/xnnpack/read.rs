//! Reader of a delegate's bytes: a graph with its constants.
//!
//! The first version of the format had no identifier in the FlatBuffer, had only additions, and numbered 32-bit integers differently.

use super::subgraph::{External, Subgraph};
use super::tensors::Tensors;
use super::{clamps, nodes};
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::delegates::container::{Container, Source, damaged};
use crate::ir::Data;
use crate::schema::{flatbuffer_part, range_in, verifier_options, xnnpack as schema};
use std::ops::Range;

/// Flags of tensors that are arguments of the call.
const EXTERNAL_INPUT: u32 = 1;
const EXTERNAL_OUTPUT: u32 = 2;

/// Reads a delegate's bytes.
///
/// # Errors
/// When they are damaged, or the graph in them contradicts itself.
pub fn read(blob: &Data) -> Result<Subgraph, Diagnostic> {
    let container = Container::parse(blob.bytes(), b"XH00", "XNNPACK")?;
    let buffer = flatbuffer_part(&blob.bytes()[container.graph.clone()]);
    let is_first_version = !matches!(buffer.get(4..8), Some(b"XN00" | b"XN01"));
    if is_first_version && buffer.get(4..6) == Some(b"XN") {
        let found = String::from_utf8_lossy(&buffer[4..8]).into_owned();
        return Err(
            Diagnostic::new(codes::PROGRAM_UNSUPPORTED, "the XNNPACK graph is of an unknown version").expected("XN00 or XN01", found)
        );
    }
    let graph = schema::root_as_xnn_graph_with_opts(&verifier_options(buffer.len()), buffer)
        .map_err(|error| damaged(format!("the XNNPACK graph is damaged: {}", error.to_string().lines().next().unwrap_or_default())))?;
    let constants = constants(&graph, blob, &container, buffer)?;
    let mut tensors = Tensors::new(constants.len(), is_first_version);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for value in graph.xvalues().into_iter().flatten() {
        let (tensor, table) = tensors.add(value)?;
        for (flag, list) in [(EXTERNAL_INPUT, &mut inputs), (EXTERNAL_OUTPUT, &mut outputs)] {
            if table.flags() & flag != 0 {
                list.push(External { argument: table.external_id() as usize, tensor });
            }
        }
    }
    let mut list = Vec::new();
    for (i, node) in graph.xnodes().into_iter().flatten().enumerate() {
        list.push(nodes::read(&tensors, &node).map_err(|fault| fault.at_operator(i as u32, nodes::name(&node)))?);
    }
    let mut subgraph = Subgraph { tensors: tensors.list, nodes: list, inputs, outputs, constants };
    clamps::fold(&mut subgraph);
    Ok(subgraph)
}

/// The constants of the graph; number 0 is none.
fn constants(graph: &schema::XNNGraph<'_>, blob: &Data, container: &Container, buffer: &[u8]) -> Result<Vec<Source>, Diagnostic> {
    let part = |range: Range<usize>| blob.slice(range).map(Source::Bytes);
    let past_end = |i: usize| damaged(format!("constant {i} of the XNNPACK graph extends beyond its end"));
    let mut sources = Vec::new();
    if let Some(list) = graph.constant_buffer().filter(|list| !list.is_empty()) {
        for (i, constant) in list.iter().enumerate() {
            let inside = range_in(buffer, constant.storage().map_or(&[], |storage| storage.bytes()));
            let start = container.graph.start;
            sources.push(part(start + inside.start..start + inside.end).ok_or_else(|| past_end(i))?);
        }
        return Ok(sources);
    }
    for (i, constant) in graph.constant_data().into_iter().flatten().enumerate() {
        if let Some(name) = constant.named_key().filter(|name| !name.is_empty()) {
            sources.push(Source::Named(name.to_owned()));
            continue;
        }
        // Number 0 is none, whatever it says.
        let source = container.constant(blob, constant.offset(), constant.size());
        let nothing = || if i == 0 || constant.size() == 0 { container.constant(blob, 0, 0) } else { None };
        sources.push(source.or_else(nothing).ok_or_else(|| past_end(i))?);
    }
    Ok(sources)
}
