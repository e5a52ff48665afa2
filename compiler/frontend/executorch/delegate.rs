//! Parts of programs that were given to back ends.

use super::fault::Fault;
use super::reader::File;
use super::xnnpack::External;
use super::{vulkan, xnnpack};
use crate::diagnostic::{Diagnostic, codes};
use crate::schema::program as schema;
use std::rc::Rc;

/// A part of the program that was given to a back end.
#[derive(Clone, Debug)]
pub struct Delegate {
    /// The name of the back end.
    pub name: String,
    /// What it computes, if it is one that is read.
    pub graph: Option<Graph>,
}

/// What a delegate computes.
#[derive(Clone, Debug)]
pub enum Graph {
    /// A graph of XNNPACK.
    Xnnpack(Rc<xnnpack::Subgraph>),
    /// A graph of Vulkan.
    Vulkan(Rc<vulkan::Graph>),
}

impl Graph {
    /// The arguments of a call that the graph reads, and those that it writes.
    pub fn parted(&self, args: &[usize]) -> (Vec<usize>, Vec<usize>) {
        match self {
            Self::Xnnpack(graph) => {
                let registers = |list: &[External]| list.iter().filter_map(|external| args.get(external.argument).copied()).collect();
                (registers(&graph.inputs), registers(&graph.outputs))
            }
            Self::Vulkan(graph) => {
                let (inputs, outputs) = args.split_at(graph.plan.inputs.len().min(args.len()));
                (inputs.to_vec(), outputs.to_vec())
            }
        }
    }

    /// The operators of the graph by their names, and whether each is one that is translated; nothing of graphs of which all are.
    pub fn operators(&self) -> Vec<(&str, bool)> {
        match self {
            Self::Xnnpack(_) => Vec::new(),
            Self::Vulkan(graph) => graph.operators().collect(),
        }
    }
}

/// Reads a delegate of a method, with its graph if its back end is one whose graphs are read.
///
/// # Errors
/// When the graph is damaged or contradicts itself.
pub fn read(file: &File, method: &str, (number, delegate): (usize, schema::BackendDelegate<'_>)) -> Result<Delegate, Diagnostic> {
    let invalid = |message: String| Diagnostic::new(codes::PROGRAM_STRUCTURE, message);
    let name = delegate.id().unwrap_or_default().to_owned();
    if !matches!(&name[..], "XnnpackBackend" | "VulkanBackend") {
        return Ok(Delegate { name, graph: None });
    }
    let place = delegate.processed().ok_or_else(|| invalid("a delegate has no data".to_owned()))?;
    let data = match place.location() {
        schema::DataLocation::INLINE => file.delegate_data(place.index())?,
        schema::DataLocation::SEGMENT => file.segment(place.index() as usize)?,
        other => return Err(invalid(format!("the data of a delegate are at an unknown place {}", other.0))),
    };
    let graph = if name == "VulkanBackend" {
        Graph::Vulkan(Rc::new(vulkan::read(&data, number, method)?))
    } else {
        Graph::Xnnpack(Rc::new(xnnpack::read(&data)?))
    };
    Ok(Delegate { name, graph: Some(graph) })
}

/// The register of an argument of a delegate's call.
///
/// # Errors
/// When there are fewer.
pub fn register(args: &[usize], argument: usize) -> Result<usize, Fault> {
    args.get(argument).copied().ok_or_else(|| {
        Fault::invalid("the delegate is called with too few arguments")
            .expected(format!("at least {}", argument + 1), args.len().to_string())
    })
}
