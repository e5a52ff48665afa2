//! Techniques of schedules that have another right way. Each can be switched off by its name, to measure what it gives. Results stay right without
//! it; only sums of floats may have another order.

use std::fmt;

/// A technique that a schedule can do without.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Technique {
    /// `lanes`.
    Lanes,
    /// `row-pairs`.
    RowPairs,
    /// `planes`.
    Planes,
    /// `in-place`.
    InPlace,
    /// `sparse`.
    Sparse,
    /// `squares`.
    Squares,
    /// `sixteens`.
    Sixteens,
    /// `pixel-pairs`.
    PixelPairs,
    /// `halves`.
    Halves,
    /// `moved`.
    Moved,
    /// `in-16-bits`.
    In16Bits,
    /// `neighbours`.
    Neighbours,
    /// `direct`.
    Direct,
    /// `staging`.
    Staging,
    /// `sections`.
    Sections,
    /// `joined-rows`.
    JoinedRows,
    /// `windows`.
    Windows,
    /// `shared-taps`.
    SharedTaps,
    /// `chains`.
    Chains,
    /// `pairs`.
    Pairs,
    /// `joined-rests`.
    JoinedRests,
    /// `tall-tiles`.
    TallTiles,
    /// `widening`.
    Widening,
    /// `key-by-key`.
    KeyByKey,
    /// `side-by-side`.
    SideBySide,
    /// `byte-sums`.
    ByteSums,
    /// `sum-of-two`.
    SumOfTwo,
    /// `look-ups`.
    LookUps,
    /// `streams`.
    Streams,
    /// `sorted`.
    Sorted,
    /// `spread`.
    Spread,
    /// `channels-outermost`.
    ChannelsOutermost,
    /// `key-blocks`.
    KeyBlocks,
    /// `turned-columns`.
    TurnedColumns,
    /// `turns`.
    Turns,
    /// `turned-blocks`.
    TurnedBlocks,
    /// `several-results`.
    SeveralResults,
    /// `narrow-windows`.
    NarrowWindows,
    /// `extremes`.
    Extremes,
    /// `word-look-ups`.
    WordLookUps,
    /// `long-vectors`.
    LongVectors,
    /// `narrowed-together`.
    NarrowedTogether,
    /// `quotients`.
    Quotients,
    /// `fitted`.
    Fitted,
    /// `rounded`.
    Rounded,
    /// `toward-zero`.
    TowardZero,
    /// `steps`.
    Steps,
    /// `unshifted`.
    Unshifted,
    /// `float-products`.
    FloatProducts,
    /// `even-and-odd`.
    EvenAndOdd,
    /// `kept`.
    Kept,
}

use Technique::{
    ByteSums, Chains, ChannelsOutermost, Direct, EvenAndOdd, Extremes, Fitted, FloatProducts, Halves, In16Bits, InPlace, JoinedRests,
    JoinedRows, Kept, KeyBlocks, KeyByKey, Lanes, LongVectors, LookUps, Moved, NarrowWindows, NarrowedTogether, Neighbours, Pairs,
    PixelPairs, Planes, Quotients, Rounded, RowPairs, Sections, SeveralResults, SharedTaps, SideBySide, Sixteens, Sorted, Sparse, Spread,
    Squares, Staging, Steps, Streams, SumOfTwo, TallTiles, TowardZero, TurnedBlocks, TurnedColumns, Turns, Unshifted, Widening, Windows,
    WordLookUps,
};

/// A technique with its name, and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The technique.
    pub technique: Technique,
    /// Name on the command line.
    pub name: &'static str,
    /// Work that schedules do with it.
    pub meaning: &'static str,
}

const fn row(technique: Technique, name: &'static str, meaning: &'static str) -> Row {
    Row { technique, name, meaning }
}

