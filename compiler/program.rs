//! A lowered model: kernels, constants, and for each method the steps that call them, with every address decided.
//!
//! This is the contract between planning and code generation. Schedules and the planner write it; the driver generator, the
//! object writer, the header writer, the JIT and the reports read it. It knows no file format and nothing of instructions.

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

/// The status of a kernel that found an index or a count, computed from data, out of range.
pub const E_INDEX: i32 = -12;

/// A lowered model.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Distinct kernels; steps name them by position. Kernel names are symbol stems: `op012_conv2d_1x1_i8`.
    pub kernels: Vec<Kernel>,
    /// Read-only data: packed weights, tables, initial contents of variables.
    pub constants: Vec<Blob>,
    /// Variables that live from call to call, placed in the state after the runtime's own record. Those of [`Residents`] are none of them.
    pub variables: Vec<Variable>,
    /// Bytes of all variables with their padding; offsets are relative to a multiple of [`ALIGNMENT`].
    pub variable_bytes: u64,
    /// Entry points.
    pub methods: Vec<Method>,
    /// What a GPU runs of it, if anything.
    pub device: Option<Arc<Device>>,
    /// Rounds of a loop, each time it is entered, after which a call ends with `MODELC_E_ABORTED`; no limit when absent.
    pub max_iterations: Option<u64>,
}

impl Program {
    /// Bytes that some method needs of each memory area beside the arena.
    pub fn area_bytes(&self) -> Vec<u64> {
        most_of_each(self.methods.iter().map(|method| method.area_bytes.clone()))
    }
}

/// The largest of the first numbers of some lists, of the second ones, and so on.
pub fn most_of_each(lists: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
    let mut most: Vec<u64> = Vec::new();
    for list in lists {
        most.resize(most.len().max(list.len()), 0);
        most.iter_mut().zip(list).for_each(|(most, number)| *most = number.max(*most));
    }
    most
}

/// A CPU level of an object: the program for a machine. The programs of one object differ in kernels, in the arguments of their calls
/// and in nothing else: constants, ports, variables, scratch memory and the order of calls are the same.
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
    /// The constant with its initial contents; zeros when absent.
    pub initial: Option<usize>,
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Method {
    /// Name in the model.
    pub name: String,
    /// Inputs in order.
    pub inputs: Vec<Port>,
    /// Outputs in order.
    pub outputs: Vec<Port>,
    /// Dynamic extents of inputs, each where the call keeps it: one that several share is the same for all of them.
    pub input_extents: Vec<PortExtent>,
    /// Dynamic extents of outputs, each where the call has it at the end.
    pub output_extents: Vec<PortExtent>,
    /// What it does.
    pub steps: Vec<Step>,
    /// Scratch memory it needs.
    pub scratch_bytes: u64,
    /// The planner's lower bound for the scratch memory, and whether the plan is optimal for its order of steps.
    pub lower_bound: u64,
    /// Whether `scratch_bytes` cannot be lowered for this order of steps.
    pub optimal: bool,
    /// What lies where in the scratch memory, for reports.
    pub memory_map: MemoryMap,
    /// Scratch memory that it would need without memory for several threads, where it has that.
    pub scratch_bytes_alone: Option<u64>,
    /// Bytes that it needs of each memory area that the application gives beside the arena.
    pub area_bytes: Vec<u64>,
    /// Which places in the scratch memory follow from the extents of inputs.
    pub moving: Moving,
}

/// What lies where in a method's scratch memory, and when.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MemoryMap {
    /// What each step of the plan does. Branches have steps too, which call no kernel.
    pub steps: Vec<String>,
    /// The step of each kernel call, in the order of the calls.
    pub calls: Vec<usize>,
    /// The step at which the most bytes are live.
    pub peak_step: usize,
    /// Everything that has a place. Those that share bytes at one step are worked on in place.
    pub occupants: Vec<Occupant>,
}

impl MemoryMap {
    /// The largest range, between multiples of [`ALIGNMENT`], in which nothing lies at a step, up to where something lies at any step.
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

/// A tensor, or the working memory of one kernel call, in the scratch memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// The tensor's name, or the step's.
    pub name: String,
    /// Where it starts.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// The steps at which it is live.
    pub steps: std::ops::Range<usize>,
    /// Whether it is a kernel's working memory and no tensor.
    pub working: bool,
}

