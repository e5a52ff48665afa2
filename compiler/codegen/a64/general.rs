//! Arithmetic in general-purpose registers: 64-bit scalars and truth values.

use super::encode::Flags;
use super::inst::{Arg, Op};
use super::lowering::Lowering;
use super::rows::{self, Row, Size};
use modelc_kernel::{BinaryOp, UnaryOp};
use regalloc2::VReg;

impl Lowering<'_> {
    /// Loads a constant into a general-purpose register.
    pub fn general_number(&mut self, number: i64) -> VReg {
        self.defined(Op::Constant(number), &[])
    }

    /// Adds an instruction on two registers.
    fn general_two(&mut self, row: &'static Row, a: VReg, b: VReg) -> VReg {
        self.general_row(row, Size::D, &[Arg::Use(a), Arg::Use(b)])
    }

    /// Computes an operation on 64-bit scalars.
    pub fn general_binary(&mut self, op: BinaryOp, x: VReg, y: VReg) -> VReg {
        let row = match op {
            BinaryOp::Add | BinaryOp::SignedAddInRange => return self.general_row(&rows::ADD_X, Size::D, &sum(x, y)),
            BinaryOp::Or => return self.general_row(&rows::ORR_X, Size::D, &sum(x, y)),
            BinaryOp::Sub => &rows::SUB_X,
            BinaryOp::Mul => &rows::MUL_X,
            BinaryOp::And => &rows::AND_X,
            BinaryOp::Xor => &rows::EOR_X,
            BinaryOp::ShiftLeft => &rows::LSL_X,
            BinaryOp::ShiftRightSigned => &rows::ASR_X,
            BinaryOp::ShiftRightUnsigned => &rows::LSR_X,
            BinaryOp::SignedDiv => &rows::SDIV_X,
            BinaryOp::UnsignedDiv => &rows::UDIV_X,
            BinaryOp::SignedMin => return self.choose(Flags::Less, (x, Arg::Use(y)), x, y),
            BinaryOp::SignedMax => return self.choose(Flags::Greater, (x, Arg::Use(y)), x, y),
            BinaryOp::UnsignedMin => return self.choose(Flags::Below, (x, Arg::Use(y)), x, y),
            BinaryOp::UnsignedMax => return self.choose(Flags::Above, (x, Arg::Use(y)), x, y),
            _ => return self.remainder(op == BinaryOp::SignedRem, x, y),
        };
        self.general_two(row, x, y)
    }

    /// Computes a remainder; division by 0 gives remainder 0. As in the kernel language, a quotient by 0 is 0, and the smallest number divided by −1
    /// is itself.
    fn remainder(&mut self, signed: bool, x: VReg, y: VReg) -> VReg {
        let quotient = self.general_two(if signed { &rows::SDIV_X } else { &rows::UDIV_X }, x, y);
        let rest = self.general_row(&rows::MSUB_X, Size::D, &[Arg::Use(quotient), Arg::Use(y), Arg::Use(x)]);
        self.choose(Flags::Equal, (y, Arg::Number(0)), y, rest)
    }

    /// Returns `yes` if the comparison holds, else `no`.
    pub fn choose(&mut self, flags: Flags, (a, b): (VReg, Arg), yes: VReg, no: VReg) -> VReg {
        self.defined(Op::CompareSelect(flags), &[Arg::Use(yes), Arg::Use(no), Arg::Use(a), b])
    }

    /// Computes −x.
    pub fn negate(&mut self, x: VReg) -> VReg {
        self.general_row(&rows::NEG_X, Size::D, &[Arg::Use(x)])
    }

    /// Computes an operation on one register.
    pub fn general_unary(&mut self, op: UnaryOp, x: VReg) -> VReg {
        match op {
            UnaryOp::Neg => self.negate(x),
            UnaryOp::Abs => {
                let negative = self.negate(x);
                self.choose(Flags::Less, (x, Arg::Number(0)), negative, x)
            }
            UnaryOp::CountLeadingZeros => self.general_row(&rows::CLZ_X, Size::D, &[Arg::Use(x)]),
            _ => self.general_row(&rows::MVN_X, Size::D, &[Arg::Use(x)]),
        }
    }

    /// Shifts by a constant.
    pub fn shift_general(&mut self, op: BinaryOp, x: VReg, count: u32) -> VReg {
        let count = i64::from(count & 63);
        let (row, start, end) = match op {
            BinaryOp::ShiftLeft => (&rows::UBFM, (64 - count) & 63, 63 - count),
            BinaryOp::ShiftRightSigned => (&rows::SBFM, count, 63),
            _ => (&rows::UBFM, count, 63),
        };
        self.general_row(row, Size::D, &[Arg::Use(x), Arg::Number(start), Arg::Number(end)])
    }
}

/// Makes the operands of an instruction that can shift its second register, with shift 0.
pub(super) fn sum(x: VReg, y: VReg) -> [Arg; 3] {
    [Arg::Use(x), Arg::Use(y), Arg::Number(0)]
}
