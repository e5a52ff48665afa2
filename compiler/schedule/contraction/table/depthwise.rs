//! Limits of depthwise convolutions: pixels of their tiles, and registers.

use super::first;
use super::tiles::has_words;
use crate::machine::Machine;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::paired_products::Products;

/// Maximum number of taps that are unrolled. Sums of this many products of 16 and 8 bits fit 32 bits.
pub const MAX_TAPS: u64 = 64;

/// Tiles whose vectors run along the channels.
pub struct AlongChannels {
    takes: fn(&Machine, Form) -> bool,
    /// Pixels that are computed together. Each has up to two vectors of sums.
    pub pixels: u64,
    /// Independent sums that hide the latency of a sum. Tiles have as many if pixels share loads or vectors. `None` if latency is no limit.
    pub sums: Option<u64>,
    /// Minimum number of channels with which pixels share a vector. `None` if they never do.
    pub side_by_side_from: Option<u64>,
}

const ALONG_CHANNELS: [AlongChannels; 4] = [
    // Eight fused sums hide each other's latency. With fewer channels, extracting pixels costs what sharing a vector saves.
    AlongChannels {
        takes: |machine, form| form == Form::Float && machine.sums_in_place,
        pixels: 4,
        sums: Some(8),
        side_by_side_from: Some(4),
    },
    // Lanes of the vector registers hold sums. Two pixels share the loads of weights.
    AlongChannels { takes: |_, form| form == Form::Sixteens, pixels: 2, sums: None, side_by_side_from: None },
    // Three pixels have as many sums as a tile of a product of matrices.
    AlongChannels {
        takes: |machine, form| form != Form::Float && (has_words(machine, 14) || has_words(machine, 27)),
        pixels: 3,
        sums: None,
        side_by_side_from: None,
    },
    // Two pixels share the loads of weights. Integers need registers for other work.
    AlongChannels { takes: |_, _| true, pixels: 2, sums: None, side_by_side_from: None },
];

/// Returns the tiles of a machine for a form.
pub fn along_channels(machine: &Machine, form: Form) -> &'static AlongChannels {
    first(&ALONG_CHANNELS, |row| (row.takes)(machine, form))
}

/// Maximum bytes that a displacement of four lanes reaches.
pub const REACH: u64 = 127;

/// Columns at the border that have code of their own, at most, if windows are read in place.
pub const MOST_AT_BORDER: u64 = 4;

/// Tiles of bytes in paired rows.
pub struct Paired {
    takes: fn(&Machine, Products) -> bool,
    /// Maximum pixels of a row that is computed alone, and of two rows that are computed together.
    pub pixels: [u64; 2],
    /// Number of sums that share the load of their initial value. `None` if all of them do.
    pub begun_alike: Option<usize>,
}

const PAIRED: [Paired; 4] = [
    // Four sums of each row hide each other's latency.
    Paired { takes: |_, products| products == Products::Fours, pixels: [4, 4], begun_alike: Some(2) },
    // Registers decide: see `IN_16_BITS`.
    Paired { takes: |_, products| products == Products::In16Bits, pixels: [4, 4], begun_alike: Some(2) },
    // One factor is read from memory, so that registers hold four sums of a block.
    Paired { takes: |machine, _| machine.sums_in_place, pixels: [4, 2], begun_alike: None },
    // Machines with short vectors have long epilogues.
    Paired { takes: |_, _| true, pixels: [2, 1], begun_alike: None },
];

/// Returns the tiles of a machine for products of bytes in paired rows.
pub fn paired(machine: &Machine, products: Products) -> &'static Paired {
    first(&PAIRED, |row| (row.takes)(machine, products))
}

/// Registers of a vector of channels beside the sums and the weights that stay in registers, for products of four bytes. They hold initial values and
/// the operands of a column.
pub const BESIDE_WEIGHTS: u64 = 3;

/// Registers of a tile whose products are added in 16 bits.
pub struct In16Bits {
    /// Registers for the sums of a pixel in a block of channels.
    pub of_pixel: u64,
    /// Registers for weights, and for intermediate products.
    pub under_way: u64,
}

/// A block has eight channels: two vectors of 32-bit sums.
pub const IN_16_BITS: In16Bits = In16Bits { of_pixel: 2, under_way: 6 };

/// Maximum number of paired rows that sums read. With more, the weights of two output rows have many zeros.
pub const MOST_PAIRED_ROWS: u64 = 8;

/// Limits of planes, on machines of words.
pub struct Planes {
    /// Outputs of a tile, which share the words of a row.
    pub outputs: u64,
    /// Outputs of a row that are written without a loop.
    pub without_loop: u64,
    /// Elements of a row that are copied before the next ones, so that loads follow loads.
    pub copied: u64,
    /// Elements of a row that are copied without a loop.
    pub copied_without_loop: u64,
    /// Maximum words of weights that stay in registers or on the stack.
    pub held: u64,
}

/// Two outputs share the words of a row. A 3×3 window has six words of weights, and a 4×4 window has twelve.
pub const PLANES: Planes = Planes { outputs: 2, without_loop: 6, copied: 4, copied_without_loop: 8, held: 12 };
