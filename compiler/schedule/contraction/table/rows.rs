//! Limits of rows of pixels: those that are staged, joined, cut into sections or divided among threads.

use super::first;
use crate::schedule::contraction::operands::form::Form;

/// Lengths of rows of staged pixels.
pub struct Staged {
    takes: fn(Form) -> bool,
    /// Elements of a row of the usual length: at most 8 KiB of a first-level cache, beside the weights.
    pub elements: u64,
    /// Minimum and maximum of this length in pixels: one tile, and some tiles.
    pub pixels: [u64; 2],
    /// Maximum pixels and elements of an image that is one row, since each row reads all weights again.
    pub whole: Option<[u64; 2]>,
}

const STAGED: [Staged; 2] = [
    // Bytes are a quarter as long as floats.
    Staged { takes: |form| form == Form::Unsigned8, elements: 1 << 13, pixels: [8, 64], whole: Some([JOINED.pixels, JOINED.elements]) },
    Staged { takes: |_| true, elements: 1 << 11, pixels: [8, 64], whole: None },
];

/// Returns the lengths of rows for a form.
pub fn staged(form: Form) -> &'static Staged {
    first(&STAGED, |row| (row.takes)(form))
}

/// Minimum number of pixels in a staged row. Shorter rows make tiles of one pixel.
pub const FEWEST_STAGED: u64 = 4;

/// Maximum elements of a staged row that leaves room for weights in the first-level cache.
pub const LONGEST_STAGED: u64 = 1 << 14;

/// Maximum number of pixels in an image that may be one row, if no shorter row fits.
pub const SHORT_IMAGE: u64 = 64;

/// Maximum bytes of a filled panel that stays in a first-level cache beside the staged pixels.
pub const MOST_FILLED: u64 = 1 << 14;

/// Limits of images whose rows are joined to one row.
pub struct Joined {
    /// Maximum pixels of an image: a few tiles.
    pub pixels: u64,
    /// Maximum elements of a staged image.
    pub elements: u64,
    /// Minimum number of weights.
    pub weights: u64,
}

/// So many weights leave the first-level cache, and are read from further away for each row.
pub const JOINED: Joined = Joined { pixels: 32, elements: 1 << 15, weights: 1 << 15 };

/// Lengths of sections of long rows, in pixels unless stated.
pub struct Sections {
    /// Elements of a section.
    pub elements: u64,
    /// Minimum length. Shorter sections do not make whole tiles.
    pub shortest: u64,
    /// Minimum length for many weights. It makes up for their loads.
    pub shortest_of_many: u64,
    /// Number of weights from which on they are many: more do not stay in a second-level cache between sections.
    pub many_weights: u64,
    /// Maximum length. Longer sections save no loads of weights.
    pub longest: u64,
    /// Number of sections for which a shorter last section does not matter.
    pub many: u64,
    /// Number that all tiles divide.
    pub whole_tiles: u64,
    /// Lengths of a short section, of windows and of single pixels: a few tiles. Windows move pixels from section to section; single pixels have small
    /// rings.
    pub short: [u64; 2],
}

/// Two thousand elements leave room in a first-level cache.
pub const SECTIONS: Sections = Sections {
    elements: 2048,
    shortest: 32,
    shortest_of_many: 128,
    many_weights: 1 << 16,
    longest: 256,
    many: 8,
    whole_tiles: 48,
    short: [4, 8],
};

/// Limits and costs of ranges of rows for threads.
pub struct Ranges {
    /// Number of rows that is enough for any useful number of threads.
    pub many_rows: u64,
    /// Minimum number of pixels in a row that is long for register tiles.
    pub long_row: u64,
    /// Minimum number of pixels in a row that fills register tiles.
    pub short_row: u64,
    /// Cost of filling the panels, as a number of pixels. Each range of rows fills all panels.
    pub pixels_of_filling: u64,
    /// Cost of staging a row, as a number of output channels. Each range of panels stages all rows.
    pub outputs_of_staging: u64,
    /// Slowdown of a range that reads what others wrote, in thousandths.
    pub read_from_others: u64,
}

/// A row of 48 pixels has whole tiles of 2, 3, 4, 6 and 8 pixels.
pub const RANGES: Ranges =
    Ranges { many_rows: 8, long_row: 48, short_row: 16, pixels_of_filling: 6, outputs_of_staging: 8, read_from_others: 20 };

/// Instructions that copy windows to one place.
pub struct Copies {
    /// Bytes of a vector, which an instruction copies.
    pub vector: u64,
    /// Bytes of a word, which an instruction copies, too.
    pub word: u64,
    /// Instructions around the copy of a window row.
    pub around: u64,
    /// Thousandths of a step of products that an output takes.
    pub step: u64,
}

/// Copies for [`Form::Sixteens`]: two pixels and four channels share the six loads of a step, which has 14 instructions.
pub const COPIES: Copies = Copies { vector: 16, word: 4, around: 6, step: 1750 };
