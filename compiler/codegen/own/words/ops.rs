//! Operations of an instruction set on words of 32 bits.

use super::inst::Arg;
use super::vector_ops::VectorOps;
use crate::CodegenError;
use crate::own::Address;
use crate::support::Support;
use crate::unsupported::Lack;
use modelc_kernel::{BinaryOp, CompareOp, ConvertOp, Lane, UnaryOp, Value};
use regalloc2::VReg;

/// Operations on two words. Shifts are by less than 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WordOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// The low half of a product.
    Mul,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift to the left.
    Left,
    /// Shift to the right, the sign repeated.
    RightSigned,
    /// Shift to the right, zeros.
    Right,
    /// Signed quotient; 0 for a divisor of 0, and the smallest number by −1 is itself.
    DivideSigned,
    /// Unsigned quotient; 0 for a divisor of 0.
    Divide,
}

/// A second operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand<W> {
    /// A word.
    Word(W),
    /// A number.
    Number(i32),
}

/// A comparison of words, or of floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Test<W> {
    /// How the first stands to the second.
    pub op: CompareOp,
    /// `true` if they are floats.
    pub floats: bool,
    /// The first.
    pub a: W,
    /// The second.
    pub b: Operand<W>,
}

impl<W> Test<W> {
    /// Makes a comparison of words.
    pub fn words(op: CompareOp, a: W, b: Operand<W>) -> Self {
        Self { op, floats: false, a, b }
    }

    /// A word that is not 0.
    pub fn not_zero(a: W) -> Self {
        Self::words(CompareOp::NotEqual, a, Operand::Number(0))
    }
}

/// A half of a word, whose other half is another number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Half {
    /// The word.
    pub word: VReg,
    /// `true` for the upper half.
    pub upper: bool,
}

impl Half {
    /// The lower half of a word.
    pub fn lower(word: VReg) -> Self {
        Self { word, upper: false }
    }
}

/// Operations on words. One implementor writes instructions; another one computes, in tests.
pub trait Ops {
    /// A word of 32 bits.
    type Word: Copy;

    /// A number.
    fn word(&mut self, number: i32) -> Self::Word;
    /// An operation on two.
    fn two(&mut self, op: WordOp, a: Self::Word, b: Operand<Self::Word>) -> Self::Word;
    /// a plus or minus b, of which the second is shifted to the right, the sign repeated; or their exclusive or.
    fn with_shifted(&mut self, op: WordOp, a: Self::Word, b: Self::Word, count: u32) -> Self::Word {
        let shifted = self.shift(WordOp::RightSigned, b, count);
        self.two(op, a, Operand::Word(shifted))
    }
    /// sum + a · b, or sum − a · b.
    fn add_product(&mut self, subtract: bool, sum: Self::Word, a: Self::Word, b: Self::Word) -> Self::Word {
        let product = self.two(WordOp::Mul, a, Operand::Word(b));
        self.two(if subtract { WordOp::Sub } else { WordOp::Add }, sum, Operand::Word(product))
    }
    /// The number of leading zeros.
    fn leading_zeros(&mut self, a: Self::Word) -> Self::Word;
    /// The low bits, 8 or 16, with their sign or with zeros.
    fn extend(&mut self, a: Self::Word, bits: u32, signed: bool) -> Self::Word;
    /// A signed number in the nearest number of some bits, signed or unsigned.
    fn clamp(&mut self, a: Self::Word, bits: u32, signed: bool) -> Self::Word;
    /// All 64 bits of a product, the low half first.
    fn long_product(&mut self, signed: bool, a: Self::Word, b: Self::Word) -> [Self::Word; 2];
    /// The high word of a product.
    fn high_product(&mut self, signed: bool, a: Self::Word, b: Self::Word) -> Self::Word {
        self.long_product(signed, a, b)[1]
    }
    /// The sum or the difference of numbers of 64 bits, low halves first.
    fn long_sum(&mut self, subtract: bool, a: [Self::Word; 2], b: [Self::Word; 2]) -> [Self::Word; 2];
    /// 1 if a number of 64 bits is less than another one, else 0.
    fn long_less(&mut self, signed: bool, a: [Self::Word; 2], b: [Self::Word; 2]) -> Self::Word;
    /// 1 if a test holds, else 0.
    fn truth(&mut self, test: Test<Self::Word>) -> Self::Word;
    /// One of two words, by a test.
    fn choose(&mut self, test: Test<Self::Word>, yes: Self::Word, no: Self::Word) -> Self::Word;

    /// A loop that runs a number of times over some words, which each round gives the next one.
    fn repeat<const N: usize>(
        &mut self,
        count: i32,
        state: [Self::Word; N],
        round: impl FnMut(&mut Self, [Self::Word; N]) -> [Self::Word; N],
    ) -> [Self::Word; N];

    /// Shift by a number.
    fn shift(&mut self, op: WordOp, a: Self::Word, count: u32) -> Self::Word {
        if count == 0 { a } else { self.two(op, a, Operand::Number(count as i32)) }
    }
}

/// Operations that the lowering of kernels needs beside [`Ops`].
pub trait Words: Ops<Word = VReg> + VectorOps {
    /// Relation of two operands, on which instructions depend.
    type Relation;

