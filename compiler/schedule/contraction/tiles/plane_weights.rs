//! Weights of a row of a depthwise window, as words of two halves. A product of words takes two neighbouring columns of a plane, the first of which
//! is even. Windows that begin at an odd column need the weights in pairs of their own, and a weight without a neighbour.
//!
//! A few words stay in registers for a whole channel. Each tap of these is stored once, and pairs of taps are joined before the loops. Products load
//! the words of larger windows again and again, so these are stored as products take them.

use crate::kernel::{DotOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::contraction::table::depthwise::PLANES;

/// The words of a row of weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowWeights {
    /// Columns of the window.
    window: u64,
    /// `true` if windows begin at even and at odd columns.
    both: bool,
}

impl RowWeights {
    /// Makes the words for windows with a number of columns and a stride.
    pub fn new(window: u64, stride: u64) -> Self {
        Self { window, both: !stride.is_multiple_of(2) }
    }

    /// Returns the taps of each word. `None` stands for zero.
    fn pairs(self) -> Vec<[Option<u64>; 2]> {
        let tap = |tap: u64| Some(tap).filter(|&tap| tap < self.window);
        let firsts: Vec<u64> = match self.both {
            true => (0..(self.window - 1).max(1)).collect(),
            false => (0..self.window).step_by(2).collect(),
        };
        firsts.into_iter().map(|first| [tap(first), tap(first + 1)]).collect()
    }

    /// Returns the number of words.
    pub fn words(self) -> usize {
        self.pairs().len()
    }

    /// Tests whether the words of a window with some rows stay in registers, or on the stack.
    pub fn are_held(self, rows: u64) -> bool {
        self.words() as u64 * rows <= PLANES.held
    }

    /// Returns the taps of the bytes of a window with some rows. Words that are held have each tap once. Of others, four bytes have two words, one in
    /// the even bytes and one in the odd ones. The number after the last tap stands for zero.
    pub fn taps(self, rows: u64) -> Vec<u64> {
        let zero = rows * self.window;
        if self.are_held(rows) {
            return (0..zero).collect();
        }
        let of_row = |y: u64| self.pairs().into_iter().map(move |pair| pair.map(|tap| tap.map_or(zero, |x| y * self.window + x)));
        let mut words: Vec<[u64; 2]> = (0..rows).flat_map(of_row).collect();
        if words.len() % 2 == 1 {
            words.push([zero; 2]);
        }
        words.as_chunks::<2>().0.iter().flat_map(|[a, c]| [a[0], c[0], a[1], c[1]]).collect()
    }

    /// Joins the taps of a window, row by row, to words.
    pub fn joined(self, b: &mut KernelBuilder, taps: &[Value]) -> Vec<Value> {
        let zero = b.int(Type::scalar(Lane::I16), 0);
        let rows = taps.chunks(self.window.max(1) as usize);
        let pairs = rows.flat_map(|row| self.pairs().into_iter().map(move |pair| pair.map(|tap| tap.map(|tap| row[tap as usize]))));
        pairs.map(|[lower, upper]| b.join(lower.unwrap_or(zero), upper.unwrap_or(zero))).collect()
    }

    /// Returns the products of an output whose window begins at a column. A product has the word of the columns and the word of weights. A single
    /// product also has the halves of both.
    fn plan(self, first: u64) -> Vec<Product> {
        let word = |tap: u64| ((first + tap) / 2) as usize;
        if !self.both {
            return (0..self.words()).map(|weights| Product { columns: word(2 * weights as u64), weights, halves: None }).collect();
        }
        let odd = first % 2;
        let single = |tap: u64, weights: usize, upper: u16| {
            let half = ((first + tap) % 2) as u16;
            Product { columns: word(tap), weights, halves: Some([half, upper]) }
        };
        let pairs = (odd..self.window.saturating_sub(1)).step_by(2);
        let mut plan: Vec<Product> = pairs.map(|tap| Product { columns: word(tap), weights: tap as usize, halves: None }).collect();
        if odd == 1 {
            plan.insert(0, single(0, 0, 0));
        }
        if (self.window - odd) % 2 == 1 && self.window > odd {
            let last = self.window - 1;
            plan.push(if last == 0 { single(0, 0, 0) } else { single(last, last as usize - 1, 1) });
        }
        plan
    }

    /// Adds the products of a row to a sum. The output's window begins at a column of `columns`, which are words of two.
    pub fn products(self, b: &mut KernelBuilder, mut sum: Value, first: u64, columns: &[Value], weights: &[Value]) -> Value {
        for product in self.plan(first) {
            let (x, w) = (columns[product.columns], weights[product.weights]);
            sum = match product.halves {
                None => b.dot(DotOp::Signed16, sum, x, w),
                Some([of_x, of_w]) => {
                    let zero = b.int(Type::vector(Lane::I16, 2), 0);
                    let x = b.shuffle(x, x, vec![of_x, of_x]);
                    let w = b.shuffle(w, zero, vec![of_w, 2]);
                    b.dot(DotOp::Signed16, sum, x, w)
                }
            };
        }
        sum
    }
}

/// A product of words, or of a half of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Product {
    columns: usize,
    weights: usize,
    halves: Option<[u16; 2]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tap is multiplied once, with its own column.
    #[test]
    fn plans_take_every_tap_once() {
        for (window, stride) in (1..8).flat_map(|window| (1..4).map(move |stride| (window, stride))) {
            let weights = RowWeights::new(window, stride);
            for first in [0, stride] {
                let mut found = vec![];
                for Product { columns, weights: word, halves } in weights.plan(first) {
                    let pair = weights.pairs()[word];
                    match halves {
                        None => found.extend((0..2).filter_map(|half| Some((pair[half]?, 2 * columns as u64 + half as u64)))),
                        Some([of_x, of_w]) => found.extend(pair[usize::from(of_w)].map(|tap| (tap, 2 * columns as u64 + u64::from(of_x)))),
                    }
                }
                found.sort_unstable();
                let wanted: Vec<(u64, u64)> = (0..window).map(|tap| (tap, first + tap)).collect();
                assert_eq!(found, wanted, "a window of {window} at {first}, by {stride}");
            }
        }
    }

    #[test]
    fn words_that_are_not_held_share_four_bytes() {
        let odd = RowWeights::new(3, 1);
        assert_eq!(odd.taps(3), [0, 1, 2, 3, 4, 5, 6, 7, 8], "each tap once");
        assert_eq!(odd.taps(7)[..8], [0, 1, 1, 2, 3, 4, 4, 5]);
        assert_eq!(RowWeights::new(5, 2).taps(5)[..12], [0, 2, 1, 3, 4, 5, 25, 6, 7, 9, 8, 25]);
        assert_eq!(RowWeights::new(1, 1).taps(13)[..4], [0, 1, 13, 13]);
    }
}
