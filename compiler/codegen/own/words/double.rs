//! Lowering of binary64 on machines with registers of it: its bits in words, and conversions from and to integers of 64 bits.

use super::held::{DOUBLES, Held};
use super::ops::{Ops, Words};
use crate::CodegenError;
use crate::own::{Lowering, Select};
use modelc_kernel::{BinaryOp, ConvertOp, Lane, UnaryOp, Value};
use regalloc2::VReg;

/// The bits of 2³², and of its inverse.
const SCALE: [u64; 2] = [0x41F0_0000_0000_0000, 0x3DF0_0000_0000_0000];

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Puts a constant into a register.
    pub(super) fn double_number(&mut self, bits: u64) -> Result<VReg, CodegenError> {
        let words = [self.word(bits as i32), self.word((bits >> 32) as i32)];
        self.double_of_words(words)
    }

    /// Puts bits in words into registers.
    pub(super) fn doubles_of(&mut self, pairs: Vec<[VReg; 2]>) -> Result<Held, CodegenError> {
        Ok(Held::Floats(pairs.into_iter().map(|pair| self.double_of_words(pair)).collect::<Result<_, _>>()?))
    }

    /// Returns the word of a float's bits that has the sign.
    pub(super) fn top_word(&mut self, float: VReg) -> Result<VReg, CodegenError> {
        if float.class() == DOUBLES { Ok(self.words_of_double(float)?[1]) } else { Ok(self.word_of_float(float)) }
    }

    /// Replaces the word of a float's bits that has the sign.
    pub(super) fn with_top_word(&mut self, float: VReg, top: VReg) -> Result<VReg, CodegenError> {
        if float.class() != DOUBLES {
            return Ok(self.float_of_word(top));
        }
        let [low, _] = self.words_of_double(float)?;
        self.double_of_words([low, top])
    }

    /// Converts integers of 64 bits: the sum of both halves, which is rounded once.
    pub(super) fn doubles_of_integers(&mut self, op: ConvertOp, a: Value) -> Result<Held, CodegenError> {
        let scale = self.double_number(SCALE[0])?;
        let mut doubles = vec![];
        for [low, high] in self.pairs(a)? {
            let high = self.float_convert(op, high, Lane::F64)?;
            let low = self.float_convert(ConvertOp::UnsignedToFloat, low, Lane::F64)?;
            doubles.push(self.float_fused(low, high, scale)?);
        }
        Ok(Held::Floats(doubles))
    }

    /// Converts to integers of 64 bits, rounded towards zero, with saturation. The high half is converted first. The low half is the rest, which is too
    /// large or negative if the high half saturates.
    pub(super) fn integers_of_doubles(&mut self, op: ConvertOp, a: Value) -> Result<Held, CodegenError> {
        let (scale, inverse) = (self.double_number(SCALE[0])?, self.double_number(SCALE[1])?);
        let back = if op == ConvertOp::FloatToUnsigned { ConvertOp::UnsignedToFloat } else { ConvertOp::SignedToFloat };
        let mut pairs = vec![];
        for double in self.floats(a)? {
            let whole = self.float_one(UnaryOp::Trunc, double)?;
            let scaled = self.float_two(BinaryOp::Mul, whole, inverse)?;
            let floor = self.float_one(UnaryOp::Floor, scaled)?;
            let high = self.float_convert(op, floor, Lane::I32)?;
            let taken = self.float_convert(back, high, Lane::F64)?;
            let taken = self.float_one(UnaryOp::Neg, taken)?;
            let rest = self.float_fused(whole, taken, scale)?;
            pairs.push([self.float_convert(ConvertOp::FloatToUnsigned, rest, Lane::I32)?, high]);
        }
        Ok(Held::Pairs(pairs))
    }
}
