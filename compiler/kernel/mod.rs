//! The kernel language: it describes what one kernel does to memory, with loops, scalars and vectors of N lanes.
//!
//! A [`Kernel`] is structured SSA: regions nest, loops carry values, and every access names its buffer. Schedules write kernels with
//! [`KernelBuilder`]. Back ends only select instructions, allocate registers and encode. A vector may have more lanes than a register, because the
//! back end splits it. So the same kernel text serves 128, 256 and 512 bits.

pub mod builder;
pub mod cost;
pub mod data;
pub mod dependence;
pub mod equal;
pub mod indices;
pub mod instructions;
pub mod interpret;
pub mod intervals;
pub mod mathematics;
pub mod operations;
pub mod orders;
pub mod passes;
pub mod text;
pub mod types;
pub mod verify;
mod visit;

pub use builder::{Active, KernelBuilder};
pub use data::*;
pub use instructions::*;
pub use operations::*;
pub use types::*;
pub use visit::Run;
