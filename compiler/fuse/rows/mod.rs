//! Chains in bands of rows: memory for a few rows of the large tensors in the middle of a chain instead of all of them.
//!
//! A convolution, window, border or element-wise operator needs, for some rows of its result, some rows of its operand and nothing else. So does
//! what moves elements within groups of rows.
//! So a chain of them (expand, filter, project) can compute its result band by band. The bands of the result are joined
//! into one tensor and those of the first operand are slices, neither of which moves a byte, and what is in between lives only as long as one band.
//! Rows that two bands need are computed twice; [`Split::extra_work`] says how much that is.
//!
//! [`candidates`] finds the chains worth it by their tensors' sizes; whoever plans memory decides which of them to [`apply`].

mod chain;
mod choose;
mod division;
mod rearranged;
mod split;
mod window;

pub use choose::{Split, candidates, work};
pub use split::apply;
