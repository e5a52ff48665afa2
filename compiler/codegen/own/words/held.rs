//! Registers that hold kernel values.

use super::ops::{Half, Ops, Test, WordOp, Words};
use super::vector_ops::LaneTest;
use crate::CodegenError;
use crate::bug::Form;
use crate::own::{Lowering, Select};
use modelc_kernel::{Lane, Type, Value};
use regalloc2::{RegClass, VReg};

/// The upper bits of a register with a lane narrower than a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Upper {
    /// Copies of the lane's sign. Values that edges pass always have this form.
    Sign,
    /// Zeros.
    Zeros,
    /// Undefined bits.
    Any,
}

/// The class of registers of binary64.
pub const DOUBLES: RegClass = RegClass::Vector;

/// The registers of a value, with its lanes in order.
#[derive(Clone, Debug)]
pub enum Held {
    /// Lanes of up to 32 bits, one register each. Masks are 0 or 1.
    Words(Upper, Vec<VReg>),
    /// Lanes of 64 bits in two registers, low half first.
    Pairs(Vec<[VReg; 2]>),
    /// Lanes of binary32 or binary64 in floating-point registers.
    Floats(Vec<VReg>),
    /// Lanes of 16 bits, packed in words.
    Halves(Vec<Half>),
    /// Bytes, packed four in a word.
    Bytes(Vec<VReg>),
    /// Vector registers: sixteen bytes in each, which only products and stores use, or four lanes of 32 bits.
    Vectors(Vec<VReg>),
    /// Mask lanes that are not computed in registers yet.
    Tests(Vec<Test<VReg>>),
    /// Mask lanes of vector registers, four in each, which only selections use.
    LaneTests(Vec<LaneTest>),
}

/// Form of a value in registers that edges pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// The form of [`Held::Words`].
    Words,
    /// The form of [`Held::Pairs`].
    Pairs,
    /// The form of [`Held::Floats`], of binary32.
    Floats,
    /// The form of [`Held::Floats`], of binary64.
    Doubles,
}

impl Shape {
    /// Returns the form of a type, on a machine with or without registers for its format of floats.
    pub fn of(ty: Type, has_format: bool) -> Self {
        match ty.lane {
            Lane::F64 if has_format => Self::Doubles,
            Lane::I64 | Lane::F64 => Self::Pairs,
            Lane::F32 if has_format => Self::Floats,
            _ => Self::Words,
        }
    }

    /// Returns the classes of the registers of a number of lanes.
    pub fn classes(self, lanes: u16) -> Vec<RegClass> {
        let lanes = usize::from(lanes);
        match self {
            Self::Words => vec![RegClass::Int; lanes],
            Self::Pairs => vec![RegClass::Int; 2 * lanes],
            Self::Floats => vec![RegClass::Float; lanes],
            Self::Doubles => vec![DOUBLES; lanes],
        }
    }

    /// Makes a held value of registers of [`Shape::classes`].
    pub fn held(self, registers: Vec<VReg>) -> Held {
        match self {
            Self::Words => Held::Words(Upper::Sign, registers),
            Self::Pairs => Held::Pairs(registers.as_chunks::<2>().0.to_vec()),
            Self::Floats | Self::Doubles => Held::Floats(registers),
        }
    }
}

impl Held {
    /// Makes a scalar in a word.
    pub fn word(register: VReg) -> Self {
        Self::Words(Upper::Sign, vec![register])
    }

    /// Returns the register of a scalar in a word. `None` for other values.
    pub fn single(&self) -> Option<VReg> {
        match self {
            Self::Words(_, words) if words.len() == 1 => Some(words[0]),
            _ => None,
        }
    }

