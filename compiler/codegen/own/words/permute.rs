//! Lowering of permutations of lanes, dot products and horizontal reductions.

use super::held::{Held, Shape, Upper};
use super::long;
use super::ops::{Half, Operand, Ops, WordOp, Words};
use super::vector_ops::VectorOps;
use crate::bug::Mistake;
use crate::own::{Lowering, Select};
use crate::{CodegenError, Operation};
use modelc_kernel::{DotOp, HorizontalOp, Lane, Value};
use regalloc2::VReg;

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Joins the lanes of a and the lanes of b.
    pub(super) fn join(&mut self, a: Value, b: Value) -> Result<Held, CodegenError> {
        let lane = self.ty(a).lane;
        let (a, b) = (self.get(a)?, self.get(b)?);
        Ok(match (a, b) {
            (Held::Pairs(a), Held::Pairs(b)) => Held::Pairs([a, b].concat()),
            (Held::Floats(a), Held::Floats(b)) => Held::Floats([a, b].concat()),
            (Held::Tests(a), Held::Tests(b)) => Held::Tests([a, b].concat()),
            (Held::Halves(a), Held::Halves(b)) => Held::Halves([a, b].concat()),
            (Held::Words(x, a), Held::Words(y, b)) if x == y => Held::Words(x, [a, b].concat()),
            (Held::Halves(a), b) if lane == Lane::I16 => Held::Halves([a, self.halves_of(b)].concat()),
            (a, Held::Halves(b)) if lane == Lane::I16 => Held::Halves([self.halves_of(a), b].concat()),
            (a, b) if lane.is_integer() => Held::Words(Upper::Sign, [self.with_signs(lane, a), self.with_signs(lane, b)].concat()),
            (a, b) => Held::Words(Upper::Sign, [self.all_words(a), self.all_words(b)].concat()),
        })
    }

    /// Picks lanes of two joined values.
    pub(super) fn shuffle(&mut self, a: Value, b: Value, lanes: &[u16]) -> Result<Held, CodegenError> {
        let both = self.join(a, b)?;
        Ok(both.pick(lanes.iter().map(|&lane| usize::from(lane))))
    }

    /// Joins a pair of halves that several products take in a word, so that each takes both at once.
    pub(super) fn joined_if_shared(&mut self, pair: Value, held: Held) -> Held {
        if !self.shares_factor(pair) {
            return held;
        }
        let halves = self.halves_of(held);
        let &[lower, upper] = &halves[..] else { return Held::Halves(halves) };
        if is_word(&halves) || self.is_zero(lower.word) || self.is_zero(upper.word) {
            return Held::Halves(halves);
        }
        let word = self.joined_halves(lower, upper);
        Held::Halves([false, true].map(|upper| Half { word, upper }).to_vec())
    }

    /// Picks lanes of a value.
    pub(super) fn lanes(&mut self, a: Value, lanes: impl Iterator<Item = usize>) -> Result<Held, CodegenError> {
        Ok(self.get(a)?.pick(lanes))
    }

    /// Adds products of groups of lanes to an accumulator.
    pub(super) fn dot(&mut self, op: DotOp, sum: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        if op.is_of_squares() {
            return self.unsupported(Operation::Dot(op), self.ty(sum));
        }
        let sums = self.low_words(sum)?;
        if let (DotOp::Signed8, Held::Bytes(x), Held::Bytes(y)) = (op, self.get(a)?, self.get(b)?) {
            let words = sums.into_iter().zip(x.into_iter().zip(y));
            return Ok(Held::Words(Upper::Sign, words.map(|(sum, (x, y))| self.products_of_bytes(sum, x, y)).collect()));
        }
        if op == DotOp::SignedSixteens
            && let (Held::Vectors(x), Held::Vectors(y)) = (self.get(a)?, self.get(b)?)
        {
            let words = sums.into_iter().zip(x.into_iter().zip(y));
            let added = words.map(|(sum, (x, y))| self.add_sixteen_products(sum, x, y)).collect::<Result<_, _>>()?;
            return Ok(Held::Words(Upper::Sign, added));
        }
        if op == DotOp::Signed16 && self.has_halves() {
            let (x, y) = (self.halves(a)?, self.halves(b)?);
            let words = sums.into_iter().zip(x.chunks(2).zip(y.chunks(2)));
            return Ok(Held::Words(Upper::Sign, words.map(|(sum, (x, y))| self.products_of_halves(sum, x, y)).collect()));
        }
        let x = if op.has_unsigned_factor() { self.unsigned_words(a)? } else { self.signed_words(a)? };
        let y = self.signed_words(b)?;
        let group = usize::from(op.group());
        let lanes = sums.into_iter().zip(x.chunks(group).zip(y.chunks(group)));
        if op == DotOp::UnsignedSigned8To16 {
            let words = lanes.map(|(sum, (x, y))| {
                let first = self.two(WordOp::Mul, x[0], Operand::Word(y[0]));
                let pair = self.add_product(false, first, x[1], y[1]);
                let pair = self.clamp(pair, 16, true);
                self.two(WordOp::Add, sum, Operand::Word(pair))
            });
            return Ok(Held::Words(Upper::Any, words.collect()));
        }
        let words = lanes.map(|(sum, (x, y))| x.iter().zip(y).fold(sum, |sum, (&x, &y)| self.add_product(false, sum, x, y)));
        Ok(Held::Words(Upper::Sign, words.collect()))
    }

    /// Adds four products of bytes to a sum: the even bytes, then the odd bytes.
    fn products_of_bytes(&mut self, sum: VReg, x: VReg, y: VReg) -> VReg {
        let [x_even, x_odd] = self.widened_bytes(x);
        let [y_even, y_odd] = self.widened_bytes(y);
        let even = self.add_both_products(sum, x_even, y_even);
        self.add_both_products(even, x_odd, y_odd)
    }

    /// Adds two products of halfwords to a sum. Products with zero are left out.
    fn products_of_halves(&mut self, sum: VReg, x: &[Half], y: &[Half]) -> VReg {
        if is_word(x) && is_word(y) {
            return self.add_both_products(sum, x[0].word, y[0].word);
        }
        let factors = x.iter().zip(y).filter(|(_, y)| !self.is_zero(y.word)).collect::<Vec<_>>();
        factors.into_iter().fold(sum, |sum, (&x, &y)| self.add_half_product(sum, x, y))
    }

    /// Reduces all lanes to one, half by half.
    pub(super) fn horizontal(&mut self, op: HorizontalOp, a: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        let two = op.of_two(ty.lane.is_float());
        let none = |s: &Self| CodegenError::lowering(s.kernel, Mistake::Operation { operation: Operation::Horizontal(op), of: ty });
        match self.shape(ty) {
            _ if self.is_soft(ty.lane) => self.soft_horizontal(two, a),
            Shape::Floats | Shape::Doubles => {
                let floats = self.floats(a)?;
                Ok(Held::Floats(by_halves(floats, |x, y| self.float_result(two, x, y))?))
            }
            Shape::Pairs => {
                let pairs = self.pairs(a)?;
                let all = by_halves(pairs, |x, y| long::binary(self, two, x, y).ok_or_else(|| none(self)))?;
                Ok(Held::Pairs(all))
            }
            Shape::Words => {
                let words = self.signed_words(a)?;
                let all = by_halves(words, |x, y| self.word_result(two, ty.lane, x, Operand::Word(y)).ok_or_else(|| none(self)))?;
                let upper = if ty.lane.bytes() < 4 && op == HorizontalOp::Add { Upper::Any } else { Upper::Sign };
                Ok(Held::Words(upper, all))
            }
        }
    }
}

/// Tests whether two halves are a word.
fn is_word(pair: &[Half]) -> bool {
    pair[0].word == pair[1].word && !pair[0].upper && pair[1].upper
}

/// Combines lane i with lane i + n/2, until one lane is left.
pub(super) fn by_halves<W>(mut lanes: Vec<W>, mut f: impl FnMut(W, W) -> Result<W, CodegenError>) -> Result<Vec<W>, CodegenError> {
    while lanes.len() > 1 {
        let high = lanes.split_off(lanes.len() / 2);
        lanes = lanes.into_iter().zip(high).map(|(x, y)| f(x, y)).collect::<Result<_, _>>()?;
    }
    Ok(lanes)
}

/// Repeats the first lane of a value.
pub(super) fn repeated(held: &Held, lanes: u16) -> Held {
    held.pick(std::iter::repeat_n(0, usize::from(lanes)))
}
