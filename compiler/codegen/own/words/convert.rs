//! Lowering of conversions.

use super::held::{Held, Shape, Upper};
use super::long;
use super::ops::{Half, Ops, WordOp, Words};
use crate::CodegenError;
use crate::bug::Form;
use crate::own::{Lowering, Select};
use modelc_kernel::{ConvertOp, Lane, Type, Value};
use regalloc2::VReg;

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Lowers a conversion to another lane type.
    pub(super) fn convert(&mut self, op: ConvertOp, a: Value, to: Type) -> Result<Held, CodegenError> {
        let from = self.ty(a);
        match op {
            ConvertOp::SignExtend if matches!(self.get(a)?, Held::Bytes(_)) && to.lane == Lane::I16 => self.widen_bytes(a),
            ConvertOp::SignExtend => {
                let words = self.signed_words(a)?;
                Ok(self.wide(words, to.lane, true))
            }
            ConvertOp::ZeroExtend => {
                let words = self.unsigned_words(a)?;
                Ok(self.wide(words, to.lane, false))
            }
            ConvertOp::Wrap => Ok(Held::Words(if to.lane == Lane::I32 { Upper::Sign } else { Upper::Any }, self.low_words(a)?)),
            ConvertOp::NarrowSigned => self.narrow(true, a, to.lane),
            ConvertOp::NarrowUnsigned => self.narrow(false, a, to.lane),
            ConvertOp::MaskToInteger => self.integers_of_mask(a, to.lane),
            ConvertOp::Bitcast => self.bits_as(a, to),
            _ if from.lane == Lane::I64 && to.lane == Lane::F64 && !self.is_soft(to.lane) => self.doubles_of_integers(op, a),
            _ if from.lane == Lane::F64 && to.lane == Lane::I64 && !self.is_soft(from.lane) => self.integers_of_doubles(op, a),
            _ if [from.lane, to.lane].into_iter().any(|lane| self.is_soft(lane) || lane == Lane::I64) || !self.has_format(Lane::F32) => {
                self.soft_convert(op, a, to)
            }
            _ => self.float_conversion(op, a, to),
        }
    }

    /// Widens packed bytes to packed halfwords.
    fn widen_bytes(&mut self, a: Value) -> Result<Held, CodegenError> {
        let Held::Bytes(words) = self.get(a)? else { return self.is_not(a, Form::Bytes) };
        let halves = words.into_iter().flat_map(|word| {
            let [even, odd] = self.widened_bytes(word);
            [(even, false), (odd, false), (even, true), (odd, true)].map(|(word, upper)| Half { word, upper })
        });
        Ok(Held::Halves(halves.collect()))
    }

    /// Makes lanes of a wider type from words that are already extended.
    fn wide(&mut self, words: Vec<VReg>, to: Lane, signed: bool) -> Held {
        if to != Lane::I64 {
            return Held::Words(Upper::Sign, words);
        }
        Held::Pairs(self.each(&words, |s, low| {
            let high = if signed { s.shift(WordOp::RightSigned, low, 31) } else { s.word(0) };
            [low, high]
        }))
    }

    /// Narrows signed integers with saturation.
    fn narrow(&mut self, signed: bool, a: Value, to: Lane) -> Result<Held, CodegenError> {
        let bits = 8 * to.bytes();
        let words = if self.ty(a).lane == Lane::I64 {
            let pairs = self.pairs(a)?;
            let words = self.each(&pairs, |s, pair| long::narrow(s, signed || bits < 32, pair));
            if bits == 32 {
                return Ok(Held::Words(Upper::Sign, words));
            }
            words
        } else {
            self.signed_words(a)?
        };
        let upper = if signed { Upper::Sign } else { Upper::Zeros };
        Ok(Held::Words(upper, self.each(&words, |s, word| s.clamp(word, bits, signed))))
    }

    fn bits_as(&mut self, a: Value, to: Type) -> Result<Held, CodegenError> {
        let held = self.get(a)?;
        Ok(match (held, self.shape(to)) {
            (Held::Floats(floats), Shape::Words) => Held::Words(Upper::Sign, self.each(&floats, |s, float| s.word_of_float(float))),
            (Held::Words(_, words), Shape::Floats) => Held::Floats(self.each(&words, |s, word| s.float_of_word(word))),
            (Held::Floats(doubles), Shape::Pairs) => {
                Held::Pairs(doubles.into_iter().map(|double| self.words_of_double(double)).collect::<Result<_, _>>()?)
            }
            (Held::Pairs(pairs), Shape::Doubles) => self.doubles_of(pairs)?,
            (held, _) => held,
        })
    }
}
