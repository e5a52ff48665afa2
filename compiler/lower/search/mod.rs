//! Decisions that are tried up to the plan: what to cut into bands, which groups to merge, and which kernels save memory for some time.

pub(super) mod bands;
pub(super) mod merges;
pub(super) mod needs;
pub(super) mod overwriting;
pub(super) mod shortened;
pub(super) mod special;
pub(super) mod trials;
