//! The part of a program that a GPU runs: kernels with grids, and regions of dispatches that stand for calls of the host.
//!
//! Device memory is three buffers. The *area* holds what a region works on; a range of scratch memory has the same offset in it, and ports and
//! variables that a region touches come after that. The *constants* are those that dispatches read. *Staging* is what the host sees: all that
//! crosses goes through it.

use super::{Address, Origin, Variable};
use crate::kernel::{Kernel, Lane, Type};
use crate::machine::Machine;
use std::fmt;

/// The part of a program that a GPU runs. All CPU levels share it.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// The profile.
    pub machine: &'static Machine,
    /// Distinct kernels, each with a grid and all its indices narrowed.
    pub kernels: Vec<DeviceKernel>,
    /// Constants that dispatches read.
    pub constants: Vec<DeviceConstant>,
    /// Bytes of all constants with their padding.
    pub constant_bytes: u64,
    /// Bytes of the area. Its first word is the status of a region: 0, or what a position that failed wrote.
    pub area_bytes: u64,
    /// Bytes of staging memory: the most that a region takes, its status word first.
    pub staging_bytes: u64,
    /// What a submission does, each with the number that [`super::Step::Region`] has.
    pub regions: Vec<DeviceRegion>,
    /// Calls that stay on the host, in order.
    pub host_calls: Vec<HostCall>,
    /// Variables that live on the device, if some do: the program then runs with a device only.
    pub residents: Option<Residents>,
    /// How long calls take on either side. `None`: a device is opened wherever there is one.
    pub estimate: Option<Estimate>,
}

/// How long the calls that regions stand for take, estimated, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// On a CPU of each level, in the order of the program's levels.
    pub host_ns: Vec<u64>,
    /// On the device, with what crosses.
    pub device_ns: u64,
}

impl Estimate {
    /// For each level whether the device is faster.
    pub fn device_is_faster(&self) -> impl Iterator<Item = bool> + '_ {
        self.host_ns.iter().map(|&host| self.device_ns < host)
    }
}

/// Variables that no step of the host touches, kept in the area from call to call. They are no part of the state, and do not cross.
#[derive(Clone, Debug, PartialEq)]
pub struct Residents {
    /// The variables; offsets are those in the area.
    pub variables: Vec<Variable>,
    /// The number of the region that gives them their first contents. No step of a method has it.
    pub region: usize,
}

impl Residents {
    /// Bytes of the variables.
    pub fn bytes(&self) -> u64 {
        self.variables.iter().map(|variable| variable.bytes).sum()
    }

    /// The variable that has a byte of the area.
    pub fn at(&self, offset: u64) -> Option<&Variable> {
        self.variables.iter().find(|variable| (variable.offset..variable.offset + variable.bytes).contains(&offset))
    }
}

impl Device {
    /// The regions that calls of methods submit, which are numbered from the first on.
    pub fn regions_of_calls(&self) -> &[DeviceRegion] {
        let end = self.residents.as_ref().map_or(self.regions.len(), |residents| residents.region);
        &self.regions[..end]
    }

    /// One that has nothing to do yet but to tell whether it failed.
    pub fn idle(machine: &'static Machine) -> Self {
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

/// A call that the device does not do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCall {
    /// The number of the method.
    pub method: usize,
    /// The number of the call among the method's.
    pub call: usize,
    /// Why.
    pub reason: HostReason,
}

/// Why a call stays on the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostReason {
    /// The model does not give it to the device, and it does not stand between two calls of the device.
    NotGiven,
    /// It goes over slices of run-time extents.
    Slices,
    /// It computes a run-time extent.
    Extent,
    /// It has more positions than a grid.
    Positions,
    /// It reads or writes a tensor of numbers of 64 bits.
    WideTensor(Lane),
    /// It computes with numbers of 64 bits.
    WideNumber(Lane),
    /// It keeps more at hand than an invocation has.
    Local,
    /// It rounds towards zero.
    Rounding,
    /// It has more operands than the profile binds, however they are joined.
    Operands {
        /// What is left.
        operands: usize,
        /// What the profile binds.
        most: usize,
    },
    /// An operand is larger than what can be bound, or begins where it cannot be.
    Range,
    /// It stands between two calls of the device, and has too few positions to follow them.
    OnePosition,
    /// Bytes beside those that it needs are newer on the device.
    Crossing,
}

