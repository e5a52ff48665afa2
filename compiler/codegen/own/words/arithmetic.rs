//! Lowering of integer arithmetic, lane by lane.

use super::held::{Held, Shape, Upper};
use super::ops::{Operand, Ops, Test, WordOp, Words};
use super::software::long_division;
use super::{fixed, long};
use crate::bug::Mistake;
use crate::own::{Lowering, Select};
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, CompareOp, Lane, UnaryOp, Value};
use regalloc2::VReg;

/// Returns the word operation of an operation on lanes, if it has one.
fn word_op(op: BinaryOp) -> Option<WordOp> {
    Some(match op {
        BinaryOp::Add | BinaryOp::SignedAddInRange => WordOp::Add,
        BinaryOp::Sub => WordOp::Sub,
        BinaryOp::Mul => WordOp::Mul,
        BinaryOp::And => WordOp::And,
        BinaryOp::Or => WordOp::Or,
        BinaryOp::Xor => WordOp::Xor,
        BinaryOp::ShiftLeft => WordOp::Left,
        BinaryOp::ShiftRightSigned => WordOp::RightSigned,
        BinaryOp::ShiftRightUnsigned => WordOp::Right,
        BinaryOp::SignedDiv => WordOp::DivideSigned,
        BinaryOp::UnsignedDiv => WordOp::Divide,
        _ => return None,
    })
}

