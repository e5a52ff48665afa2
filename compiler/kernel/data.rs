//! A kernel: its buffers, its grid and its body.

use super::instructions::{Inst, Region};
use super::types::{Buffer, Lane, Type, Value};
use cranelift_entity::EntityRef;

/// What a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferKind {
    /// A pointer parameter, only read; nothing writes it while the kernel runs.
    Input,
    /// A pointer parameter, written and perhaps read.
    Output,
    /// A pointer parameter to scratch memory, contents undefined on entry.
    Scratch,
    /// An array on the kernel's stack, contents undefined on entry.
    Local,
    /// An array that the positions of a workgroup share, contents undefined on entry. In kernels with grids only.
    Shared,
}

impl BufferKind {
    /// Whether a pointer to it is passed.
    pub fn is_parameter(self) -> bool {
        !matches!(self, Self::Local | Self::Shared)
    }
}

/// A buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BufferData {
    /// Name in listings.
    pub name: String,
    /// What it is.
    pub kind: BufferKind,
    /// The lane type of its elements.
    pub lane: Lane,
    /// Number of elements; every access stays inside. Reads may be proven against `elements` only.
    pub elements: u64,
    /// Known alignment of its first element in bytes.
    pub alignment: u32,
}

impl BufferData {
    /// Bytes of its elements.
    pub fn bytes(&self) -> u64 {
        self.elements * u64::from(self.lane.bytes())
    }
}

/// A body that is run once for every position, in any order and at the same time.
///
/// The kernel has one integer, the position: a number below `positions`. A workgroup is a run of positions that starts at a multiple of
/// `workgroup`. Two positions never meet in an element that one of them writes, except in words that only fail sets, and in a workgroup where
/// there is a barrier between.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// How many positions there are.
    pub positions: u64,
    /// Positions of a workgroup.
    pub workgroup: u32,
}

impl Grid {
    /// Workgroups in a row at most, on every device. More of them are several rows.
    pub const MOST_GROUPS: u32 = 65_535;

    /// How many workgroups have all positions.
    pub fn groups(&self) -> u64 {
        self.positions.div_ceil(self.workgroup.max(1).into())
    }
}

/// A kernel: one function of pointers, then 64-bit integers, to a status (0 is good).
///
/// One with a grid returns nothing. Where it has [`Inst::FailIf`], its last pointer parameter is an output of one i32, to which a position
/// that fails writes its status before it ends; the others go on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kernel {
    /// Name in listings and, with the model's prefix, of the symbol.
    pub name: String,
    /// Buffers; those that are parameters come in this order.
    pub buffers: Vec<BufferData>,
    /// Number of 64-bit integer parameters, the first parameters of `body`.
    pub integers: usize,
    /// How often the body is run, for machines that run many at the same time. CPUs refuse a kernel that has one.
    pub grid: Option<Grid>,
    /// Types of all values.
    pub types: Vec<Type>,
    /// The body; its parameters are the integer parameters.
    pub body: Region,
}

impl Kernel {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.index()]
    }

    /// A buffer's data.
    pub fn buffer(&self, buffer: Buffer) -> &BufferData {
        &self.buffers[buffer.index()]
    }

    /// Whether it has a [`Inst::FailIf`].
    pub fn may_fail(&self) -> bool {
        self.statements().any(|statement| matches!(statement.inst, Inst::FailIf { .. }))
    }

    /// Whether it has a [`Inst::Barrier`].
    pub fn has_barrier(&self) -> bool {
        self.statements().any(|statement| statement.inst == Inst::Barrier)
    }

    /// Where a kernel with a grid that may fail stores its status: the last pointer parameter, an output of one i32.
    pub fn status(&self) -> Option<Buffer> {
        let (status, data) = self.pointer_params().last().filter(|_| self.grid.is_some() && self.may_fail())?;
        (data.kind == BufferKind::Output && data.lane == Lane::I32 && data.elements == 1).then_some(status)
    }

    /// Buffers that are pointer parameters, in order.
    pub fn pointer_params(&self) -> impl Iterator<Item = (Buffer, &BufferData)> {
        self.buffers.iter().enumerate().filter(|(_, b)| b.kind.is_parameter()).map(|(i, b)| (Buffer::new(i), b))
    }
}
