//! Limits of register tiles, for the registers of a machine and a form of its products. `tiles/register_tile.rs` chooses among them for a contraction.

use super::first;
use crate::machine::{DotProduct, Machine, Registers};
use crate::schedule::contraction::operands::form::Form;

/// A register tile: pixels × vectors of output channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// Number of pixels.
    pub pixels: u64,
    /// Number of vectors.
    pub vectors: u64,
}

/// Tiles of machines of words.
pub struct Words {
    takes: fn(&Machine, Form) -> bool,
    /// Pixels and output channels.
    pub tile: Tile,
    /// Output channels of a single pixel.
    pub alone: u64,
    /// Groups of k in a round of the innermost loop, whose end takes as long as two or three products.
    pub unroll: u64,
    /// Such groups of a single pixel, of which each has fewer products.
    pub unroll_alone: u64,
}

/// Pixels that share a word of [`Form::PixelPairs`].
pub const PAIR_PIXELS: u64 = 2;

const WORDS: [Words; 6] = [
    // Eight registers with even numbers hold sums, and three vector registers hold operands.
    Words { takes: |_, form| form == Form::Sixteens, tile: Tile { pixels: 2, vectors: 4 }, alone: 8, unroll: 2, unroll_alone: 2 },
    // Sixteen sums, two words of pixels, a channel's weight and two products. A single pixel has one sum for each channel.
    Words {
        takes: |machine, form| form == Form::PixelPairs && has_words(machine, 27),
        tile: Tile { pixels: 2 * PAIR_PIXELS, vectors: 4 },
        alone: 4,
        unroll: 2,
        unroll_alone: 4,
    },
    // Two sums for each channel, of which six are in high registers.
    Words {
        takes: |_, form| form == Form::PixelPairs,
        tile: Tile { pixels: PAIR_PIXELS, vectors: 4 },
        alone: 8,
        unroll: 2,
        unroll_alone: 4,
    },
    // Other registers hold sums, and these eight hold pointers, operands and products.
    Words { takes: |machine, _| has_words(machine, 8), tile: Tile { pixels: 2, vectors: 2 }, alone: 4, unroll: 2, unroll_alone: 4 },
    // Six registers hold sums, four the weights and two the pixel's operands of a step, and two are pointers.
    Words { takes: |machine, _| has_words(machine, 14), tile: Tile { pixels: 3, vectors: 2 }, alone: 4, unroll: 2, unroll_alone: 4 },
    // Twelve registers hold sums, six the operands of three pixels and two a channel's weights.
    Words { takes: |machine, _| has_words(machine, 27), tile: Tile { pixels: 3, vectors: 4 }, alone: 4, unroll: 2, unroll_alone: 4 },
];

/// Tests whether a machine has a number of registers of one word.
pub fn has_words(machine: &Machine, count: u16) -> bool {
    machine.registers == Registers::Words(count)
}

/// Returns the tiles of a machine of words for a form, if products share more than two pixels and two channels have.
pub fn words(machine: &Machine, form: Form) -> Option<&'static Words> {
    WORDS.iter().find(|words| (words.takes)(machine, form))
}

/// Tiles of machines that have a position for each tile, at the same time. Tiles with the fewest loads for a product come first.
pub const TILES_OF_POSITIONS: [Tile; 5] = [
    Tile { pixels: 4, vectors: 4 },
    Tile { pixels: 4, vectors: 2 },
    Tile { pixels: 4, vectors: 1 },
    Tile { pixels: 2, vectors: 1 },
    Tile { pixels: 1, vectors: 1 },
];

/// Number of tiles that keeps such a machine busy, since its positions hide each other's latency.
pub const ENOUGH_POSITIONS: u64 = 2048;

/// Maximum pixels and vectors of small code. Each pixel and each vector has its own epilogue, and so have the remaining pixels of a row.
pub const SMALL: Tile = Tile { pixels: 2, vectors: 2 };

/// Elements of k in a product in squares.
pub const EIGHT: u64 = 8;

/// Tiles of products in squares, which stay in registers beside the operands of a product.
struct Squares {
    /// The argument is the number of elements of k that weights are packed by.
    takes: fn(u64) -> bool,
    /// Maximum pixels, and vectors of four output channels.
    tile: Tile,
}

const SQUARES: [Squares; 3] = [
    // Fours that are interleaved take two registers more.
    Squares { takes: |packed| packed == EIGHT, tile: Tile { pixels: 6, vectors: 4 } },
    Squares { takes: |_| true, tile: Tile { pixels: 8, vectors: 2 } },
    Squares { takes: |_| true, tile: Tile { pixels: 8, vectors: 1 } },
];

