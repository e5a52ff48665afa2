//! Dependence between accesses to memory: the elements that they touch, and the test for two that touch the same one.
//!
//! The place of an access is affine in the counters of the loops around it (`accesses.rs`). A search finds rounds in which two accesses meet
//! (`collide.rs`). Places that run-time extents multiply are split into digits first (`radix.rs`). The pass for grids asks here if loops in a row are
//! independent, and what the marks of schedules leave out. `marks.rs` finds marks that places
//! contradict, for debug builds and tests. A footprint is coarser: one range of elements for all accesses of a kernel to a buffer (`footprint.rs`).

mod accesses;
mod collide;
pub mod footprint;
mod marks;
mod places;
mod polynomial;
mod radix;

pub use accesses::{Access, Loops};
pub use collide::Rounds;
pub use marks::contradicted;
pub use places::{Places, apart};
