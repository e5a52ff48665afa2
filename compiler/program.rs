//! A lowered model: kernels, constants, and for each method the steps that call them, with all addresses.
//!
//! This is the contract between planning and code generation. Schedules and the planner write it. The driver generator, the object writer, the
//! header writer, the JIT and the reports read it. It does not depend on file formats or on instructions.

mod by_operator;
mod device;
mod moving;
mod walk;

pub use by_operator::{ByOperator, by_operator};
pub use device::{
    Bound, Crossing, Device, DeviceConstant, DeviceKernel, DeviceMemory, DeviceRegion, DeviceStep, Dispatch, Estimate, HostCall,
    HostReason, Residents,
};
pub use moving::{End, Member, Moving, MovingPlace, Size};
pub use walk::{Visit, Walk, calls, calls_in_streams, calls_together, change_addresses, change_calls, externals, regions, walk};

use crate::ir::{Data, ElementType, PortNotes, Quantization, Source};
use crate::kernel::Kernel;
use crate::machine::Machine;
use std::sync::Arc;

/// Status of a kernel that found a computed index or count out of range.
pub const E_INDEX: i32 = -12;

/// A lowered model.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Distinct kernels, which steps identify by index. Kernel names are stems of symbols: `op012_conv2d_1x1_i8`.
    pub kernels: Vec<Kernel>,
    /// Read-only data: packed weights, tables, initial contents of variables.
    pub constants: Vec<Blob>,
    /// Variables that live between calls, in the state after the runtime's record, except those of [`Residents`].
    pub variables: Vec<Variable>,
    /// Bytes of all variables with padding; offsets are relative to a multiple of [`ALIGNMENT`].
    pub variable_bytes: u64,
    /// Entry points.
    pub methods: Vec<Method>,
    /// The GPU part, if any.
    pub device: Option<Arc<Device>>,
    /// Iterations of one execution of a loop after which the call ends with `MODELC_E_ABORTED`; no limit if absent.
    pub max_iterations: Option<u64>,
}

impl Program {
    /// Returns the bytes of each memory area beside the arena: the most of any method.
    pub fn area_bytes(&self) -> Vec<u64> {
        most_of_each(self.methods.iter().map(|method| method.area_bytes.clone()))
    }
}

/// Returns the element-wise maximum of some lists.
pub fn most_of_each(lists: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
    let mut most: Vec<u64> = Vec::new();
    for list in lists {
        most.resize(most.len().max(list.len()), 0);
        most.iter_mut().zip(list).for_each(|(most, number)| *most = number.max(*most));
    }
    most
}

/// A CPU level of an object, with the program for its machine. The programs of one object differ only in kernels and in the arguments of their
/// calls. Constants, ports, variables, scratch memory and the order of calls are the same.
#[derive(Clone, Copy, Debug)]
pub struct Level<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The program.
    pub program: &'a Program,
}

/// Alignment of the arena, of the weights and of every constant: a cache line, and the widest vector.
pub const ALIGNMENT: u64 = 64;

/// Read-only data; aligned to [`ALIGNMENT`] in the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    /// Name in reports.
    pub name: String,
    /// Contents in the target's byte order.
    pub data: Data,
}

/// Storage that outlives a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name in the model.
    pub name: String,
    /// Offset among the variables.
    pub offset: u64,
    /// Size.
    pub bytes: u64,
    /// The constant with its initial contents; zeros if absent.
    pub initial: Option<usize>,
}

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
    /// Addresses in the scratch memory that depend on the extents of inputs.
    pub moving: Moving,
}

/// Contents of a method's scratch memory over time.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MemoryMap {
    /// Description of each step of the plan. Branches have steps, too, which call no kernel.
    pub steps: Vec<String>,
    /// The step of each kernel call, in the order of the calls.
    pub calls: Vec<usize>,
    /// The step at which the most bytes are live.
    pub peak_step: usize,
    /// All tensors and kernel scratch with an address. Two that share bytes at one step are in-place operands.
    pub occupants: Vec<Occupant>,
}

impl MemoryMap {
    /// Returns the largest free range at a step, below the highest address in use at any step. Its ends are multiples of [`ALIGNMENT`].
    pub fn largest_gap(&self, step: usize) -> std::ops::Range<u64> {
        let mut there: Vec<(u64, u64)> =
            self.occupants.iter().filter(|o| o.steps.contains(&step)).map(|o| (o.offset, o.offset + o.bytes)).collect();
        let end = self.occupants.iter().map(|o| o.offset + o.bytes).max().unwrap_or(0);
        there.sort_unstable();
        there.push((end, end));
        let (mut largest, mut from) = (0..0, 0u64);
        for (start, next) in there {
            let gap = from..start / ALIGNMENT * ALIGNMENT;
            if gap.end.saturating_sub(gap.start) > largest.end - largest.start {
                largest = gap;
            }
            from = from.max(next.next_multiple_of(ALIGNMENT));
        }
        largest
    }
}

