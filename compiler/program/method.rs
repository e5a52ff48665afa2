//! Entry points of a program, and their ports.

use super::address::Address;
use super::in_areas::InAreas;
use super::memory_map::MemoryMap;
use super::moving::Moving;
use super::step::Step;
use modelc_ir::{Data, ElementType, PortNotes, Quantization};

/// An entry point.
#[derive(Clone, Debug, Default)]
pub struct Method {
    /// Name in the model.
    pub name: String,
    /// Inputs in order.
    pub inputs: Vec<Port>,
    /// Outputs in order.
    pub outputs: Vec<Port>,
    /// Dynamic extents of inputs, with their addresses. Ports that share an extent must agree on it.
    pub input_extents: Vec<PortExtent>,
    /// Dynamic extents of outputs, with their addresses at the end of the call.
    pub output_extents: Vec<PortExtent>,
    /// The steps in execution order.
    pub steps: Vec<Step>,
    /// Size of its scratch memory.
    pub scratch_bytes: u64,
    /// The planner's lower bound for the scratch memory.
    pub lower_bound: u64,
    /// `true` if `scratch_bytes` is proven minimal for this order of steps.
    pub optimal: bool,
    /// Contents of the scratch memory over time, for reports.
    pub memory_map: MemoryMap,
    /// Scratch memory without additional memory for threads, if the plan has any.
    pub scratch_bytes_alone: Option<u64>,
    /// Bytes of each memory area that the application provides beside the arena.
    pub area_bytes: Vec<u64>,
    /// Figures of the application's areas, if it has named some.
    pub in_areas: Option<InAreas>,
    /// Addresses in the scratch memory that depend on the extents of inputs.
    pub moving: Moving,
}

/// An input or output of the interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name in the model.
    pub name: String,
    /// Element type.
    pub element: ElementType,
    /// Extents at their bound.
    pub shape: Vec<u64>,
    /// `true` for each dynamic extent, which the caller passes or receives at run time.
    pub dynamic: Vec<bool>,
    /// Bytes at the bound.
    pub bytes: u64,
    /// Scale and zero point, if quantized.
    pub quantization: Option<Quantization>,
    /// `true` for a scalar, which is passed by value instead of in a buffer.
    pub scalar: bool,
    /// The only permitted bytes of an input; others give `MODELC_E_SHAPE`. For an output, its bytes in every call.
    pub value: Option<Data>,
    /// Additional facts about the port.
    pub notes: PortNotes,
}

/// A dynamic extent of a port: an `i64` in memory while the method runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortExtent {
    /// The port's number.
    pub port: u32,
    /// The dimension.
    pub dimension: u32,
    /// Smallest value; the largest is the port's extent.
    pub low: u64,
    /// A power of two that divides it.
    pub multiple: u64,
    /// Address of the `i64`.
    pub cell: Address,
}
