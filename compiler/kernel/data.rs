//! A kernel: its buffers, its grid and its body.

use super::instructions::{Inst, Region};
use super::types::{Buffer, Lane, Type, Value};
use cranelift_entity::EntityRef;

/// The kind of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferKind {
    /// A pointer parameter that is only read. Nothing writes its memory while the kernel runs.
    Input,
    /// A pointer parameter that is written, and perhaps read.
    Output,
    /// A pointer parameter to scratch memory. Its contents are undefined on entry.
    Scratch,
    /// An array on the kernel's stack. Its contents are undefined on entry.
    Local,
    /// An array that the positions of a workgroup share, only in kernels with grids. Its contents are undefined on entry.
    Shared,
}

impl BufferKind {
    /// Tests whether callers pass a pointer for the buffer.
    pub fn is_parameter(self) -> bool {
        !matches!(self, Self::Local | Self::Shared)
    }
}

/// A buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BufferData {
    /// Name in listings.
    pub name: String,
    /// The kind of the buffer.
    pub kind: BufferKind,
    /// The lane type of its elements.
    pub lane: Lane,
    /// Number of elements. Every access stays inside, and reads are proven against this number.
    pub elements: u64,
    /// Known alignment of the first element, in bytes.
    pub alignment: u32,
    /// `true` if the kernel walks through the buffer in order, and more memory than a cache holds passes between two walks. A back end may fetch
    /// elements before they are accessed.
    pub streamed: bool,
}

impl BufferData {
    /// Makes a buffer that is not streamed.
    pub fn new(name: impl Into<String>, kind: BufferKind, lane: Lane, elements: u64, alignment: u32) -> Self {
        Self { name: name.into(), kind, lane, elements, alignment, streamed: false }
    }

    /// Returns the size of the buffer in bytes.
    pub fn bytes(&self) -> u64 {
        self.elements * u64::from(self.lane.bytes())
    }
}

/// A grid: the body runs once for every position, in any order and at the same time.
///
/// The kernel has one integer parameter, the position: a number below `positions`. A workgroup is a run of positions that starts at a multiple of
/// `workgroup`. Two positions never access an element that one of them writes. There are two exceptions: words that only failures set, and accesses
/// in a workgroup with a barrier between them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// Number of positions.
    pub positions: u64,
    /// Number of positions in a workgroup.
    pub workgroup: u32,
}

impl Grid {
    /// Maximum number of workgroups in a row, on every device. A larger grid has several rows.
    pub const MOST_GROUPS: u32 = 65_535;

    /// Returns the number of workgroups.
    pub fn groups(&self) -> u64 {
        self.positions.div_ceil(self.workgroup.max(1).into())
    }
}

/// A kernel: one function of pointers and then 64-bit integers, which returns a status. 0 is success.
///
/// A kernel with a grid returns nothing. If it has [`Inst::FailIf`], its last pointer parameter is an output of one i32. A position that fails writes
/// its status there and ends; the others continue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kernel {
    /// Name in listings and, with the model's prefix, of the symbol.
    pub name: String,
    /// Buffers. The parameters among them are passed in this order.
    pub buffers: Vec<BufferData>,
    /// Number of 64-bit integer parameters, the first parameters of `body`.
    pub integers: usize,
    /// Grid of the kernel, for machines that run many positions at the same time. CPUs refuse a kernel with a grid.
    pub grid: Option<Grid>,
    /// Types of all values.
    pub types: Vec<Type>,
    /// The body; its parameters are the integer parameters.
    pub body: Region,
    /// The calls for which accesses are proven.
    pub proof: Proof,
}

/// The calls for which a kernel's accesses are proven.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Proof {
    /// All calls.
    #[default]
    Alone,
    /// Calls that pass the numbers of a member.
    Members(Members),
}

/// The members of a joined kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Members {
    /// The buffer of numbers, of i32.
    pub buffer: Buffer,
    /// The kernels.
    pub list: Vec<Member>,
}

/// One kernel that a joined kernel does the work of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Contents of the buffer of numbers.
    pub numbers: Vec<i32>,
    /// Its own buffers: the first ones of the joined kernel, with their own kinds and lengths.
    pub buffers: Vec<BufferData>,
}

impl Members {
    /// Returns the numbers at a place, one a member.
    pub fn at(&self, place: usize) -> impl Iterator<Item = i32> + Clone {
        self.list.iter().filter_map(move |member| member.numbers.get(place).copied())
    }

    /// Returns the member with some numbers.
    pub fn with(&self, numbers: &[i32]) -> Option<&Member> {
        self.list.iter().find(|member| member.numbers == numbers)
    }
}

impl Kernel {
    /// Returns the members of a joined kernel.
    pub fn members(&self) -> Option<&Members> {
        match &self.proof {
            Proof::Alone => None,
            Proof::Members(members) => Some(members),
        }
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.index()]
    }

    /// Returns the data of a buffer.
    pub fn buffer(&self, buffer: Buffer) -> &BufferData {
        &self.buffers[buffer.index()]
    }

    /// Tests whether the kernel has a [`Inst::FailIf`].
    pub fn may_fail(&self) -> bool {
        self.statements().any(|statement| matches!(statement.inst, Inst::FailIf { .. }))
    }

    /// Tests whether the kernel has a [`Inst::Barrier`].
    pub fn has_barrier(&self) -> bool {
        self.statements().any(|statement| statement.inst == Inst::Barrier)
    }

    /// Returns the status buffer of a kernel with a grid that may fail: the last pointer parameter, an output of one i32.
    pub fn status(&self) -> Option<Buffer> {
        let (status, data) = self.pointer_params().last().filter(|_| self.grid.is_some() && self.may_fail())?;
        (data.kind == BufferKind::Output && data.lane == Lane::I32 && data.elements == 1).then_some(status)
    }

    /// Returns the buffers that are pointer parameters, in order.
    pub fn pointer_params(&self) -> impl Iterator<Item = (Buffer, &BufferData)> {
        self.buffers.iter().enumerate().filter(|(_, b)| b.kind.is_parameter()).map(|(i, b)| (Buffer::new(i), b))
    }
}
