//! Thumb-2 as an instruction set of [`crate::own`]: registers, moves and jumps.

use super::emit::{Emitter, compare, compare_number, general};
use super::encode::{Assembler, Flags};
use super::frame::Frame;
use super::in_vectors::InVectors;
use super::inst::{Arg, Inst, Op};
use super::registers::{DOUBLES, FIRST_SAVED_VECTOR, GENERAL, LOW, LR, SAVED_SINGLES, SINGLE, SP, VECTOR_COUNT, VECTORS, double_register};
use super::rows::Feature;
use super::spill::spill;
use crate::own::{AssemblyError, InstructionSet, Position, Reach, allocatable, registers_in};
use modelc_kernel::{Kernel, Lane};
use modelc_machine::{CpuMachine, Extension};
use regalloc2::{MachineEnv, PReg, RegClass};
use std::convert::Infallible;
use std::ops::Range;

/// Condition of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    /// The flags of a comparison.
    Flags(Flags),
    /// A register that is 0 (`true`) or not 0 (`false`).
    Zero(u8, bool),
    /// The link register, which the jump makes less by one: it is not 0 then (`true`) or 0 (`false`).
    Rounds(bool),
}

/// Makes the reach of a jump, `more` bytes after which its distance begins.
pub(super) const fn reach(bytes: usize, far: i64, more: i64) -> Reach {
    Reach { bytes, from: more + 4 - far, to: more + 2 + far }
}

/// Reach of B in 16 and in 32 bits.
const JUMP: [Reach; 2] = [reach(2, 1 << 11, 0), reach(4, 1 << 24, 0)];
/// Reach of a conditional B in 16 and in 32 bits.
const ON_FLAGS: [Reach; 2] = [reach(2, 1 << 8, 0), reach(4, 1 << 20, 0)];
/// Reach of CBZ and CBNZ, which only jump forward, and of a 16-bit comparison before a conditional B.
const ON_ZERO: [Reach; 3] = [Reach { bytes: 2, from: 4, to: 130 }, reach(4, 1 << 8, 2), reach(6, 1 << 20, 2)];
/// Reach of a 32-bit comparison before a conditional B.
const ON_HIGH_ZERO: [Reach; 2] = [reach(6, 1 << 8, 4), reach(8, 1 << 20, 4)];
/// Reach of LE, which only jumps back, and of a SUBS before a conditional B.
const ON_ROUNDS: [Reach; 3] = [Reach { bytes: 4, from: 4 - 4094, to: 2 }, reach(6, 1 << 8, 4), reach(8, 1 << 20, 4)];

/// Tests whether vector registers hold values of a kernel on a machine.
pub fn has_vectors(kernel: &Kernel, machine: &CpuMachine) -> bool {
    !InVectors::of(kernel, machine).is_empty()
}

/// Tests whether a kernel has values of a lane type.
fn has_lane(kernel: &Kernel, lane: Lane) -> bool {
    kernel.types.iter().any(|ty| ty.lane == lane)
}

/// Returns the formats of floats that have registers in a kernel. Functions of the object compute binary64 in kernels with vectors: registers of binary64
/// are parts of vectors, which the allocator cannot express.
pub(super) fn formats(machine: &CpuMachine, has_vectors: bool) -> &'static [Lane] {
    match machine.has(Extension::Fpu) {
        true if machine.has(Extension::Doubles) && !has_vectors => &[Lane::F32, Lane::F64],
        true => &[Lane::F32],
        false => &[],
    }
}

/// The instruction set of one level.
pub(super) struct Thumb2 {
    has_floats: bool,
    has_doubles: bool,
    has_dsp: bool,
    has_vectors: bool,
    /// Numbers of the vector registers of the function. Its binary32 registers are parts of the others.
    vectors: Range<usize>,
    /// Numbers of the binary64 registers of the function. Its binary32 registers are no parts of these.
    doubles: &'static [u8],
}

impl Thumb2 {
    /// Makes the instruction set of a machine.
    pub fn new(machine: &CpuMachine) -> Self {
        let [has_floats, has_doubles, has_dsp, has_vectors] =
            [Extension::Fpu, Extension::Doubles, Extension::Dsp, Extension::Mve].map(|extension| machine.has(extension));
        Self { has_floats, has_doubles, has_dsp, has_vectors, vectors: 0..0, doubles: &[] }
    }

