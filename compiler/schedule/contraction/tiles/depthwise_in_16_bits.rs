//! Tiles of a depthwise convolution of bytes in paired rows, with products that are added in 16 bits. The rows of a pair are interleaved, so
//! that 32-bit sums take both. Columns of the window are added before that.

use super::depthwise_tile::{ColumnPart, Lanes, Run, StoredHalf, TapPart};
use super::in_16_bits::{widened, with_products};
use crate::kernel::{KernelBuilder, Value};
use crate::schedule::contraction::depthwise_rows::{Block, DepthwiseRows, Lowering};
use crate::schedule::contraction::table::depthwise::IN_16_BITS;
use rustc_hash::FxHashMap;

impl DepthwiseRows<'_> {
    /// Returns the number of pixels of a row that are computed together: as many as have sums and columns in registers.
    pub(in crate::schedule::contraction) fn pixels_in_16_bits(&self) -> u64 {
        let geometry = &self.work.geometry;
        let reach = (geometry.window[1] - 1) * geometry.phases[2].dilation + 1;
        let held = |pixels: u64| {
            let columns = (pixels - 1) * geometry.strides[1] + reach;
            IN_16_BITS.of_pixel * self.together * pixels + columns * self.fours.pairs + IN_16_BITS.under_way
        };
        (1..=self.most_pixels()).rev().find(|&pixels| held(pixels) <= self.cx.machine.registers.count().into()).unwrap_or(1)
    }
}

impl Lowering<'_> {
    /// Adds the products of a tile to its sums.
    pub(in crate::schedule::contraction) fn added_in_16_bits(
        &self,
        b: &mut KernelBuilder,
        pairs: &[Value],
        at: &Block,
        lanes: Lanes,
        run: &Run,
        mut sums: Vec<Value>,
    ) -> Vec<Value> {
        let schedule = self.schedule;
        let mut operands: FxHashMap<ColumnPart, Value> = FxHashMap::default();
        let of_column = |column: u64| (0..schedule.fours.pairs).map(move |part| ColumnPart { column, part });
        for place in run.columns().into_iter().flat_map(of_column) {
            operands.insert(place, self.operand(b, pairs, place, (at, run), lanes));
        }
        // 16 bits hold two products if no weight is the smallest byte.
        let together = if schedule.work.weights.leave_out_smallest_byte(schedule.work.open) { 2 } else { 1 };
        for row in 0..at.rows {
            let taken = (0..schedule.fours.pairs).filter(|&pair| schedule.needs(row, pair));
            let taken: Vec<TapPart> = taken.flat_map(|part| (0..run.window).map(move |tap| TapPart { row, tap, part })).collect();
            for some in taken.chunks(together) {
                let ws: Vec<Value> = some.iter().map(|&place| self.weights_of_pair(b, at, place, lanes)).collect();
                for p in 0..run.pixels {
                    let place = |&TapPart { tap, part, .. }: &TapPart| ColumnPart { column: p * run.stride + tap * run.dilation, part };
                    let xs: Vec<Value> = some.iter().map(|tap| operands[&place(tap)]).collect();
                    let sum = &mut sums[(row * run.pixels + p) as usize];
                    *sum = with_products(b, *sum, &xs, &ws);
                }
            }
        }
        sums
    }

    /// Returns the weights of a row, a column and a pair: half of the stored groups of four.
    pub(in crate::schedule::contraction) fn weights_of_pair(
        &self,
        b: &mut KernelBuilder,
        at: &Block,
        TapPart { row, tap, part: pair }: TapPart,
        lanes: Lanes,
    ) -> Value {
        let fours = self.schedule.fours;
        let (product, half) = fours.half(pair, tap);
        let product = StoredHalf { product: row * fours.products() + product, half: 0 };
        let stored = self.stored(b, (at.weights, at.cut.width), product, lanes);
        let weights = b.shuffle(stored, stored, (0..2 * lanes.count as u16).map(|i| 2 * i + half as u16).collect());
        widened(b, weights)
    }
}
