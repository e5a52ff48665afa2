//! Limits of unrolling: groups of k in a round of the innermost loop, segments, and sums of an output.

use super::first;
use super::tiles::PAIR_PIXELS;
use crate::machine::Machine;
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::operands::form::Form;

/// Maximum number of groups of k that are unrolled completely.
pub const ONE_ROUND: u64 = 8;

/// Maximum number of elements of k that are unrolled completely for pairs of floats.
pub const ONE_ROUND_OF_FLOATS: u64 = 16;

/// Groups of k in a round of the innermost loop, on machines with vectors.
pub struct Rounds {
    takes: fn(Form) -> bool,
    /// Numbers of groups, the preferred one first.
    pub groups: &'static [u64],
}

const ROUNDS: [Rounds; 2] = [
    // The sums of two groups of four are added in 16 bits.
    Rounds { takes: |form| matches!(form, Form::In16Bits { .. }), groups: &[4, 2, 5, 3] },
    Rounds { takes: |_| true, groups: &[4, 5, 3, 2] },
];

/// Returns the numbers of groups of k in a round, the preferred one first.
pub fn rounds(form: Form) -> &'static [u64] {
    first(&ROUNDS, |row| (row.takes)(form)).groups
}

/// Products of k in squares in a round of the innermost loop, the preferred number first. Two take one load of a pixel.
pub const ROUNDS_IN_SQUARES: [u64; 4] = [4, 2, 3, 5];

/// Maximum products of a round of several groups. Longer rounds gain nothing.
pub const LONGEST_ROUND: u64 = 5;

/// Maximum products of k that are a round without a loop on machines with vectors.
pub const MOST_WITHOUT_LOOP: u64 = 8;

/// Maximum groups of k that are a round without a loop on machines of words. A row of a 3×3 window over three channels has as many in pairs.
pub const MOST_WORDS_WITHOUT_LOOP: u64 = 5;

/// Segments of k that are unrolled.
struct Segments {
    takes: fn(&Context<'_>) -> bool,
    /// Maximum number. More become a loop over a table of their starts.
    unrolled: u64,
}

const SEGMENTS: [Segments; 2] = [
    Segments { takes: |cx| cx.writes_out(), unrolled: 32 },
    // Without vectors, a segment has so many instructions that a table of starts costs less.
    Segments { takes: |_| true, unrolled: 2 },
];

/// Returns the maximum number of segments that are unrolled.
pub fn unrolled_segments(cx: &Context<'_>) -> u64 {
    first(&SEGMENTS, |row| (row.takes)(cx)).unrolled
}

/// Several sums for each output, if a tile has so few that each product would wait for the one before it.
pub struct Chains {
    takes: fn(&Machine, Form) -> bool,
    /// Sums that hide the latency of a product.
    pub sums: usize,
    /// Minimum number of groups of k for which the sums are worth their addition.
    pub fewest_groups: u64,
}

const CHAINS: [Chains; 1] = [
    // A product takes four or five cycles. At most one starts in a cycle, since each reads its weights from memory.
    Chains {
        takes: |machine, form| machine.byte_fours && machine.sums_in_place && matches!(form, Form::Unsigned8 | Form::Signed16),
        sums: 4,
        fewest_groups: 64,
    },
];

/// Returns the sums of an output on a machine for a form. `None` if each output has one.
pub fn chains(machine: &Machine, form: Form) -> Option<&'static Chains> {
    CHAINS.iter().find(|row| (row.takes)(machine, form))
}

/// Elements of k in a round of [`Form::PixelPairs`].
pub struct PixelPairs {
    /// Arguments are the goal and the number of pixels.
    takes: fn(Goal, u64) -> bool,
    /// Elements whose columns are copied in a round.
    pub copied: u64,
    /// Elements whose products are a round.
    pub multiplied: u64,
}

const PIXEL_PAIRS: [PixelPairs; 3] = [
    // Loads of four channels reach so many.
    PixelPairs { takes: |goal, _| goal == Goal::Speed, copied: 4, multiplied: 4 },
    // The end of a round takes as long as a product and a half.
    PixelPairs { takes: |_, pixels| pixels == PAIR_PIXELS, copied: 1, multiplied: 2 },
    // Small code has no larger rounds.
    PixelPairs { takes: |_, _| true, copied: 1, multiplied: 1 },
];

/// Returns the rounds of pairs of pixels.
pub fn pixel_pairs(goal: Goal, pixels: u64) -> &'static PixelPairs {
    first(&PIXEL_PAIRS, |row| (row.takes)(goal, pixels))
}

/// Maximum number of vectors in a segment that are unrolled, if their elements are added for moved weights.
pub const VECTORS_ADDED: u64 = 4;
