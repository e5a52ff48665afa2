//! The keys of a single query in blocks: as many whatever the number of threads, so bits do not depend on it.
//!
//! A block has its own largest score and its own sums. A second kernel brings them together, each times e to the distance of its largest score from
//! that of all (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).

use super::tile::{KEYS_OF_ROW, Shape, Vectors};
use crate::kernel::{BinaryOp, Buffer, KernelBuilder, Lane, Type, Value, mathematics};
use crate::schedule::context::arithmetic;

/// Blocks at most.
const MOST_BLOCKS: u64 = 8;

/// How the keys of a single query are cut, and where what is found of each block is.
#[derive(Clone, Copy)]
pub struct Blocks {
    /// How many there are.
    pub count: i64,
    /// Elements of a row of scores of a block.
    pub stride: i64,
    heads: i64,
    depth: i64,
}

impl Blocks {
    /// Those of at most `keys` keys.
    pub fn new(shape: &Shape, keys: u64) -> Self {
        let count = shape.groups.min(MOST_BLOCKS);
        let whole = keys.div_ceil(count * KEYS_OF_ROW) * KEYS_OF_ROW;
        // Rows of all heads that are written side by side are an odd number of cache lines long, or they would all meet in a few places of a cache.
        let stride = if whole.is_multiple_of(2 * KEYS_OF_ROW) { whole + KEYS_OF_ROW } else { whole };
        Self { count: count as i64, stride: stride as i64, heads: shape.heads as i64, depth: shape.depth as i64 }
    }

    /// Elements of the scores of a block.
    pub fn score_elements(&self) -> u64 {
        (self.heads * self.stride) as u64
    }

    /// Elements of what is found of all blocks of an image.
    pub fn elements(&self) -> u64 {
        (self.count * self.block_elements()) as u64
    }

    /// Elements of a block: sums of values, a row a head, then the largest score and the sum of weights of each head.
    fn block_elements(&self) -> i64 {
        ((self.heads * (self.depth + 2)) as u64).next_multiple_of(KEYS_OF_ROW) as i64
    }

    /// Where the largest scores are in a block, and the sums of weights.
    pub fn places(&self) -> [i64; 2] {
        [self.heads * self.depth, self.heads * (self.depth + 1)]
    }

    /// The first block of a head of keys and those after it, where heads are cut: blocks are cut alike.
    pub fn of_group(&self, b: &mut KernelBuilder, group: Value, groups: i64) -> Value {
        if self.count == groups {
            return group;
        }
        let scaled = b.scale_index(group, self.count, groups - 1);
        let groups = b.index(groups);
        b.binary(BinaryOp::SignedDiv, scaled, groups)
    }

    /// Where a block of an image begins.
    pub fn start(&self, b: &mut KernelBuilder, image: Value, block: Value) -> Value {
        let number = b.scale_index(image, self.count, 0);
        let number = b.add(number, block);
        b.scale_index(number, self.block_elements(), 0)
    }
}

/// Brings together what was found of the blocks.
pub struct Together<'a> {
    pub blocks: Blocks,
    pub vectors: Vectors<'a>,
    pub found: Buffer,
    pub output: Buffer,
}

impl Together<'_> {
    /// The results of an image from what was found of its blocks.
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

    /// Some vectors of the result of a head. What the first block has begins at the places given: its largest score, its sum of weights, its sums.
    fn vectors_of(&self, b: &mut KernelBuilder, [largest, sum, sums]: [Value; 3], (result, pieces): (Value, &[(i64, u16, u16)])) {
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
            for (total, &(first, _, active)) in totals.iter_mut().zip(pieces) {
                let value = b.load_active(found, sums, offset + first, lanes, active);
                *total = vectors.multiply_add(b, factor, value, *total);
            }
        }
        for (total, &(first, _, active)) in totals.into_iter().zip(pieces) {
            let value = b.binary(BinaryOp::FloatDiv, total, weight);
            b.store_active(output, result, first, value, active);
        }
    }
}
