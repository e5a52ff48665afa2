//! Reductions along rows and element-wise work on the same rows, one row after the other: softmax, normalisations. Each row is walked over
//! once for each of its [`passes`]; sums are taken in the order that a reduction alone takes them in.

mod across;
mod columns;
mod facts;
mod fold;
mod lower;
mod passes;
mod rows;
mod shares;
mod side_by_side;
#[cfg(test)]
mod tests;

pub use rows::RowwiseSchedule;
