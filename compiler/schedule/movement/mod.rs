//! Elements that change places, and positions themselves.

mod interleave;
pub mod iota;
pub mod mirror_pad;
pub mod strided;
pub mod turn;
