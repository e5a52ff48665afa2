//! Operations on words as instructions.

use super::encode::fits;
use super::inst::Arg;
use super::jump::Relation;
use super::lowering::Lowering;
use super::rows::{self, Row};
use crate::own::words::{self, Operand, Ops, Test, WordOp, Words};
use modelc_kernel::CompareOp;
use regalloc2::VReg;

/// Operand that stands for 0 in the place of a register.
pub(super) const ZERO: Arg = Arg::Number(0);

/// The row of an operation on two registers.
fn two(op: WordOp) -> &'static Row {
    match op {
        WordOp::Add => &rows::ADD,
        WordOp::Sub => &rows::SUB,
        WordOp::Mul => &rows::MUL,
        WordOp::And => &rows::AND,
        WordOp::Or => &rows::OR,
        WordOp::Xor => &rows::XOR,
        WordOp::Left => &rows::SLL,
        WordOp::RightSigned => &rows::SRA,
        WordOp::Right => &rows::SRL,
        WordOp::DivideSigned => &rows::DIV,
        WordOp::Divide => &rows::DIVU,
    }
}

/// The row of an operation with a number, and the number in it, where there is one.
fn with_number(op: WordOp, number: i32) -> Option<(&'static Row, i32)> {
    let twelve = fits(number.into(), 12);
    Some(match op {
        WordOp::Add if twelve => (&rows::ADD_NUMBER, number),
        WordOp::Sub if fits(-i64::from(number), 12) => (&rows::ADD_NUMBER, -number),
        WordOp::And if twelve => (&rows::AND_NUMBER, number),
        WordOp::Or if twelve => (&rows::OR_NUMBER, number),
        WordOp::Xor if twelve => (&rows::XOR_NUMBER, number),
        WordOp::Left => (&rows::SLL_NUMBER, number),
        WordOp::Right => (&rows::SRL_NUMBER, number),
        WordOp::RightSigned => (&rows::SRA_NUMBER, number),
        WordOp::Mul if number > 0 && number & (number - 1) == 0 => (&rows::SLL_NUMBER, number.trailing_zeros() as i32),
        _ => return None,
    })
}

/// Finds the relation of a comparison, and whether its operands change places.
pub(super) fn relation(op: CompareOp) -> (Relation, bool) {
    match op {
        CompareOp::Equal => (Relation::Equal, false),
        CompareOp::NotEqual => (Relation::NotEqual, false),
        CompareOp::Less => (Relation::Less, false),
        CompareOp::LessEqual => (Relation::AtLeast, true),
        CompareOp::Greater => (Relation::Less, true),
        CompareOp::GreaterEqual => (Relation::AtLeast, false),
        CompareOp::UnsignedLess => (Relation::Below, false),
        CompareOp::UnsignedLessEqual => (Relation::NotBelow, true),
    }
}

impl Lowering<'_> {
    /// An operand in a register, or 0.
    pub fn register_or_zero(&mut self, operand: Operand<VReg>) -> Arg {
        match operand {
            Operand::Word(word) => Arg::Use(word),
            Operand::Number(0) => ZERO,
            Operand::Number(number) => Arg::Use(self.word(number)),
        }
    }

    /// 1 where a comparison of floats holds, else 0; or the opposite, as the second says.
    pub fn float_truth(&mut self, op: CompareOp, a: VReg, b: VReg) -> (VReg, bool) {
        let (row, a, b) = match op {
            CompareOp::Equal | CompareOp::NotEqual => (&rows::FEQ, a, b),
            CompareOp::Less | CompareOp::UnsignedLess => (&rows::FLT, a, b),
            CompareOp::LessEqual | CompareOp::UnsignedLessEqual => (&rows::FLE, a, b),
            CompareOp::Greater => (&rows::FLT, b, a),
            CompareOp::GreaterEqual => (&rows::FLE, b, a),
        };
        (self.row(row, &[Arg::Use(a), Arg::Use(b)]), op == CompareOp::NotEqual)
    }

    /// The opposite of 0 or 1.
    fn opposite(&mut self, truth: VReg) -> VReg {
        self.row(&rows::XOR_NUMBER, &[Arg::Use(truth), Arg::Number(1)])
    }

    /// 1 if the first operand is less, else 0.
    fn less(&mut self, relation: Relation, [a, b]: [Arg; 2]) -> VReg {
        let is_signed = matches!(relation, Relation::Less | Relation::AtLeast);
        self.row(if is_signed { &rows::SLT } else { &rows::SLTU }, &[a, b])
    }

    /// 1 if a word is equal to an operand, or not, else 0.
    fn equality(&mut self, is_equal: bool, a: VReg, b: Operand<VReg>) -> VReg {
        let difference = match b {
            Operand::Number(0) => a,
            Operand::Number(number) if !fits(number.into(), 12) => {
                let b = self.word(number);
                self.two(WordOp::Xor, a, Operand::Word(b))
            }
            b => self.two(WordOp::Xor, a, b),
        };
        match is_equal {
            true => self.row(&rows::SLTU_NUMBER, &[Arg::Use(difference), Arg::Number(1)]),
            false => self.row(&rows::SLTU, &[ZERO, Arg::Use(difference)]),
        }
    }

    /// A quotient; by 0 it is 0.
    fn quotient(&mut self, op: WordOp, a: VReg, b: Operand<VReg>) -> VReg {
        let divisor = match b {
            Operand::Word(word) => word,
            Operand::Number(number) => self.word(number),
        };
        let quotient = self.row(two(op), &[Arg::Use(a), Arg::Use(divisor)]);
        if matches!(b, Operand::Number(number) if number != 0) {
            return quotient;
        }
        self.choose(Test::not_zero(divisor), quotient, divisor)
    }
}

