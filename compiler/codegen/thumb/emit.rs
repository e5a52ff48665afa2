//! Emission of instructions with allocated registers: each operand goes to its field.

use super::access::{Moved, Place, access, access_and_step, access_double, access_float, access_pair, reaches};
use super::encode::{Assembler, Flags, Operand, double, modified, single};
use super::frame::Frame;
use super::inst::{Arg, Inst, Op, Own};
use super::registers::{GENERAL, SINGLE, SP, VECTORS, double_number};
use super::rows::{self, Row, Single};
use super::spill::{far_access, word};
use super::sums::sums;
use super::vectors::{Vector, access_vector, choose_lanes, predicate, step_vector};
use crate::own::{AssemblyError, Missing, NumberError, Position, RowFault, StackFrame, number_of, register};
use crate::{RelocationKind, RelocationTarget};
use regalloc2::{PReg, RegClass};
use smallvec::SmallVec;

/// A writer of instructions to code, with the frame that their addresses are relative to.
pub(super) struct Emitter<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// The code so far.
    pub code: &'a mut Assembler,
}

impl Assembler {
    /// Writes BL. The field's value is the distance from the next instruction, before relocation.
    pub(super) fn call(&mut self, target: RelocationTarget) {
        self.relocate(RelocationKind::ThumbCall, target, 0);
        self.word(0xF7FF_FFFE);
    }

    /// Copies a register to another one of its class. It changes no flags.
    pub(super) fn transfer(&mut self, to: PReg, from: PReg) {
        let (to_number, from_number) = (to.hw_enc() as u8, from.hw_enc() as u8);
        match (to.class(), double_number(to).zip(double_number(from))) {
            (_, Some((to, from))) => self.copy_double(to, from),
            (RegClass::Int, _) => self.copy(to_number, from_number),
            (RegClass::Float, _) => self.copy_float(to_number, from_number),
            (RegClass::Vector, _) => self.copy_vector(to_number, from_number),
        }
    }

    /// Writes BLX to an address in a register.
    pub(super) fn call_at(&mut self, register: u8) {
        self.half(0x4780 | u16::from(register) << 3);
    }
}

