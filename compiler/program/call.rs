//! Calls of kernels.

use super::address::Address;
use crate::ir::{ElementType, Source};

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
