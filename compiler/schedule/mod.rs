//! From groups to kernels: a folder a kind of work.
//!
//! [`outer::Choice`] picks a [`Schedule`] for a group. The schedule first states what it needs ([`Requirements`]: scratch memory,
//! operand pairs that may share memory), the planner places everything, and then the schedule lowers itself to a kernel.

pub mod arguments;
mod attention;
pub mod choose;
pub mod context;
pub mod contraction;
pub mod elementwise;
pub mod fourier;
pub mod indexed;
pub mod interface;
mod loops;
pub mod movement;
pub mod ordering;
pub mod outer;
pub mod piece;
pub mod quantity;
pub mod reductions;
mod rowwise;
pub mod unsupported;
mod whole;

pub use arguments::Argument;
pub use choose::is_compiled;
pub use context::{Context, Goal, Threads};
pub use contraction::packing::PackedWeights;
pub use interface::{Lowered, Requirements, Schedule};
pub use unsupported::Unsupported;
