//! Decisions that are tried with the planner: cuts into bands, merges of groups, and kernels that take more time to save memory.

pub(super) mod bands;
pub(super) mod merges;
pub(super) mod needs;
pub(super) mod overwriting;
pub(super) mod shortened;
pub(super) mod special;
pub(super) mod trials;
