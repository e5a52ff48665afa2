//! Run-time extents: the extents that callers give and get, and the bounds for memory planning.

use super::frame::Frame;
use crate::diagnostic::Diagnostics;
use crate::fuse::Node;
use crate::ir::{Extent, Function, Port, Value};
use crate::program::{Address, PortExtent};
use crate::schedule::Unsupported;

/// Values at the start and the end of a method.
pub(in crate::lower) struct Ends<'a> {
    /// The dynamic extents of inputs.
    pub entered: Vec<Value>,
    /// The dynamic extents of outputs.
    pub left: Vec<Value>,
    /// The outputs.
    pub outputs: &'a [Value],
}

impl Ends<'_> {
    /// Returns the values that are read at the end of the method.
    pub fn read(&self) -> impl Iterator<Item = Value> + '_ {
        self.outputs.iter().chain(&self.left).copied()
    }
}

/// Returns the indices in the shapes of tensors, each once.
pub(in crate::lower) fn measured(function: &Function, tensors: &[Value]) -> Vec<Value> {
    let mut indices = Vec::new();
    for &extent in tensors.iter().flat_map(|&v| &function.tensor(v).shape) {
        if let Extent::Value(index) = function.resolved(extent)
            && !indices.contains(&index)
        {
            indices.push(index);
        }
    }
    indices
}

/// Describes the dynamic extents of ports. `cell` returns the address of an index.
pub(in crate::lower) fn port_extents(
    function: &Function,
    ports: &[Value],
    described: &[Port],
    mut cell: impl FnMut(Value) -> Address,
) -> Vec<PortExtent> {
    let mut extents = Vec::new();
    for ((port, &value), described) in (0..).zip(ports).zip(described) {
        for (dimension, &extent) in (0..).zip(&function.tensor(value).shape) {
            if let Extent::Value(index) = function.resolved(extent) {
                let low = u64::try_from(function.interval(extent).low).unwrap_or(0);
                let multiple = described.multiples.get(dimension as usize).copied().unwrap_or(1);
                extents.push(PortExtent { port, dimension, low, multiple, cell: cell(index) });
            }
        }
    }
    extents
}

/// Checks that every tensor has a bound on its size, because memory is planned for the bound.
pub(in crate::lower) fn check_bounds(frame: &Frame<'_>, function: &Function, nodes: &[Node]) -> Result<(), Diagnostics> {
    for node in nodes {
        let inner = match node {
            Node::Group(group) => {
                for value in group.tensors(function) {
                    let ty = function.tensor(value);
                    let sound = |e: &Extent| function.interval(*e).low >= 0;
                    if function.bound_bytes(ty).is_none() || !ty.shape.iter().all(sound) {
                        let error = Unsupported::UnboundedTensor;
                        let help =
                            "give an input's extent a bound with --bound in0.DIMENSION=N, or an output's with --bound out0.DIMENSION=N";
                        return Err(frame.unsupported(function, group, &error).help(help).into());
                    }
                }
                continue;
            }
            Node::Moves(_) => continue,
            Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => [first, second],
        };
        for nodes in inner {
            check_bounds(frame, function, nodes)?;
        }
    }
    Ok(())
}
