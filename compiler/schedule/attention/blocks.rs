//! The keys of a single query in blocks. Their number does not depend on the number of threads, so results have the same bits.
//!
//! Each block has its own largest score and its own sums. A second kernel combines them. Each is scaled by e to the difference of its largest score
//! and the overall one. See Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.

use super::tile::{KEYS_OF_ROW, Piece, Shape, Vectors};
use crate::kernel::{BinaryOp, Buffer, KernelBuilder, Lane, Type, Value, mathematics};
use crate::schedule::context::arithmetic;

/// Maximum number of blocks.
const MOST_BLOCKS: u64 = 8;

/// Division of a single query's keys into blocks, and the layout of each block's results.
#[derive(Clone, Copy)]
pub struct Blocks {
    /// Number of blocks.
    pub count: i64,
    /// Elements of a row of scores in a block.
    pub stride: i64,
    heads: i64,
    depth: i64,
}

impl Blocks {
    /// Divides at most `keys` keys into blocks, or makes one block of them if they are not `divided`.
    pub fn new(shape: &Shape, keys: u64, divided: bool) -> Self {
        let count = if divided { shape.groups.min(MOST_BLOCKS) } else { 1 };
        let whole = keys.div_ceil(count * KEYS_OF_ROW) * KEYS_OF_ROW;
        // Rows of all heads are written side by side. An odd number of cache lines avoids that they all map to a few sets of a cache.
        let stride = if whole.is_multiple_of(2 * KEYS_OF_ROW) { whole + KEYS_OF_ROW } else { whole };
        Self { count: count as i64, stride: stride as i64, heads: shape.heads as i64, depth: shape.depth as i64 }
    }

    /// Returns the number of scores of a block.
    pub fn score_elements(&self) -> u64 {
        (self.heads * self.stride) as u64
    }

    /// Returns the number of elements of all blocks' results for an image.
    pub fn elements(&self) -> u64 {
        (self.count * self.block_elements()) as u64
    }

    /// Returns the number of elements of a block's results. They are a row of value sums for each head, the largest scores, and the sums of weights.
    fn block_elements(&self) -> i64 {
        ((self.heads * (self.depth + 2)) as u64).next_multiple_of(KEYS_OF_ROW) as i64
    }

    /// Returns the offsets of the largest scores and of the sums of weights in a block.
    pub fn places(&self) -> [i64; 2] {
        [self.heads * self.depth, self.heads * (self.depth + 1)]
    }

    /// Returns the first block that belongs to a range of heads of keys beginning at `group`. Threads divide these heads, and blocks are
    /// divided in proportion.
    pub fn of_group(&self, b: &mut KernelBuilder, group: Value, groups: i64) -> Value {
        if self.count == groups {
            return group;
        }
        let scaled = b.scale_index(group, self.count, groups - 1);
        let groups = b.index(groups);
        b.binary(BinaryOp::SignedDiv, scaled, groups)
    }

    /// Returns the start of a block's results for an image.
    pub fn start(&self, b: &mut KernelBuilder, image: Value, block: Value) -> Value {
        let number = b.scale_index(image, self.count, 0);
        let number = b.add(number, block);
        b.scale_index(number, self.block_elements(), 0)
    }
}

/// Combines the results of the blocks.
pub struct Together<'a> {
    pub blocks: Blocks,
    pub vectors: Vectors<'a>,
    pub found: Buffer,
    pub output: Buffer,
}

impl Together<'_> {
    /// Writes the results of an image from the results of its blocks.
    pub fn all(&self, b: &mut KernelBuilder, image: Value) {
        let Self { blocks, vectors, .. } = self;
        b.for_range(0, blocks.heads, 1, |b, head| {
            let zero = b.index(0);
            let first = blocks.start(b, image, zero);
            let [largest, sum] = blocks.places().map(|place| {
                let place = b.scale_index(head, 1, place);
                b.add(first, place)
            });
            let sums = b.scale_index(head, blocks.depth, 0);
            let sums = b.add(first, sums);
            let result = b.scale_index(image, blocks.heads, 0);
            let result = b.add(result, head);
            let result = b.scale_index(result, blocks.depth, 0);
            for pieces in vectors.pieces().chunks(vectors.pieces_together(1)) {
                self.vectors_of(b, [largest, sum, sums], (result, pieces));
            }
        });
    }

    /// Writes some vectors of a head's result. The given places are those of the first block: its largest score, its sum of weights and its
    /// sums.
    fn vectors_of(&self, b: &mut KernelBuilder, [largest, sum, sums]: [Value; 3], (result, pieces): (Value, &[Piece])) {
        let &Self { blocks, vectors, found, output } = self;
        let lanes = vectors.lanes();
        let offsets: Vec<i64> = (0..blocks.count).map(|block| block * blocks.block_elements()).collect();
        let scores: Vec<Value> = offsets.iter().map(|&offset| b.load_splat(found, largest, offset, lanes)).collect();
        let most = scores[1..].iter().fold(scores[0], |most, &score| b.binary(BinaryOp::FloatMaxFirst, score, most));
        let none = b.float(Type::vector(Lane::F32, lanes), 0.0);
        let (mut weight, mut totals) = (none, vec![none; pieces.len()]);
        for (&offset, &score) in offsets.iter().zip(&scores) {
            let below = b.sub(score, most);
            let factor = mathematics::exp(b, arithmetic(vectors.machine), below);
            let of_block = b.load_splat(found, sum, offset, lanes);
            weight = vectors.multiply_add(b, factor, of_block, weight);
            for (total, &Piece { first, active, .. }) in totals.iter_mut().zip(pieces) {
                let value = b.load_active(found, sums, offset + first, lanes, active);
                *total = vectors.multiply_add(b, factor, value, *total);
            }
        }
        for (total, &Piece { first, active, .. }) in totals.into_iter().zip(pieces) {
            let value = b.binary(BinaryOp::FloatDiv, total, weight);
            b.store_active(output, result, first, value, active);
        }
    }
}
