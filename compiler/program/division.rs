//! Division of work: of one kernel call, and of several calls among tasks.

use super::address::Address;
use super::step::Step;

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

/// Kernel calls that **tasks** divide among them. Tasks run in any order, or at the same time. No task accesses bytes that another one writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    /// The calls, each a [`Step::Call`].
    pub calls: Vec<Step>,
    /// The division of the calls.
    pub tasks: Tasks,
}

/// Division of kernel calls into tasks.
#[derive(Clone, Debug, PartialEq)]
pub enum Tasks {
    /// Task *i* runs range *i* of each call in turn, without a barrier between calls. Each call has ranges.
    Ranges {
        /// Granularity of ranges in all calls: the rounds of each call, and the ends of its ranges, are multiples of it.
        rounds: u64,
        /// Limit of the number of tasks.
        most: u32,
    },
    /// Each task runs a list of whole calls, a **stream**, in its order.
    Lists {
        /// Index of each list's first call; the first list starts at 0.
        starts: Vec<usize>,
    },
}

impl Parallel {
    /// Makes an empty step of lists.
    pub fn of_lists() -> Self {
        Self { calls: vec![], tasks: Tasks::Lists { starts: vec![] } }
    }

    /// Returns the calls of each list. There are none if tasks are ranges.
    pub fn lists(&self) -> impl Iterator<Item = &[Step]> {
        let starts: &[usize] = if let Tasks::Lists { starts } = &self.tasks { starts } else { &[] };
        let ends = starts.iter().skip(1).copied().chain([self.calls.len()]);
        starts.iter().zip(ends).filter_map(|(&start, end)| self.calls.get(start..end))
    }

    /// Returns the limit of the number of tasks.
    pub fn most(&self) -> u32 {
        match &self.tasks {
            Tasks::Ranges { most, .. } => *most,
            Tasks::Lists { starts } => starts.len() as u32,
        }
    }
}