    /// Returns the relation and the operands of a comparison, as instructions take them.
    fn compared(&mut self, test: Test<VReg>) -> (Self::Relation, [Arg; 2]);
    /// Calls a support function of the object, and returns its results.
    fn support(&mut self, what: Support, arguments: &[VReg]) -> Vec<VReg>;
    /// Tests whether a format of floats has registers and instructions. Otherwise words hold them, and functions compute.
    fn has_format(&self, lane: Lane) -> bool;
    /// Tells whether loads and stores must be at multiples of their bytes.
    fn only_aligned(&self) -> bool {
        false
    }
    /// Tells whether products take either half of a word as a factor.
    fn has_halves(&self) -> bool {
        false
    }
    /// Tells whether taking words apart costs less than loading bytes and halves with their signs.
    fn takes_apart(&self) -> bool {
        false
    }
    /// Tests whether only such products use loaded elements.
    fn loads_factors(&self, _loaded: Value) -> bool {
        false
    }
    /// Tells whether a register is known to hold zero.
    fn is_zero(&self, _word: VReg) -> bool {
        false
    }
    /// Four bytes as halves with their signs: the first and the third, the second and the fourth. Once for all that want them.
    fn widened_bytes(&mut self, word: VReg) -> [VReg; 2] {
        [0, 8].map(|at| {
            let upper = self.shift(WordOp::Left, word, 8 - at);
            let upper = self.shift(WordOp::RightSigned, upper, 24);
            let upper = self.shift(WordOp::Left, upper, 16);
            let lower = self.shift(WordOp::Left, word, 24 - at);
            let lower = self.shift(WordOp::RightSigned, lower, 24);
            let lower = self.extend(lower, 16, false);
            self.two(WordOp::Or, upper, Operand::Word(lower))
        })
    }
    /// Joins two halves in a word.
    fn joined_halves(&mut self, lower: Half, upper: Half) -> VReg {
        let lower = if lower.upper { self.shift(WordOp::Right, lower.word, 16) } else { self.extend(lower.word, 16, false) };
        let above = if upper.upper { self.shift(WordOp::Right, upper.word, 16) } else { upper.word };
        let above = self.shift(WordOp::Left, above, 16);
        self.two(WordOp::Or, lower, Operand::Word(above))
    }
    /// Tests whether several products take a pair of halves, or one in a loop inside, so that joining the halves pays.
    fn shares_factor(&self, _pair: Value) -> bool {
        false
    }
    /// sum + a · b, of halves.
    fn add_half_product(&mut self, sum: VReg, a: Half, b: Half) -> VReg {
        let [a, b] = [a, b].map(|half| match half.upper {
            true => self.shift(WordOp::RightSigned, half.word, 16),
            false => self.extend(half.word, 16, true),
        });
        self.add_product(false, sum, a, b)
    }
    /// sum + the product of the lower halves + that of the upper halves.
    fn add_both_products(&mut self, sum: VReg, a: VReg, b: VReg) -> VReg {
        let [lower, upper] = [false, true].map(|upper| [a, b].map(|word| Half { word, upper }));
        let sum = self.add_half_product(sum, lower[0], lower[1]);
        self.add_half_product(sum, upper[0], upper[1])
    }
    /// One, two or four bytes.
    fn load_word(&mut self, address: Address, bytes: u32, signed: bool) -> VReg;
    /// One, two or four bytes.
    fn store_word(&mut self, address: Address, bytes: u32, word: VReg);
    /// Four bytes at a multiple of four.
    fn load_aligned(&mut self, address: Address) -> VReg {
        self.load_word(address, 4, true)
    }
    /// Four bytes at a multiple of four.
    fn store_aligned(&mut self, address: Address, word: VReg) {
        self.store_word(address, 4, word);
    }
    /// A binary32 number, at a multiple of four bytes.
    fn load_float(&mut self, address: Address) -> VReg;
    /// A binary32 number, at a multiple of four bytes.
    fn store_float(&mut self, address: Address, float: VReg);
    /// The float of these bits.
    fn float_of_word(&mut self, word: VReg) -> VReg;
    /// The bits of a float.
    fn word_of_float(&mut self, float: VReg) -> VReg;
    /// A binary64 number, at a multiple of four bytes.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] without registers of binary64.
    fn load_double(&mut self, _address: Address) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Doubles))
    }
    /// A binary64 number, at a multiple of four bytes.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] without registers of binary64.
    fn store_double(&mut self, _address: Address, _double: VReg) -> Result<(), CodegenError> {
        Err(self.lacks(Lack::Doubles))
    }
    /// The binary64 number of these bits, the low word first.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] without registers of binary64.
    fn double_of_words(&mut self, _words: [VReg; 2]) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Doubles))
    }
    /// The bits of a binary64 number, the low word first.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] without registers of binary64.
    fn words_of_double(&mut self, _double: VReg) -> Result<[VReg; 2], CodegenError> {
        Err(self.lacks(Lack::Doubles))
    }
    /// A sum, difference, product or quotient. The format of this and of the other operations is that of the operands' registers.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] for other operations.
    fn float_two(&mut self, op: BinaryOp, a: VReg, b: VReg) -> Result<VReg, CodegenError>;
    /// The opposite, the magnitude or the square root; of binary64 also an integer beside the number.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] for other operations.
    fn float_one(&mut self, op: UnaryOp, a: VReg) -> Result<VReg, CodegenError>;
    /// sum + a · b, rounded once.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] without such an instruction.
    fn float_fused(&mut self, sum: VReg, a: VReg, b: VReg) -> Result<VReg, CodegenError>;
    /// Between a float and a word or half of one, or between floats of two formats, by an instruction. `to` is the lane of the result.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] for other conversions.
    fn float_convert(&mut self, op: ConvertOp, a: VReg, to: Lane) -> Result<VReg, CodegenError>;
    /// One of two floats, by a test.
    fn choose_float(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg;
}
