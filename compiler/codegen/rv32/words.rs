//! Loads, stores and floats as instructions.

use super::inst::{Arg, Op};
use super::jump::Relation;
use super::lowering::Lowering;
use super::ops::{ZERO, relation};
use super::registers::SINGLE;
use super::rows;
use crate::own::Address;
use crate::own::words::{Operand, Ops, Test, VectorOps, WordOp, Words};
use crate::support::{Format, Support};
use crate::unsupported::Lack;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, ConvertOp, Lane, Type, UnaryOp};
use regalloc2::VReg;

impl Lowering<'_> {
    /// A word that a conversion gives, or 0 where the float is no number: the instruction gives the largest one.
    fn without_nan(&mut self, float: VReg, word: VReg) -> VReg {
        let is_number = self.row(&rows::FEQ, &[Arg::Use(float), Arg::Use(float)]);
        let mask = self.row(&rows::SUB, &[Arg::Number(0), Arg::Use(is_number)]);
        self.two(WordOp::And, word, Operand::Word(mask))
    }
}

impl VectorOps for Lowering<'_> {
    fn lacks(&self, lack: Lack) -> CodegenError {
        self.lack(lack)
    }
}

impl Words for Lowering<'_> {
    type Relation = Relation;

    fn compared(&mut self, test: Test<VReg>) -> (Relation, [Arg; 2]) {
        let b = match test.b {
            Operand::Word(b) if test.floats => {
                let (truth, is_opposite) = self.float_truth(test.op, test.a, b);
                return (if is_opposite { Relation::Equal } else { Relation::NotEqual }, [Arg::Use(truth), ZERO]);
            }
            b => self.register_or_zero(b),
        };
        let (relation, swapped) = relation(test.op);
        (relation, if swapped { [b, Arg::Use(test.a)] } else { [Arg::Use(test.a), b] })
    }

    fn support(&mut self, what: Support, arguments: &[VReg]) -> Vec<VReg> {
        self.call_support(what, arguments)
    }

    fn has_format(&self, lane: Lane) -> bool {
        lane == Lane::F32 && self.set.has_floats
    }

    fn only_aligned(&self) -> bool {
        true
    }

    fn load_word(&mut self, address: Address, bytes: u32, signed: bool) -> VReg {
        let row = match (bytes, signed) {
            (1, true) => &rows::LB,
            (1, false) => &rows::LBU,
            (2, true) => &rows::LH,
            (2, false) => &rows::LHU,
            _ => &rows::LW,
        };
        self.row(row, &[Arg::Memory(address)])
    }

    fn store_word(&mut self, address: Address, bytes: u32, word: VReg) {
        let row = match bytes {
            1 => &rows::SB,
            2 => &rows::SH,
            _ => &rows::SW,
        };
        self.emit(Op::Row(row), vec![Arg::Memory(address), Arg::Use(word)]);
    }

    fn load_float(&mut self, address: Address) -> VReg {
        self.float_row(&rows::FLW, &[Arg::Memory(address)])
    }

    fn store_float(&mut self, address: Address, float: VReg) {
        self.emit(Op::Row(&rows::FSW), vec![Arg::Memory(address), Arg::Use(float)]);
    }

    fn float_of_word(&mut self, word: VReg) -> VReg {
        self.float_row(&rows::FMV_TO_SINGLE, &[Arg::Use(word)])
    }

    fn word_of_float(&mut self, float: VReg) -> VReg {
        self.row(&rows::FMV_FROM_SINGLE, &[Arg::Use(float)])
    }

    fn float_two(&mut self, op: BinaryOp, a: VReg, b: VReg) -> Result<VReg, CodegenError> {
        let row = match op {
            BinaryOp::Add => &rows::FADD,
            BinaryOp::Sub => &rows::FSUB,
            BinaryOp::Mul => &rows::FMUL,
            BinaryOp::FloatDiv => &rows::FDIV,
            _ => return self.unsupported(Operation::Binary(op), Type::scalar(Lane::F32)),
        };
        Ok(self.float_row(row, &[Arg::Use(a), Arg::Use(b)]))
    }

    fn float_one(&mut self, op: UnaryOp, a: VReg) -> Result<VReg, CodegenError> {
        let row = match op {
            UnaryOp::Neg => &rows::FSGNJN,
            UnaryOp::Abs => &rows::FSGNJX,
            UnaryOp::Sqrt => return Ok(self.float_row(&rows::FSQRT, &[Arg::Use(a)])),
            _ => return self.unsupported(Operation::Unary(op), Type::scalar(Lane::F32)),
        };
        Ok(self.float_row(row, &[Arg::Use(a), Arg::Use(a)]))
    }

    fn float_fused(&mut self, sum: VReg, a: VReg, b: VReg) -> Result<VReg, CodegenError> {
        Ok(self.float_row(&rows::FMADD, &[Arg::Use(a), Arg::Use(b), Arg::Use(sum)]))
    }

    fn float_convert(&mut self, op: ConvertOp, a: VReg, _: Lane) -> Result<VReg, CodegenError> {
        Ok(match op {
            ConvertOp::SignedToFloat => self.float_row(&rows::FCVT_FROM_SIGNED, &[Arg::Use(a)]),
            ConvertOp::UnsignedToFloat => self.float_row(&rows::FCVT_FROM_UNSIGNED, &[Arg::Use(a)]),
            ConvertOp::FloatToSignedInRange => self.row(&rows::FCVT_TO_SIGNED, &[Arg::Use(a)]),
            ConvertOp::FloatToSigned => {
                let word = self.row(&rows::FCVT_TO_SIGNED, &[Arg::Use(a)]);
                self.without_nan(a, word)
            }
            ConvertOp::FloatToUnsigned => {
                let word = self.row(&rows::FCVT_TO_UNSIGNED, &[Arg::Use(a)]);
                self.without_nan(a, word)
            }
            ConvertOp::HalfToFloat => {
                let half = self.extend(a, 16, false);
                let bits = self.call_support(Support::Convert(Format::Half, Format::Single), &[half]);
                self.float_of_word(bits[0])
            }
            ConvertOp::FloatToHalf => {
                let bits = self.word_of_float(a);
                self.call_support(Support::Convert(Format::Single, Format::Half), &[bits])[0]
            }
            _ => return self.unsupported(Operation::Convert(op), Type::scalar(Lane::F32)),
        })
    }

    fn choose_float(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        let result = self.register(SINGLE);
        self.chosen(result, test, yes, no)
    }
}
