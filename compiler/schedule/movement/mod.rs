//! Movement of elements, and the positions of elements as numbers.

pub mod interleave;
pub mod iota;
pub mod matrix;
pub mod mirror_pad;
pub mod repack;
mod reversed;
pub mod strided;
pub mod turn;
pub mod unpack;
