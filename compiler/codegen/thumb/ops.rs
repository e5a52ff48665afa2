//! Operations on words as instructions.

use super::encode::{Flags, modified};
use super::inst::{Arg, Op, Own};
use super::lowering::Lowering;
use super::rows::{self, Row};
use crate::own::words::{Operand, Ops, Test, WordOp, Words};
use regalloc2::VReg;

/// Tests whether a comparison takes a number.
pub(super) fn compares_with(number: i32) -> bool {
    modified(number).or(modified(number.wrapping_neg())).is_some()
}

/// Returns the row that extends the lowest 8 or 16 bits of a word.
pub(super) fn extension(bits: u32, signed: bool) -> &'static Row {
    match (bits, signed) {
        (8, true) => &rows::SXTB,
        (8, false) => &rows::UXTB,
        (_, true) => &rows::SXTH,
        (_, false) => &rows::UXTH,
    }
}

/// The row of an operation on two registers.
fn two(op: WordOp) -> &'static Row {
    match op {
        WordOp::Add => &rows::ADD,
        WordOp::Sub => &rows::SUB,
        WordOp::Mul => &rows::MUL,
        WordOp::And => &rows::AND,
        WordOp::Or => &rows::ORR,
        WordOp::Xor => &rows::EOR,
        WordOp::Left => &rows::LSL,
        WordOp::RightSigned => &rows::ASR,
        WordOp::Right => &rows::LSR,
        WordOp::DivideSigned => &rows::SDIV,
        WordOp::Divide => &rows::UDIV,
    }
}

/// The row of an operation with a number, and the number in it, where there is one.
fn with_number(op: WordOp, number: i32) -> Option<(&'static Row, i32)> {
    let fits = |number: i32| modified(number).is_some();
    Some(match op {
        WordOp::Add => return sum_with(number),
        WordOp::Sub => return sum_with(number.wrapping_neg()),
        WordOp::Left => (&rows::LSL_NUMBER, number),
        WordOp::Right => (&rows::LSR_NUMBER, number),
        WordOp::RightSigned => (&rows::ASR_NUMBER, number),
        WordOp::And if fits(number) => (&rows::AND_NUMBER, number),
        WordOp::And if fits(!number) => (&rows::BIC_NUMBER, !number),
        WordOp::Or if fits(number) => (&rows::ORR_NUMBER, number),
        WordOp::Xor if fits(number) => (&rows::EOR_NUMBER, number),
        WordOp::Mul if number > 0 && number & (number - 1) == 0 => (&rows::LSL_NUMBER, number.trailing_zeros() as i32),
        _ => return None,
    })
}

/// The row of a sum with a number.
pub(super) fn sum_with(number: i32) -> Option<(&'static Row, i32)> {
    let opposite = number.wrapping_neg();
    Some(match number {
        0..4096 => (&rows::ADD_TWELVE, number),
        -4095..0 => (&rows::SUB_TWELVE, opposite),
        _ if modified(number).is_some() => (&rows::ADD_NUMBER, number),
        _ if modified(opposite).is_some() => (&rows::SUB_NUMBER, opposite),
        _ => return None,
    })
}

impl Ops for Lowering<'_> {
    type Word = VReg;

    fn word(&mut self, number: i32) -> VReg {
        self.constant_word(number)
    }

    fn two(&mut self, op: WordOp, a: VReg, b: Operand<VReg>) -> VReg {
        let number = match b {
            Operand::Word(b) => return self.row(two(op), &[Arg::Use(a), Arg::Use(b)]),
            Operand::Number(number) => number,
        };
        match op {
            WordOp::Add | WordOp::Sub | WordOp::Or | WordOp::Xor | WordOp::Left | WordOp::Right | WordOp::RightSigned if number == 0 => a,
            WordOp::Xor if number == -1 => self.row(&rows::MVN, &[Arg::Use(a)]),
            WordOp::And if number == 0xFF => self.extend(a, 8, false),
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

    fn with_shifted(&mut self, op: WordOp, a: VReg, b: VReg, count: u32) -> VReg {
        let row = match op {
            WordOp::Add => &rows::ADD_ASR,
            WordOp::Sub => &rows::SUB_ASR,
            _ => &rows::EOR_ASR,
        };
        self.row(row, &[Arg::Use(a), Arg::Use(b), Arg::Number(count as i32)])
    }

    fn add_product(&mut self, subtract: bool, sum: VReg, a: VReg, b: VReg) -> VReg {
        self.row(if subtract { &rows::MLS } else { &rows::MLA }, &[Arg::Use(a), Arg::Use(b), Arg::Use(sum)])
    }

    fn leading_zeros(&mut self, a: VReg) -> VReg {
        self.row(&rows::CLZ, &[Arg::Use(a)])
    }

    fn extend(&mut self, a: VReg, bits: u32, signed: bool) -> VReg {
        self.row(extension(bits, signed), &[Arg::Use(a)])
    }

    fn clamp(&mut self, a: VReg, bits: u32, signed: bool) -> VReg {
        let (row, number) = if signed { (&rows::SSAT, bits - 1) } else { (&rows::USAT, bits) };
        self.row(row, &[Arg::Number(number as i32), Arg::Use(a)])
    }

    fn long_product(&mut self, signed: bool, a: VReg, b: VReg) -> [VReg; 2] {
        let [low, high] = [self.scalar(), self.scalar()];
        let row = if signed { &rows::SMULL } else { &rows::UMULL };
        self.emit(Op::Row(row), vec![Arg::Def(low), Arg::Def(high), Arg::Use(a), Arg::Use(b)]);
        [low, high]
    }

    fn long_sum(&mut self, subtract: bool, a: [VReg; 2], b: [VReg; 2]) -> [VReg; 2] {
        // The flags of the first are those that the second reads: what the allocator puts between them changes none.
        let rows = if subtract { [&rows::SUBS, &rows::SBC] } else { [&rows::ADDS, &rows::ADC] };
        [0, 1].map(|half| self.row(rows[half], &[Arg::Use(a[half]), Arg::Use(b[half])]))
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
        self.defined(Op::Own(Own::Truth(flags)), &[a, b])
    }

    fn choose(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        let result = self.scalar();
        self.chosen(result, test, yes, no)
    }
}
