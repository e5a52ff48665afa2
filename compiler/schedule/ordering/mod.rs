//! The best of many.

pub mod suppress;
pub mod top_k;
