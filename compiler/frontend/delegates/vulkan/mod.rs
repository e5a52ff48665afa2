//! Delegates of the back end Vulkan: a graph of ATen operators that the program calls as if it were one operator.
//!
//! ```text
//! bytes ─ read, values ─▶ graph: registers and instructions as those of a method, every number checked
//!                    └─ run ─▶ names ─▶ the operators of portable programs, and those that only these graphs have
//! ```
//!
//! A graph is a method without control flow and with its own registers. So it is read into the same [`Plan`](crate::frontend::executorch::program::Plan), and the same
//! translator runs it. Its values become values of the function that calls the delegate.
//!
//! Storage and layout of a tensor on a device do not affect numbers: dimensions are the program's, in row-major order. Integers and floats of 64 bits
//! are narrowed at the edge, as they were when the graph was exported. With reduced precision, floats have 16 bits inside.

mod elementwise;
mod images;
mod names;
mod products;
mod read;
mod run;
mod scales;
#[cfg(test)]
mod tests;
mod tokens;
mod training;
mod values;

pub use names::operators;
pub use read::{Graph, read};
pub use run::call;