/// An input or output as users see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name in the model.
    pub name: String,
    /// Element type.
    pub element: ElementType,
    /// Extents at their bound.
    pub shape: Vec<u64>,
    /// Which extents are dynamic (the caller passes or receives them at run time).
    pub dynamic: Vec<bool>,
    /// Bytes at the bound.
    pub bytes: u64,
    /// Scale and zero point, when quantized.
    pub quantization: Option<Quantization>,
    /// A plain number and not a buffer.
    pub scalar: bool,
    /// The only bytes that an input may have; others are `MODELC_E_SHAPE`. Of an output, those that it has in every call.
    pub value: Option<Data>,
    /// What else is known of it.
    pub notes: PortNotes,
}

/// A dynamic extent of a port: an `i64` in memory while the method runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortExtent {
    /// The port's number.
    pub port: u32,
    /// The dimension.
    pub dimension: u32,
    /// Its smallest value; the largest is the port's extent.
    pub low: u64,
    /// The power of two that it is a multiple of.
    pub multiple: u64,
    /// Where it is.
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
        /// Where the truth value is.
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
        /// Where the truth value is.
        condition: Address,
        /// Steps of one round.
        body: Vec<Step>,
    },
    /// Kernel calls that run together in parts.
    Together(Together),
    /// Runs of kernel calls that may run at the same time.
    Streams(Streams),
    /// A region of the device where one runs, else the steps that do the same.
    Region {
        /// Position among the device's regions.
        region: usize,
        /// What a CPU does instead.
        otherwise: Vec<Step>,
    },
}

/// A call of a function of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct External {
    /// Its name.
    pub symbol: String,
    /// What it reads.
    pub inputs: Vec<ExternalTensor>,
    /// What it writes.
    pub outputs: Vec<ExternalTensor>,
    /// The constant with its options, if it has any.
    pub options: Option<u32>,
    /// For reports and errors.
    pub origin: Origin,
}

/// A tensor as a function of the application sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalTensor {
    /// Where it is.
    pub address: Address,
    /// Its size.
    pub bytes: u64,
    /// Element type.
    pub element: ElementType,
    /// Number of dimensions.
    pub rank: u32,
    /// The constant with its extents, 64 bits each, unless it has no dimensions.
    pub shape: Option<u32>,
    /// Its scale: an f32 at a multiple of 4 in a constant.
    pub scale: Address,
    /// Its zero point: an i32 likewise.
    pub zero_point: Address,
}

/// A kernel call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Position among the program's kernels.
    pub kernel: usize,
    /// One address a pointer parameter.
    pub arguments: Vec<Address>,
    /// The integer parameters.
    pub integers: Vec<i64>,
    /// Arguments that are run-time extents: their numbers among the arguments, and the least and the most that each is.
    pub extents: Vec<(usize, [i64; 2])>,
    /// Whether the kernel is called once on whole tensors, or over slices of them.
    pub slices: Option<Slices>,
    /// Whether its work may be cut to pieces.
    pub parts: Option<Parts>,
    /// For reports and profiles.
    pub origin: Origin,
}

impl Call {
    /// How many bytes after what the first block of slices takes of an argument the last one begins; 0 where the kernel is called once.
    pub fn last_block(&self, argument: usize) -> u64 {
        self.slices.as_ref().map_or(0, |slices| slices.last_block(argument))
    }
}

/// How a kernel goes over slices of its tensors, as many as run-time extents say: it is called for a block of slices at a time, as long as
/// whole blocks are left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slices {
    /// Where `i64` numbers are whose product is the number of slices, and the least and the most that each is.
    pub extents: Vec<(Address, [i64; 2])>,
    /// The most slices that there are.
    pub most: u64,
    /// Slices of a block.
    pub block: u64,
    /// Another call took the slices before, as far as they fill blocks of this many.
    pub after_blocks_of: Option<u64>,
    /// For each argument the bytes from one slice to the next; 0 where all slices have the same.
    pub strides: Vec<u64>,
}