/// A tensor, or the scratch of one kernel call, in the scratch memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Name of the tensor or of the step.
    pub name: String,
    /// Offset.
    pub offset: u64,
    /// Size.
    pub bytes: u64,
    /// The steps at which it is live.
    pub steps: std::ops::Range<usize>,
    /// `true` for the scratch of a kernel call, `false` for a tensor.
    pub working: bool,
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

/// One step of a method.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A kernel call.
    Call(Call),
    /// A custom operator.
    External(External),
    /// One of two lists of steps, chosen by the byte at `condition` (0 is false).
    If {
        /// Address of the truth value.
        condition: Address,
        /// Steps when true.
        then: Vec<Step>,
        /// Steps when false.
        otherwise: Vec<Step>,
    },
    /// `head`, then while the byte at `condition` is not 0: `body`, `head` again.
    While {
        /// Steps that compute the condition.
        head: Vec<Step>,
        /// Address of the truth value.
        condition: Address,
        /// Steps of one iteration.
        body: Vec<Step>,
    },
    /// Kernel calls that run together in parts.
    Together(Together),
    /// Sequences of kernel calls that may run at the same time.
    Streams(Streams),
    /// A region of the device, with steps for the host if no device runs.
    Region {
        /// Index among the device's regions.
        region: usize,
        /// Equivalent steps for the CPU.
        otherwise: Vec<Step>,
    },
}

/// A call of a function of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct External {
    /// Symbol of the function.
    pub symbol: String,
    /// Tensors that it reads.
    pub inputs: Vec<ExternalTensor>,
    /// Tensors that it writes.
    pub outputs: Vec<ExternalTensor>,
    /// The constant with its options, if it has any.
    pub options: Option<u32>,
    /// Origin for reports and errors.
    pub origin: Origin,
}

/// A tensor for a function of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalTensor {
    /// Address.
    pub address: Address,
    /// Size.
    pub bytes: u64,
    /// Element type.
    pub element: ElementType,
    /// Number of dimensions.
    pub rank: u32,
    /// The constant with its extents, 64 bits each, unless it has no dimensions.
    pub shape: Option<u32>,
    /// Address of the scale in a constant: an f32 at a multiple of 4.
    pub scale: Address,
    /// Address of the zero point in a constant: an i32 at a multiple of 4.
    pub zero_point: Address,
}

/// A kernel call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Index among the program's kernels.
    pub kernel: usize,
    /// Address for each pointer parameter.
    pub arguments: Vec<Address>,
    /// The integer parameters.
    pub integers: Vec<i64>,
    /// Arguments that are run-time extents: index of each, with its least and greatest value.
    pub extents: Vec<(usize, [i64; 2])>,
    /// Iteration over slices; `None` if the kernel is called once on whole tensors.
    pub slices: Option<Slices>,
    /// Division of its work into parts; `None` if it must not be divided.
    pub parts: Option<Parts>,
    /// Origin for reports and profiles.
    pub origin: Origin,
}

impl Call {
    /// Returns the distance in bytes from an argument's first block of slices to its last one; 0 if the kernel is called once.
    pub fn last_block(&self, argument: usize) -> u64 {
        self.slices.as_ref().map_or(0, |slices| slices.last_block(argument))
    }
}

/// Iteration of a kernel over slices of its tensors, whose number depends on run-time extents. The kernel is called once for each whole block
/// of slices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slices {
    /// Addresses of `i64` numbers whose product is the number of slices, with the least and greatest value of each.
    pub extents: Vec<(Address, [i64; 2])>,
    /// Largest number of slices.
    pub most: u64,
    /// Number of slices in a block.
    pub block: u64,
    /// Block size of the call before, which computed the slices that fill such blocks.
    pub after_blocks_of: Option<u64>,
    /// Distance between slices of each argument, in bytes; 0 if all slices share the same bytes.
    pub strides: Vec<u64>,
}

impl Slices {
    /// Returns the distance in bytes from an argument's first block to its last one.
    pub fn last_block(&self, argument: usize) -> u64 {
        self.most.saturating_sub(self.block) * self.strides[argument]
    }
}

/// Division of a call into parts. The integers of the call are a range: 0 and the extent that the kernel counts. The range may be split: parts
/// may run in any order, and at the same time if each has its own scratch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Limit of the number of parts.
    pub most: u32,
    /// The arguments that are scratch.
    pub working: Vec<Working>,
    /// Bytes of each argument in this call. Calls with shorter ranges and smaller tensors may share the kernel.
    pub bytes: Vec<u64>,
}

