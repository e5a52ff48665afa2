//! Lowering of floats on machines with floating-point registers. Instructions exist for arithmetic, conversions and fused products. Other operations
//! are made of these and comparisons. The class of a register tells its format.

use super::held::{DOUBLES, Held, Upper};
use super::ops::{Operand, Ops, Test, WordOp, Words};
use crate::own::{Lowering, Select};
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, CompareOp, ConvertOp, Lane, Rounding, Type, UnaryOp, Value};
use regalloc2::VReg;

/// The bits of 2²³. Every larger number is an integer.
const WHOLE: i32 = 0x4B00_0000;
/// The bits of 1.
const ONE: i32 = 0x3F80_0000;

fn test(op: CompareOp, a: VReg, b: VReg) -> Test<VReg> {
    Test { op, floats: true, a, b: Operand::Word(b) }
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Lowers an operation on two values.
    pub(super) fn float_binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let lanes: Vec<_> = self.floats(a)?.into_iter().zip(self.floats(b)?).collect();
        let floats: Result<Vec<VReg>, CodegenError> = lanes.into_iter().map(|(x, y)| self.float_result(op, x, y)).collect();
        Ok(Held::Floats(floats?))
    }

    pub(super) fn float_result(&mut self, op: BinaryOp, x: VReg, y: VReg) -> Result<VReg, CodegenError> {
        Ok(match op {
            BinaryOp::FloatMinFirst => self.choose_float(test(CompareOp::Less, y, x), y, x),
            BinaryOp::FloatMaxFirst => self.choose_float(test(CompareOp::Less, x, y), y, x),
            BinaryOp::FloatMinPropagate => self.limit_floats(true, true, x, y)?,
            BinaryOp::FloatMaxPropagate => self.limit_floats(false, true, x, y)?,
            BinaryOp::FloatMinIgnore => self.limit_floats(true, false, x, y)?,
            BinaryOp::FloatMaxIgnore => self.limit_floats(false, false, x, y)?,
            op => self.float_two(op, x, y)?,
        })
    }

    /// Computes IEEE's minimum or maximum: −0 is less than 0. With `propagates`, a NaN operand gives a NaN, else the other operand.
    fn limit_floats(&mut self, smaller: bool, propagates: bool, x: VReg, y: VReg) -> Result<VReg, CodegenError> {
        let [low, high] = if smaller { [x, y] } else { [y, x] };
        let other = self.choose_float(test(CompareOp::Less, low, high), x, y);
        // Equal numbers can only differ in the sign of zero.
        let (a, b) = (self.top_word(x)?, self.top_word(y)?);
        let signs = self.two(if smaller { WordOp::Or } else { WordOp::And }, a, Operand::Word(b));
        let signs = self.with_top_word(x, signs)?;
        let found = self.choose_float(test(CompareOp::Equal, x, y), signs, other);
        if propagates {
            let nan = self.float_two(BinaryOp::Add, x, y)?;
            let found = self.choose_float(test(CompareOp::NotEqual, x, x), nan, found);
            return Ok(self.choose_float(test(CompareOp::NotEqual, y, y), nan, found));
        }
        let found = self.choose_float(test(CompareOp::NotEqual, x, x), y, found);
        Ok(self.choose_float(test(CompareOp::NotEqual, y, y), x, found))
    }

    /// Lowers an operation on one value.
    pub(super) fn float_unary(&mut self, op: UnaryOp, a: Value) -> Result<Held, CodegenError> {
        let lanes = self.floats(a)?;
        let floats: Result<Vec<VReg>, CodegenError> = lanes.into_iter().map(|x| self.rounded(op, x)).collect();
        Ok(Held::Floats(floats?))
    }

    fn rounded(&mut self, op: UnaryOp, x: VReg) -> Result<VReg, CodegenError> {
        // Units with binary64 round to integers by an instruction.
        if x.class() == DOUBLES || matches!(op, UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sqrt) {
            return self.float_one(op, x);
        }
        let magnitude = self.float_one(UnaryOp::Abs, x)?;
        let limit = self.float_number(WHOLE);
        let whole = if op == UnaryOp::Nearest {
            let far = self.float_two(BinaryOp::Add, magnitude, limit)?;
            self.float_two(BinaryOp::Sub, far, limit)?
        } else {
            let integer = self.float_convert(ConvertOp::FloatToSigned, magnitude, Lane::I32)?;
            self.float_convert(ConvertOp::SignedToFloat, integer, Lane::F32)?
        };
        let whole = self.with_sign_of(whole, x);
        let whole = match op {
            UnaryOp::Floor => self.stepped(BinaryOp::Sub, test(CompareOp::Less, x, whole), whole)?,
            UnaryOp::Ceil => {
                let next = self.stepped(BinaryOp::Add, test(CompareOp::Less, whole, x), whole)?;
                // A negative number that is rounded up to zero gives −0.
                self.with_sign_of(next, x)
            }
            _ => whole,
        };
        // A NaN is not less than the limit, so it takes this value, too.
        let quiet = self.float_two(BinaryOp::Add, x, x)?;
        let far = self.choose_float(test(CompareOp::NotEqual, x, x), quiet, x);
        Ok(self.choose_float(test(CompareOp::Less, magnitude, limit), whole, far))
    }

    /// Adds or subtracts 1 if a test holds.
    fn stepped(&mut self, op: BinaryOp, test: Test<VReg>, whole: VReg) -> Result<VReg, CodegenError> {
        let one = self.float_number(ONE);
        let next = self.float_two(op, whole, one)?;
        Ok(self.choose_float(test, next, whole))
    }

    /// Copies the sign of `x` to a number that is not negative, or that has this sign already.
    fn with_sign_of(&mut self, magnitude: VReg, x: VReg) -> VReg {
        let (bits, sign) = (self.word_of_float(magnitude), self.word_of_float(x));
        let sign = self.two(WordOp::And, sign, Operand::Number(i32::MIN));
        let bits = self.two(WordOp::Or, bits, Operand::Word(sign));
        self.float_of_word(bits)
    }

    fn float_number(&mut self, bits: i32) -> VReg {
        let word = self.word(bits);
        self.float_of_word(word)
    }

    /// Computes a × b + c, rounded once.
    pub(super) fn fused(&mut self, [a, b, c]: [Value; 3], rounding: Rounding) -> Result<Held, CodegenError> {
        if rounding == Rounding::TowardZero || !self.has_format(self.ty(a).lane) {
            return self.unsupported(Operation::Fused(rounding), self.ty(a));
        }
        let (a, b, c) = (self.floats(a)?, self.floats(b)?, self.floats(c)?);
        let floats: Result<Vec<VReg>, CodegenError> = (0..a.len()).map(|i| self.float_fused(c[i], a[i], b[i])).collect();
        Ok(Held::Floats(floats?))
    }

    /// Lowers a conversion between floats and integers of up to 32 bits, binary16, or floats of the other format.
    pub(super) fn float_conversion(&mut self, op: ConvertOp, a: Value, to: Type) -> Result<Held, CodegenError> {
        let lanes = match op {
            ConvertOp::SignedToFloat => self.signed_words(a)?,
            ConvertOp::UnsignedToFloat => self.unsigned_words(a)?,
            ConvertOp::HalfToFloat => self.low_words(a)?,
            _ => self.floats(a)?,
        };
        let converted: Result<Vec<VReg>, CodegenError> = lanes.into_iter().map(|lane| self.float_convert(op, lane, to.lane)).collect();
        let converted = converted?;
        let bits = 8 * to.lane.bytes();
        Ok(match op {
            _ if to.lane.is_float() => Held::Floats(converted),
            ConvertOp::FloatToHalf => Held::Words(Upper::Any, converted),
            ConvertOp::FloatToSigned if bits < 32 => Held::Words(Upper::Sign, self.each(&converted, |s, word| s.clamp(word, bits, true))),
            ConvertOp::FloatToUnsigned if bits < 32 => Held::Words(Upper::Zeros, self.each(&converted, |s, word| s.at_most(word, bits))),
            _ => Held::Words(Upper::Sign, converted),
        })
    }

    /// Limits an unsigned number to a number of bits.
    pub(super) fn at_most(&mut self, word: VReg, bits: u32) -> VReg {
        let most = (1 << bits) - 1;
        let limit = self.word(most);
        self.choose(Test::words(CompareOp::UnsignedLess, word, Operand::Word(limit)), word, limit)
    }
}
