//! Calls of kernels.

use super::address::Address;
use super::division::Division;
use modelc_ir::{ElementType, Source};

/// A kernel call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Index among the program's kernels.
    pub kernel: usize,
    /// Address for each pointer parameter.
    pub arguments: Vec<Address>,
    /// Bounds of the arguments that are run-time extents: index of each, with its least and greatest value.
    pub bounds: Vec<(usize, [i64; 2])>,
    /// Division of its work.
    pub division: Division,
    /// Origin for reports and profiles.
    pub origin: Origin,
}

impl Call {
    /// Returns the distance in bytes from an argument's first block of slices to its last one; 0 if the kernel is called once.
    pub fn last_block(&self, argument: usize) -> u64 {
        self.division.blocks().map_or(0, |blocks| blocks.last_block(argument))
    }
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
