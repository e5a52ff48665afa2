//! Products of two pixels with two output channels at a time, eight bytes of k each ([`Form::Squares`]). The four sums are a square, in a vector of
//! four lanes: the channels of the first pixel, then those of the second one. Squares are made from the sums of pixels before the first product,
//! and taken apart after the last one.
//!
//! A level alone packs weights as products take them: `[k / 8][channel][8]`. Beside levels with products of fours, it reads their panels, and
//! interleaves the fours of two neighbouring groups.

use crate::kernel::{KernelBuilder, Value};
use crate::schedule::context::{Context, Goal};
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::table::rounds::ROUNDS_IN_SQUARES;
use crate::schedule::contraction::table::tiles::{EIGHT, Tile, largest_in_squares};
use crate::schedule::technique::Technique;

/// A round of the innermost loop.
#[derive(Clone, Copy)]
pub(in crate::schedule::contraction) struct Round {
    /// See [`Form::Squares`].
    pub signed: bool,
    /// See [`Form::Squares`].
    pub group: u64,
    /// Pixels of the tile.
    pub pixels: u64,
    /// Groups of k.
    pub groups: u64,
}

impl Contraction {
    /// Returns the form of products in squares, if the machine has them, and several pixels share the weights.
    pub(in crate::schedule::contraction) fn in_squares(&self, cx: &Context<'_>, form: Form) -> Option<Form> {
        let geometry = &self.geometry;
        let are_several = if geometry.is_pointwise() && geometry.groups == 1 { geometry.pixels() > 1 } else { geometry.output_size[1] > 1 };
        let takes = cx.machine.byte_squares && form == Form::Signed8 && self.weights.are_whole_bytes();
        if !takes || !cx.uses(Technique::Squares) || !are_several || cx.goal == Goal::Size {
            return None;
        }
        let is_alone = cx.levels.iter().all(|level| level.byte_squares) && cx.sharing.is_whole();
        // Products never read elements after those of a pixel that stays in its place.
        let are_whole = (geometry.channels / geometry.groups).is_multiple_of(EIGHT);
        match is_alone {
            true if are_whole || !geometry.is_pointwise() => Some(Form::Squares { signed: self.element.is_signed_integer(), group: EIGHT }),
            false if are_whole => Some(Form::Squares { signed: true, group: EIGHT / 2 }),
            _ => None,
        }
    }
}

/// Returns the tile for rows of a width.
pub(in crate::schedule::contraction) fn tile(group: u64, outputs: u64, width: u64) -> Tile {
    let largest = largest_in_squares(group, outputs);
    let pixels = width.div_ceil(width.div_ceil(largest.pixels)).next_multiple_of(2);
    Tile { pixels: pixels.min(width), vectors: largest.vectors }
}

/// Returns the groups of k in a round of the innermost loop over `groups`.
pub(in crate::schedule::contraction) fn unroll(groups: u64, group: u64) -> u64 {
    let products = groups * group / EIGHT;
    let most = ROUNDS_IN_SQUARES[0];
    let together =
        if products <= most { products } else { ROUNDS_IN_SQUARES.into_iter().find(|&n| products.is_multiple_of(n)).unwrap_or(1) };
    (together * EIGHT / group).max(1)
}

/// Makes squares from the sums of pixels, each with a number of vectors. The last pixel of an odd number is twice in its squares.
pub(in crate::schedule::contraction) fn joined(b: &mut KernelBuilder, sums: &[Value], vectors: usize) -> Vec<Value> {
    let mut squares = vec![];
    for pair in sums.chunks(2 * vectors) {
        for (v, &first) in pair[..vectors].iter().enumerate() {
            let second = pair.get(vectors + v).copied().unwrap_or(first);
            match b.ty(first).lanes {
                4 => squares.extend([[0, 1, 4, 5], [2, 3, 6, 7]].map(|lanes| b.shuffle(first, second, lanes.into()))),
                _ => squares.push(b.join(first, second)),
            }
        }
    }
    squares
}

/// Takes squares apart to the sums of pixels, each with a number of vectors of some lanes.
pub(in crate::schedule::contraction) fn apart(
    b: &mut KernelBuilder,
    squares: &[Value],
    [pixels, vectors]: [u64; 2],
    lanes: u64,
) -> Vec<Value> {
    let of_pair = (vectors * lanes / 2) as usize;
    let mut sums = vec![];
    for pixel in 0..pixels {
        let pair = &squares[pixel as usize / 2 * of_pair..][..of_pair];
        let second = pixel % 2;
        let of_vector = |of: &[Value]| match *of {
            [low, high] => b.shuffle(low, high, [0, 1, 4, 5].map(|lane| lane + 2 * second as u16).into()),
            _ => b.part(of[0], 2 * second as u16, 2),
        };
        sums.extend(pair.chunks(lanes as usize / 2).map(of_vector));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::{Tile, tile, unroll};

    #[test]
    fn tiles_have_pairs_of_pixels() {
        let tile = |group, outputs, width| {
            let Tile { pixels, vectors } = tile(group, outputs, width);
            [pixels, vectors]
        };
        assert_eq!([tile(8, 96, 14), tile(8, 96, 49), tile(8, 8, 56), tile(8, 3, 56)], [[6, 4], [6, 4], [8, 2], [8, 1]]);
        assert_eq!([tile(4, 96, 49), tile(4, 96, 7), tile(8, 96, 3)], [[8, 2], [7, 2], [3, 4]], "fours take more registers");
    }

    #[test]
    fn rounds_take_pairs_of_products() {
        assert_eq!([1, 2, 3, 4, 8, 6, 9, 10, 11].map(|groups| unroll(groups, 8)), [1, 2, 3, 4, 4, 2, 3, 2, 1]);
        assert_eq!([2, 4, 8, 12, 22].map(|groups| unroll(groups, 4)), [2, 4, 8, 4, 2]);
    }
}
