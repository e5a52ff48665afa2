//! Key by key, for a single query: heads are the inner loop, so that keys and values are read in the order in which they lie, each once.
//!
//! Head by head a query reads a few hundred bytes of every few thousand, and from several keys at a time it reads several places at once. Either takes
//! more than twice as long as reading all in order where the caches of a decoder come from memory (Zen 4: 12.5 and 15.7 GB/s, 31.8 in order). The scores
//! of all heads are kept, and the sums of values are in the result, both of which are small beside what is read.

use super::tile::{Lowering, Row, Tile};
use crate::kernel::{KernelBuilder, Lane, Type, Value};
use crate::schedule::quantity::Number;

impl Lowering<'_> {
    /// The single query of an image.
    pub fn key_by_key(&self, b: &mut KernelBuilder, image: Value) {
        let zero = b.index(0);
        let keys = self.seen(b, zero);
        b.for_values(zero, keys, 1, |b, key| {
            self.each_tile(b, image, self.shape.rows, |b, tile, _| self.scores(b, tile, key, 1));
        });
        self.each_tile(b, image, 1, |b, tile, head| {
            self.unseen(b, tile);
            let factor = self.weights(b, tile, 0);
            b.store(self.scores, head, self.factors(), factor);
            for (first, lanes, active) in self.pieces() {
                let nothing = b.float(Type::vector(Lane::F32, lanes), 0.0);
                b.store_active(self.output, tile.rows[0].at, first, nothing, active);
            }
        });
        b.for_values(zero, keys, 1, |b, key| {
            self.each_tile(b, image, self.shape.rows, |b, tile, _| self.add_value(b, tile, key));
        });
        self.each_tile(b, image, 1, |b, tile, head| {
            let at = tile.rows[0].at;
            for (first, lanes, active) in self.pieces() {
                let factor = b.load_splat(self.scores, head, self.factors(), lanes);
                let sum = b.load_active(self.output, at, first, lanes, active);
                let result = b.mul(sum, factor);
                b.store_active(self.output, at, first, result, active);
            }
        });
    }

    /// Where one over the sum of the weights of the first head is.
    fn factors(&self) -> i64 {
        self.shape.heads as i64 * self.stride
    }

    /// Tiles of the single query, of a few heads that share one of keys. The body gets the number of the first head too.
    fn each_tile(&self, b: &mut KernelBuilder, image: Value, rows: u64, mut body: impl FnMut(&mut KernelBuilder, &Tile, Value)) {
        let together = self.shape.together();
        b.for_range(0, self.shape.groups as i64, 1, |b, group| {
            let first_key = self.first_key(b, image, group);
            Number::Known(together as i64).tiles(b, rows, |b, head, count| {
                let number = b.scale_index(group, together as i64, 0);
                let number = b.add(number, head);
                let first_score = b.scale_index(number, self.stride, 0);
                let rows: Vec<Row> = (0..count as i64)
                    .map(|r| {
                        let (position, head) = (b.index(0), b.scale_index(head, 1, r));
                        self.row(b, (image, group), position, head)
                    })
                    .collect();
                if let Some(tile) = self.tile(b, first_key, Some(first_score), rows) {
                    body(b, &tile, number);
                }
            });
        });
    }

    /// The value of a key, weighted, is added to the results of a tile.
    fn add_value(&self, b: &mut KernelBuilder, tile: &Tile, key: Value) {
        for pieces in self.pieces().chunks(self.pieces_together(tile.rows.len())) {
            let places = || tile.rows.iter().flat_map(|row| pieces.iter().map(|piece| (row.at, *piece)));
            let sums: Vec<Value> =
                places().map(|(at, (first, lanes, active))| b.load_active(self.output, at, first, lanes, active)).collect();
            let sums = self.with_value(b, tile, pieces, (key, 0), &sums);
            for ((at, (first, _, active)), sum) in places().zip(sums) {
                b.store_active(self.output, at, first, sum, active);
            }
        }
    }
}
