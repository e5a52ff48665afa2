//! Lowering to calls of support functions ([`crate::support`]): floats without instructions, and 64-bit divisions.

use super::held::{Held, Upper};
use super::long;
use super::ops::{Operand, Ops, Test, WordOp, Words};
use super::permute::by_halves;
use crate::bug::Mistake;
use crate::own::{Lowering, Select};
use crate::support::{FloatOp, Format, LongOp, Support};
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, CompareOp, ConvertOp, Lane, Type, UnaryOp, Value};
use regalloc2::VReg;

/// The bits of a lane in words, low word first.
type Bits = Vec<VReg>;

/// Returns the format of a float lane.
fn format_of(lane: Lane) -> Format {
    if lane == Lane::F64 { Format::Double } else { Format::Single }
}

/// Returns the support function of a 64-bit division or remainder. `None` for other operations.
pub(super) fn long_division(op: BinaryOp) -> Option<Support> {
    Some(Support::Long(match op {
        BinaryOp::SignedDiv => LongOp::DivideSigned,
        BinaryOp::UnsignedDiv => LongOp::Divide,
        BinaryOp::SignedRem => LongOp::RemainderSigned,
        BinaryOp::UnsignedRem => LongOp::Remainder,
        _ => return None,
    }))
}

/// A minimum or a maximum.
#[derive(Clone, Copy)]
struct Limit {
    /// `true` for the minimum.
    smaller: bool,
    /// `true` if a NaN operand gives a NaN; else it gives the other operand.
    propagates: bool,
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Tests whether support functions compute operations on a lane type.
    pub(super) fn is_soft(&self, lane: Lane) -> bool {
        lane.is_float() && !self.has_format(lane)
    }

    /// Returns the bits of each float lane.
    fn float_lanes(&mut self, value: Value) -> Result<Vec<Bits>, CodegenError> {
        Ok(match self.get(value)? {
            Held::Pairs(pairs) => pairs.into_iter().map(|pair| pair.to_vec()).collect(),
            Held::Floats(floats) => floats.into_iter().map(|float| vec![self.word_of_float(float)]).collect(),
            held => self.all_words(held).into_iter().map(|word| vec![word]).collect(),
        })
    }

    /// Makes a held value of the bits of float lanes.
    fn held_floats(&mut self, lane: Lane, lanes: Vec<Bits>) -> Held {
        if lane == Lane::F64 {
            return Held::Pairs(lanes.into_iter().map(|words| [words[0], words[1]]).collect());
        }
        let words: Vec<VReg> = lanes.concat();
        match self.has_format(lane) {
            true => Held::Floats(words.into_iter().map(|word| self.float_of_word(word)).collect()),
            false => Held::Words(Upper::Sign, words),
        }
    }

    fn call_float(&mut self, format: Format, op: FloatOp, arguments: &[&Bits]) -> Bits {
        self.support(Support::Float(format, op), &arguments.iter().copied().flatten().copied().collect::<Vec<_>>())
    }

    /// Returns the number of the word with the sign.
    fn sign_word(format: Format) -> usize {
        format.words() - 1
    }

    fn with_top(&mut self, format: Format, op: WordOp, mut x: Bits, number: i32) -> Bits {
        let top = Self::sign_word(format);
        x[top] = self.two(op, x[top], Operand::Number(number));
        x
    }

    fn choose_words(&mut self, truth: VReg, yes: &Bits, no: &Bits) -> Bits {
        yes.iter().zip(no).map(|(&yes, &no)| self.choose(Test::not_zero(truth), yes, no)).collect()
    }