impl HostReason {
    /// Several, for the end of a sentence: nothing where there are none.
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

/// A kernel with a grid, and what it binds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceKernel {
    /// The kernel.
    pub kernel: Kernel,
    /// For each pointer parameter the number of the range that it sees, from the first byte of that on. Each range is seen by one at least. Those
    /// that are seen by several are not too many for a device then.
    pub bindings: Vec<usize>,
    /// For each pointer parameter whether it sees bytes that another one sees too, and one of the two is written.
    pub shares: Vec<bool>,
}

impl DeviceKernel {
    /// One each of whose pointer parameters has a range of its own.
    pub fn alone(kernel: Kernel) -> Self {
        let count = kernel.pointer_params().count();
        Self { bindings: (0..count).collect(), shares: vec![false; count], kernel }
    }

    /// How many ranges there are.
    pub fn binding_count(&self) -> usize {
        self.bindings.iter().map(|binding| binding + 1).max().unwrap_or(0)
    }

    /// For each range whether something is written through it.
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
    /// Its number among the program's constants.
    pub constant: usize,
    /// Where it is in the buffer of constants: a multiple of the profile's alignment.
    pub offset: u64,
}

/// One submission. The status word is set to 0 and all that enters is copied in; then the steps; then the status word and all that leaves are
/// copied to staging. The host takes nothing over when the status is not 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceRegion {
    /// What the host writes before.
    pub enter: Vec<Crossing>,
    /// Dispatches and barriers.
    pub steps: Vec<DeviceStep>,
    /// What the host reads after.
    pub leave: Vec<Crossing>,
}

impl DeviceRegion {
    /// What runs, without the barriers between.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.steps.iter().filter_map(|step| if let DeviceStep::Dispatch(dispatch) = step { Some(dispatch) } else { None })
    }

    /// How many dispatches have as many workgroups as run-time extents tell.
    pub fn counted(&self) -> usize {
        self.dispatches().filter(|dispatch| dispatch.counts.is_some()).count()
    }

    /// How many barriers there are.
    pub fn barriers(&self) -> usize {
        self.steps.len() - self.dispatches().count()
    }

    /// Bytes that the host gives.
    pub fn bytes_in(&self) -> u64 {
        self.enter.iter().map(|crossing| crossing.bytes).sum()
    }

    /// Bytes that the host gets.
    pub fn bytes_out(&self) -> u64 {
        self.leave.iter().map(|crossing| crossing.bytes).sum()
    }
}

/// Bytes that go from host to device or back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Where they are on the host.
    pub host: Address,
    /// Where they are in staging memory: a multiple of 4, and not the status word.
    pub staging: u64,
    /// Where they are in the area: a multiple of 4.
    pub device: u64,
    /// How many the host has: 8 of an extent. The device has [`Crossing::device_bytes`].
    pub bytes: u64,
    /// Whether the bytes are a run-time extent: an i64 on the host, an i32 on the device.
    pub is_extent: bool,
}

impl Crossing {
    /// Bytes that it takes on the device and in staging memory.
    pub fn device_bytes(&self) -> u64 {
        if self.is_extent { 4 } else { self.bytes.next_multiple_of(4) }
    }
}

/// What a submission does one after another.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceStep {
    /// A kernel runs for all its positions. Dispatches without a barrier between them run at the same time.
    Dispatch(Dispatch),
    /// What dispatches before wrote is there for those after; what they read may be written.
    Barrier,
    /// The counts that dispatches before wrote are there for those after that have theirs in the area.
    CountBarrier,
}

/// A kernel on its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// Its number among the device's kernels.
    pub kernel: usize,
    /// The ranges that the kernel binds.
    pub bindings: Vec<Bound>,
    /// Where in the area the number of its workgroups is, if run-time extents tell it: a multiple of 4. No more run than the grid has.
    pub counts: Option<u64>,
    /// For reports and profiles.
    pub origin: Origin,
}

impl Dispatch {
    /// Bytes of a number of workgroups in the area: a word for each direction.
    pub const COUNT_BYTES: u64 = 12;
}

/// What is bound to pointer parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bound {
    /// In which buffer.
    pub memory: DeviceMemory,
    /// From where on: a multiple of the profile's alignment.
    pub offset: u64,
    /// Bytes, a multiple of 4.
    pub bytes: u64,
}

/// A buffer that kernels see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceMemory {
    /// What regions work on.
    Area,
    /// What is only read.
    Constants,
}
