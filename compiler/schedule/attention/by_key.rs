//! Attention key by key, for a single query. Heads are the inner loop, so that keys and values are read once, in the order of memory.
//!
//! Head by head, a query would read short pieces with long gaps, which defeats prefetching. Two keys are read together, so that queries and
//! sums are loaded once for both. They belong to different streams, far apart, because this also reads memory faster than two neighbours do.
//!
//! The keys are divided into blocks (`blocks.rs`), which several threads may share.

use super::blocks::Blocks;
use super::tile::{KEYS_OF_ROW, Key, Lowering, Piece, Row, Scores, Tile};
use crate::kernel::{BinaryOp, Buffer, KernelBuilder, Lane, Type, Value};
use crate::schedule::quantity::Number;

/// Number of streams of keys. Four streams need more of a first-level cache, and are slower.
const STREAMS: i64 = 2;

/// Smallest initial maximum of a block's scores. Its difference from −∞ gives the weight 0, while −∞ itself would give NaN.
const LEAST: f64 = f32::MIN as f64;

impl Lowering<'_> {
    /// Computes a block of the keys for the single query of an image, and stores its results in `found`.
    pub fn block(&self, b: &mut KernelBuilder, blocks: &Blocks, found: Buffer, image: Value, block: Value) {
        let start = blocks.start(b, image, block);
        let range = self.keys_of(b, blocks, block);
        let at = At { blocks, image, range, start };
        b.rounds(true, |b| {
            self.each_stream(b, range.count, |b, keys| {
                self.each_tile(b, &at, self.vectors.shape.rows, |b, tile, _| self.scores(b, tile, keys));
            });
        });
        self.each_tile(b, &at, 1, |b, tile, sums| {
            self.unseen(b, tile);
            let weighed = self.weigh(b, tile, 0, LEAST);
            for (place, value) in blocks.places().into_iter().zip([weighed.largest, weighed.sum]) {
                let place = b.scale_index(sums.head, 1, place);
                let place = b.add(place, start);
                b.store(found, place, 0, value);
            }
            for Piece { first, lanes, active } in self.vectors.pieces() {
                let nothing = b.float(Type::vector(Lane::F32, lanes), 0.0);
                b.store_active(found, sums.at, first, nothing, active);
            }
        });
        self.each_stream(b, range.count, |b, keys| {
            self.each_tile(b, &at, self.vectors.shape.rows, |b, tile, sums| self.add_values(b, (found, sums.at), tile, keys));
        });
    }

    /// Returns the keys of a block, among the keys that the query sees.
    fn keys_of(&self, b: &mut KernelBuilder, blocks: &Blocks, block: Value) -> Range {
        let zero = b.index(0);
        let seen = self.seen(b, zero);
        let unit = KEYS_OF_ROW as i64;
        let up = b.scale_index(seen, 1, blocks.count * unit - 1);
        let divisor = b.index(blocks.count * unit);
        let rows = b.binary(BinaryOp::SignedDiv, up, divisor);
        let most = b.scale_index(rows, unit, 0);
        let first = b.mul(block, most);
        let left = b.sub(seen, first);
        let count = b.binary(BinaryOp::SignedMin, left, most);
        Range { first, count: b.binary(BinaryOp::SignedMax, count, zero) }
    }

    /// Repeats a body for the keys of a block: one key of each stream at a time, then the rest one by one.
    fn each_stream(&self, b: &mut KernelBuilder, count: Value, mut body: impl FnMut(&mut KernelBuilder, &[Key])) {
        let (zero, streams) = (b.index(0), b.index(STREAMS));
        let length = b.binary(BinaryOp::SignedDiv, count, streams);
        b.for_values(zero, length, 1, |b, key| {
            let mut keys = vec![(key, 0)];
            for _ in 1..STREAMS {
                let (before, _) = keys[keys.len() - 1];
                keys.push((b.add(before, length), 0));
            }
            body(b, &keys);
        });
        let whole = b.scale_index(length, STREAMS, 0);
        b.for_values(whole, count, 1, |b, key| body(b, &[(key, 0)]));
    }

    /// Repeats a body for tiles of the single query: heads that share a head of keys. The body also gets the place of their sums.
    fn each_tile(&self, b: &mut KernelBuilder, at: &At<'_>, rows: u64, mut body: impl FnMut(&mut KernelBuilder, &Tile, Sums)) {
        let together = self.vectors.shape.together();
        let Range { first, count } = at.range;
        let tiles = |b: &mut KernelBuilder, group: Value| {
            let first_key = self.first_key(b, at.image, group).after(b, self.vectors.shape, first);
            Number::Known(together as i64).tiles(b, rows, |b, head, number| {
                let first_head = b.scale_index(group, together as i64, 0);
                let first_head = b.add(first_head, head);
                let scores = Scores { first: Some(b.scale_index(first_head, at.blocks.stride, 0)), stride: at.blocks.stride };
                let rows: Vec<Row> = (0..number as i64)
                    .map(|r| {
                        let (position, head) = (b.index(0), b.scale_index(head, 1, r));
                        Row { keys: count, ..self.row(b, at.image, group, position, head) }
                    })
                    .collect();
                let sums = b.scale_index(first_head, self.vectors.shape.depth as i64, 0);
                let sums = Sums { head: first_head, at: b.add(sums, at.start) };
                if let Some(tile) = self.tile(b, first_key, scores, rows) {
                    body(b, &Tile { before: Some(first), ..tile }, sums);
                }
            });
        };
        // Each head has its own scores and sums.
        b.rounds(true, |b| b.for_range(0, self.vectors.shape.groups as i64, 1, tiles));
    }

    /// Adds the weighted values of some keys to the sums of a tile.
    fn add_values(&self, b: &mut KernelBuilder, (found, first): (Buffer, Value), tile: &Tile, keys: &[Key]) {
        for pieces in self.vectors.pieces().chunks(self.vectors.pieces_together(tile.rows.len())) {
            let depth = self.vectors.shape.depth as i64;
            let rows = 0..tile.rows.len() as i64;
            let places: Vec<Piece> =
                rows.flat_map(|r| pieces.iter().map(move |&piece| Piece { first: r * depth + piece.first, ..piece })).collect();
            let mut sums: Vec<Value> =
                places.iter().map(|piece| b.load_active(found, first, piece.first, piece.lanes, piece.active)).collect();
            for &key in keys {
                sums = self.with_value(b, tile, pieces, key, &sums);
            }
            for (piece, sum) in places.into_iter().zip(sums) {
                b.store_active(found, first, piece.first, sum, piece.active);
            }
        }
    }
}

/// The block that is computed.
struct At<'a> {
    blocks: &'a Blocks,
    image: Value,
    range: Range,
    /// Start of its results.
    start: Value,
}

/// A range of the keys that a query sees.
#[derive(Clone, Copy)]
struct Range {
    first: Value,
    count: Value,
}

/// The first head of a tile, and the place of its sums.
#[derive(Clone, Copy)]
struct Sums {
    head: Value,
    at: Value,
}
