//! A round of the innermost loop of a contraction whose products are [in squares](super::squares).

use super::loops::lowering::Lowering;
use super::squares::Round;
use super::tile::SegmentPlace;
use crate::kernel::{DotOp, KernelBuilder, Value};
use crate::schedule::contraction::direct::PhasePanels;
use crate::schedule::contraction::table::tiles::EIGHT;
use std::ops::Range;

impl Lowering<'_> {
    /// Adds the products of a round to squares. The operands of all pixels stay in registers, and weights are loaded one by one.
    pub(in crate::schedule::contraction) fn round_in_squares(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: SegmentPlace,
        round: Round,
        mut sums: Vec<Value>,
    ) -> Vec<Value> {
        let op = if round.signed { DotOp::SignedSquares } else { DotOp::UnsignedSignedSquares };
        let (products, of_pair) = (round.groups * round.group / EIGHT, at.width.lanes as usize / 2);
        for first in (0..products).step_by(2) {
            let together = (products - first).min(2);
            let operands = self.operands_of_pairs(b, at, first * EIGHT..(first + together) * EIGHT, round.pixels);
            for (nth, xs) in (first..).zip(operands) {
                let mut number = 0;
                while number < of_pair {
                    let weights = self.weights_of_channels(b, phase, at, (nth, round), 2 * number as u64);
                    for (w, channels) in weights.into_iter().zip(number..) {
                        for (pair, &x) in xs.iter().enumerate() {
                            let sum = &mut sums[pair * of_pair + channels];
                            *sum = b.dot(op, *sum, x, w);
                        }
                        number += 1;
                    }
                }
            }
        }
        sums
    }

    /// Loads the operands of one or two products of some elements of k, for each product the two rows of every pair of pixels. The last pixel of an
    /// odd number is both rows.
    fn operands_of_pairs(&self, b: &mut KernelBuilder, at: SegmentPlace, k: Range<u64>, pixels: u64) -> Vec<Vec<Value>> {
        let bytes = (k.end - k.start) as u16;
        let products = (k.end - k.start) / EIGHT;
        let mut operands = vec![vec![]; products as usize];
        for first in (0..pixels).step_by(2) {
            let [x, y] = [first, (first + 1).min(pixels - 1)]
                .map(|p| b.load(self.pixels.rows, at.row, self.pixel_offset(at, p) + k.start as i64, bytes));
            for (list, start) in operands.iter_mut().zip((0..).step_by(EIGHT as usize)) {
                let lanes = |from: u16| (0..EIGHT as u16).map(move |lane| from + lane);
                let rows = lanes(start).chain(lanes(bytes + start)).collect();
                list.push(if products == 1 { b.join(x, y) } else { b.shuffle(x, y, rows) });
            }
        }
        operands
    }

    /// Loads the weights of a product for two output channels of the panel from `lane` on, or for four.
    fn weights_of_channels(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: SegmentPlace,
        (number, round): (u64, Round),
        lane: u64,
    ) -> Vec<Value> {
        let group = round.group;
        let mut load = |k: u64, channels: u64| {
            let place = phase.panels.place(at.width, k, lane);
            b.load(self.weights, at.weights, place, (channels * group) as u16)
        };
        if group == EIGHT {
            return vec![load(number * EIGHT, 2)];
        }
        let channels = at.width.lanes.min(4);
        let [low, high] = [0, group].map(|from| load(number * EIGHT + from, channels));
        let fours = |channel: u64| {
            (0..2 * EIGHT).map(move |byte| byte / EIGHT * group + channel * group + byte % EIGHT / group * channels * group + byte % group)
        };
        (0..channels).step_by(2).map(|channel| b.shuffle(low, high, fours(channel).map(|lane| lane as u16).collect())).collect()
    }
}
