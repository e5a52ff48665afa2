//! Options for running a model in memory.

use super::custom::CustomOperator;
use super::memory::Placement;
use crate::codegen::vulkan::GpuOptions;
use std::ops::Range;

/// Scratch bytes that are live after each kernel call of a method, as disjoint ascending ranges.
pub type LiveRanges = Vec<Vec<Range<u64>>>;

/// Options for running a model.
#[derive(Clone, Debug, Default)]
pub struct JitOptions {
    /// `true` to measure every kernel.
    pub profile: bool,
    /// Placement of the caller's buffers. With guards, state and scratch memory have guards too.
    pub placement: Placement,
    /// Live scratch bytes after each kernel call, in the order of [`crate::program::calls`], a list for each method. Other bytes are
    /// overwritten.
    pub live: Option<Vec<LiveRanges>>,
    /// Functions of custom operators, by symbol. They must not use their first argument, because no application sets it.
    pub customs: Vec<(String, CustomOperator)>,
    /// `true` to keep the results of every kernel call, for [`super::Instance::observations`].
    pub observe: bool,
    /// Number of threads for kernels; 0 and 1 mean the caller's thread alone.
    pub threads: u32,
    /// Options of the GPU part.
    pub gpu: GpuOptions,
}
