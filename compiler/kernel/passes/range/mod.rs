//! Makes a kernel compute one range of its rounds. The new kernel has two integer parameters, the first round of the range and the end of the range.
//! Ranges that cover all rounds give the same result as the kernel, in any order. They may run at the same time if each has its own scratch memory.
//!
//! The rounds are those of the kernel's `divide` ([`of_divide`]), or of one of its independent loops ([`of_rounds`]).

mod divide;
mod in_ranges;
mod rounds;

pub use divide::of_divide;
pub use in_ranges::InRanges;
pub use rounds::of_rounds;
