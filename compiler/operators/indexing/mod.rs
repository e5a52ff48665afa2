//! Reads and writes of elements and slices at the positions that index tensors name.
//!
//! - `positions.rs`: row-major positions from indices of several dimensions; negative indices;
//! - `lists.rs`: an index tensor, a mask or nothing for each dimension of a tensor;
//! - `picked.rs`: reads; `known.rs`: windows, diagonals and strided views, whose positions are static;
//! - `placed.rs`: writes, which replace elements or combine with them;
//! - `boxes.rs`: boxes of a tensor whose corners are vectors of indices;
//! - `sequences.rs`: sequences reversed, each up to its own length.

pub mod boxes;
pub mod known;
pub mod lists;
pub mod picked;
pub mod placed;
pub mod positions;
pub mod sequences;
