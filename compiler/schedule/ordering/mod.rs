//! The best of many.

mod sorted;
pub mod suppress;
pub mod top_k;