    /// Makes the instruction set for a kernel. If it computes floats, the other half of the registers holds vectors.
    pub fn of_kernel(kernel: &Kernel, machine: &CpuMachine) -> Self {
        let (has_floats, has_vectors) = (has_lane(kernel, Lane::F32), has_vectors(kernel, machine));
        let vectors = match has_vectors {
            true if has_floats => FIRST_SAVED_VECTOR..VECTOR_COUNT,
            true => 0..VECTOR_COUNT,
            false => 0..0,
        };
        let has_doubles = has_lane(kernel, Lane::F64) && formats(machine, has_vectors).contains(&Lane::F64);
        Self { vectors, doubles: if has_doubles { &DOUBLES } else { &[] }, ..Self::new(machine) }
    }
}

impl InstructionSet for Thumb2 {
    type Inst = Inst;
    type Frame = Frame;
    type Condition = Condition;
    type Reference = Infallible;

    const ALIGNMENT: usize = 4;
    const LOOP_ALIGNMENT: usize = 4;
    const NOTHING: &'static [&'static [u8]] = &[&0xBF00_u16.to_le_bytes()];
    // UDF.
    const STOP: &'static [u8] = &0xDE00_u16.to_le_bytes();
    const REMOVES_MOVES: bool = true;

    fn registers(&self) -> MachineEnv {
        // A vector register is four registers of binary32, and one of binary64 is two.
        let is_double = |single: &usize| self.doubles.contains(&((single / 2) as u8));
        let is_free = |single: &usize| !self.vectors.contains(&(single / 4)) && !is_double(single);
        let doubles = |saved: bool| {
            let some = self.doubles.iter().filter(move |&&double| SAVED_SINGLES.contains(&(2 * usize::from(double))) == saved);
            some.map(|&double| double_register(double).hw_enc())
        };
        let is_saved = |vector: &usize| *vector >= FIRST_SAVED_VECTOR;
        allocatable(
            [
                registers_in(GENERAL, LOW),
                registers_in(SINGLE, (0..SAVED_SINGLES.start).filter(is_free)),
                registers_in(VECTORS, self.vectors.clone().filter(|vector| !is_saved(vector)).chain(doubles(false))),
            ],
            [
                registers_in(GENERAL, (LOW.end..usize::from(SP)).chain([usize::from(LR)])),
                registers_in(SINGLE, SAVED_SINGLES.filter(is_free)),
                registers_in(VECTORS, self.vectors.clone().filter(is_saved).chain(doubles(true))),
            ],
        )
    }

    fn slot_words(&self, class: RegClass) -> usize {
        match class {
            VECTORS if self.doubles.is_empty() => 4,
            VECTORS => 2,
            _ => 1,
        }
    }

    fn emit(&self, inst: &Inst, at: &[PReg], frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        if let Op::Row(row) = inst.op {
            let has = match row.feature {
                Feature::Base => true,
                Feature::Dsp => self.has_dsp,
                Feature::Single => self.has_floats,
                Feature::Double => self.has_doubles,
                Feature::Vectors => self.has_vectors,
            };
            if !has {
                return Err(AssemblyError::OtherLevel { what: row.name.into() });
            }
        }
        Emitter { frame, code }.inst(inst, at)
    }

    fn copy(&self, from: PReg, to: PReg, code: &mut Assembler) -> Result<(), AssemblyError> {
        code.transfer(to, from);
        Ok(())
    }

    fn spill(&self, register: PReg, slot: usize, store: bool, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        spill(register, slot, store, frame, code)
    }

    fn leave(&self, inst: &Inst, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Return(status) => code.constant(0, status),
            Op::ReturnWith => {}
            other => return Err(AssemblyError::misplaced(other, Position::Return)),
        }
        frame.leave(code);
        Ok(())
    }

    fn test(&self, inst: &Inst, at: &[PReg], code: &mut Assembler) -> Result<Condition, AssemblyError> {
        match inst.op {
            Op::CompareBranch(flags @ (Flags::Equal | Flags::NotEqual)) if inst.args.last() == Some(&Arg::Number(0)) => {
                Ok(Condition::Zero(general(at, 0)?, flags == Flags::Equal))
            }
            Op::CompareBranch(flags) => {
                compare(&inst.args, at, code)?;
                Ok(Condition::Flags(flags))
            }
            Op::CountBranch => Ok(Condition::Rounds(true)),
            other => Err(AssemblyError::misplaced(other, Position::Branch)),
        }
    }

    fn inverse(&self, condition: Condition) -> Condition {
        match condition {
            Condition::Flags(flags) => Condition::Flags(flags.inverse()),
            Condition::Zero(register, zero) => Condition::Zero(register, !zero),
            Condition::Rounds(more) => Condition::Rounds(!more),
        }
    }

    fn reaches(&self, condition: Option<Condition>) -> &'static [Reach] {
        match condition {
            None => &JUMP,
            Some(Condition::Flags(_)) => &ON_FLAGS,
            Some(Condition::Zero(register, _)) if LOW.contains(&usize::from(register)) => &ON_ZERO,
            Some(Condition::Zero(..)) => &ON_HIGH_ZERO,
            Some(Condition::Rounds(true)) => &ON_ROUNDS,
            Some(Condition::Rounds(false)) => &ON_ROUNDS[1..],
        }
    }

    fn jump(&self, condition: Option<Condition>, reach: usize, distance: i64, bytes: &mut [u8]) {
        let mut code = Assembler::default();
        match condition {
            None => jump(reach, distance, &mut code),
            Some(Condition::Flags(flags)) => jump_on(flags, reach, distance, &mut code),
            Some(Condition::Zero(register @ 0..8, zero)) if reach == 0 => {
                let units = (distance - 4) as u16 >> 1;
                let kind = if zero { 0xB100 } else { 0xB900 };
                code.half(kind | (units >> 5) << 9 | (units & 31) << 3 | u16::from(register));
            }
            Some(Condition::Zero(register, zero)) => {
                // A comparison with 0 always has an encoding.
                let _ = compare_number(register, 0, &mut code);
                let far = usize::from(bytes.len() - code.bytes.len() == 4);
                let rest = distance - code.bytes.len() as i64;
                jump_on(if zero { Flags::Equal } else { Flags::NotEqual }, far, rest, &mut code);
            }
            Some(Condition::Rounds(_)) if bytes.len() == ON_ROUNDS[0].bytes => end_loop(distance, &mut code),
            Some(Condition::Rounds(more)) => {
                code.word(LESS_ROUNDS);
                let far = usize::from(bytes.len() == ON_ROUNDS[2].bytes);
                jump_on(if more { Flags::NotEqual } else { Flags::Equal }, far, distance - 4, &mut code);
            }
        }
        bytes.copy_from_slice(&code.bytes);
    }

    fn refer(&self, constant: Infallible, _: i64, _: &mut [u8]) -> Result<(), AssemblyError> {
        match constant {}
    }
}