/// Returns the largest tile of products in squares, for weights that are packed by a number of elements of k.
pub fn largest_in_squares(packed: u64, outputs: u64) -> Tile {
    first(&SQUARES, |row| (row.takes)(packed) && 4 * row.tile.vectors <= outputs).tile
}

/// Maximum bytes of a panel that stays in a first-level cache beside the pixels of a tile.
pub const MOST_PANEL: u64 = 28 << 10;

/// Minimum bytes of weights that are no longer in a second-level cache after others have been read.
pub const FAR_WEIGHTS: u64 = 1 << 16;

/// Minimum number of pixels for which a tile of two vectors loads hardly more for a product than a tile of four.
pub const FEWEST_OF_TWO: u64 = 10;

/// Limits of tiles whose vectors are sums.
pub struct Limits {
    takes: fn(&Machine, Form) -> bool,
    /// Maximum vectors of output channels that share the operands of a pixel.
    pub vectors: u64,
    /// Maximum vectors of a row of one pixel, whose products read their weights from memory.
    pub alone: u64,
    /// Maximum vectors with sums. More hide no more latency, and have long epilogues.
    pub sums: u64,
}

const LIMITS: [Limits; 3] = [
    // Each sum has two registers. The remaining registers of 32 are for operands, weights and intermediate products.
    Limits { takes: |_, form| matches!(form, Form::In16Bits { .. }), vectors: 4, alone: 8, sums: 8 },
    // Half of 32 registers, without two for operands, hold at most eight vectors that are a power of two.
    Limits { takes: |machine, _| machine.registers.count() >= 32 || !machine.sums_in_place, vectors: 4, alone: 8, sums: 8 },
    // Sixteen registers: two vectors leave room for several pixels.
    Limits { takes: |_, _| true, vectors: 2, alone: 4, sums: 8 },
];

/// Returns the limits of tiles of a machine for a form.
pub fn limits(machine: &Machine, form: Form) -> &'static Limits {
    first(&LIMITS, |row| (row.takes)(machine, form))
}

/// Maximum number of sums of tiles of a single vector with 32 registers. Each product has its own load, beside the loads of weights. More pixels
/// share these, and allow more products in flight.
pub const TALL: u64 = 16;

/// Registers of machines whose products add in place that a tile leaves to others than sums, a step's weights and one pixel's operand.
struct Others {
    /// Arguments are the machine, the form, and `true` if all of k is unrolled.
    takes: fn(&Machine, Form, bool) -> bool,
    registers: u64,
}

const OTHERS: [Others; 4] = [
    // The product itself, if the addition is a separate instruction.
    Others { takes: |machine, form, _| form.is_of_pairs() && machine.dot == DotProduct::Signed16, registers: 1 },
    // Intermediate results of products of several instructions.
    Others { takes: |machine, form, _| machine.by_element && !names_elements(machine, form), registers: 11 },
    // Sums that are in no loop leave some registers to what is around them.
    Others { takes: |machine, form, is_one_round| names_elements(machine, form) && is_one_round, registers: 4 },
    Others { takes: |_, _, _| true, registers: 0 },
];

/// Returns the registers that a tile leaves to others on a machine whose products add in place. `is_one_round` states that all of k is unrolled.
pub fn other_registers(machine: &Machine, form: Form, is_one_round: bool) -> u64 {
    first(&OTHERS, |row| (row.takes)(machine, form, is_one_round)).registers
}

/// Tests whether products take the operands of a pixel as elements of a register.
pub fn names_elements(machine: &Machine, form: Form) -> bool {
    machine.by_element && (form == Form::Float || form.is_of_bytes() && machine.byte_fours)
}

/// Pixels of a number of vectors on machines whose products overwrite a factor. Accumulators, the operands of the pixels and one vector of weights
/// stay in registers. So do the copies for fused operations.
struct Copied {
    /// Arguments are the machine, the form and the number of vectors.
    takes: fn(&Machine, Form, u64) -> bool,
    pixels: u64,
}

const COPIED: [Copied; 5] = [
    Copied { takes: |_, _, vectors| vectors == 1, pixels: 6 },
    Copied { takes: |_, _, vectors| vectors == 2, pixels: 4 },
    Copied { takes: |machine, _, _| machine.registers.count() >= 32, pixels: 4 },
    // Bytes take no copies.
    Copied { takes: |_, form, _| form == Form::Unsigned8, pixels: 3 },
    Copied { takes: |_, _, _| true, pixels: 2 },
];

/// Returns the maximum pixels of a tile of some vectors on a machine whose products overwrite a factor.
pub fn copied_pixels(machine: &Machine, form: Form, vectors: u64) -> u64 {
    first(&COPIED, |row| (row.takes)(machine, form, vectors)).pixels
}
