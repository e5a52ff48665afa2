//! Batches: the large tensors of attention need memory for one matrix, or a few, instead of all.
//!
//! A batched matrix product, and the operators that process its result matrix by matrix (masks, softmax, another product), do not mix
//! matrices. For example, the heads of attention are independent. So such a region can compute its result batch by batch.
//!
//! The batches of the result are concatenated, and the batches of the operands are slices; neither moves a byte. The scores in between live for
//! one batch only. Nothing is computed twice.

mod region;
mod split;

pub use region::{Region, regions};
pub use split::apply;