impl Emitter<'_> {
    /// Writes an instruction. `at` has its registers in the order of its operands.
    pub fn inst(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Row(row) => self.row(row, inst, at)?,
            Op::Parameters => {}
            Op::Constant(number) => self.code.constant(general(at, 0)?, number),
            Op::LoadAddress => self.address(inst, at)?,
            Op::Own(own) => self.own(own, inst, at)?,
            Op::Choose(flags) => {
                compare(&inst.args, at, self.code)?;
                self.choose(flags, register(at, 0)?, register(at, 2)?);
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
            Own::Load(bytes, signed) => self.moved(inst, at, Moved { bytes, store: false, signed })?,
            Own::Store(bytes) => self.moved(inst, at, Moved { bytes, store: true, signed: false })?,
            Own::LoadWord | Own::StoreWord => {
                if let Some(moved) = inst.moved() {
                    self.moved(inst, at, moved)?;
                }
            }
            Own::LoadPair => access_pair(false, [general(at, 0)?, general(at, 1)?], self.memory(inst, at)?, self.code)?,
            Own::StorePair => {
                let last = at.len().saturating_sub(1);
                access_pair(true, [general(at, last.saturating_sub(1))?, general(at, last)?], self.memory(inst, at)?, self.code)?;
            }
            Own::Step(moved, by) => self.step(moved, by, at)?,
            Own::LoadFloat => {
                let place = self.memory(inst, at)?;
                access_float(false, float(at, 0)?, place, self.code)?;
            }
            Own::StoreFloat => {
                let place = self.memory(inst, at)?;
                access_float(true, float(at, at.len().saturating_sub(1))?, place, self.code)?;
            }
            Own::LoadDouble | Own::StoreDouble => {
                let (store, place) = (own == Own::StoreDouble, self.memory(inst, at)?);
                let number = double_number(register(at, if store { at.len().saturating_sub(1) } else { 0 })?);
                let number = number.ok_or(AssemblyError::Class { found: "word", wanted: "double" })?;
                access_double(store, number, place, self.code)?;
            }
            Own::Vector(moved) => {
                let place = self.memory(inst, at)?;
                let at = self.predicate(moved, at)?;
                access_vector(moved, vector(at, if moved.store { at.len().saturating_sub(1) } else { 0 })?, place, self.code)?;
            }
            Own::StepVector(moved, by) => self.step_vector(moved, by, at)?,
            Own::ChooseLanes(flags) => {
                let number = |i| vector(at, i);
                choose_lanes(flags, [number(0)?, number(1)?, number(2)?], [number(3)?, number(4)?], self.code)?;
            }
            Own::Truth(flags) => {
                compare(&inst.args, at, self.code)?;
                self.truth(general(at, 0)?, flags);
            }
            Own::LongTruth(flags) => self.long_truth(at, flags)?,
        }
        Ok(())
    }

    /// Writes an address: MOVW and MOVT of the distance from the end of the ADD to the program counter that follows them. Before relocation, the two
    /// fields have the offset of their own position to this end.
    fn refer(&mut self, to: u8, target: RelocationTarget, offset: u64) {
        self.code.relocate(RelocationKind::ThumbLow, target, offset as i64);
        self.code.move_half(false, to, -12_i16 as u16);
        self.code.relocate(RelocationKind::ThumbHigh, target, offset as i64);
        self.code.move_half(true, to, -8_i16 as u16);
        self.code.half(0x4478 | u16::from(to >> 3) << 7 | u16::from(to & 7));
    }

    /// Writes ITE: 1 if flags hold, else 0.
    fn truth(&mut self, to: u8, flags: Flags) {
        let code = flags as u16;
        // The mask makes the second instruction conditional on the inverse flags.
        self.code.half(0xBF00 | code << 4 | if code & 1 == 0 { 0xC } else { 0x4 });
        for number in [1, 0] {
            if to < 8 {
                self.code.half(0x2000 | u16::from(to) << 8 | number);
            } else {
                self.code.word(0xF04F_0000 | u32::from(to) << 8 | u32::from(number));
            }
        }
    }

    /// Writes a comparison of 64 bits: CMP of the low halves and SBCS of the high halves set the flags of the difference.
    fn long_truth(&mut self, at: &[PReg], flags: Flags) -> Result<(), AssemblyError> {
        let [to, low, high, other_low, other_high] = [0, 1, 2, 3, 4].map(|i| general(at, i));
        let (to, high, other_high) = (to?, high?, other_high?);
        compare_words(low?, other_low?, self.code);
        self.code.word(0xEB70_0000 | u32::from(high) << 16 | u32::from(to) << 8 | u32::from(other_high));
        self.truth(to, flags);
        Ok(())
    }

    /// Writes IT: copies a register to another one if flags hold.
    fn choose(&mut self, flags: Flags, to: PReg, chosen: PReg) {
        if to == chosen {
            return;
        }
        self.code.half(0xBF08 | (flags as u16) << 4);
        self.code.transfer(to, chosen);
    }

    fn row(&mut self, row: &Row, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
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
                // A product of vectors has its sum in a fixed register, before and after.
                Arg::FixedUse(..) if row.reads_result => tied = true,
                Arg::FixedDef(..) if row.reads_result => operands.push(operand(*register)),
                Arg::Def(_) | Arg::Use(_) => operands.push(operand(*register)),
                other => return Err(AssemblyError::row(row.name, RowFault::Argument(format!("{other:?}")))),
            }
        }
        if tied && sums(row) {
            operands.extend(operands.first().copied());
        } else if tied != row.reads_result {
            return Err(AssemblyError::row(row.name, RowFault::ReadsResult));
        }
        self.code.row(row, &operands)
    }

    fn memory(&self, inst: &Inst, at: &[PReg]) -> Result<Place, AssemblyError> {
        Place::accessed(&inst.args, at, &self.frame.bases())
    }

    fn moved(&mut self, inst: &Inst, at: &[PReg], moved: Moved) -> Result<(), AssemblyError> {
        let place = self.memory(inst, at)?;
        let which = if moved.store { at.len().saturating_sub(1) } else { 0 };
        let number = general(at, which)?;
        match place {
            // Arguments lie above the frame, which may be large.
            Place::Near(SP, displacement) if !reaches(displacement.into()) => far_access(moved, number, displacement, self.code),
            _ => access(moved, number, place, self.code),
        }
    }

    /// Writes an access that adds to its base. The base's new and old values are the same register. They come after loaded values and before stored ones.
    fn step(&mut self, moved: Moved, by: i32, at: &[PReg]) -> Result<(), AssemblyError> {
        let registers: Vec<u8> = (0..at.len()).map(|i| general(at, i)).collect::<Result<_, _>>()?;
        match (moved.store, &registers[..]) {
            (false, [values @ .., base, _]) | (true, [base, _, values @ ..]) => access_and_step(moved, values, (*base, by), self.code),
            _ => Err(Missing::Base.into()),
        }
    }

    /// Writes an access to a vector that adds to its base. Its registers are those of [`Self::step`].
    fn step_vector(&mut self, moved: Vector, by: i32, at: &[PReg]) -> Result<(), AssemblyError> {
        let at = self.predicate(moved, at)?;
        let (base, value) = if moved.store { (0, 2) } else { (1, 0) };
        step_vector(moved, vector(at, value)?, (general(at, base)?, by), self.code)
    }

    /// Writes what comes before an access to the first elements of a vector, and returns the other registers of the access.
    fn predicate<'r>(&mut self, moved: Vector, at: &'r [PReg]) -> Result<&'r [PReg], AssemblyError> {
        let last = at.len().saturating_sub(1);
        let count = if moved.has_count() { Some(general(at, last)?) } else { None };
        predicate(moved, count, self.code);
        Ok(if count.is_some() { &at[..last] } else { at })
    }

    fn address(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let to = general(at, 0)?;
        match Place::of(&inst.args, at, &self.frame.bases())? {
            (Place::Near(base, displacement), _) => self.code.add_number(to, base, displacement),
            (Place::Indexed(base, index, shift), more) => {
                let [to_word, base, index] = [to, base, index].map(Operand::Word);
                match shift {
                    0 => self.code.row(&rows::ADD, &[to_word, base, index])?,
                    _ => self.code.row(&rows::ADD_LSL, &[to_word, base, index, Operand::Number(shift.into())])?,
                }
                self.code.add_number(to, to, more);
            }
        }
        Ok(())
    }
}

