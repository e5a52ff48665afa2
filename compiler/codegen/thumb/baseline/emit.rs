//! Emission of instructions with allocated registers.

use super::frame::Frame;
use super::inst::{Arg, Inst, Op, Own};
use super::level::Level;
use super::number::is_byte;
use super::place::{access, compute, sum};
use crate::own::{AssemblyError, Missing, NumberError, Position, StackFrame};
use crate::thumb::access::{Moved, Place};
use crate::thumb::emit::{compare_words, general};
use crate::thumb::encode::{Assembler, Flags, Operand, shorten};
use crate::thumb::registers::SP;
use crate::thumb::rows::{self, Row, Short};
use crate::thumb::spill::{pop, push, word};
use crate::{RelocationKind, RelocationTarget};
use regalloc2::PReg;

/// A writer of instructions to code, with the frame that their addresses are relative to.
pub(super) struct Emitter<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// The instructions that there are.
    pub level: Level,
    /// The code so far.
    pub code: &'a mut Assembler,
}

impl Assembler {
    /// Writes a row's instruction in 16 bits.
    ///
    /// # Errors
    /// A message if these operands have no such encoding.
    pub(super) fn short(&mut self, row: &Row, operands: &[Operand]) -> Result<(), AssemblyError> {
        let half = shorten(row, operands).ok_or_else(|| AssemblyError::OtherLevel { what: format!("{} of {operands:?}", row.name) })?;
        self.half(half);
        Ok(())
    }
}

