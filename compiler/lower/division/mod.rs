//! Division of work among threads: ranges of calls, streams of steps, and memory that is reserved for them.

pub(super) mod held;
pub(super) mod lists;
pub(super) mod ranges;
pub(super) mod touch;