/// Makes an operand of a register.
fn operand(register: PReg) -> Operand {
    let number = register.hw_enc() as u8;
    match register.class() {
        RegClass::Int => Operand::Word(number),
        RegClass::Float => Operand::Single(number),
        RegClass::Vector => double_number(register).map_or(Operand::Vector(number), Operand::Double),
    }
}

/// VMRS: copies the flags of a comparison of floats (VCMP).
const FLAGS_OF_FLOATS: u32 = 0xEEF1_FA10;

/// Writes a comparison of the last two operands: floats or words. The second word may be a constant.
pub(super) fn compare(args: &[Arg], at: &[PReg], code: &mut Assembler) -> Result<(), AssemblyError> {
    let last = at.len().saturating_sub(1);
    if let Some(&Arg::Number(number)) = args.last() {
        return compare_number(general(at, last)?, number, code);
    }
    let (a, b) = (register(at, last.saturating_sub(1))?, register(at, last)?);
    if b.class() == RegClass::Float {
        code.word(0xEEB4_0A40 | single(Single::D, a.hw_enc() as u8) | single(Single::M, b.hw_enc() as u8));
        code.word(FLAGS_OF_FLOATS);
        return Ok(());
    }
    if let Some((a, b)) = double_number(a).zip(double_number(b)) {
        code.word(0xEEB4_0B40 | double(Single::D, a) | double(Single::M, b));
        code.word(FLAGS_OF_FLOATS);
        return Ok(());
    }
    compare_words(a.hw_enc() as u8, b.hw_enc() as u8, code);
    Ok(())
}

/// Writes a comparison of any two registers.
pub(super) fn compare_words(a: u8, b: u8, code: &mut Assembler) {
    if a < 8 && b < 8 {
        code.half(0x4280 | u16::from(b) << 3 | u16::from(a));
    } else {
        code.half(0x4500 | u16::from(a >> 3) << 7 | u16::from(b) << 3 | u16::from(a & 7));
    }
}

/// Writes a comparison with a constant: CMP, or CMN with the negated constant.
pub(super) fn compare_number(a: u8, number: i32, code: &mut Assembler) -> Result<(), AssemblyError> {
    if a < 8 && (0..256).contains(&number) {
        code.half(0x2800 | u16::from(a) << 8 | number as u16);
        return Ok(());
    }
    let (word, field) = match (modified(number), modified(number.wrapping_neg())) {
        (Some(field), _) => (0xF1B0_0F00, field),
        (None, Some(field)) => (0xF110_0F00, field),
        _ => return Err(NumberError::Compared(number).into()),
    };
    code.word(word | u32::from(a) << 16 | field);
    Ok(())
}

/// Returns the number of a general-purpose register.
pub(super) fn general(at: &[PReg], i: usize) -> Result<u8, AssemblyError> {
    number_of(at, i, GENERAL, ["float", "word"])
}

fn float(at: &[PReg], i: usize) -> Result<u8, AssemblyError> {
    number_of(at, i, SINGLE, ["word", "float"])
}

fn vector(at: &[PReg], i: usize) -> Result<u8, AssemblyError> {
    number_of(at, i, VECTORS, ["word", "vector"])
}
