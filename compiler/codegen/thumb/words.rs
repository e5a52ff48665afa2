//! Lowering of loads, stores and operations on floats.

use super::encode::Flags;
use super::inst::{Arg, Op, Own};
use super::lowering::Lowering;
use super::ops::compares_with;
use super::registers::SINGLE;
use super::rows::{self, Row};
use crate::own::Address;
use crate::own::words::{DOUBLES, Half, Operand, Ops, Test, WordOp, Words};
use crate::support::Support;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, ConvertOp, Lane, Type, UnaryOp, Value};
use regalloc2::VReg;

/// Returns the type of the float in a register.
fn format(register: VReg) -> Type {
    Type::scalar(if register.class() == DOUBLES { Lane::F64 } else { Lane::F32 })
}

/// Picks the row of a register's format: binary32 or binary64.
fn of_format(register: VReg, [single, double]: [&'static Row; 2]) -> &'static Row {
    if register.class() == DOUBLES { double } else { single }
}

impl Words for Lowering<'_> {
    type Relation = Flags;

    fn compared(&mut self, test: Test<VReg>) -> (Flags, [Arg; 2]) {
        let b = match test.b {
            Operand::Word(word) => Arg::Use(word),
            Operand::Number(number) if compares_with(number) => Arg::Number(number),
            Operand::Number(number) => Arg::Use(self.word(number)),
        };
        (Flags::of(test.op, test.floats), [Arg::Use(test.a), b])
    }

    fn support(&mut self, what: Support, arguments: &[VReg]) -> Vec<VReg> {
        self.call_support(what, arguments)
    }

    fn has_format(&self, lane: Lane) -> bool {
        self.set.formats.contains(&lane)
    }

    fn only_aligned(&self) -> bool {
        self.set.only_aligned
    }

    fn has_halves(&self) -> bool {
        self.set.has_halves
    }

    fn loads_factors(&self, loaded: Value) -> bool {
        self.set.factors.contains(loaded)
    }

    fn is_zero(&self, word: VReg) -> bool {
        self.numbers.iter().any(|((_, number), register)| *number == 0 && *register == word)
    }

    fn widened_bytes(&mut self, word: VReg) -> [VReg; 2] {
        let key = (self.block, word);
        if let Some(&known) = self.set.widened.get(&key) {
            return known;
        }
        let halves = [&rows::SXTB16, &rows::SXTB16_ODD].map(|row| self.row(row, &[Arg::Use(word)]));
        self.set.widened.insert(key, halves);
        halves
    }

    fn joined_halves(&mut self, lower: Half, upper: Half) -> VReg {
        let (row, [n, m]) = match (lower.upper, upper.upper) {
            (false, false) => (&rows::PKHBT_LOWER, [lower.word, upper.word]),
            (false, true) => (&rows::PKHBT, [lower.word, upper.word]),
            (true, true) => (&rows::PKHTB_UPPER, [upper.word, lower.word]),
            (true, false) => (&rows::PKHBT_LOWER, [self.shift(WordOp::Right, lower.word, 16), upper.word]),
        };
        self.row(row, &[Arg::Use(n), Arg::Use(m)])
    }

    fn shares_factor(&self, value: Value) -> bool {
        self.set.shared.contains(value)
    }

    fn add_half_product(&mut self, sum: VReg, a: Half, b: Half) -> VReg {
        let row = match (a.upper, b.upper) {
            (false, false) => &rows::SMLABB,
            (false, true) => &rows::SMLABT,
            (true, false) => &rows::SMLATB,
            (true, true) => &rows::SMLATT,
        };
        self.row(row, &[Arg::Use(a.word), Arg::Use(b.word), Arg::Use(sum)])
    }

    fn add_both_products(&mut self, sum: VReg, a: VReg, b: VReg) -> VReg {
        self.row(&rows::SMLAD, &[Arg::Use(a), Arg::Use(b), Arg::Use(sum)])
    }

    fn load_word(&mut self, address: Address, bytes: u32, signed: bool) -> VReg {
        self.defined(Op::Own(Own::Load(bytes, signed)), &[Arg::Memory(address)])
    }

    fn store_word(&mut self, address: Address, bytes: u32, word: VReg) {
        self.emit(Op::Own(Own::Store(bytes)), vec![Arg::Memory(address), Arg::Use(word)]);
    }

    fn load_aligned(&mut self, address: Address) -> VReg {
        self.defined(Op::Own(Own::LoadWord), &[Arg::Memory(address)])
    }

    fn store_aligned(&mut self, address: Address, word: VReg) {
        self.emit(Op::Own(Own::StoreWord), vec![Arg::Memory(address), Arg::Use(word)]);
    }

    fn load_float(&mut self, address: Address) -> VReg {
        self.defined_in(SINGLE, Op::Own(Own::LoadFloat), &[Arg::Memory(address)])
    }

    fn store_float(&mut self, address: Address, float: VReg) {
        self.emit(Op::Own(Own::StoreFloat), vec![Arg::Memory(address), Arg::Use(float)]);
    }

    fn load_double(&mut self, address: Address) -> Result<VReg, CodegenError> {
        Ok(self.defined_in(DOUBLES, Op::Own(Own::LoadDouble), &[Arg::Memory(address)]))
    }

    fn store_double(&mut self, address: Address, double: VReg) -> Result<(), CodegenError> {
        self.emit(Op::Own(Own::StoreDouble), vec![Arg::Memory(address), Arg::Use(double)]);
        Ok(())
    }

    fn double_of_words(&mut self, [low, high]: [VReg; 2]) -> Result<VReg, CodegenError> {
        Ok(self.defined_in(DOUBLES, Op::Row(&rows::VMOV_TO_DOUBLE), &[Arg::Use(low), Arg::Use(high)]))
    }

    fn words_of_double(&mut self, double: VReg) -> Result<[VReg; 2], CodegenError> {
        let [low, high] = [self.scalar(), self.scalar()];
        self.emit(Op::Row(&rows::VMOV_FROM_DOUBLE), vec![Arg::Def(low), Arg::Def(high), Arg::Use(double)]);
        Ok([low, high])
    }

    fn float_of_word(&mut self, word: VReg) -> VReg {
        self.float_row(&rows::VMOV_TO_SINGLE, &[Arg::Use(word)])
    }

    fn word_of_float(&mut self, float: VReg) -> VReg {
        self.row(&rows::VMOV_FROM_SINGLE, &[Arg::Use(float)])
    }

    fn float_two(&mut self, op: BinaryOp, a: VReg, b: VReg) -> Result<VReg, CodegenError> {
        let rows = match op {
            BinaryOp::Add => [&rows::VADD, &rows::VADD_DOUBLE],
            BinaryOp::Sub => [&rows::VSUB, &rows::VSUB_DOUBLE],
            BinaryOp::Mul => [&rows::VMUL, &rows::VMUL_DOUBLE],
            BinaryOp::FloatDiv => [&rows::VDIV, &rows::VDIV_DOUBLE],
            _ => return self.unsupported(Operation::Binary(op), format(a)),
        };
        Ok(self.defined_in(a.class(), Op::Row(of_format(a, rows)), &[Arg::Use(a), Arg::Use(b)]))
    }

    fn float_one(&mut self, op: UnaryOp, a: VReg) -> Result<VReg, CodegenError> {
        let row = match op {
            UnaryOp::Neg => of_format(a, [&rows::VNEG, &rows::VNEG_DOUBLE]),
            UnaryOp::Abs => of_format(a, [&rows::VABS, &rows::VABS_DOUBLE]),
            UnaryOp::Sqrt => of_format(a, [&rows::VSQRT, &rows::VSQRT_DOUBLE]),
            UnaryOp::Trunc if a.class() == DOUBLES => &rows::VRINTZ_DOUBLE,
            UnaryOp::Floor if a.class() == DOUBLES => &rows::VRINTM_DOUBLE,
            UnaryOp::Ceil if a.class() == DOUBLES => &rows::VRINTP_DOUBLE,
            UnaryOp::Nearest if a.class() == DOUBLES => &rows::VRINTN_DOUBLE,
            _ => return self.unsupported(Operation::Unary(op), format(a)),
        };
        Ok(self.defined_in(a.class(), Op::Row(row), &[Arg::Use(a)]))
    }

    fn float_fused(&mut self, sum: VReg, a: VReg, b: VReg) -> Result<VReg, CodegenError> {
        let row = of_format(sum, [&rows::VFMA, &rows::VFMA_DOUBLE]);
        Ok(self.defined_in(sum.class(), Op::Row(row), &[Arg::Tied(sum), Arg::Use(a), Arg::Use(b)]))
    }

    fn float_convert(&mut self, op: ConvertOp, a: VReg, to: Lane) -> Result<VReg, CodegenError> {
        let to_word = match op {
            ConvertOp::FloatToSigned | ConvertOp::FloatToSignedInRange => [&rows::VCVT_TO_SIGNED, &rows::VCVT_DOUBLE_TO_SIGNED],
            ConvertOp::FloatToUnsigned => [&rows::VCVT_TO_UNSIGNED, &rows::VCVT_DOUBLE_TO_UNSIGNED],
            ConvertOp::Promote => return Ok(self.defined_in(DOUBLES, Op::Row(&rows::VCVT_TO_DOUBLE), &[Arg::Use(a)])),
            ConvertOp::Demote => return Ok(self.float_row(&rows::VCVT_FROM_DOUBLE, &[Arg::Use(a)])),
            ConvertOp::FloatToHalf => {
                let half = self.float_row(&rows::VCVT_TO_HALF, &[Arg::Tied(a), Arg::Use(a)]);
                return Ok(self.word_of_float(half));
            }
            _ => {
                let (class, row) = match (op, to) {
                    (ConvertOp::SignedToFloat, Lane::F64) => (DOUBLES, &rows::VCVT_DOUBLE_FROM_SIGNED),
                    (ConvertOp::UnsignedToFloat, Lane::F64) => (DOUBLES, &rows::VCVT_DOUBLE_FROM_UNSIGNED),
                    (ConvertOp::SignedToFloat, _) => (SINGLE, &rows::VCVT_FROM_SIGNED),
                    (ConvertOp::UnsignedToFloat, _) => (SINGLE, &rows::VCVT_FROM_UNSIGNED),
                    (ConvertOp::HalfToFloat, _) => (SINGLE, &rows::VCVT_FROM_HALF),
                    _ => return self.unsupported(Operation::Convert(op), Type::scalar(to)),
                };
                let bits = self.float_of_word(a);
                return Ok(self.defined_in(class, Op::Row(row), &[Arg::Use(bits)]));
            }
        };
        let integer = self.float_row(of_format(a, to_word), &[Arg::Use(a)]);
        Ok(self.word_of_float(integer))
    }

    fn choose_float(&mut self, test: Test<VReg>, yes: VReg, no: VReg) -> VReg {
        let result = self.register(yes.class());
        self.chosen(result, test, yes, no)
    }
}
