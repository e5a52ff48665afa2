//! Division of work among threads, once memory is planned: ranges of calls, lists of steps, and memory that is held for them.

pub(super) mod held;
pub(super) mod lists;
pub(super) mod ranges;
pub(super) mod touch;