impl Slices {
    /// How many bytes after what the first block takes of an argument the last one begins.
    pub fn last_block(&self, argument: usize) -> u64 {
        self.most.saturating_sub(self.block) * self.strides[argument]
    }
}

/// The integers of the call are a range, 0 and the extent of what the kernel counts. Ranges that together are that one do the same in any
/// order, and at the same time if each has working memory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Parts at most.
    pub most: u32,
    /// The arguments that are working memory.
    pub working: Vec<Working>,
    /// Bytes that each argument has in this call. The kernel may be that of calls with shorter ranges and smaller tensors, too.
    pub bytes: Vec<u64>,
}

/// Kernel calls between which parts do not wait for each other: part *i* runs the *i*-th share of each call in turn. What it reads of these
/// calls it wrote itself, and it writes nothing that another part reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// What parts share, the same for all calls: the extent of each call is a multiple of it, and so are the ends of its parts.
    pub rounds: u64,
    /// Parts at most.
    pub most: u32,
    /// The calls, each a [`Step::Call`] that has parts.
    pub calls: Vec<Step>,
}

/// Runs of kernel calls, the **streams**, of which none touches what another one writes. Each runs in its order, and all of them in any order or
/// at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Streams {
    /// The calls, stream by stream, each a [`Step::Call`].
    pub calls: Vec<Step>,
    /// Where each stream starts among them; the first one does at 0.
    pub starts: Vec<usize>,
}

impl Streams {
    /// The calls of each stream.
    pub fn each(&self) -> impl Iterator<Item = &[Step]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.calls.len()]);
        self.starts.iter().zip(ends).filter_map(|(&start, end)| self.calls.get(start..end))
    }
}

/// An argument that is working memory, of which each part has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Working {
    /// Its number among the arguments.
    pub argument: usize,
    /// Where the second part has it.
    pub second: Address,
    /// Bytes from that of one part, the second or a later one, to that of the next.
    pub step: u64,
}

/// Where a kernel call comes from and what it costs.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Origin {
    /// Source operators: position and name in the file's vocabulary.
    pub operators: Vec<(u32, String)>,
    /// The places in the file of all instructions that it computes, each once. Nodes of a delegate are one operator, but have places of their own.
    pub sources: Vec<Source>,
    /// The tensors it computes.
    pub tensors: Vec<String>,
    /// The schedule and its choices: `direct conv 4x8 dot2`.
    pub schedule: String,
    /// Multiply-accumulate operations, where extents are at their bounds.
    pub multiply_accumulates: u64,
    /// Bytes read and written, where extents are at their bounds.
    pub bytes: u64,
    /// What it leaves in memory, as far as extents are static: for those who look at a running model.
    pub results: Vec<Written>,
}

/// A tensor that a kernel call writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The tensor's name in the file, when it has one.
    pub name: Option<String>,
    /// The source of the instruction that defines it, and its number among that instruction's results.
    pub definition: Option<(Source, u32)>,
    /// Element type.
    pub element: ElementType,
    /// Extents.
    pub shape: Vec<u64>,
    /// Bytes.
    pub bytes: u64,
    /// Where it is when the call has ended.
    pub address: Address,
}

/// A place in memory when a method runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// Offset in the scratch memory.
    Scratch(u64),
    /// The number of a memory area that the application gives beside the arena (`modelc_config.areas`), and an offset in it.
    Area(u32, u64),
    /// The number of a place of the scratch memory that moves, and an offset in the scratch memory where all extents are at their bound.
    Moving(u32, u64),
    /// Offset among the variables.
    Variable(u64),
    /// Offset in the area of the device, where a variable is that the host does not have. Only steps that a region takes the place of have such ones.
    Resident(u64),
    /// The caller's input buffer of that number, and an offset in it.
    Input(u32, u64),
    /// The caller's output buffer of that number, and an offset in it.
    Output(u32, u64),
    /// A constant, and an offset in it.
    Constant(u32, u64),
}

impl Address {
    /// The address this many bytes further on.
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