/// SUBS: makes the link register less by one, and sets the flags.
const LESS_ROUNDS: u32 = 0xF1BE_0E01;

/// Writes LE: makes the link register less by one, and jumps back unless it is 0 then.
pub(super) fn end_loop(distance: i64, code: &mut Assembler) {
    let units = ((4 - distance) >> 1) as u32;
    code.word(0xF00F_C001 | (units & 1) << 11 | (units >> 1) << 1);
}

/// Writes B in 16 or in 32 bits.
pub(super) fn jump(reach: usize, distance: i64, code: &mut Assembler) {
    let units = ((distance - 4) >> 1) as u32;
    if reach == 0 {
        code.half(0xE000 | (units & 0x7FF) as u16);
        return;
    }
    code.word(0xF000_9000 | far_distance(units));
}

/// Returns the distance fields of a 32-bit B or BL.
fn far_distance(units: u32) -> u32 {
    let sign = units >> 23 & 1;
    let [first, second] = [22, 21].map(|bit| (units >> bit & 1) ^ sign ^ 1);
    sign << 26 | (units >> 11 & 0x3FF) << 16 | first << 13 | second << 11 | units & 0x7FF
}

/// Encodes BL with a distance from its first byte.
#[cfg(test)]
pub fn branch_with_link(distance: i64) -> Vec<u8> {
    let mut code = Assembler::default();
    code.word(0xF000_D000 | far_distance(((distance - 4) >> 1) as u32));
    code.bytes
}

/// Writes a conditional B in 16 or in 32 bits.
pub(super) fn jump_on(flags: Flags, reach: usize, distance: i64, code: &mut Assembler) {
    let units = ((distance - 4) >> 1) as u32;
    if reach == 0 {
        code.half(0xD000 | (flags as u16) << 8 | (units & 0xFF) as u16);
        return;
    }
    let (sign, second, first) = (units >> 19 & 1, units >> 18 & 1, units >> 17 & 1);
    let word = 0xF000_8000 | sign << 26 | (flags as u32) << 22 | (units >> 11 & 0x3F) << 16;
    code.word(word | first << 13 | second << 11 | units & 0x7FF);
}
