//! Parts of programs that were given to back ends, whichever these are.

use super::container::Source;
use crate::diagnostic::Diagnostic;
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::reader::File;
use crate::ir::ElementType;
use crate::schema::program as schema;
use std::any::Any;
use std::fmt::Debug;
use std::rc::Rc;

/// A part of the program that was given to a back end.
#[derive(Clone, Debug)]
pub struct Delegate {
    /// The name of the back end.
    pub name: String,
    /// The graph of the delegate; `None` if the back end's graphs are not supported.
    pub graph: Option<Rc<dyn Graph>>,
    /// The registers of the method that stand for the graph's buffers, in their order.
    pub buffers: Vec<usize>,
}

/// A tensor of a graph that keeps its contents from call to call.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its register in the graph.
    pub register: usize,
    /// The type of its elements.
    pub element: ElementType,
    /// Its extents. It is row-major.
    pub shape: Vec<u64>,
    /// Its contents before the first call.
    pub initial: Source,
}

impl Delegate {
    /// A delegate whose buffers have no registers yet.
    pub fn new(name: String, graph: Option<Rc<dyn Graph>>) -> Self {
        Self { name, graph, buffers: Vec::new() }
    }

    /// The buffers of the graph.
    pub fn graph_buffers(&self) -> &[Buffer] {
        self.graph.as_deref().map_or(&[], Graph::buffers)
    }
}

/// The graph of a delegate.
pub trait Graph: Any + Debug {
    /// The arguments of a call that the graph reads, and those that it writes.
    fn parted(&self, args: &[usize]) -> (Vec<usize>, Vec<usize>);

    /// The buffers of the graph that persist between calls.
    fn buffers(&self) -> &[Buffer];

    /// The names of the graph's operators, with `true` for supported ones. Empty if all operators are supported.
    fn operators(&self) -> Vec<(&str, bool)>;
}

/// A reader of a delegate of a method, which gets the delegate's number: programs do not know their back ends.
pub type Read = fn(&File, &str, (usize, schema::BackendDelegate<'_>)) -> Result<Delegate, Diagnostic>;

/// The register of an argument of a delegate's call.
///
/// # Errors
/// A call with fewer arguments.
pub fn register(args: &[usize], argument: usize) -> Result<usize, Fault> {
    args.get(argument).copied().ok_or_else(|| {
        Fault::invalid("the delegate is called with too few arguments")
            .expected(format!("at least {}", argument + 1), args.len().to_string())
    })
}
