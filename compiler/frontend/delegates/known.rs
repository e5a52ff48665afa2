//! The back ends whose graphs are read.

use super::graph::{Buffer, Delegate, Graph};
use super::xnnpack::External;
use super::{vulkan, xnnpack};
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::executorch::reader::File;
use crate::schema::program as schema;
use std::any::Any;
use std::rc::Rc;

/// A graph of a back end that is known.
pub enum Known<'a> {
    /// A graph of XNNPACK.
    Xnnpack(&'a xnnpack::Subgraph),
    /// A graph of Vulkan.
    Vulkan(&'a vulkan::Graph),
}

/// A delegate's graph as its back end's.
pub fn known(graph: &dyn Graph) -> Option<Known<'_>> {
    let graph: &dyn Any = graph;
    graph.downcast_ref().map(Known::Xnnpack).or_else(|| graph.downcast_ref().map(Known::Vulkan))
}

impl Graph for xnnpack::Subgraph {
    fn parted(&self, args: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let registers = |list: &[External]| list.iter().filter_map(|external| args.get(external.argument).copied()).collect::<Vec<usize>>();
        let mut outputs = registers(&self.outputs);
        outputs.extend(self.missing(args.len()).map(|argument| args[argument]));
        (registers(&self.inputs), outputs)
    }

    fn buffers(&self) -> &[Buffer] {
        &[]
    }

    fn operators(&self) -> Vec<(&str, bool)> {
        Vec::new()
    }
}

impl Graph for vulkan::Graph {
    fn parted(&self, args: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let (inputs, outputs) = args.split_at(self.plan.inputs.len().min(args.len()));
        (inputs.to_vec(), outputs.to_vec())
    }

    fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    fn operators(&self) -> Vec<(&str, bool)> {
        self.operators().collect()
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
        return Ok(Delegate::new(name, None));
    }
    let place = delegate.processed().ok_or_else(|| invalid("a delegate has no data".to_owned()))?;
    let data = match place.location() {
        schema::DataLocation::INLINE => file.delegate_data(place.index())?,
        schema::DataLocation::SEGMENT => file.segment(place.index() as usize)?,
        other => return Err(invalid(format!("the data of a delegate are at an unknown place {}", other.0))),
    };
    let graph: Rc<dyn Graph> =
        if name == "VulkanBackend" { Rc::new(vulkan::read(&data, number, method)?) } else { Rc::new(xnnpack::read(&data)?) };
    Ok(Delegate::new(name, Some(graph)))
}