    /// Lowers an operation on two values.
    pub(super) fn soft_binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let lane = self.ty(a).lane;
        let pairs: Vec<_> = self.float_lanes(a)?.into_iter().zip(self.float_lanes(b)?).collect();
        let lanes: Result<Vec<Bits>, CodegenError> = pairs.into_iter().map(|(x, y)| self.soft_result(op, lane, x, y)).collect();
        let lanes = lanes?;
        Ok(self.held_floats(lane, lanes))
    }

    /// Combines all lanes of a vector to one, by halves.
    pub(super) fn soft_horizontal(&mut self, op: BinaryOp, a: Value) -> Result<Held, CodegenError> {
        let lane = self.ty(a).lane;
        let lanes = self.float_lanes(a)?;
        let all = by_halves(lanes, |x, y| self.soft_result(op, lane, x, y))?;
        Ok(self.held_floats(lane, all))
    }

    fn soft_result(&mut self, op: BinaryOp, lane: Lane, x: Bits, y: Bits) -> Result<Bits, CodegenError> {
        let format = format_of(lane);
        Ok(match op {
            BinaryOp::Add => self.call_float(format, FloatOp::Add, &[&x, &y]),
            BinaryOp::Sub => {
                let y = self.with_top(format, WordOp::Xor, y, i32::MIN);
                self.call_float(format, FloatOp::Add, &[&x, &y])
            }
            BinaryOp::Mul => self.call_float(format, FloatOp::Multiply, &[&x, &y]),
            BinaryOp::FloatDiv => self.call_float(format, FloatOp::Divide, &[&x, &y]),
            BinaryOp::FloatMinFirst => {
                let less = self.call_float(format, FloatOp::Less, &[&y, &x])[0];
                self.choose_words(less, &y, &x)
            }
            BinaryOp::FloatMaxFirst => {
                let less = self.call_float(format, FloatOp::Less, &[&x, &y])[0];
                self.choose_words(less, &y, &x)
            }
            BinaryOp::FloatMinPropagate => self.soft_limit(format, Limit { smaller: true, propagates: true }, &x, &y),
            BinaryOp::FloatMaxPropagate => self.soft_limit(format, Limit { smaller: false, propagates: true }, &x, &y),
            BinaryOp::FloatMinIgnore => self.soft_limit(format, Limit { smaller: true, propagates: false }, &x, &y),
            BinaryOp::FloatMaxIgnore => self.soft_limit(format, Limit { smaller: false, propagates: false }, &x, &y),
            op => return self.unsupported(Operation::Binary(op), Type::scalar(lane)),
        })
    }

    /// Computes IEEE's minimum or maximum: −0 is less than 0.
    fn soft_limit(&mut self, format: Format, Limit { smaller, propagates }: Limit, x: &Bits, y: &Bits) -> Bits {
        let (low, high) = if smaller { (x, y) } else { (y, x) };
        let less = self.call_float(format, FloatOp::Less, &[low, high])[0];
        let other = self.choose_words(less, x, y);
        // Equal numbers can only differ in the sign of zero.
        let op = if smaller { WordOp::Or } else { WordOp::And };
        let signs: Bits = x.iter().zip(y).map(|(&x, &y)| self.two(op, x, Operand::Word(y))).collect();
        let equal = self.call_float(format, FloatOp::Equal, &[x, y])[0];
        let found = self.choose_words(equal, &signs, &other);
        let [x_is, y_is] = [x, y].map(|float| self.call_float(format, FloatOp::Equal, &[float, float])[0]);
        if propagates {
            let nan = self.call_float(format, FloatOp::Add, &[x, y]);
            let found = self.choose_words(x_is, &found, &nan);
            return self.choose_words(y_is, &found, &nan);
        }
        let found = self.choose_words(x_is, &found, y);
        self.choose_words(y_is, &found, x)
    }

    /// Lowers an operation on one value.
    pub(super) fn soft_unary(&mut self, op: UnaryOp, a: Value) -> Result<Held, CodegenError> {
        let lane = self.ty(a).lane;
        let format = format_of(lane);
        let mut lanes = vec![];
        for x in self.float_lanes(a)? {
            lanes.push(match op {
                UnaryOp::Neg => self.with_top(format, WordOp::Xor, x, i32::MIN),
                UnaryOp::Abs => self.with_top(format, WordOp::And, x, i32::MAX),
                UnaryOp::Sqrt => self.call_float(format, FloatOp::SquareRoot, &[&x]),
                UnaryOp::Trunc => self.call_float(format, FloatOp::Truncate, &[&x]),
                UnaryOp::Floor | UnaryOp::Ceil => self.soft_step(format, op == UnaryOp::Floor, &x),
                UnaryOp::Nearest => self.soft_nearest(format, x),
                op => return self.bug(Mistake::Operation { operation: Operation::Unary(op), of: self.ty(a) }),
            });
        }
        Ok(self.held_floats(lane, lanes))
    }

    /// Makes a power of two with a sign.
    fn soft_number(&mut self, format: Format, exponent: i32, negative: bool) -> Bits {
        let sign = if negative { i32::MIN } else { 0 };
        let stored = exponent + format.bias();
        match format {
            Format::Double => vec![self.word(0), self.word(sign | stored << 20)],
            _ => vec![self.word(sign | stored << format.fraction())],
        }
    }

    /// Rounds to the integer below or above.
    fn soft_step(&mut self, format: Format, down: bool, x: &Bits) -> Bits {
        let whole = self.call_float(format, FloatOp::Truncate, &[x]);
        let less =
            if down { self.call_float(format, FloatOp::Less, &[x, &whole]) } else { self.call_float(format, FloatOp::Less, &[&whole, x]) };
        let one = self.soft_number(format, 0, down);
        let next = self.call_float(format, FloatOp::Add, &[&whole, &one]);
        self.choose_words(less[0], &next, &whole)
    }

    /// Rounds to the nearest integer: adds and subtracts a number so large that its fraction has no bits below 1.
    fn soft_nearest(&mut self, format: Format, x: Bits) -> Bits {
        let magnitude = self.with_top(format, WordOp::And, x.clone(), i32::MAX);
        let [limit, back] = [false, true].map(|negative| self.soft_number(format, format.fraction() as i32, negative));
        let far = self.call_float(format, FloatOp::Add, &[&magnitude, &limit]);
        let mut whole = self.call_float(format, FloatOp::Add, &[&far, &back]);
        let top = Self::sign_word(format);
        let sign = self.two(WordOp::And, x[top], Operand::Number(i32::MIN));
        whole[top] = self.two(WordOp::Or, whole[top], Operand::Word(sign));
        let less = self.call_float(format, FloatOp::Less, &[&magnitude, &limit]);
        self.choose_words(less[0], &whole, &x)
    }

    /// Lowers a comparison, lane by lane.
    pub(super) fn soft_compare(&mut self, op: CompareOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let format = format_of(self.ty(a).lane);
        let (called, swapped) = match op {
            CompareOp::Equal | CompareOp::NotEqual => (FloatOp::Equal, false),
            CompareOp::Less => (FloatOp::Less, false),
            CompareOp::LessEqual => (FloatOp::LessEqual, false),
            CompareOp::Greater => (FloatOp::Less, true),
            CompareOp::GreaterEqual => (FloatOp::LessEqual, true),
            op => return self.bug(Mistake::Operation { operation: Operation::Compare(op), of: self.ty(a) }),
        };
        let lanes: Vec<_> = self.float_lanes(a)?.into_iter().zip(self.float_lanes(b)?).collect();
        let truths = lanes.into_iter().map(|(x, y)| {
            let arguments = if swapped { [&y, &x] } else { [&x, &y] };
            let truth = self.call_float(format, called, &arguments)[0];
            if op == CompareOp::NotEqual { self.two(WordOp::Xor, truth, Operand::Number(1)) } else { truth }
        });
        Ok(Held::Words(Upper::Sign, truths.collect()))
    }

    /// Lowers a conversion from or to floats.
    pub(super) fn soft_convert(&mut self, op: ConvertOp, a: Value, to: Type) -> Result<Held, CodegenError> {
        let from = self.ty(a).lane;
        let lanes: Vec<Bits> = match op {
            ConvertOp::SignedToFloat | ConvertOp::UnsignedToFloat => {
                let signed = op == ConvertOp::SignedToFloat;
                let op = if signed { FloatOp::FromSigned } else { FloatOp::FromUnsigned };
                let pairs = self.long_lanes(a, signed)?;
                pairs.into_iter().map(|pair| self.call_float(format_of(to.lane), op, &[&pair])).collect()
            }
            ConvertOp::FloatToSigned | ConvertOp::FloatToSignedInRange => return self.soft_integers(a, to.lane, true),
            ConvertOp::FloatToUnsigned => return self.soft_integers(a, to.lane, false),
            ConvertOp::Promote | ConvertOp::Demote => {
                let what = Support::Convert(format_of(from), format_of(to.lane));
                let lanes = self.float_lanes(a)?;
                lanes.into_iter().map(|words| self.support(what, &words)).collect()
            }
            ConvertOp::HalfToFloat => {
                let words = self.unsigned_words(a)?;
                words.into_iter().map(|word| self.support(Support::Convert(Format::Half, Format::Single), &[word])).collect()
            }
            ConvertOp::FloatToHalf => {
                let lanes = self.float_lanes(a)?;
                let what = Support::Convert(Format::Single, Format::Half);
                let words: Vec<VReg> = lanes.into_iter().flat_map(|words| self.support(what, &words)).collect();
                return Ok(Held::Words(Upper::Any, words));
            }
            op => return self.bug(Mistake::Operation { operation: Operation::Convert(op), of: to }),
        };
        Ok(self.held_floats(to.lane, lanes))
    }

    /// Extends integer lanes to 64 bits.
    fn long_lanes(&mut self, a: Value, signed: bool) -> Result<Vec<Bits>, CodegenError> {
        if self.ty(a).lane == Lane::I64 {
            return Ok(self.pairs(a)?.into_iter().map(|pair| pair.to_vec()).collect());
        }
        let words = if signed { self.signed_words(a)? } else { self.unsigned_words(a)? };
        Ok(self
            .each(&words, |s, low| [low, if signed { s.shift(WordOp::RightSigned, low, 31) } else { s.word(0) }])
            .into_iter()
            .map(|pair| pair.to_vec())
            .collect())
    }

    /// Converts floats to integers, rounded towards zero, with saturation.
    fn soft_integers(&mut self, a: Value, to: Lane, signed: bool) -> Result<Held, CodegenError> {
        let format = format_of(self.ty(a).lane);
        let op = if signed { FloatOp::ToSigned } else { FloatOp::ToUnsigned };
        let lanes = self.float_lanes(a)?;
        let pairs: Vec<[VReg; 2]> =
            lanes.into_iter().map(|words| self.call_float(format, op, &[&words])).map(|words| [words[0], words[1]]).collect();
        if to == Lane::I64 {
            return Ok(Held::Pairs(pairs));
        }
        let bits = 8 * to.bytes();
        let words = self.each(&pairs, |s, pair| {
            let word = if signed { long::narrow(s, true, pair) } else { s.unsigned_in_word(pair) };
            match (bits < 32, signed) {
                (true, true) => s.clamp(word, bits, true),
                (true, false) => s.at_most(word, bits),
                _ => word,
            }
        });
        Ok(Held::Words(if signed || bits == 32 { Upper::Sign } else { Upper::Zeros }, words))
    }

    /// Limits an unsigned 64-bit number to a word.
    fn unsigned_in_word(&mut self, [low, high]: [VReg; 2]) -> VReg {
        let ones = self.word(-1);
        self.choose(Test::not_zero(high), ones, low)
    }
}
