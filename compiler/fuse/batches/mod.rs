//! Matrices of a batch one after the other: memory for one matrix of the large tensors of attention instead of all of them.
//!
//! A batched product of matrices, and what is done to its result matrix by matrix (masks, softmax, another product), needs nothing of the
//! other matrices of the batch: the heads of attention know nothing of each other. So such a region can compute its result batch by batch. The
//! batches of the result are joined into one tensor and those of the operands are slices, neither of which moves a byte, and what is in between,
//! the scores, lives only as long as one batch. Nothing is computed twice.

mod region;
mod split;

pub use region::{Region, regions};
pub use split::apply;
