//! Operators that select the best elements.

mod sorted;
pub mod suppress;
pub mod top_k;
