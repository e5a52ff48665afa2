//! Operations on words as instructions.

use super::inst::{Arg, Op, Own};
use super::level::Level;
use super::lowering::Lowering;
use crate::own::words::{self, Operand, Ops, Test, WordOp, Words};
use crate::support::Support;
use crate::thumb::encode::Flags;
use crate::thumb::ops::extension;
use crate::thumb::rows::{self, Row};
use regalloc2::VReg;

/// Returns the row of an operation on two registers. Armv6-M has none of divisions: they are functions.
fn two(op: WordOp, level: Level) -> Result<&'static Row, Support> {
    Ok(match op {
        WordOp::Add => &rows::ADD,
        WordOp::Sub => &rows::SUB,
        WordOp::Mul => &rows::MUL,
        WordOp::And => &rows::AND,
        WordOp::Or => &rows::ORR,
        WordOp::Xor => &rows::EOR,
        WordOp::Left => &rows::LSL,
        WordOp::RightSigned => &rows::ASR,
        WordOp::Right => &rows::LSR,
        WordOp::DivideSigned if level == Level::Armv8 => &rows::SDIV,
        WordOp::Divide if level == Level::Armv8 => &rows::UDIV,
        WordOp::DivideSigned => return Err(Support::DivideSigned),
        WordOp::Divide => return Err(Support::Divide),
    })
}

/// Returns the row of an operation with a constant, and the constant in it. `None` if no instruction has the constant.
fn with_number(op: WordOp, number: i32) -> Option<(&'static Row, i32)> {
    Some(match op {
        WordOp::Add => return sum_with(number),
        WordOp::Sub => return sum_with(number.wrapping_neg()),
        WordOp::Left => (&rows::LSL_NUMBER, number),
        WordOp::Right => (&rows::LSR_NUMBER, number),
        WordOp::RightSigned => (&rows::ASR_NUMBER, number),
        WordOp::Mul if number > 0 && number & (number - 1) == 0 => (&rows::LSL_NUMBER, number.trailing_zeros() as i32),
        _ => return None,
    })
}

/// Returns the row of a sum with a constant, and the constant in it.
pub(super) fn sum_with(number: i32) -> Option<(&'static Row, i32)> {
    match number {
        0..256 => Some((&rows::ADD_TWELVE, number)),
        -255..0 => Some((&rows::SUB_TWELVE, -number)),
        _ => None,
    }
}

impl Ops for Lowering<'_> {
    type Word = VReg;

    fn word(&mut self, number: i32) -> VReg {
        self.constant_word(number)
    }

    fn two(&mut self, op: WordOp, a: VReg, b: Operand<VReg>) -> VReg {
        let b = match b {
            Operand::Word(b) => b,
            Operand::Number(number) => match (op, number) {
                (WordOp::Add | WordOp::Sub | WordOp::Or | WordOp::Xor | WordOp::Left | WordOp::Right | WordOp::RightSigned, 0) => return a,
                (WordOp::Xor, -1) => return self.row(&rows::MVN, &[Arg::Use(a)]),
                (WordOp::And, 0xFF) => return self.extend(a, 8, false),
                (WordOp::And, 0xFFFF) => return self.extend(a, 16, false),
                (WordOp::DivideSigned, 2..) if self.set.calls && self.set.level == Level::Armv6 => {
                    return words::divide_by_number(self, a, number);
                }
                _ => match with_number(op, number) {
                    Some((row, number)) => return self.row(row, &[Arg::Use(a), Arg::Number(number)]),
                    None => self.word(number),
                },
            },
        };
        match two(op, self.set.level) {
            // The result of these cannot be where the second operand is.
            Ok(row) if matches!(op, WordOp::Left | WordOp::Right | WordOp::RightSigned) => self.row(row, &[Arg::Use(a), Arg::LateUse(b)]),
            Ok(row) => self.row(row, &[Arg::Use(a), Arg::Use(b)]),
            Err(what) if self.set.calls => self.support(what, &[a, b])[0],
            Err(what) => words::divide_words(self, what == Support::DivideSigned, a, b),
        }
    }

    fn leading_zeros(&mut self, a: VReg) -> VReg {
        words::leading_zeros(self, a)
    }

    fn extend(&mut self, a: VReg, bits: u32, signed: bool) -> VReg {
        self.row(extension(bits, signed), &[Arg::Use(a)])
    }

    fn clamp(&mut self, a: VReg, bits: u32, signed: bool) -> VReg {
        words::clamp(self, a, bits, signed)
    }

    fn long_product(&mut self, signed: bool, a: VReg, b: VReg) -> [VReg; 2] {
        words::long_product(self, signed, a, b)
    }

    fn high_product(&mut self, signed: bool, a: VReg, b: VReg) -> VReg {
        if signed && self.set.calls { self.support(Support::HighProduct, &[a, b])[0] } else { self.long_product(signed, a, b)[1] }
    }

    fn long_sum(&mut self, subtract: bool, a: [VReg; 2], b: [VReg; 2]) -> [VReg; 2] {
        let [low, high] = [self.scalar(), self.scalar()];
        let uses = [Arg::Use(a[0]), Arg::Use(a[1]), Arg::Use(b[0]), Arg::LateUse(b[1])];
        self.emit(Op::Own(Own::LongSum(subtract)), [&[Arg::EarlyDef(low), Arg::Def(high)], &uses[..]].concat());
        [low, high]
    }

    fn long_less(&mut self, signed: bool, a: [VReg; 2], b: [VReg; 2]) -> VReg {
        let result = self.scalar();
        let flags = if signed { Flags::Less } else { Flags::Below };
        let uses = [a, b].concat().into_iter().map(Arg::Use);
        self.emit(Op::Own(Own::LongTruth(flags)), [Arg::EarlyDef(result)].into_iter().chain(uses).collect());
        result
    }

    fn repeat<const N: usize>(&mut self, count: i32, state: [VReg; N], round: impl FnMut(&mut Self, [VReg; N]) -> [VReg; N]) -> [VReg; N] {
        self.repeat_words(count, state, round)
    }

    fn truth(&mut self, test: Test<VReg>) -> VReg {
        let (flags, [a, b]) = self.compared(test);
        let result = self.scalar();
        self.emit(Op::Own(Own::Truth(flags)), vec![Arg::EarlyDef(result), a, b]);
        result
    }

    fn choose(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        let result = self.scalar();
        self.chosen(result, test, yes, no)
    }
}
