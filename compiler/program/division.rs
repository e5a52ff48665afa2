//! Division of the work of one kernel call.

use super::address::Address;

/// Division of a kernel call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Division {
    /// One call of the kernel does all.
    #[default]
    Whole,
    /// The kernel does a range of rounds.
    Ranges(Ranges),
    /// The kernel does one block of slices, and is called once for each whole block.
    Blocks(Blocks),
}

/// Rounds of a kernel, of which one call does a range. The kernel's two integer parameters are the first round and the end. Ranges run in any order,
/// and at the same time if each has its own private memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranges {
    /// Number of rounds.
    pub rounds: u64,
    /// Maximum number of ranges; 1 if one range does all rounds.
    pub most: u32,
    /// The arguments of which each range has its own.
    pub private: Vec<Private>,
    /// Bytes of each argument in this call. Calls with fewer rounds and smaller tensors may share the kernel.
    pub bytes: Vec<u64>,
}

/// Scratch memory that each range has for itself. The first range has the argument's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Private {
    /// Index among the arguments.
    pub argument: usize,
    /// Address for the second range.
    pub second: Address,
    /// Distance in bytes between the addresses of consecutive ranges, from the second on.
    pub step: u64,
}

/// Blocks of slices of tensors, whose number depends on run-time extents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// Addresses of `i64` numbers whose product is the number of slices, with the least and greatest value of each.
    pub extents: Vec<(Address, [i64; 2])>,
    /// Largest number of slices.
    pub most: u64,
    /// Number of slices in a block.
    pub block: u64,
    /// Block size of the call before, which computed the slices that fill such blocks.
    pub after: Option<u64>,
    /// Distance between slices of each argument, in bytes; 0 if all slices share the same bytes.
    pub strides: Vec<u64>,
    /// Rounds of one block, if the kernel does ranges of them.
    pub ranges: Option<Ranges>,
}

impl Division {
    /// Returns the rounds of the kernel, if one call does a range of them.
    pub fn ranges(&self) -> Option<&Ranges> {
        match self {
            Self::Whole => None,
            Self::Ranges(ranges) => Some(ranges),
            Self::Blocks(blocks) => blocks.ranges.as_ref(),
        }
    }

    /// Returns the rounds of the kernel for changes, if one call does a range of them.
    pub fn ranges_mut(&mut self) -> Option<&mut Ranges> {
        match self {
            Self::Whole => None,
            Self::Ranges(ranges) => Some(ranges),
            Self::Blocks(blocks) => blocks.ranges.as_mut(),
        }
    }

    /// Returns the rounds of the kernel if several ranges may divide them.
    pub fn divided(&self) -> Option<&Ranges> {
        self.ranges().filter(|ranges| ranges.most > 1)
    }

    /// Returns the blocks, if the kernel is called for each.
    pub fn blocks(&self) -> Option<&Blocks> {
        if let Self::Blocks(blocks) = self { Some(blocks) } else { None }
    }

    /// Returns the kernel's integer arguments for all rounds: none, or 0 and the number of rounds.
    pub fn integers(&self) -> Vec<i64> {
        self.ranges().map_or(vec![], |ranges| vec![0, ranges.rounds.cast_signed()])
    }

    /// Makes one range of all rounds.
    pub fn undivided(mut self) -> Self {
        if let Some(ranges) = self.ranges_mut() {
            (ranges.most, ranges.private) = (1, vec![]);
        }
        self
    }
}

impl Blocks {
    /// Returns the distance in bytes from an argument's first block to its last one.
    pub fn last_block(&self, argument: usize) -> u64 {
        self.most.saturating_sub(self.block) * self.strides[argument]
    }
}
