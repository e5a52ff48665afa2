//! Delegates of the back end XNNPACK: a graph of tensors that the program calls as if it were one operator.
//!
//! ```text
//! bytes ─ read, tensors, nodes, clamps ─▶ subgraph: tensors and nodes, every id checked
//!                           └─ run ─▶ constants, elementwise, sums, images, movement ─▶ the operator library
//! ```
//!
//! The nodes become part of the function that calls the delegate, so everything that fuses and plans sees through it. Images have their channels last
//! in these graphs, as in the tensor language; the transposes at a delegate's edge meet those of its neighbours.
//!
//! Quantized tensors are integers of their type. Rounding is XNNPACK's, to the bit: binary32, one rounding, halves to even.

mod clamps;
mod constants;
mod elementwise;
mod images;
mod movement;
mod nodes;
mod read;
mod run;
mod subgraph;
mod sums;
mod tensors;
#[cfg(test)]
mod tests;

pub use read::read;
pub use run::call;
pub use subgraph::{External, Node, Subgraph};