    /// Returns the lanes with given numbers.
    pub fn pick(&self, lanes: impl Iterator<Item = usize>) -> Self {
        match self {
            Self::Words(upper, words) => Self::Words(*upper, lanes.map(|lane| words[lane]).collect()),
            Self::Pairs(pairs) => Self::Pairs(lanes.map(|lane| pairs[lane]).collect()),
            Self::Floats(floats) => Self::Floats(lanes.map(|lane| floats[lane]).collect()),
            Self::Halves(halves) => Self::Halves(lanes.map(|lane| halves[lane]).collect()),
            // Bytes only move as whole words.
            Self::Bytes(words) => Self::Bytes(lanes.step_by(4).map(|lane| words[lane / 4]).collect()),
            // So do vectors of bytes.
            Self::Vectors(vectors) => Self::Vectors(lanes.step_by(16).map(|lane| vectors[lane / 16]).collect()),
            Self::Tests(tests) => Self::Tests(lanes.map(|lane| tests[lane]).collect()),
            Self::LaneTests(tests) => Self::LaneTests(lanes.step_by(4).map(|lane| tests[lane / 4]).collect()),
        }
    }
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Returns the form of a type.
    pub(super) fn shape(&self, ty: Type) -> Shape {
        Shape::of(ty, self.has_format(ty.lane))
    }

    /// Returns the words of a held value, with narrow lanes sign-extended.
    pub(super) fn with_signs(&mut self, lane: Lane, held: Held) -> Vec<VReg> {
        match held {
            Held::Words(upper, words) if upper != Upper::Sign && lane.bytes() < 4 => self.extended(lane, &words, true),
            Held::Words(_, words) => words,
            held => self.all_words(held),
        }
    }

    /// Returns the words of a held value, with narrow lanes zero-extended.
    pub(super) fn with_zeros(&mut self, lane: Lane, held: Held) -> Vec<VReg> {
        match held {
            Held::Words(upper, words) if upper != Upper::Zeros && lane.bytes() < 4 => self.extended(lane, &words, false),
            Held::Words(_, words) => words,
            held => {
                let words = self.all_words(held);
                if matches!(lane, Lane::I8 | Lane::I16) { self.extended(lane, &words, false) } else { words }
            }
        }
    }

    fn extended(&mut self, lane: Lane, words: &[VReg], signed: bool) -> Vec<VReg> {
        self.each(words, |s, word| s.extend(word, 8 * lane.bytes(), signed))
    }

    /// Computes a function of each lane. Equal neighbouring lanes share a result.
    pub(super) fn each<W: Copy + PartialEq, R: Copy>(&mut self, lanes: &[W], mut f: impl FnMut(&mut Self, W) -> R) -> Vec<R> {
        let mut done: Option<(W, R)> = None;
        let result = |&lane: &W| match done {
            Some((from, to)) if from == lane => to,
            _ => {
                let to = f(self, lane);
                done = Some((lane, to));
                to
            }
        };
        lanes.iter().map(result).collect()
    }

    /// Returns all registers of a value, in order. Packed lanes and tests become words; floats and vectors stay in their registers.
    pub(super) fn all_words(&mut self, held: Held) -> Vec<VReg> {
        match held {
            Held::Words(_, words) | Held::Floats(words) | Held::Vectors(words) => words,
            Held::Pairs(pairs) => pairs.concat(),
            Held::Halves(halves) => self.each(&halves, |s, half| match half.upper {
                true => s.shift(WordOp::RightSigned, half.word, 16),
                false => s.extend(half.word, 16, true),
            }),
            Held::Bytes(words) => words.into_iter().flat_map(|word| [0, 8, 16, 24].map(|at| self.byte_of(word, at))).collect(),
            Held::Tests(tests) => tests.into_iter().map(|test| self.truth(test)).collect(),
            Held::LaneTests(tests) => tests.into_iter().flat_map(|test| [test.a, test.b]).collect(),
        }
    }

    /// Extracts a byte of a word, sign-extended. `at` is its lowest bit.
    fn byte_of(&mut self, word: VReg, at: u32) -> VReg {
        let lowest = self.shift(WordOp::Right, word, at);
        self.extend(lowest, 8, true)
    }

