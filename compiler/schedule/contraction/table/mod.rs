//! The table of limits: what tiles, unrolled loops and staged rows may be on a machine for a form of products. Each row has its reason. A lookup takes
//! the first row that accepts a machine and a form.
//!
//! Schedules ask this folder. Beside them stay constants that follow from an algorithm: from the range of a sum, or from the layout of operands.

pub mod blocks;
pub mod depthwise;
pub mod dynamic;
pub mod rounds;
pub mod rows;
pub mod tiles;

/// Returns the first row of a table that takes a case. The last row takes every case.
fn first<T, const ROWS: usize>(table: &'static [T; ROWS], takes: impl Fn(&T) -> bool) -> &'static T {
    table.iter().find(|row| takes(row)).unwrap_or(&table[const { ROWS - 1 }])
}