impl Ops for Lowering<'_> {
    type Word = VReg;

    fn word(&mut self, number: i32) -> VReg {
        self.constant_word(number)
    }

    fn two(&mut self, op: WordOp, a: VReg, b: Operand<VReg>) -> VReg {
        if matches!(op, WordOp::DivideSigned | WordOp::Divide) {
            return self.quotient(op, a, b);
        }
        let number = match b {
            Operand::Word(b) => return self.row(two(op), &[Arg::Use(a), Arg::Use(b)]),
            Operand::Number(number) => number,
        };
        match op {
            WordOp::Add | WordOp::Sub | WordOp::Or | WordOp::Xor | WordOp::Left | WordOp::Right | WordOp::RightSigned if number == 0 => a,
            WordOp::And if number == 0xFFFF => self.extend(a, 16, false),
            _ => match with_number(op, number) {
                Some((row, number)) => self.row(row, &[Arg::Use(a), Arg::Number(number)]),
                None => {
                    let b = self.word(number);
                    self.row(two(op), &[Arg::Use(a), Arg::Use(b)])
                }
            },
        }
    }

    fn leading_zeros(&mut self, a: VReg) -> VReg {
        words::leading_zeros(self, a)
    }

    fn extend(&mut self, a: VReg, bits: u32, signed: bool) -> VReg {
        if bits == 8 && !signed {
            return self.row(&rows::AND_NUMBER, &[Arg::Use(a), Arg::Number(0xFF)]);
        }
        let upper = self.shift(WordOp::Left, a, 32 - bits);
        self.shift(if signed { WordOp::RightSigned } else { WordOp::Right }, upper, 32 - bits)
    }

    fn clamp(&mut self, a: VReg, bits: u32, signed: bool) -> VReg {
        words::clamp(self, a, bits, signed)
    }

    fn long_product(&mut self, signed: bool, a: VReg, b: VReg) -> [VReg; 2] {
        [&rows::MUL, if signed { &rows::MULH } else { &rows::MULHU }].map(|row| self.row(row, &[Arg::Use(a), Arg::Use(b)]))
    }

    fn long_sum(&mut self, subtract: bool, a: [VReg; 2], b: [VReg; 2]) -> [VReg; 2] {
        words::long_sum(self, subtract, a, b)
    }

    fn long_less(&mut self, signed: bool, a: [VReg; 2], b: [VReg; 2]) -> VReg {
        words::long_less(self, signed, a, b)
    }

    fn repeat<const N: usize>(&mut self, count: i32, state: [VReg; N], round: impl FnMut(&mut Self, [VReg; N]) -> [VReg; N]) -> [VReg; N] {
        self.repeat_words(count, state, round)
    }

    fn truth(&mut self, test: Test<VReg>) -> VReg {
        if let (true, Operand::Word(b)) = (test.floats, test.b) {
            let (truth, is_opposite) = self.float_truth(test.op, test.a, b);
            return if is_opposite { self.opposite(truth) } else { truth };
        }
        match (test.op, test.b) {
            (CompareOp::Equal | CompareOp::NotEqual, b) => self.equality(test.op == CompareOp::Equal, test.a, b),
            (CompareOp::Less, Operand::Number(number)) if fits(number.into(), 12) => {
                self.row(&rows::SLT_NUMBER, &[Arg::Use(test.a), Arg::Number(number)])
            }
            (CompareOp::UnsignedLess, Operand::Number(number)) if fits(number.into(), 12) => {
                self.row(&rows::SLTU_NUMBER, &[Arg::Use(test.a), Arg::Number(number)])
            }
            _ => {
                let (relation, operands) = self.compared(test);
                let less = self.less(relation, operands);
                if matches!(relation, Relation::AtLeast | Relation::NotBelow) { self.opposite(less) } else { less }
            }
        }
    }

    fn choose(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        let result = self.scalar();
        self.chosen(result, test, yes, no)
    }
}
