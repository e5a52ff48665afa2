//! Limits of products with weights in blocks, each of which has a scale.

use super::first;
use super::tiles::Tile;
use crate::machine::Machine;
use crate::schedule::context::Context;
use crate::schedule::contraction::operands::panels::strips::COMMON;

/// Tiles of rows × vectors. Sums of one block and of all blocks stay in registers beside the weights of a step.
struct Blocks {
    /// The second argument is the number of rows.
    takes: fn(&Context<'_>, u64) -> bool,
    rows: u64,
    vectors: fn(&Machine) -> u64,
}

const BLOCKS: [Blocks; 4] = [
    // Each row and vector of small code has its own epilogue. Without vectors, each lane has one.
    Blocks { takes: |cx, _| !cx.writes_out(), rows: 1, vectors: |_| 2 },
    // A single row waits for weights from memory. Strip by strip, the weights are one stream, which a processor prefetches.
    Blocks { takes: |_, rows| rows == 1, rows: 1, vectors: |machine| (COMMON / u64::from(machine.lanes(4))).max(1) },
    // Sixteen registers hold both sums of eight vectors.
    Blocks { takes: |cx, _| cx.machine.registers.count() >= 32, rows: 4, vectors: |_| 2 },
    // Eight registers hold both sums of four vectors.
    Blocks { takes: |_, _| true, rows: 2, vectors: |_| 2 },
];

/// Returns the largest tile for a number of rows. Its pixels are rows.
pub fn largest(cx: &Context<'_>, rows: u64) -> Tile {
    let found = first(&BLOCKS, |row| (row.takes)(cx, rows));
    Tile { pixels: found.rows, vectors: (found.vectors)(cx.machine) }
}