/// Returns the bits above a lane after an operation.
fn upper(op: BinaryOp, lane: Lane) -> Upper {
    match op {
        _ if lane.bytes() == 4 => Upper::Sign,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::ShiftLeft | BinaryOp::SignedDiv => Upper::Any,
        BinaryOp::UnsignedDiv | BinaryOp::UnsignedRem | BinaryOp::ShiftRightUnsigned => Upper::Zeros,
        _ => Upper::Sign,
    }
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Lowers an operation on two values.
    pub(super) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        match self.shape(ty) {
            _ if self.is_soft(ty.lane) => self.soft_binary(op, a, b),
            Shape::Floats | Shape::Doubles => self.float_binary(op, a, b),
            Shape::Words => self.binary_words(op, ty.lane, a, b),
            Shape::Pairs => self.binary_pairs(op, a, b),
        }
    }

    fn binary_pairs(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        if let Some(&count) = self.constants.get(&b).filter(|_| is_shift(op)) {
            return self.shift_lanes(op, a, count as u32 & 63);
        }
        let (x, y) = (self.pairs(a)?, self.pairs(b)?);
        if let Some(what) = long_division(op) {
            let quotients = x.into_iter().zip(y).map(|(x, y)| self.support(what, &[x, y].concat()));
            return Ok(Held::Pairs(quotients.map(|words| [words[0], words[1]]).collect()));
        }
        let pairs: Option<Vec<_>> = x.into_iter().zip(y).map(|(x, y)| long::binary(self, op, x, y)).collect();
        match pairs {
            Some(pairs) => Ok(Held::Pairs(pairs)),
            None => self.unsupported(Operation::Binary(op), self.ty(a)),
        }
    }

    fn binary_words(&mut self, op: BinaryOp, lane: Lane, a: Value, b: Value) -> Result<Held, CodegenError> {
        let (a, b) = match op {
            BinaryOp::Add | BinaryOp::SignedAddInRange | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor
                if self.constants.contains_key(&a) =>
            {
                (b, a)
            }
            _ => (a, b),
        };
        let (x, y) = (self.operands_of(op, a)?, self.second(op, b)?);
        let words: Option<Vec<VReg>> = x.into_iter().zip(y).map(|(x, y)| self.word_result(op, lane, x, y)).collect();
        match words {
            Some(words) => Ok(Held::Words(upper(op, lane), words)),
            None => self.unsupported(Operation::Binary(op), self.ty(a)),
        }
    }

    /// Returns the words of an operand, extended as an operation requires.
    fn operands_of(&mut self, op: BinaryOp, value: Value) -> Result<Vec<VReg>, CodegenError> {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::ShiftLeft => self.low_words(value),
            BinaryOp::UnsignedDiv | BinaryOp::UnsignedRem | BinaryOp::ShiftRightUnsigned => self.unsigned_words(value),
            // Sign extension keeps the order of unsigned numbers, too.
            _ => self.signed_words(value),
        }
    }

    /// Returns the second operand: a constant or words.
    fn second(&mut self, op: BinaryOp, value: Value) -> Result<Vec<Operand<VReg>>, CodegenError> {
        let lanes = usize::from(self.ty(value).lanes);
        if let Some(number) = self.number_of(value) {
            let unused = 32 - 8 * self.ty(value).lane.bytes();
            let unsigned = matches!(op, BinaryOp::UnsignedDiv | BinaryOp::UnsignedRem);
            let number = if unsigned { ((number as u32) << unused >> unused) as i32 } else { number };
            return Ok(vec![Operand::Number(number); lanes]);
        }
        let words = if is_shift(op) { self.low_words(value)? } else { self.operands_of(op, value)? };
        Ok(words.into_iter().map(Operand::Word).collect())
    }

    /// Emits an operation on the words of two lanes. `None` if words do not have the operation.
    pub(super) fn word_result(&mut self, op: BinaryOp, lane: Lane, x: VReg, y: Operand<VReg>) -> Option<VReg> {
        if let Some(op) = word_op(op) {
            return Some(self.two(op, x, y));
        }
        Some(match op {
            BinaryOp::SignedRem => self.remainder(WordOp::DivideSigned, x, y),
            BinaryOp::UnsignedRem => self.remainder(WordOp::Divide, x, y),
            BinaryOp::SignedMin => self.limit(CompareOp::Less, x, y),
            BinaryOp::SignedMax => self.limit(CompareOp::Greater, x, y),
            BinaryOp::UnsignedMin => self.limit(CompareOp::UnsignedLess, x, y),
            BinaryOp::UnsignedMax => {
                let other = self.word_of(y);
                self.choose(Test::words(CompareOp::UnsignedLess, x, y), other, x)
            }
            BinaryOp::SignedAddSaturating | BinaryOp::SignedSubSaturating if lane.bytes() < 4 => {
                let op = if op == BinaryOp::SignedAddSaturating { WordOp::Add } else { WordOp::Sub };
                let sum = self.two(op, x, y);
                self.clamp(sum, 8 * lane.bytes(), true)
            }
            _ => return None,
        })
    }

    /// Puts an operand into a register.
    pub(super) fn word_of(&mut self, operand: Operand<VReg>) -> VReg {
        match operand {
            Operand::Word(word) => word,
            Operand::Number(number) => self.word(number),
        }
    }

    /// Selects the first word if its comparison with the second holds, else the second.
    fn limit(&mut self, op: CompareOp, x: VReg, y: Operand<VReg>) -> VReg {
        let other = self.word_of(y);
        self.choose(Test::words(op, x, y), x, other)
    }

    /// Computes a remainder; 0 for a divisor of 0.
    fn remainder(&mut self, divide: WordOp, x: VReg, y: Operand<VReg>) -> VReg {
        let divisor = self.word_of(y);
        let quotient = self.two(divide, x, y);
        let rest = self.add_product(true, x, quotient, divisor);
        if matches!(y, Operand::Number(number) if number != 0) {
            return rest;
        }
        self.choose(Test::not_zero(divisor), rest, divisor)
    }

    /// Lowers an operation on one value.
    pub(super) fn unary(&mut self, op: UnaryOp, a: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        match self.shape(ty) {
            _ if self.is_soft(ty.lane) => self.soft_unary(op, a),
            Shape::Floats | Shape::Doubles => self.float_unary(op, a),
            Shape::Pairs => {
                let pairs: Option<Vec<_>> = self.pairs(a)?.into_iter().map(|pair| long::unary(self, op, pair)).collect();
                pairs.map(Held::Pairs).map_or_else(|| self.bug(Mistake::Operation { operation: Operation::Unary(op), of: ty }), Ok)
            }
            Shape::Words => self.unary_words(op, ty.lane, a),
        }
    }

    fn unary_words(&mut self, op: UnaryOp, lane: Lane, a: Value) -> Result<Held, CodegenError> {
        let upper = if lane.bytes() == 4 { Upper::Sign } else { Upper::Any };
        Ok(match op {
            UnaryOp::Not if lane == Lane::Mask => {
                let words = self.low_words(a)?;
                Held::Words(Upper::Sign, self.each(&words, |s, word| s.two(WordOp::Xor, word, Operand::Number(1))))
            }
            UnaryOp::Not => {
                let words = self.signed_words(a)?;
                Held::Words(Upper::Sign, self.each(&words, |s, word| s.two(WordOp::Xor, word, Operand::Number(-1))))
            }
            UnaryOp::Neg => {
                let words = self.low_words(a)?;
                Held::Words(
                    upper,
                    self.each(&words, |s, word| {
                        let zero = s.word(0);
                        s.two(WordOp::Sub, zero, Operand::Word(word))
                    }),
                )
            }
            UnaryOp::Abs => {
                let words = self.signed_words(a)?;
                Held::Words(
                    upper,
                    self.each(&words, |s, word| {
                        let flipped = s.with_shifted(WordOp::Xor, word, word, 31);
                        s.with_shifted(WordOp::Sub, flipped, word, 31)
                    }),
                )
            }
            UnaryOp::CountLeadingZeros => {
                let words = self.unsigned_words(a)?;
                let more = 32 - 8 * lane.bytes() as i32;
                Held::Words(
                    Upper::Zeros,
                    self.each(&words, |s, word| {
                        let zeros = s.leading_zeros(word);
                        if more == 0 { zeros } else { s.two(WordOp::Sub, zeros, Operand::Number(more)) }
                    }),
                )
            }
            _ => return self.bug(Mistake::Operation { operation: Operation::Unary(op), of: self.ty(a) }),
        })
    }

    /// Lowers a shift by a constant.
    pub(super) fn shift_lanes(&mut self, op: BinaryOp, a: Value, count: u32) -> Result<Held, CodegenError> {
        let lane = self.ty(a).lane;
        if lane == Lane::I64 {
            let pairs = self.pairs(a)?;
            return Ok(Held::Pairs(self.each(&pairs, |s, pair| long::shift(s, op, pair, count))));
        }
        let words = self.operands_of(op, a)?;
        let Some(word_op) = word_op(op).filter(|_| is_shift(op)) else {
            return self.bug(Mistake::Operation { operation: Operation::Binary(op), of: self.ty(a) });
        };
        let held = self.each(&words, |s, word| s.shift(word_op, word, count));
        Ok(Held::Words(upper(op, lane), held))
    }

    /// Lowers a fixed-point operation on words with a function for two lanes.
    pub(super) fn fixed(&mut self, a: Value, b: Value, f: impl Fn(&mut Self, VReg, VReg) -> VReg) -> Result<Held, CodegenError> {
        let (x, y) = (self.low_words(a)?, self.low_words(b)?);
        let pairs: Vec<_> = x.into_iter().zip(y).collect();
        Ok(Held::Words(Upper::Sign, self.each(&pairs, |s, (x, y)| f(s, x, y))))
    }

    /// Lowers gemmlowp's rounding division by a power of two.
    pub(super) fn rounding_divide(&mut self, a: Value, b: Value) -> Result<Held, CodegenError> {
        match self.number_of(b) {
            Some(count) => {
                let words = self.low_words(a)?;
                Ok(Held::Words(Upper::Sign, self.each(&words, |s, word| fixed::rounding_divide(s, word, count as u32 & 31))))
            }
            None => self.fixed(a, b, fixed::rounding_divide_by),
        }
    }
}

pub(super) fn is_shift(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned)
}
