//! Elements and slices at places that index tensors name: picked, and written.
//!
//! - `positions.rs`: what indices of several dimensions mean together, as one position in row-major order; negative ones;
//! - `lists.rs`: an index tensor, a mask or nothing for each dimension of a tensor;
//! - `picked.rs`: what is read there; `known.rs`: windows, diagonals and strided views, whose positions are numbers;
//! - `placed.rs`: what is written there, set or combined with what it meets;
//! - `boxes.rs`: boxes of a tensor whose corners are vectors of indices;
//! - `sequences.rs`: sequences turned round, each up to a length of its own.

pub mod boxes;
pub mod known;
pub mod lists;
pub mod picked;
pub mod placed;
pub mod positions;
pub mod sequences;
