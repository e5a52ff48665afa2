//! Tiles of [`Form::PixelPairs`](crate::schedule::contraction::operands::form::Form::PixelPairs): pairs of pixels × output channels.
//!
//! The columns of a tile hold the bytes under the windows of its pixels. A word has an unsigned byte of a pair's first pixel in its low half, and one of
//! its second pixel in its high half. A product with an unsigned byte has both pixels' products, since neither is longer than 16 bits. Two sums hold
//! the products: one of whole words, and one of their high halves. The second one is the sum of the second pixel. Shifted and subtracted from the first
//! sum, it leaves the sum of the first pixel, modulo 2³². The words of several pairs alternate. The last pair may have one pixel.
//!
//! Weights are stored plus 128. The correction of a pixel is 128 times the sum of its column, once for all output channels.

use super::loops::lowering::Lowering;
use super::loops::places::{Built, OutputRow, Segments, TilePlace, TileStart};
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, ConvertOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::contraction::direct::{DirectSchedule, PhasePanels};
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::Extents;
use crate::schedule::contraction::table::rounds;
use crate::schedule::contraction::table::tiles::PAIR_PIXELS;
use std::ops::Range;

/// Bits of a byte's sign in both halves of a word.
const SIGNS: i64 = 0x0080_0080;

/// The operands of a tile's pixels.
#[derive(Clone, Copy)]
enum Columns {
    /// Words of all pairs of pixels, for one element of k after another.
    Words(Buffer),
    /// The input, which is a single pixel, from an element on.
    Input(Value),
}

/// A tile's pixels: their operands, the correction of each, and the pairs that they form.
struct Pixels {
    columns: Columns,
    corrections: Vec<Value>,
    pairs: Pairs,
}

/// The pairs that a number of pixels form, a word for each. The last one has a single pixel if the number is odd.
#[derive(Clone, Copy)]
struct Pairs {
    pixels: u64,
}

impl Pairs {
    /// Returns the number of words.
    fn words(self) -> u64 {
        self.pixels.div_ceil(PAIR_PIXELS)
    }

    /// Returns the pixels of each pair.
    fn each(self) -> impl Iterator<Item = Range<usize>> {
        let pixels = self.pixels as usize;
        (0..pixels).step_by(PAIR_PIXELS as usize).map(move |first| first..pixels.min(first + PAIR_PIXELS as usize))
    }
}

impl DirectSchedule<'_> {
    /// Returns the words of a tile's columns. `None` if products have another form, or read the input in place.
    pub(in crate::schedule::contraction) fn column_words(&self) -> Option<u64> {
        let reads_input = self.work.geometry.pixels() == 1 && self.staging.is_none();
        let extents = self.phases.first().map(|phase| &phase.panels.extents)?;
        let pairs = Pairs { pixels: self.tile.pixels };
        (self.form == Form::PixelPairs && !reads_input).then(|| elements(extents) * pairs.words())
    }

    /// Declares the columns of a tile.
    pub(super) fn declare_columns(&self, b: &mut KernelBuilder, arguments: &mut Arguments) -> Option<Buffer> {
        let number = usize::from(self.staging.is_some());
        self.column_words().map(|words| arguments.scratch(b, "columns", number, Lane::I32, words))
    }

    /// Returns the rounds of a number of pixels.
    fn rounds_of(&self, pixels: u64) -> &'static rounds::PixelPairs {
        rounds::pixel_pairs(self.cx.goal, pixels)
    }
}

/// Returns the elements of k of an output. Segments follow each other in panels, since they have no padding.
fn elements(extents: &Extents) -> u64 {
    extents.segments() * extents.segment()
}

