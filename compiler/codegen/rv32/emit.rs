//! Instructions with allocated registers to bytes: each operand in its field.

use super::encode::{Assembler, Operand, encode};
use super::frame::Frame;
use super::inst::{Arg, Inst, Op};
use super::jump::{Condition, Relation, skip};
use super::registers::{GENERAL, RA, ZERO};
use super::rows::{self, Row};
use crate::own::{
    Address, AddressError, AssemblyError, Missing, NumberError, PhysicalAddress, Position, RowFault, StackFrame, number_of, register,
};
use crate::{RelocationKind, RelocationTarget};
use regalloc2::PReg;
use smallvec::SmallVec;

/// Destination of instructions, and the frame that their addresses count from.
pub(super) struct Emitter<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// The code so far.
    pub code: &'a mut Assembler,
}

impl Emitter<'_> {
    /// An instruction whose registers are given in the order of its operands.
    pub fn inst(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Own(own) => match own {},
            Op::Row(row) => self.row(row, inst, at),
            Op::Parameters => Ok(()),
            Op::Constant(number) => self.code.constant(word(at, 0)?, number),
            Op::LoadAddress => self.address(inst, at),
            Op::Choose(relation) => self.choose(relation, inst, at),
            Op::Refer(target, offset) => self.refer(word(at, 0)?, target, offset),
            Op::Pass(number) => self.code.stack_word(Operand::Word(word(at, 0)?), 4 * number as i32, true),
            Op::Call(Some(target)) => {
                self.code.relocate(RelocationKind::RiscvCall, target, 0);
                self.code.word(encode(&rows::AUIPC, &[Operand::Word(RA), Operand::Number(0)])?);
                self.code.word(encode(&rows::JALR, &[Operand::Word(RA), Operand::Number(0), Operand::Word(RA)])?);
                Ok(())
            }
            Op::Call(None) => {
                // C.JALR.
                self.code.half(0x9002 | u16::from(word(at, 1)?) << 7);
                Ok(())
            }
            Op::Jump | Op::CompareBranch(_) | Op::CountBranch | Op::Return(_) | Op::ReturnWith => {
                Err(AssemblyError::misplaced(inst.op, Position::Inside))
            }
        }
    }

    /// AUIPC and ADDI of a distance from the first of both.
    fn refer(&mut self, to: u8, target: RelocationTarget, offset: u64) -> Result<(), AssemblyError> {
        let (to, none) = (Operand::Word(to), Operand::Number(0));
        let here = self.code.bytes.len() as u32;
        self.code.relocate(RelocationKind::RiscvHigh, target, offset as i64);
        self.code.word(encode(&rows::AUIPC, &[to, none])?);
        self.code.relocate(RelocationKind::RiscvLow, RelocationTarget::Here(here), 0);
        self.code.word(encode(&rows::ADD_NUMBER, &[to, to, none])?);
        Ok(())
    }

    /// A branch over a copy.
    fn choose(&mut self, relation: Relation, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        // The definition has the register of the tied operand.
        let (to, chosen) = (register(at, 0)?, register(at, 2)?);
        if to == chosen {
            return Ok(());
        }
        let condition = condition(relation.inverse(), &inst.args, at)?;
        let (to_number, from) = (to.hw_enc() as u8, chosen.hw_enc() as u8);
        if to.class() == GENERAL {
            skip(condition, 2, self.code);
            self.code.copy(to_number, from)
        } else {
            skip(condition, 4, self.code);
            self.code.copy_single(to_number, from)
        }
    }

    fn row(&mut self, row: &Row, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let mut registers = at.iter();
        let mut operands = SmallVec::<[Operand; 4]>::new();
        for arg in &inst.args {
            match arg {
                Arg::Number(number) => operands.push(Operand::Number(*number)),
                Arg::Def(_) | Arg::Use(_) => operands.push(Operand::of(*registers.next().ok_or(Missing::Register)?)),
                Arg::Memory(address) => {
                    let PhysicalAddress { base, index: None, displacement } = self.place(address, &mut registers)? else {
                        return Err(AssemblyError::row(row.name, RowFault::Index));
                    };
                    let (place, base) = self.code.near(base, displacement)?;
                    operands.extend([Operand::Number(place), Operand::Word(base)]);
                }
                other => return Err(AssemblyError::row(row.name, RowFault::Argument(format!("{other:?}")))),
            }
        }
        // Stores have the value first.
        if matches!(inst.args[..], [Arg::Memory(_), Arg::Use(_)]) {
            operands.rotate_right(1);
        }
        self.code.row(row, &operands)
    }

    /// An address in registers. It does not lie after the code.
    fn place<'r>(&self, address: &Address, registers: impl Iterator<Item = &'r PReg>) -> Result<PhysicalAddress, AssemblyError> {
        let place = address.physical(&self.frame.bases(), registers.map(|register| register.hw_enc() as u8))?;
        place.ok_or(AddressError::Pool.into())
    }

    fn address(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let to = word(at, 0)?;
        let Some(Arg::Memory(address)) = inst.args.last() else { return Err(Missing::Memory.into()) };
        let PhysicalAddress { base, index, displacement } = self.place(address, at.iter().skip(1))?;
        let Some((index, shift)) = index else { return self.code.add_number(to, base, displacement) };
        if shift != 0 {
            return Err(AddressError::ShiftedIndex.into());
        }
        self.code.row(&rows::ADD, &[to, base, index].map(Operand::Word))?;
        if displacement == 0 { Ok(()) } else { self.code.add_number(to, to, displacement) }
    }
}

/// Returns the condition on the last two operands; 0 is x0.
pub(super) fn condition(relation: Relation, args: &[Arg], at: &[PReg]) -> Result<Condition, AssemblyError> {
    let mut registers = at.iter().rev();
    let mut number = |arg: &Arg| match arg {
        Arg::Number(0) => Ok(ZERO),
        Arg::Use(_) => registers.next().map(|register| register.hw_enc() as u8).ok_or(Missing::ComparedRegister.into()),
        other => Err(AssemblyError::from(NumberError::ComparedArgument(format!("{other:?}")))),
    };
    let mut compared = args.iter().rev().take(2).map(&mut number);
    let mut next = || compared.next().unwrap_or_else(|| Err(Missing::Compared.into()));
    let (b, a) = (next()?, next()?);
    Ok(Condition { relation, a, b })
}

/// The number of a general-purpose register.
pub(super) fn word(at: &[PReg], i: usize) -> Result<u8, AssemblyError> {
    number_of(at, i, GENERAL, ["float", "word"])
}
