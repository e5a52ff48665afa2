//! Combinations of many elements to one, or to running results: reductions, windows, searches, scans.

pub mod arg_reduce;
mod byte_sums;
mod nines;
pub mod reduce;
pub mod reduction;
pub mod scan;
pub mod window;