/// Repeats a body for `count` elements with carried values, `round` at a time. The body gets the first element and the number of elements. A rest is
/// a round of its own.
fn in_rounds(
    b: &mut KernelBuilder,
    count: u64,
    round: u64,
    carried: Vec<Value>,
    mut body: impl FnMut(&mut KernelBuilder, Value, u64, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let whole = count / round * round;
    let (start, end) = (b.index(0), b.index(whole as i64));
    let carried = b.for_carry(start, end, round as i64, &carried, |b, i, carried| body(b, i, round, carried));
    if whole == count { carried } else { body(b, end, count - whole, &carried) }
}

/// Loads a byte with zeros above it.
fn byte(b: &mut KernelBuilder, buffer: Buffer, index: Value, offset: i64) -> Value {
    let byte = b.load(buffer, index, offset, 1);
    b.convert(ConvertOp::ZeroExtend, byte, Lane::I32)
}

/// Adds words to a sum of them, and their high halves to a sum of these.
fn with_both(b: &mut KernelBuilder, [words, halves]: [Value; 2], word: Value) -> [Value; 2] {
    // The half then may take the register of the word.
    let words = b.add(words, word);
    let half = b.shift(BinaryOp::ShiftRightUnsigned, word, 16);
    [words, b.add(halves, half)]
}

/// Adds words to the sums of a pair: of two pixels, the sum of words and that of their high halves.
fn add_word(b: &mut KernelBuilder, sums: &mut [Value], word: Value) {
    match sums {
        [words, halves] => [*words, *halves] = with_both(b, [*words, *halves], word),
        [sum, ..] => *sum = b.add(*sum, word),
        [] => {}
    }
}

/// Returns the sum of the low halves of words, given the sum of the words and the sum of their high halves.
fn low_sum(b: &mut KernelBuilder, [words, halves]: [Value; 2]) -> Value {
    let above = b.shift(BinaryOp::ShiftLeft, halves, 16);
    b.sub(words, above)
}

/// Returns the sum of each pixel, given the sums of all pairs.
fn sums_of_pixels(b: &mut KernelBuilder, pairs: Pairs, sums: &[Value]) -> Vec<Value> {
    let of_pair = |sums: &[Value]| match *sums {
        [words, halves] => vec![low_sum(b, [words, halves]), halves],
        _ => sums.to_vec(),
    };
    pairs.each().map(|pair| &sums[pair]).flat_map(of_pair).collect()
}

impl Lowering<'_> {
    /// Computes an output row, tile by tile.
    pub(super) fn row_of_pairs(&self, b: &mut KernelBuilder, phase: &PhasePanels, row: &OutputRow) -> Built {
        let geometry = &self.schedule.work.geometry;
        let first = (phase.axes[2].lead * geometry.channels) as i64;
        // Each tile has its columns where the one before had them.
        b.rounds(false, |b| {
            row.width.tiles(b, self.schedule.tile.pixels, |b, x, pixels| {
                let offset = b.scale_index(x, (geometry.strides[1] * geometry.channels) as i64, first);
                let pixels = self.columns_of(b, phase, row, (offset, Pairs { pixels }));
                self.all_panels(b, |b, panel| {
                    let place = self.tile_place(b, (phase, row), TileStart { x, offset }, panel);
                    let sums = self.pair_sums(b, &place, &pixels);
                    self.epilogue(b, &place, &sums)
                })
            })
        })
    }

    /// Fills the columns of a tile, and computes the corrections of its pixels.
    fn columns_of(&self, b: &mut KernelBuilder, phase: &PhasePanels, row: &OutputRow, (offset, pairs): (Value, Pairs)) -> Pixels {
        let zero = b.int(Type::scalar(Lane::I32), 0);
        let zeros = vec![zero; pairs.pixels as usize];
        let extents = &phase.panels.extents;
        let sums = match (self.columns, &row.segments) {
            (None, _) => self.sums_of_input(b, phase, row, offset),
            (Some(columns), Segments::Rows(rows)) => {
                let taps = extents.segments() / rows.len().max(1) as u64;
                (0..extents.segments()).fold(zeros, |sums, segment| {
                    let start = b.add(rows[(segment / taps) as usize], offset);
                    let start = b.scale_index(start, 1, (segment % taps) as i64 * self.tap_step());
                    let to = b.index((segment * extents.segment()) as i64);
                    self.fill_columns(b, (columns, to), (start, extents.segment()), pairs, &sums)
                })
            }
            (Some(columns), Segments::Table(table)) => {
                let (first, end) = (b.index(0), b.index(extents.segments() as i64));
                b.for_carry(first, end, 1, &zeros, |b, segment, sums| {
                    let start = self.start_of(b, *table, segment);
                    let start = b.add(start, offset);
                    let to = b.scale_index(segment, extents.segment() as i64, 0);
                    self.fill_columns(b, (columns, to), (start, extents.segment()), pairs, sums)
                })
            }
        };
        let corrections = sums_of_pixels(b, pairs, &sums).into_iter().map(|sum| {
            let number = b.int(Type::scalar(Lane::I32), 128);
            b.mul(sum, number)
        });
        let corrections = corrections.collect();
        let columns = match self.columns {
            Some(columns) => Columns::Words(columns),
            None => Columns::Input(self.start_of_input(b, row, offset)),
        };
        Pixels { columns, corrections, pairs }
    }

    /// Returns the first element of the input if it is a single pixel.
    fn start_of_input(&self, b: &mut KernelBuilder, row: &OutputRow, offset: Value) -> Value {
        match &row.segments {
            Segments::Rows(rows) => b.add(rows[0], offset),
            Segments::Table(table) => {
                let zero = b.index(0);
                let start = self.start_of(b, *table, zero);
                b.add(start, offset)
            }
        }
    }

    /// Adds the bytes of an input that is a single pixel.
    fn sums_of_input(&self, b: &mut KernelBuilder, phase: &PhasePanels, row: &OutputRow, offset: Value) -> Vec<Value> {
        let zero = b.int(Type::scalar(Lane::I32), 0);
        let first = self.start_of_input(b, row, offset);
        let (all, round) = (elements(&phase.panels.extents), self.schedule.rounds_of(1).copied);
        in_rounds(b, all, round, vec![zero], |b, k, count, sums| {
            let sum = (0..count as i64).fold(sums[0], |sum, i| {
                let at = b.add(first, k);
                let x = self.input_byte(b, at, i);
                b.add(sum, x)
            });
            vec![sum]
        })
    }

    /// Loads a byte of the input as an unsigned one.
    fn input_byte(&self, b: &mut KernelBuilder, at: Value, offset: i64) -> Value {
        let raw = byte(b, self.input, at, offset);
        self.unsigned(b, raw, 1)
    }

    /// Returns the word of a number of pixels with unsigned bytes. Staged bytes are unsigned already.
    fn unsigned(&self, b: &mut KernelBuilder, word: Value, pixels: u64) -> Value {
        if self.schedule.staging.is_some() || self.schedule.work.element != ElementType::I8 {
            return word;
        }
        let signs = b.int(Type::scalar(Lane::I32), if pixels == PAIR_PIXELS { SIGNS } else { SIGNS & 0xFF });
        b.binary(BinaryOp::Xor, word, signs)
    }

    /// Fills a part of the columns with a run of elements, which begins at `start` for the first pixel. Adds the words to the sums of the pairs.
    fn fill_columns(
        &self,
        b: &mut KernelBuilder,
        (columns, to): (Buffer, Value),
        (start, run): (Value, u64),
        pairs: Pairs,
        sums: &[Value],
    ) -> Vec<Value> {
        let geometry = &self.schedule.work.geometry;
        let step = (geometry.strides[1] * geometry.channels) as i64;
        let others: Vec<Value> = (1..pairs.pixels as i64).map(|pixel| b.scale_index(start, 1, pixel * step)).collect();
        let words = pairs.words() as i64;
        in_rounds(b, run, self.schedule.rounds_of(pairs.pixels).copied, sums.to_vec(), |b, k, elements, sums| {
            let starts: Vec<Value> = [start].iter().chain(&others).map(|&first| b.add(first, k)).collect();
            let to = b.add(to, k);
            let to = b.scale_index(to, words, 0);
            let mut sums = sums.to_vec();
            for i in 0..elements as i64 {
                for (place, pair) in (0..).zip(pairs.each()) {
                    let word = self.word_of(b, &starts[pair.clone()], i);
                    b.store(columns, to, i * words + place, word);
                    add_word(b, &mut sums[pair], word);
                }
            }
            sums
        })
    }

    /// Returns the word of a pair, given where each of its pixels begins.
    fn word_of(&self, b: &mut KernelBuilder, starts: &[Value], offset: i64) -> Value {
        let mut word = byte(b, self.pixels.rows, starts[0], offset);
        if let Some(&beside) = starts.get(1) {
            let other = byte(b, self.pixels.rows, beside, offset);
            let other = b.shift(BinaryOp::ShiftLeft, other, 16);
            word = b.add(word, other);
        }
        self.unsigned(b, word, starts.len() as u64)
    }

    /// Returns the sums of a tile's pixels, pixel by pixel.
    fn pair_sums(&self, b: &mut KernelBuilder, place: &TilePlace<'_>, pixels: &Pixels) -> Vec<Value> {
        let (panels, width) = (&place.phase.panels, place.width);
        let zero = b.int(Type::scalar(Lane::I32), 0);
        let of_channel = pixels.pairs.pixels as usize;
        let first = vec![zero; width.lanes as usize * of_channel];
        let (all, round) = (elements(&panels.extents), self.schedule.rounds_of(pixels.pairs.pixels).multiplied);
        let sums = in_rounds(b, all, round, first, |b, k, count, sums| {
            let mut sums = sums.to_vec();
            let skipped = b.scale_index(k, panels.in_buffer(width.strip), 0);
            let weights = b.add(place.weights, skipped);
            for i in 0..count {
                let words = self.words_at(b, pixels, k, i);
                for (lane, sums) in (0..).zip(sums.chunks_mut(of_channel)) {
                    let weight = byte(b, self.weights, weights, panels.place(width, i, lane));
                    for (pair, &word) in pixels.pairs.each().zip(&words) {
                        let product = b.mul(weight, word);
                        add_word(b, &mut sums[pair], product);
                    }
                }
            }
            sums
        });
        let mut of_pixels = vec![vec![]; of_channel];
        for (lane, sums) in (0..).zip(sums.chunks(of_channel)) {
            let sums = sums_of_pixels(b, pixels.pairs, sums);
            let initial = self.initial.map(|initial| b.load(initial, place.initial, lane, 1));
            for ((sum, correction), of_pixel) in sums.into_iter().zip(&pixels.corrections).zip(&mut of_pixels) {
                let sum = b.sub(sum, *correction);
                of_pixel.push(initial.map_or(sum, |initial| b.add(sum, initial)));
            }
        }
        of_pixels.concat()
    }

    /// Loads the words of all pairs for an element of k, `offset` after another.
    fn words_at(&self, b: &mut KernelBuilder, pixels: &Pixels, k: Value, offset: u64) -> Vec<Value> {
        match pixels.columns {
            Columns::Words(columns) => {
                let words = pixels.pairs.words();
                let at = b.scale_index(k, words as i64, 0);
                (0..words).map(|place| b.load(columns, at, (offset * words + place) as i64, 1)).collect()
            }
            Columns::Input(first) => {
                let at = b.add(first, k);
                vec![self.input_byte(b, at, offset as i64)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{byte, low_sum, with_both};
    use crate::kernel::interpret::interpret;
    use crate::kernel::{BufferKind, KernelBuilder, Lane, Type};

    /// Returns the sums of both halves of words times bytes.
    fn sums(words: &[u32], bytes: &[u8]) -> Vec<u32> {
        let mut b = KernelBuilder::new("sums");
        let x = b.buffer("x", BufferKind::Input, Lane::I32, words.len() as u64, 4);
        let w = b.buffer("w", BufferKind::Input, Lane::I8, bytes.len() as u64, 1);
        let results = b.buffer("results", BufferKind::Output, Lane::I32, 2, 4);
        let zero = b.int(Type::scalar(Lane::I32), 0);
        let at = b.index(0);
        let both = (0..words.len() as i64).fold([zero; 2], |sums, i| {
            let [x, w] = [b.load(x, at, i, 1), byte(&mut b, w, at, i)];
            let product = b.mul(w, x);
            with_both(&mut b, sums, product)
        });
        let low = low_sum(&mut b, both);
        b.store(results, at, 0, low);
        b.store(results, at, 1, both[1]);
        let mut buffers = vec![words.iter().flat_map(|word| word.to_le_bytes()).collect(), bytes.to_vec(), vec![0; 8]];
        interpret(&b.finish(), &mut buffers, &[]).expect("the kernel runs");
        buffers[2].as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()
    }

    #[test]
    fn sums_of_extreme_bytes_come_apart() {
        let wanted = |words: &[u32], bytes: &[u8]| {
            let of = |half: u32| words.iter().zip(bytes).map(|(word, byte)| (word >> half & 0xFFFF) * u32::from(*byte)).sum::<u32>();
            vec![of(0), of(16)]
        };
        // The sum of the words wraps.
        let largest = (vec![0x00FF_00FF; 300], vec![255; 300]);
        let mixed: (Vec<u32>, Vec<u8>) = (0..300u32).map(|i| ((i * 37 % 256) | ((i * 91 % 256) << 16), (i * 53 % 256) as u8)).unzip();
        for (words, bytes) in [largest, mixed, (vec![0x00FF_0000], vec![255]), (vec![0x0000_00FF], vec![255])] {
            assert_eq!(sums(&words, &bytes), wanted(&words, &bytes));
        }
    }
}
