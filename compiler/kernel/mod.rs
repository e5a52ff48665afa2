//! The kernel language: what one kernel does to memory, in loops, scalars and vectors of N lanes.
//!
//! A [`Kernel`] is structured SSA: regions nest, loops carry values, and every access names its buffer. Schedules write it with
//! [`KernelBuilder`]; back ends select instructions, allocate registers and encode, and decide nothing else. A vector may
//! have more lanes than a register: the back end splits it, so the same kernel text serves 128, 256 and 512 bits.

pub mod builder;
pub mod cost;
pub mod data;
pub mod equal;
pub mod footprint;
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
