//! Reductions along rows and element-wise work on the same rows, one row after another: softmax, normalisations. Each of the [`passes`] walks over a
//! row once. Sums have the same order as in a separate reduction.

mod across;
mod columns;
mod facts;
mod fold;
mod lower;
mod passes;
mod rows;
mod side_by_side;
#[cfg(test)]
mod tests;

pub use rows::RowwiseSchedule;
