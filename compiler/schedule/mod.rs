//! Groups to kernels: each kind of work has a folder.
//!
//! [`outer::Choice`] picks a [`Schedule`] for a group. The schedule first states its [`Requirements`]: scratch memory, and operand pairs that may
//! share memory. After the planner has placed everything, the schedule writes its kernel.

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
pub mod pair;
pub mod piece;
pub mod quantity;
pub mod reductions;
pub mod route;
mod rowwise;
pub mod technique;
pub mod unsupported;
mod whole;

pub use arguments::Argument;
pub use choose::is_compiled;
pub use context::{Context, Goal, Sharing, Threads};
pub use contraction::operands::panels::packing::PackedWeights;
pub use interface::{Lowered, Requirements, Schedule};
pub use pair::Pair;
pub use technique::{TECHNIQUES, Technique, Techniques};
pub use unsupported::Unsupported;
