//! Numbers in which merged kernels may differ, and their form in memory.

use crate::Lane;

/// The way in which a machine reads numbers.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Bytes of a number in memory. The number fills a vector, so that an instruction can read it as an operand, without a register.
    pub stored: u32,
    /// `true` if a shift by a loaded count is one instruction.
    pub shifts_by_lane: bool,
    /// `true` if indices are read, too: bounds of loops, strides and offsets. The merged kernel is then proven for each of its members.
    pub indices: bool,
}

impl Reading {
    /// Returns the place in memory of numbers of a lane type. Indices need no vector.
    pub(super) fn store(self, lane: Lane, is_index: bool) -> Store {
        if is_index { Store { lane: Lane::I32, bytes: 4 } } else { Store { lane, bytes: self.stored.max(lane.bytes()) } }
    }
}

/// A number of a kernel, which may differ between kernels that are merged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Number {
    pub(super) lane: Lane,
    pub(super) bits: u64,
    pub(super) is_index: bool,
}

/// A buffer of numbers: their lane type, and the bytes of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Store {
    pub lane: Lane,
    pub bytes: u32,
}

impl Store {
    /// Returns the number of elements that hold a number.
    pub fn elements(self) -> u32 {
        self.bytes / self.lane.bytes()
    }
}