impl Emitter<'_> {
    /// Writes an instruction. `at` has its registers in the order of its operands.
    pub fn inst(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Row(row) => self.row(row, inst, at)?,
            Op::Parameters => {}
            Op::Constant(number) => self.code.build_at(self.level, general(at, 0)?, number)?,
            Op::LoadAddress => compute(general(at, 0)?, Place::of(&inst.args, at, &self.frame.bases())?, self.code)?,
            Op::Own(own) => self.own(own, inst, at)?,
            Op::Choose(flags) => {
                let (to, chosen) = (general(at, 0)?, general(at, 2)?);
                if to != chosen {
                    compare(&inst.args, at, self.code)?;
                    skip_if(flags.inverse(), 1, self.code);
                    self.code.copy(to, chosen);
                }
            }
            Op::Refer(target, offset) => self.refer(general(at, 0)?, target, offset),
            Op::Pass(number) => access(word(true), general(at, 0)?, Place::Near(SP, 4 * number as i32), self.code)?,
            Op::Call(Some(target)) => self.code.call(target),
            Op::Call(None) => self.code.call_at(general(at, 1)?),
            Op::Jump | Op::CompareBranch(_) | Op::CountBranch | Op::Return(_) | Op::ReturnWith => {
                return Err(AssemblyError::misplaced(inst.op, Position::Inside));
            }
        }
        Ok(())
    }

    fn own(&mut self, own: Own, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        match own {
            Own::Copy => self.code.copy(general(at, 0)?, general(at, 1)?),
            Own::Load(bytes, signed) => self.moved(inst, Moved { bytes, store: false, signed }, general(at, 0)?, at)?,
            Own::Store(bytes) => {
                let stored = general(at, at.len().saturating_sub(1))?;
                self.moved(inst, Moved { bytes, store: true, signed: false }, stored, at)?;
            }
            Own::Truth(flags) => {
                let to = general(at, 0)?;
                set_byte(to, 1, self.code);
                compare(&inst.args, at, self.code)?;
                skip_if(flags, 1, self.code);
                set_byte(to, 0, self.code);
            }
            Own::LongTruth(flags) => self.long_truth(at, flags)?,
            Own::LongSum(subtract) => self.long_sum(at, subtract)?,
        }
        Ok(())
    }

    /// Writes an address: a load of the distance from the ADD to the program counter, which the code jumps over. The distance lies where the program
    /// counter is at the ADD, so it needs no correction.
    fn refer(&mut self, to: u8, target: RelocationTarget, offset: u64) {
        if self.code.bytes.len().is_multiple_of(4) {
            // NOP, so that the distance is at a multiple of four.
            self.code.half(0xBF00);
        }
        self.code.half(0x4801 | u16::from(to) << 8);
        self.code.accumulate(to, 15);
        self.code.half(0xE001);
        self.code.relocate(RelocationKind::ThumbDistance, target, offset as i64);
        self.code.word(0);
    }

    /// Writes a comparison of 64 bits: CMP of the low halves and SBCS of the high halves set the flags of the difference.
    fn long_truth(&mut self, at: &[PReg], flags: Flags) -> Result<(), AssemblyError> {
        let [to, low, high, other_low, other_high] = [0, 1, 2, 3, 4].map(|i| general(at, i));
        let (to, other_high) = (to?, other_high?);
        compare_words(low?, other_low?, self.code);
        self.code.copy(to, high?);
        self.code.short(&rows::SBC, &[to, to, other_high].map(Operand::Word))?;
        // B over the next two instructions, and B over the last one.
        skip_if(flags, 2, self.code);
        set_byte(to, 0, self.code);
        self.code.half(0xE000);
        set_byte(to, 1, self.code);
        Ok(())
    }

    fn long_sum(&mut self, at: &[PReg], subtract: bool) -> Result<(), AssemblyError> {
        let [low, high, a_low, a_high, b_low, b_high] = [0, 1, 2, 3, 4, 5].map(|i| general(at, i));
        let (high, b_high) = (high?, b_high?);
        let rows = if subtract { [&rows::SUBS, &rows::SBC] } else { [&rows::ADDS, &rows::ADC] };
        self.code.short(rows[0], &[low?, a_low?, b_low?].map(Operand::Word))?;
        self.code.copy(high, a_high?);
        self.code.short(rows[1], &[high, high, b_high].map(Operand::Word))
    }

    fn row(&mut self, row: &Row, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let mut registers = at.iter().map(|register| register.hw_enc() as u8);
        let operand = |arg: &Arg| match arg {
            Arg::Number(number) => Ok(Operand::Number(*number)),
            _ => registers.next().map(Operand::Word).ok_or(Missing::Register),
        };
        let operands = inst.args.iter().map(operand).collect::<Result<Vec<Operand>, _>>()?;
        match (row.short, &operands[..]) {
            (Short::Three(_), &[Operand::Word(to), Operand::Word(a), Operand::Word(b)]) if row == &rows::ADD => sum(to, [a, b], self.code),
            (Short::Same(_) | Short::Either(_) | Short::Small(..), &[Operand::Word(to), Operand::Word(a), b]) if to >= 8 && to == a => {
                self.overwrite_high(row, to, b)
            }
            (Short::Small(..), &[Operand::Word(to), Operand::Word(from), Operand::Number(number)]) => {
                self.code.add_byte(to, from, if row == &rows::SUB_TWELVE { -number } else { number })
            }
            (Short::Same(_) | Short::Either(_), &[Operand::Word(to), Operand::Word(a), b]) => {
                if matches!(row.short, Short::Either(_)) && b == Operand::Word(to) {
                    return self.code.short(row, &[b, Operand::Word(a), b]);
                }
                self.code.copy(to, a);
                self.code.short(row, &[Operand::Word(to), Operand::Word(to), b])
            }
            // The level has divisions.
            (Short::None, _) if self.level == Level::Armv8 => self.code.row(row, &operands),
            _ => self.code.short(row, &operands),
        }
    }

    /// Writes an operation on a high register, which the allocator chooses for an operand that a result overwrites. A low one stands in for it.
    fn overwrite_high(&mut self, row: &Row, to: u8, b: Operand) -> Result<(), AssemblyError> {
        let low = u8::from(b == Operand::Word(0));
        push(1 << low, self.code);
        self.code.copy(low, to);
        self.code.short(row, &[Operand::Word(low), Operand::Word(low), b])?;
        self.code.copy(to, low);
        pop(1 << low, self.code);
        Ok(())
    }

    fn moved(&mut self, inst: &Inst, moved: Moved, register: u8, at: &[PReg]) -> Result<(), AssemblyError> {
        access(moved, register, Place::accessed(&inst.args, at, &self.frame.bases())?, self.code)
    }
}

/// Writes MOVS.
fn set_byte(to: u8, byte: u8, code: &mut Assembler) {
    code.half(0x2000 | u16::from(to) << 8 | u16::from(byte));
}

/// Writes a conditional B over the next one or two instructions of 16 bits.
fn skip_if(flags: Flags, count: u16, code: &mut Assembler) {
    code.half(0xD000 | (flags as u16) << 8 | (count - 1));
}

/// Writes a comparison of the last two operands. The second one may be a constant.
pub(super) fn compare(args: &[Arg], at: &[PReg], code: &mut Assembler) -> Result<(), AssemblyError> {
    let last = at.len().saturating_sub(1);
    match args.last() {
        Some(&Arg::Number(number)) => {
            let a = general(at, last)?;
            if a >= 8 || !is_byte(number) {
                return Err(NumberError::ComparedHigh { register: a, number }.into());
            }
            code.half(0x2800 | u16::from(a) << 8 | number as u16);
        }
        _ => compare_words(general(at, last.saturating_sub(1))?, general(at, last)?, code),
    }
    Ok(())
}
