//! Operators whose elements have computed places: gathers, scatters, and index arithmetic.

pub mod gather;
pub mod index;
pub mod scatter;
pub mod slices;