/// Kernel calls without a barrier between them: part *i* runs share *i* of each call in turn. A part reads results of these calls only if it
/// computed them itself. It writes nothing that another part reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// Granularity of parts in all calls: the extent of each call, and the ends of its parts, are multiples of it.
    pub rounds: u64,
    /// Limit of the number of parts.
    pub most: u32,
    /// The calls, each a [`Step::Call`] with parts.
    pub calls: Vec<Step>,
}

/// Sequences of kernel calls, the **streams**. No stream touches bytes that another one writes. Each runs in its order, and they run in any
/// order or at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Streams {
    /// The calls, stream by stream, each a [`Step::Call`].
    pub calls: Vec<Step>,
    /// Index of each stream's first call; the first stream starts at 0.
    pub starts: Vec<usize>,
}

impl Streams {
    /// Returns the calls of each stream.
    pub fn each(&self) -> impl Iterator<Item = &[Step]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.calls.len()]);
        self.starts.iter().zip(ends).filter_map(|(&start, end)| self.calls.get(start..end))
    }
}

/// An argument that is scratch, separate for each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Working {
    /// Index among the arguments.
    pub argument: usize,
    /// Address for the second part.
    pub second: Address,
    /// Distance in bytes between the addresses of consecutive parts, from the second on.
    pub step: u64,
}

/// Origin and cost of a kernel call.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Origin {
    /// Source operators: position, and name in the file's vocabulary.
    pub operators: Vec<(u32, String)>,
    /// Distinct positions in the file of all instructions that it computes. Nodes of a delegate are one operator, but have separate positions.
    pub sources: Vec<Source>,
    /// The tensors it computes.
    pub tensors: Vec<String>,
    /// The schedule and its choices: `direct conv 4x8 dot2`.
    pub schedule: String,
    /// Multiply-accumulate operations, with extents at their bounds.
    pub multiply_accumulates: u64,
    /// Bytes read and written, with extents at their bounds.
    pub bytes: u64,
    /// Results in memory with static extents, for observation of a running model.
    pub results: Vec<Written>,
}

/// A tensor that a kernel call writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// Name of the tensor in the file, if it has one.
    pub name: Option<String>,
    /// Source of the defining instruction, and index among its results.
    pub definition: Option<(Source, u32)>,
    /// Element type.
    pub element: ElementType,
    /// Extents.
    pub shape: Vec<u64>,
    /// Bytes.
    pub bytes: u64,
    /// Address at the end of the call.
    pub address: Address,
}

/// An address at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// Offset in the scratch memory.
    Scratch(u64),
    /// Number of a memory area that the application provides beside the arena (`modelc_config.areas`), and an offset in it.
    Area(u32, u64),
    /// Number of a moving address, and the offset in the scratch memory if all extents are at their bounds.
    Moving(u32, u64),
    /// Offset among the variables.
    Variable(u64),
    /// Offset in the device's area, for a variable that the host does not have. Only steps that a region replaces have such addresses.
    Resident(u64),
    /// Number of the caller's input buffer, and an offset in it.
    Input(u32, u64),
    /// Number of the caller's output buffer, and an offset in it.
    Output(u32, u64),
    /// Number of a constant, and an offset in it.
    Constant(u32, u64),
}

impl Address {
    /// Returns the address `bytes` bytes further on.
    pub fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Scratch(offset) => Self::Scratch(offset + bytes),
            Self::Area(area, offset) => Self::Area(area, offset + bytes),
            Self::Moving(place, offset) => Self::Moving(place, offset + bytes),
            Self::Variable(offset) => Self::Variable(offset + bytes),
            Self::Resident(offset) => Self::Resident(offset + bytes),
            Self::Input(number, offset) => Self::Input(number, offset + bytes),
            Self::Output(number, offset) => Self::Output(number, offset + bytes),
            Self::Constant(number, offset) => Self::Constant(number, offset + bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_gap_is_between_what_lies_there_at_a_step() {
        let occupant = |offset, bytes, steps| Occupant { name: String::new(), offset, bytes, steps, working: false };
        let occupants = vec![occupant(0, 100, 0..3), occupant(300, 10, 1..2), occupant(320, 64, 0..1), occupant(640, 60, 2..3)];
        let map = MemoryMap { occupants, ..MemoryMap::default() };
        assert_eq!(map.largest_gap(0), 384..640);
        assert_eq!(map.largest_gap(1), 320..640);
        assert_eq!(map.largest_gap(2), 128..640);
        assert_eq!(map.largest_gap(3), 0..640);
        assert_eq!(MemoryMap::default().largest_gap(0), 0..0);
    }
}
