//! Lowering of comparisons and selections. A comparison is computed in a register only if a use requires that.

use super::held::{Held, Shape, Upper};
use super::long;
use super::ops::{Operand, Ops, Test, WordOp, Words};
use crate::bug::{Form, Mistake};
use crate::own::{Lowering, Select};
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, CompareOp, Lane, Value};
use regalloc2::VReg;

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Lowers a comparison, lane by lane.
    pub(super) fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        match self.shape(ty) {
            _ if self.is_soft(ty.lane) => self.soft_compare(op, a, b),
            Shape::Pairs => {
                let pairs: Vec<_> = self.pairs(a)?.into_iter().zip(self.pairs(b)?).collect();
                let words = self.each(&pairs, |s, (x, y)| long::compare(s, op, x, y));
                Ok(Held::Words(Upper::Sign, words))
            }
            Shape::Floats | Shape::Doubles => {
                let lanes = self.floats(a)?.into_iter().zip(self.floats(b)?);
                Ok(Held::Tests(lanes.map(|(a, b)| Test { op, floats: true, a, b: Operand::Word(b) }).collect()))
            }
            Shape::Words => {
                // Sign extension keeps the order of unsigned numbers, too.
                let x = self.signed_words(a)?;
                let y: Vec<Operand<VReg>> = match self.number_of(b) {
                    Some(number) => vec![Operand::Number(number); x.len()],
                    None => self.signed_words(b)?.into_iter().map(Operand::Word).collect(),
                };
                Ok(Held::Tests(x.into_iter().zip(y).map(|(x, y)| Test::words(op, x, y)).collect()))
            }
        }
    }

    /// Returns a test for each lane of a mask.
    fn tests(&mut self, mask: Value) -> Result<Vec<Test<VReg>>, CodegenError> {
        Ok(match self.get(mask)? {
            Held::Tests(tests) => tests,
            held => self.all_words(held).into_iter().map(Test::not_zero).collect(),
        })
    }

    /// Returns the test of a scalar condition.
    pub fn condition(&mut self, mask: Value) -> Result<Test<VReg>, CodegenError> {
        match self.tests(mask)?[..] {
            [test] => Ok(test),
            _ => self.is_not(mask, Form::Condition),
        }
    }

    /// Lowers `mask ? a : b`, lane by lane.
    pub(super) fn select(&mut self, mask: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        let tests = self.tests(mask)?;
        let ty = self.ty(a);
        match self.shape(ty) {
            Shape::Floats | Shape::Doubles => {
                let (yes, no) = (self.floats(a)?, self.floats(b)?);
                let lanes = tests.into_iter().zip(yes.into_iter().zip(no));
                Ok(Held::Floats(lanes.map(|(test, (yes, no))| self.choose_float(test, yes, no)).collect()))
            }
            Shape::Pairs => {
                let (yes, no) = (self.pairs(a)?, self.pairs(b)?);
                let lanes = tests.into_iter().zip(yes.into_iter().zip(no));
                let chosen = lanes.map(|(test, (yes, no))| [0, 1].map(|half| self.choose(test, yes[half], no[half])));
                Ok(Held::Pairs(chosen.collect()))
            }
            Shape::Words => {
                let (yes, no) = (self.signed_words(a)?, self.signed_words(b)?);
                let lanes = tests.into_iter().zip(yes.into_iter().zip(no));
                Ok(Held::Words(Upper::Sign, lanes.map(|(test, (yes, no))| self.choose(test, yes, no)).collect()))
            }
        }
    }

    /// Converts each lane of a mask to an integer, 0 or 1.
    pub(super) fn integers_of_mask(&mut self, a: Value, to: Lane) -> Result<Held, CodegenError> {
        let words = self.low_words(a)?;
        if to != Lane::I64 {
            return Ok(Held::Words(Upper::Sign, words));
        }
        Ok(Held::Pairs(self.each(&words, |s, word| [word, s.word(0)])))
    }

    /// Lowers an operation on two masks.
    pub(super) fn of_masks(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let op = match op {
            BinaryOp::And => WordOp::And,
            BinaryOp::Or => WordOp::Or,
            BinaryOp::Xor => WordOp::Xor,
            _ => return self.bug(Mistake::Operation { operation: Operation::Binary(op), of: self.ty(a) }),
        };
        let (x, y) = (self.low_words(a)?, self.low_words(b)?);
        let words = x.into_iter().zip(y).map(|(x, y)| self.two(op, x, Operand::Word(y)));
        Ok(Held::Words(Upper::Sign, words.collect()))
    }
}
