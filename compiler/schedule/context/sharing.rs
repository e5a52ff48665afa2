//! Sharing of a group's work: among blocks of slices, which are calls of their own, and among ranges for threads. Schedules ask questions, each with
//! its reason. They read no number of slices or threads, so a kernel changes only where a question says why.

/// Multiply-accumulate operations below which kernels are not split if the caller sets no number of threads. They take about as long as waking a
/// thread.
const CUT_FROM: u64 = 1 << 18;

/// Operations from which ranges are worth their start: one or two microseconds.
const WORTH_RANGES: u64 = 1 << 14;

/// Operations from which ranges are worth working memory of their own, too.
const WORTH_MEMORY_OF_RANGES: u64 = 1 << 16;

/// The threads that kernels are split for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Number of threads. Memory is planned for as many ranges. With 0 or 1 there is only the caller's thread, and kernels are split only if that
    /// costs no memory.
    pub count: u32,
    /// Minimum instructions of a range that is worth a thread. With 0, which tests use, every kernel that can be split is.
    pub least_instructions: u64,
}

impl Threads {
    /// Only the caller's thread.
    pub const ALONE: Self = Self::new(1);

    /// Makes a number of threads. A range is worth a thread if it takes about a microsecond, which is three times the cost of starting it.
    pub const fn new(count: u32) -> Self {
        Self { count, least_instructions: 6000 }
    }
}

/// The sharing of a group's work among blocks and threads.
#[derive(Clone, Copy)]
pub struct Sharing {
    threads: Threads,
    /// Slices of a block, if the group is computed slice by slice: see [`crate::schedule::outer`].
    pub(super) block: Option<u64>,
}

impl Sharing {
    /// Shares a whole group among threads.
    pub const fn among(threads: Threads) -> Self {
        Self { threads, block: None }
    }

    /// Shares a block of slices instead.
    #[must_use]
    pub const fn of_block(self, slices: u64) -> Self {
        Self { block: Some(slices), ..self }
    }

    /// Tests whether a kernel computes the whole group. A kernel for blocks of slices does not know the number of all pixels. It shares packed weights
    /// with kernels for other blocks, so their layout, and the order of sums, must not depend on this number.
    pub fn is_whole(&self) -> bool {
        self.block.is_none()
    }

    /// Tests whether ranges of kernels have memory of their own.
    pub fn is_for_threads(&self) -> bool {
        self.ranges() > 1
    }

    /// Returns the number of ranges for which memory is planned. Rows and panels are divided evenly among them.
    pub fn ranges(&self) -> u64 {
        self.threads.count.max(1).into()
    }

    /// Returns the maximum number of ranges of a kernel with a number of instructions, each of which is worth a thread.
    pub fn most_ranges(&self, instructions: u64) -> u64 {
        instructions.checked_div(self.threads.least_instructions).unwrap_or(u64::MAX)
    }

    /// Tests whether a kernel with a number of operations may be divided into ranges. With threads, the cost of the finished kernel decides, too.
    pub fn is_worth_ranges(&self, operations: u64) -> bool {
        operations >= self.cut_from(WORTH_RANGES)
    }

    /// Tests the same for ranges with working memory of their own.
    pub fn is_worth_memory_of_ranges(&self, operations: u64) -> bool {
        operations >= self.cut_from(WORTH_MEMORY_OF_RANGES)
    }

    /// Tests the same for ranges that repeat a part of the work.
    pub fn is_worth_long_ranges(&self, operations: u64) -> bool {
        operations >= self.cut_from(CUT_FROM)
    }

    /// Returns the operations from which a kernel may be divided, given their number for threads.
    fn cut_from(&self, with_threads: u64) -> u64 {
        match self.threads {
            Threads { count: 0 | 1, .. } => CUT_FROM,
            Threads { least_instructions: 0, .. } => 0,
            Threads { .. } => with_threads,
        }
    }
}
