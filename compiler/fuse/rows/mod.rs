//! Chains in bands of rows: the large tensors in the middle of a chain need memory for a few rows only.
//!
//! For some rows of its result, a convolution, window, padding or element-wise operator needs only some rows of its operand. This also holds for
//! operators that move elements within groups of rows. So a chain of them (expand, filter, project) can compute its result band by band.
//!
//! The bands of the result are concatenated, and the bands of the first operand are slices; neither moves a byte. Tensors in between live for
//! one band only. Rows that two bands need are computed twice; [`Split::extra_work`] counts them.
//!
//! [`candidates`] finds suitable chains by the sizes of their tensors; the memory planner decides which ones to [`apply`].

mod chain;
mod choose;
mod division;
mod rearranged;
mod split;
mod window;

pub use choose::{Split, candidates, work};
pub use split::apply;
