//! Attention head by head: a tile of queries processes all keys, then all values. With many queries, the keys of a head stay in the cache from
//! tile to tile.

use super::tile::{Key, Lowering, Piece, Scores, Tile};
use crate::kernel::{BinaryOp, KernelBuilder, Lane, Type, Value};

/// Number of keys whose products with a tile of queries are computed together.
pub const KEYS: i64 = 4;

impl Lowering<'_> {
    /// Computes all queries of a head of keys.
    pub fn head_by_head(&self, b: &mut KernelBuilder, image: Value, group: Value, stride: i64) {
        let scores = Scores { first: None, stride };
        let first_key = self.first_key(b, image, group);
        let rows = self.queries.times(b, self.vectors.shape.together());
        rows.tiles(b, self.vectors.shape.rows, |b, row, count| {
            let rows = (0..count).map(|r| {
                let (position, head) = self.position(b, row, r as i64);
                self.row(b, image, group, position, head)
            });
            let rows = rows.collect();
            let Some(tile) = self.tile(b, first_key, scores, rows) else { return };
            b.rounds(true, |b| {
                each_key(b, tile.keys, |b, keys| self.scores(b, &tile, keys));
                self.unseen(b, &tile);
            });
            let factors: Vec<Value> = (0..tile.rows.len()).map(|r| self.factor(b, &tile, r)).collect();
            self.results(b, &tile, &factors);
        });
    }

    /// Returns the query and the head of a row. Rows count the queries of the heads that share a head of keys.
    fn position(&self, b: &mut KernelBuilder, row: Value, offset: i64) -> (Value, Value) {
        let row = b.scale_index(row, 1, offset);
        match self.vectors.shape.together() {
            1 => (row, b.index(0)),
            together => {
                let divisor = b.index(together as i64);
                (b.binary(BinaryOp::SignedDiv, row, divisor), b.binary(BinaryOp::SignedRem, row, divisor))
            }
        }
    }

    /// Computes the weights of a row from its scores, and returns one over their sum.
    fn factor(&self, b: &mut KernelBuilder, tile: &Tile, r: usize) -> Value {
        let weighed = self.weigh(b, tile, r, f64::NEG_INFINITY);
        let one = b.float(Type::scalar(Lane::F32), 1.0);
        b.binary(BinaryOp::FloatDiv, one, weighed.sum)
    }

    /// Sums the weighted values of all keys, a few vectors of the depth at a time.
    fn results(&self, b: &mut KernelBuilder, tile: &Tile, factors: &[Value]) {
        for pieces in self.vectors.pieces().chunks(self.vectors.pieces_together(tile.rows.len())) {
            let none: Vec<Value> = pieces.iter().map(|piece| b.float(Type::vector(Lane::F32, piece.lanes), 0.0)).collect();
            let sums: Vec<Value> = tile.rows.iter().flat_map(|_| none.iter().copied()).collect();
            let zero = b.index(0);
            let sums = b.for_carry(zero, tile.keys, 1, &sums, |b, key, sums| self.with_value(b, tile, pieces, (key, 0), sums));
            for ((row, &factor), sums) in tile.rows.iter().zip(factors).zip(sums.chunks(pieces.len())) {
                for (&Piece { first, lanes, active }, &sum) in pieces.iter().zip(sums) {
                    let factor = b.splat(factor, lanes);
                    let result = b.mul(sum, factor);
                    b.store_active(self.output, row.at, first, result, active);
                }
            }
        }
    }
}

/// Repeats a body for all keys: `KEYS` neighbours at a time, then the rest one by one.
fn each_key(b: &mut KernelBuilder, keys: Value, mut body: impl FnMut(&mut KernelBuilder, &[Key])) {
    let zero = b.index(0);
    let by = b.index(KEYS);
    let whole = b.binary(BinaryOp::SignedDiv, keys, by);
    let whole = b.scale_index(whole, KEYS, 0);
    b.for_values(zero, whole, KEYS, |b, key| body(b, &std::array::from_fn::<Key, { KEYS as usize }, _>(|i| (key, i as i64))));
    b.for_values(whole, keys, 1, |b, key| body(b, &[(key, 0)]));
}
