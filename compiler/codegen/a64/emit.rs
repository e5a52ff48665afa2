//! Emission of instructions with allocated registers: each operand goes to its field.

use super::encode::{Assembler, Flags, Moved, Operand, Place, access, access_pair, encode, load_four};
use super::frame::Frame;
use super::held::WIDTH;
use super::inst::{Arg, Inst, Op};
use super::number::modified;
use super::registers::{GENERAL, VECTOR};
use super::rows::Row;
use super::rows::Size;
use crate::own::{
    AddressError, AssemblyError, Missing, NumberError, PhysicalAddress, Position, RowFault, StackFrame, memory_of, number_of,
};
use regalloc2::PReg;
use smallvec::SmallVec;

/// A writer of instructions to code, with the frame that their addresses are relative to.
pub(super) struct Emitter<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// The code so far.
    pub code: &'a mut Assembler,
}

impl Emitter<'_> {
    /// Writes an instruction. `at` has its registers in the order of its operands.
    pub fn inst(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Row(row, size) => self.row(row, size, inst, at)?,
            Op::Parameters => {}
            Op::Constant(number) => self.code.constant(general(at, 0)?, number),
            Op::Pattern(bits) => {
                let word = modified(bits).ok_or(NumberError::Vector)?;
                self.code.word(word | vector(at, 0)?);
            }
            Op::LoadAddress => self.address(inst, at)?,
            Op::Load(bytes, signed) => self.moved(inst, at, Moved { vector: false, bytes, store: false, signed })?,
            Op::Store(bytes) => self.moved(inst, at, Moved { vector: false, bytes, store: true, signed: false })?,
            Op::LoadVector(bytes) => self.moved(inst, at, Moved { vector: true, bytes, store: false, signed: false })?,
            Op::LoadInput => self.moved(inst, at, Moved { vector: true, bytes: WIDTH, store: false, signed: false })?,
            Op::LoadPair => {
                let place = self.memory(inst, at)?;
                access_pair([vector(at, 0)?, vector(at, 1)?], place, false, self.code)?;
            }
            Op::LoadFour => {
                let place = self.memory(inst, at)?;
                let registers = [vector(at, 0)?, vector(at, 1)?, vector(at, 2)?, vector(at, 3)?];
                load_four(registers, place, self.code)?;
            }
            Op::StorePair => {
                let place = self.memory(inst, at)?;
                let values = at.len().saturating_sub(2);
                access_pair([vector(at, values)?, vector(at, values + 1)?], place, true, self.code)?;
            }
            Op::StoreVector(bytes) => self.moved(inst, at, Moved { vector: true, bytes, store: true, signed: false })?,
            Op::CompareSet(flags) => {
                compare(&inst.args, at, self.code)?;
                // CSET: CSINC of two zeros with the inverse condition.
                self.code.word(0x9A9F_07E0 | (flags.inverse() as u32) << 12 | u32::from(general(at, 0)?));
            }
            Op::CompareSelect(flags) => {
                compare(&inst.args, at, self.code)?;
                self.choose(flags, [general(at, 0)?, general(at, 1)?, general(at, 2)?]);
            }
            Op::Jump | Op::CompareBranch(_) | Op::TestBranch | Op::Return(_) => {
                return Err(AssemblyError::misplaced(inst.op, Position::Inside));
            }
        }
        Ok(())
    }

    /// Writes a CSEL.
    fn choose(&mut self, flags: Flags, [to, yes, no]: [u8; 3]) {
        self.code.word(0x9A80_0000 | u32::from(no) << 16 | (flags as u32) << 12 | u32::from(yes) << 5 | u32::from(to));
    }

    fn row(&mut self, row: &Row, size: Size, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let mut registers = at.iter();
        let mut operands = SmallVec::<[Operand; 4]>::new();
        let mut tied = false;
        for arg in &inst.args {
            if let Arg::Number(number) = arg {
                operands.push(Operand::Number(*number));
                continue;
            }
            let register = registers.next().ok_or(Missing::Register)?;
            match arg {
                Arg::Tied(_) => tied = true,
                Arg::Def(_) | Arg::Use(_) => operands.push(operand(*register)),
                other => return Err(AssemblyError::row(row.name, RowFault::Argument(format!("{other:?}")))),
            }
        }
        if tied != row.reads_result {
            return Err(AssemblyError::row(row.name, RowFault::ReadsResult));
        }
        self.code.word(encode(row, size, &operands)?);
        Ok(())
    }

    /// Returns the place of the memory operand.
    fn memory(&self, inst: &Inst, at: &[PReg]) -> Result<Place, AssemblyError> {
        let (address, registers) = memory_of(&inst.args, at)?;
        match address.physical(&self.frame.bases(), registers)? {
            None => Ok(Place::Pool(address.displacement as u32)),
            Some(PhysicalAddress { base, index: None, displacement }) => Ok(Place::Near(base, displacement)),
            Some(PhysicalAddress { base, index: Some((index, shift)), displacement: 0 }) => Ok(Place::Indexed(base, index, shift)),
            Some(_) => Err(AddressError::IndexAndDisplacement.into()),
        }
    }

    fn moved(&mut self, inst: &Inst, at: &[PReg], moved: Moved) -> Result<(), AssemblyError> {
        let place = self.memory(inst, at)?;
        let register = if moved.store { at.last() } else { at.first() };
        access(moved, register.ok_or(Missing::Moved)?.hw_enc() as u8, place, self.code)
    }

    fn address(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let to = general(at, 0)?;
        match self.memory(inst, at)? {
            Place::Near(base, displacement) => self.code.add_number(to, base, displacement.into()),
            Place::Indexed(base, index, shift) => {
                let word = 0x8B00_0000 | u32::from(index) << 16 | u32::from(shift) << 10 | u32::from(base) << 5;
                self.code.word(word | u32::from(to));
                Ok(())
            }
            Place::Pool(_) => Err(AddressError::OfConstant.into()),
        }
    }
}

/// Returns the operand of a register.
fn operand(register: PReg) -> Operand {
    let number = register.hw_enc() as u8;
    if register.class() == GENERAL { Operand::General(number) } else { Operand::Vector(number) }
}

/// Compares the last two operands; the second is a register or a constant.
pub(super) fn compare(args: &[Arg], at: &[PReg], code: &mut Assembler) -> Result<(), AssemblyError> {
    let last = at.len().saturating_sub(1);
    if let Some(&Arg::Number(number)) = args.last() {
        let magnitude = u32::try_from(number.unsigned_abs()).ok().filter(|&n| n < 1 << 12).ok_or(NumberError::LargeCompared)?;
        let word = if number < 0 { 0xB100_001F } else { 0xF100_001F };
        code.word(word | magnitude << 10 | u32::from(general(at, last)?) << 5);
        return Ok(());
    }
    let (a, b) = (general(at, last.saturating_sub(1))?, general(at, last)?);
    code.word(0xEB00_001F | u32::from(b) << 16 | u32::from(a) << 5);
    Ok(())
}

/// Returns the number of a general-purpose register.
pub(super) fn general(at: &[PReg], i: usize) -> Result<u8, AssemblyError> {
    number_of(at, i, GENERAL, ["vector register", "number"])
}

fn vector(at: &[PReg], i: usize) -> Result<u32, AssemblyError> {
    Ok(number_of(at, i, VECTOR, ["number", "vector"])?.into())
}
