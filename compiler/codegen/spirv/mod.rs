//! Compilation of kernels with grids to SPIR-V 1.3, for devices with Vulkan 1.1.
//!
//! A module has one entry point, `main`. The pointer parameters of the kernel are storage buffers of descriptor set 0, each with the binding number
//! of its range. A dispatch has [`groups`] workgroups.

mod access;
mod arithmetic;
mod assembler;
mod compile;
mod control;
mod convert;
mod dispatch;
mod listing;
mod lower;
mod memory;
mod packed;
mod place;
mod products;

pub use compile::module;
pub use dispatch::groups;
pub use listing::listing;
