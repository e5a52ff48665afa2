//! The part of a program that a GPU runs: kernels with grids, and regions of dispatches that replace calls on the host.
//!
//! Device memory has three buffers. The *area* holds the data of regions. A range of scratch memory has the same offset in the area; ports and
//! variables of regions come after it. The *constants* are the constants that dispatches read. *Staging* is visible to the host: all transfers
//! go through it.

use super::address::Address;
use super::call::Origin;
use super::storage::Variable;
use modelc_kernel::{Kernel, Lane, Type};
use modelc_machine::GpuMachine;
use std::fmt;

/// The part of a program that a GPU runs. All CPU levels share it.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// The device profile.
    pub machine: &'static GpuMachine,
    /// Distinct kernels, each with a grid and with all indices narrowed.
    pub kernels: Vec<DeviceKernel>,
    /// Constants that dispatches read.
    pub constants: Vec<DeviceConstant>,
    /// Bytes of all constants, with padding.
    pub constant_bytes: u64,
    /// Bytes of the area. Its first word is the status of a region: 0, or the error of a position that failed.
    pub area_bytes: u64,
    /// Bytes of staging memory: the most that a region takes, with its status word at the start.
    pub staging_bytes: u64,
    /// Work of each submission, by the number in [`super::Step::Region`].
    pub regions: Vec<DeviceRegion>,
    /// Calls that stay on the host, in order.
    pub host_calls: Vec<HostCall>,
    /// Variables that live on the device, if any. The program then runs only with a device.
    pub residents: Option<Residents>,
    /// Estimated time on either side; `None` to use any device that is present.
    pub estimate: Option<Estimate>,
}

/// Estimated time of the calls in regions, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Time on a CPU of each level, in the order of the program's levels.
    pub host_ns: Vec<u64>,
    /// Time on the device, with transfers.
    pub device_ns: u64,
}

impl Estimate {
    /// Tells for each level whether the device is faster.
    pub fn device_is_faster(&self) -> impl Iterator<Item = bool> + '_ {
        self.host_ns.iter().map(|&host| self.device_ns < host)
    }
}

/// Variables that no host step touches, kept in the area from call to call. They are not part of the state, and are not transferred.
#[derive(Clone, Debug, PartialEq)]
pub struct Residents {
    /// The variables; their offsets are in the area.
    pub variables: Vec<Variable>,
    /// The number of the region that initializes them. No step of a method has this number.
    pub region: usize,
}

impl Residents {
    /// Bytes of the variables.
    pub fn bytes(&self) -> u64 {
        self.variables.iter().map(|variable| variable.bytes).sum()
    }

    /// Returns the variable at an offset in the area.
    pub fn at(&self, offset: u64) -> Option<&Variable> {
        self.variables.iter().find(|variable| (variable.offset..variable.offset + variable.bytes).contains(&offset))
    }
}

impl Device {
    /// Returns the regions that calls of methods submit. Their numbers start at 0.
    pub fn regions_of_calls(&self) -> &[DeviceRegion] {
        let end = self.residents.as_ref().map_or(self.regions.len(), |residents| residents.region);
        &self.regions[..end]
    }

    /// Makes a device without work, except for the status word.
    pub fn idle(machine: &'static GpuMachine) -> Self {
        let (kernels, constants, regions, host_calls) = (vec![], vec![], vec![], vec![]);
        Self {
            machine,
            kernels,
            constants,
            constant_bytes: 0,
            area_bytes: 4,
            staging_bytes: 4,
            regions,
            host_calls,
            residents: None,
            estimate: None,
        }
    }
}

/// A call that stays on the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCall {
    /// The number of the method.
    pub method: usize,
    /// The number of the call among the method's.
    pub call: usize,
    /// Reason for it.
    pub reason: HostReason,
}

/// Reason why a call stays on the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostReason {
    /// The model does not assign it to the device, and it is not between two calls of the device.
    NotGiven,
    /// The call iterates over slices with run-time extents.
    Slices,
    /// The call computes a run-time extent.
    Extent,
    /// The kernel has more positions than a grid.
    Positions,
    /// The call reads or writes a tensor with 64-bit elements.
    WideTensor(Lane),
    /// The kernel computes with 64-bit numbers.
    WideNumber(Lane),
    /// The kernel needs more local memory than an invocation has.
    Local,
    /// The kernel rounds towards zero.
    Rounding,
    /// The call has more operands than the profile can bind, even after merging ranges.
    Operands {
        /// Number of operands after merging.
        operands: usize,
        /// Limit of the profile.
        most: usize,
    },
    /// An operand is larger than a binding can be, or has an unsuitable start.
    Range,
    /// The call is between two calls of the device, and has too few positions to run there.
    OnePosition,
    /// The device has newer contents of neighbouring bytes that the call does not need.
    Crossing,
}

impl HostReason {
    /// Lists several reasons, for the end of a sentence; empty for an empty list.
    pub fn all(list: &[Self]) -> String {
        let list: Vec<String> = list.iter().map(Self::to_string).collect();
        if list.is_empty() { String::new() } else { format!(": {}", list.join("; ")) }
    }
}

