//! Kernels with grids as modules of SPIR-V 1.3, which devices with Vulkan 1.1 run.
//!
//! A module has one entry point, `main`. The pointer parameters of the kernel are storage buffers of descriptor set 0, each bound to the number of
//! the range that it sees. A dispatch is of [`groups`] workgroups.

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