    /// Returns the 16-bit lanes of a value as halves of words.
    pub(super) fn halves(&mut self, value: Value) -> Result<Vec<Half>, CodegenError> {
        let held = self.get(value)?;
        Ok(self.halves_of(held))
    }

    /// Returns 16-bit lanes as halves of words.
    pub(super) fn halves_of(&mut self, held: Held) -> Vec<Half> {
        match held {
            Held::Halves(halves) => halves,
            held => self.all_words(held).into_iter().map(Half::lower).collect(),
        }
    }

    /// Returns the words of a value with lanes of up to 32 bits, sign-extended.
    pub(super) fn signed_words(&mut self, value: Value) -> Result<Vec<VReg>, CodegenError> {
        let held = self.get(value)?;
        Ok(self.with_signs(self.ty(value).lane, held))
    }

    /// Returns the words of a value with lanes of up to 32 bits, zero-extended.
    pub(super) fn unsigned_words(&mut self, value: Value) -> Result<Vec<VReg>, CodegenError> {
        let held = self.get(value)?;
        Ok(self.with_zeros(self.ty(value).lane, held))
    }

    /// Returns the words of a value with undefined bits above its lanes. A 64-bit lane gives its low half.
    pub(super) fn low_words(&mut self, value: Value) -> Result<Vec<VReg>, CodegenError> {
        Ok(match self.get(value)? {
            Held::Pairs(pairs) => pairs.into_iter().map(|[low, _]| low).collect(),
            held => self.all_words(held),
        })
    }

    /// Returns the pairs of a value with lanes of 64 bits.
    pub(super) fn pairs(&mut self, value: Value) -> Result<Vec<[VReg; 2]>, CodegenError> {
        match self.get(value)? {
            Held::Pairs(pairs) => Ok(pairs),
            _ => self.is_not(value, Form::Pairs),
        }
    }

    /// Returns the floating-point registers of a value.
    pub(super) fn floats(&mut self, value: Value) -> Result<Vec<VReg>, CodegenError> {
        match self.get(value)? {
            Held::Floats(floats) => Ok(floats),
            _ => self.is_not(value, Form::Floats),
        }
    }

    /// Returns the constant of all lanes of an integer value, as a signed number. `None` if it is not constant.
    pub(super) fn number_of(&self, value: Value) -> Option<i32> {
        let lane = self.ty(value).lane;
        let bits = *self.constants.get(&value).filter(|_| matches!(lane, Lane::I8 | Lane::I16 | Lane::I32))?;
        let unused = 32 - 8 * lane.bytes();
        Some((bits as i32) << unused >> unused)
    }

    /// Lowers a constant with equal lanes.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] if the machine has no registers for the constant.
    pub fn constant_words(&mut self, ty: Type, bits: u64) -> Result<Held, CodegenError> {
        let lanes = usize::from(ty.lanes);
        Ok(match self.shape(ty) {
            Shape::Pairs => {
                let pair = [self.word(bits as i32), self.word((bits >> 32) as i32)];
                Held::Pairs(vec![pair; lanes])
            }
            Shape::Floats => {
                let word = self.word(bits as i32);
                let float = self.float_of_word(word);
                Held::Floats(vec![float; lanes])
            }
            Shape::Doubles => Held::Floats(vec![self.double_number(bits)?; lanes]),
            Shape::Words => {
                let unused = 32 - 8 * ty.lane.bytes().clamp(1, 4);
                let number = if ty.lane == Lane::Mask { bits as i32 & 1 } else { (bits as i32) << unused >> unused };
                let word = self.word(number);
                Held::Words(Upper::Sign, vec![word; lanes])
            }
        })
    }

    /// Moves a value to registers in which an edge can pass it.
    pub fn handed_on(&mut self, ty: Type, held: Held) -> Vec<VReg> {
        match held {
            Held::Words(..) if ty.lane.is_integer() => self.with_signs(ty.lane, held),
            held => self.all_words(held),
        }
    }
}