/// All techniques.
pub const TECHNIQUES: &[Row] = &[
    row(Lanes, "lanes", "depthwise products of bytes are taken in lanes of 32 bits, four channels at a time"),
    row(RowPairs, "row-pairs", "depthwise windows of bytes read rows that are staged in pairs"),
    row(Planes, "planes", "depthwise windows of bytes are taken plane by plane, where channels lie apart"),
    row(InPlace, "in-place", "depthwise windows of long rows of floats are read in place"),
    row(Sparse, "sparse", "zeros of sparse weights are left out"),
    row(Squares, "squares", "products of two pixels and two channels are taken together"),
    row(Sixteens, "sixteens", "sixteen products of bytes are added to a sum in one instruction"),
    row(PixelPairs, "pixel-pairs", "the bytes of two pixels share a word"),
    row(Halves, "halves", "bytes of words are taken apart to halves, two products each"),
    row(Moved, "moved", "unsigned weights are moved to signed bytes, and sums are corrected"),
    row(In16Bits, "in-16-bits", "products of bytes are added in 16 bits before 32"),
    row(Neighbours, "neighbours", "few channels of floats share a vector with their neighbours of k"),
    row(Direct, "direct", "bytes of pixels are read in place, without a staged row"),
    row(Staging, "staging", "rows are staged only so that the output may overwrite the input"),
    row(Sections, "sections", "long rows are computed in sections"),
    row(JoinedRows, "joined-rows", "the rows of a small image are one row of register tiles"),
    row(Windows, "windows", "short window rows are copied to one place"),
    row(SharedTaps, "shared-taps", "neighbouring windows share what they load"),
    row(Chains, "chains", "an output has several sums, which hide each other's latency"),
    row(Pairs, "pairs", "two pixels share a vector for channels that fill half of one"),
    row(JoinedRests, "joined-rests", "the last output channels of a group are one panel"),
    row(TallTiles, "tall-tiles", "tiles have more pixels and fewer channels where weights come from far away"),
    row(Widening, "widening", "products widen 16-bit weights as they load them"),
    row(KeyByKey, "key-by-key", "attention of a single query reads its cache key by key"),
    row(SideBySide, "side-by-side", "short rows are computed side by side, one in each lane"),
    row(ByteSums, "byte-sums", "bytes are added in 16 bits before 32"),
    row(SumOfTwo, "sum-of-two", "sums of two scaled bytes are scaled together"),
    row(LookUps, "look-ups", "bytes are looked up in registers, as they lie in memory"),
    row(Streams, "streams", "elements of large tensors are fetched ahead"),
    row(Sorted, "sorted", "the few best elements of a row stay in order in a register"),
    row(Spread, "spread", "bytes and halves are reordered once, as they are staged"),
    row(ChannelsOutermost, "channels-outermost", "an image times a gate of each channel has the channels as its outermost loop"),
    row(KeyBlocks, "key-blocks", "the keys of a single query form several blocks, which threads share"),
    row(TurnedColumns, "turned-columns", "columns of products with run-time extents are turned into panels"),
    row(Turns, "turns", "matrices are turned, and rows reversed, in registers"),
    row(TurnedBlocks, "turned-blocks", "squares of 16 bytes are turned side by side in a vector"),
    row(SeveralResults, "several-results", "reductions and scans compute several vectors of results at a time"),
    row(NarrowWindows, "narrow-windows", "windows of bytes are reduced in bytes"),
    row(Extremes, "extremes", "minima and maxima of narrow integers are computed as they lie in memory"),
    row(WordLookUps, "word-look-ups", "entries of 32 bits are looked up in registers"),
    row(LongVectors, "long-vectors", "functions of floats are computed several registers at a time"),
    row(NarrowedTogether, "narrowed-together", "results of neighbouring pixels are narrowed together"),
    row(Quotients, "quotients", "quotients of integers are products, or quotients of floats"),
    row(Fitted, "fitted", "sums are scaled by a shorter sequence with the results of the rule"),
    row(Rounded, "rounded", "scaled sums of floats round themselves"),
    row(TowardZero, "toward-zero", "floats that scale sums round towards zero"),
    row(Steps, "steps", "sums are scaled by the steps of the rule if each is an instruction"),
    row(Unshifted, "unshifted", "products that scale sums need no shift"),
    row(FloatProducts, "float-products", "products of two small integers are scaled in binary32"),
    row(
        EvenAndOdd,
        "even-and-odd",
        "the even bytes of a group of four are one pair of 16 bits and the odd ones the other, as shifts separate them",
    ),
    row(Kept, "kept", "costly elements of a row are kept in memory for later passes"),
];

/// A set of techniques. It has all of them by default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Techniques {
    /// A bit for each technique that is switched off.
    off: u64,
}

impl Techniques {
    /// All techniques.
    pub const ALL: Self = Self { off: 0 };

    /// Leaves out a technique.
    #[must_use]
    pub const fn without(self, technique: Technique) -> Self {
        Self { off: self.off | 1 << technique as u32 }
    }

    /// Tests whether a technique may be used.
    pub const fn has(self, technique: Technique) -> bool {
        self.off >> (technique as u32) & 1 == 0
    }

    /// Leaves out the techniques that a list names, separated by commas.
    ///
    /// # Errors
    /// [`UnknownTechnique`] with the first name that no technique has.
    pub fn without_named(self, list: &str) -> Result<Self, UnknownTechnique> {
        list.split(',').try_fold(self, |all, name| {
            let row = TECHNIQUES.iter().find(|row| row.name == name).ok_or_else(|| UnknownTechnique { name: name.into() })?;
            Ok(all.without(row.technique))
        })
    }
}

/// A name that no technique has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownTechnique {
    /// The name.
    pub name: String,
}

/// Formats the error without the names of techniques.
impl fmt::Display for UnknownTechnique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no technique is named {:?}", self.name)
    }
}

impl std::error::Error for UnknownTechnique {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_techniques() {
        for (number, row) in TECHNIQUES.iter().enumerate() {
            assert_eq!(row.technique as usize, number, "{}", row.name);
        }
        assert_eq!(TECHNIQUES.len(), Kept as usize + 1, "every technique has a row");
    }

    #[test]
    fn techniques_are_left_out_by_name() {
        let left = Techniques::ALL.without_named("squares,chains").expect("names of the table");
        assert_eq!(left, Techniques::ALL.without(Squares).without(Chains));
        let off: Vec<&str> = TECHNIQUES.iter().filter(|row| !left.has(row.technique)).map(|row| row.name).collect();
        assert_eq!(off, ["squares", "chains"]);
        for wrong in ["", "square", "squares,", "chains, pairs"] {
            assert!(Techniques::ALL.without_named(wrong).is_err(), "{wrong:?}");
        }
    }
}
