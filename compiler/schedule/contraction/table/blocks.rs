//! Limits of products with weights in blocks, each of which has a scale.

use super::tiles::Tile;
use crate::machine::Machine;
use crate::schedule::context::Goal;
use crate::schedule::contraction::operands::panels::strips::COMMON;

/// Tiles of rows × vectors. Sums of one block and of all blocks stay in registers beside the weights of a step.
struct Blocks {
    /// Arguments are the machine, the goal and the number of rows.
    takes: fn(&Machine, Goal, u64) -> bool,
    rows: u64,
    vectors: fn(&Machine) -> u64,
}

/// The first row that takes a machine, a goal and a number of rows is theirs.
const BLOCKS: [Blocks; 4] = [
    // Each row and vector of small code has its own epilogue. Without vectors, each lane has one.
    Blocks { takes: |machine, goal, _| !machine.has_vectors() || goal == Goal::Size, rows: 1, vectors: |_| 2 },
    // A single row waits for weights from memory. Strip by strip, the weights are one stream, which a processor prefetches.
    Blocks { takes: |_, _, rows| rows == 1, rows: 1, vectors: |machine| (COMMON / u64::from(machine.lanes(4))).max(1) },
    // Sixteen registers hold both sums of eight vectors.
    Blocks { takes: |machine, _, _| machine.registers.count() >= 32, rows: 4, vectors: |_| 2 },
    // Eight registers hold both sums of four vectors.
    Blocks { takes: |_, _, _| true, rows: 2, vectors: |_| 2 },
];

/// Returns the largest tile of a machine for a number of rows. Its pixels are rows.
pub fn largest(machine: &Machine, goal: Goal, rows: u64) -> Tile {
    let [.., last] = &BLOCKS;
    let found = BLOCKS.iter().find(|row| (row.takes)(machine, goal, rows)).unwrap_or(last);
    Tile { pixels: found.rows, vectors: (found.vectors)(machine) }
}