impl fmt::Display for HostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGiven => f.write_str("the model does not give it to the GPU"),
            Self::Slices => f.write_str("it goes over slices of run-time extents"),
            Self::Extent => f.write_str("it computes a run-time extent"),
            Self::Positions => f.write_str("it has more positions than a grid"),
            Self::WideTensor(lane) => write!(f, "it has a tensor of {}", Type::scalar(*lane)),
            Self::WideNumber(lane) => write!(f, "it computes with numbers of {}", Type::scalar(*lane)),
            Self::Local => f.write_str("it keeps more at hand than an invocation has"),
            Self::Rounding => f.write_str("it rounds towards zero"),
            Self::Operands { operands, most } => write!(f, "it has operands in {operands} ranges and the profile binds {most}"),
            Self::Range => f.write_str("an operand cannot be bound where it is"),
            Self::OnePosition => f.write_str("its work cannot be done by many positions"),
            Self::Crossing => f.write_str("what it needs lies beside bytes that are newer on the GPU"),
        }
    }
}

/// A kernel with a grid, and its bindings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceKernel {
    /// The kernel.
    pub kernel: Kernel,
    /// Number of the range to which each pointer parameter refers, from the first byte on. Each range has at least one parameter. Shared ranges
    /// reduce the number of bindings to the device's limit.
    pub bindings: Vec<usize>,
    /// `true` for each pointer parameter that may overlap another one, if one of the two is written.
    pub shares: Vec<bool>,
}

impl DeviceKernel {
    /// Makes a kernel whose pointer parameters have separate ranges.
    pub fn alone(kernel: Kernel) -> Self {
        let count = kernel.pointer_params().count();
        Self { bindings: (0..count).collect(), shares: vec![false; count], kernel }
    }

    /// Returns the number of ranges.
    pub fn binding_count(&self) -> usize {
        self.bindings.iter().map(|binding| binding + 1).max().unwrap_or(0)
    }

    /// Tells for each range whether the kernel writes it.
    pub fn writes(&self) -> Vec<bool> {
        let mut writes = vec![false; self.binding_count()];
        for ((buffer, _), &binding) in self.kernel.pointer_params().zip(&self.bindings) {
            writes[binding] |= self.kernel.writes(buffer);
        }
        writes
    }
}

/// A constant on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceConstant {
    /// Number among the program's constants.
    pub constant: usize,
    /// Offset in the buffer of constants: a multiple of the profile's alignment.
    pub offset: u64,
}

/// One submission. It sets the status word to 0, copies inputs to the area, and runs the steps. Then it copies the status word and outputs to
/// staging. The host ignores the outputs if the status is not 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceRegion {
    /// Transfers from the host before the steps.
    pub enter: Vec<Crossing>,
    /// Dispatches and barriers.
    pub steps: Vec<DeviceStep>,
    /// Transfers to the host after the steps.
    pub leave: Vec<Crossing>,
}

impl DeviceRegion {
    /// Returns the dispatches, without barriers.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.steps.iter().filter_map(|step| if let DeviceStep::Dispatch(dispatch) = step { Some(dispatch) } else { None })
    }

    /// Counts the dispatches whose number of workgroups depends on run-time extents.
    pub fn counted(&self) -> usize {
        self.dispatches().filter(|dispatch| dispatch.counts.is_some()).count()
    }

    /// Counts the barriers.
    pub fn barriers(&self) -> usize {
        self.steps.len() - self.dispatches().count()
    }

    /// Returns the bytes transferred from the host.
    pub fn bytes_in(&self) -> u64 {
        self.enter.iter().map(|crossing| crossing.bytes).sum()
    }

    /// Returns the bytes transferred to the host.
    pub fn bytes_out(&self) -> u64 {
        self.leave.iter().map(|crossing| crossing.bytes).sum()
    }
}

/// A transfer between host and device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Address on the host.
    pub host: Address,
    /// Offset in staging memory: a multiple of 4 after the status word.
    pub staging: u64,
    /// Offset in the area: a multiple of 4.
    pub device: u64,
    /// Bytes on the host: 8 for an extent. The device has [`Crossing::device_bytes`].
    pub bytes: u64,
    /// `true` if the bytes are a run-time extent: an i64 on the host, an i32 on the device.
    pub is_extent: bool,
}

impl Crossing {
    /// Returns the bytes on the device and in staging memory.
    pub fn device_bytes(&self) -> u64 {
        if self.is_extent { 4 } else { self.bytes.next_multiple_of(4) }
    }
}

/// A step of a submission.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceStep {
    /// A kernel at all its positions. Dispatches without a barrier between them run at the same time.
    Dispatch(Dispatch),
    /// A barrier: later dispatches see earlier writes, and may overwrite what earlier ones read.
    Barrier,
    /// A barrier for workgroup counts: later dispatches see counts that earlier ones wrote to the area.
    CountBarrier,
}

/// A kernel on its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// Number among the device's kernels.
    pub kernel: usize,
    /// The ranges that the kernel binds.
    pub bindings: Vec<Bound>,
    /// Offset in the area of the number of workgroups, if it depends on run-time extents: a multiple of 4. The number does not exceed the grid.
    pub counts: Option<u64>,
    /// Origin for reports and profiles.
    pub origin: Origin,
}

impl Dispatch {
    /// Bytes of a workgroup count in the area: a word for each dimension.
    pub const COUNT_BYTES: u64 = 12;
}

/// A range of a buffer that pointer parameters refer to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bound {
    /// The buffer.
    pub memory: DeviceMemory,
    /// Offset: a multiple of the profile's alignment.
    pub offset: u64,
    /// Bytes, a multiple of 4.
    pub bytes: u64,
}

/// A buffer that kernels see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceMemory {
    /// The data of regions.
    Area,
    /// Read-only constants.
    Constants,
}
