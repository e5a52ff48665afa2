//! aarch64 as an instruction set of [`crate::own`]: registers, moves, jumps.

use super::emit::{Emitter, compare, general};
use super::encode::{Assembler, Flags, Moved, Place, access};
use super::frame::Frame;
use super::inst::{Inst, Op};
use super::registers::{GENERAL, SAVED, SAVED_VECTORS, SP, VECTOR, VOLATILE};
use super::rows::Feature;
use crate::own::{AssemblyError, InstructionSet, Position, Reach, allocatable, registers_in};
use modelc_machine::{CpuMachine, Extension};
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};

/// The condition of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    /// Flags.
    Flags(Flags),
    /// A register that is 0 if `true`, else one that is not 0.
    Zero(u8, bool),
}

const MEBIBYTE: i64 = 1 << 20;
/// B.
const JUMP: [Reach; 1] = [Reach { bytes: 4, from: -128 * MEBIBYTE, to: 128 * MEBIBYTE - 4 }];
/// B.cond, CBZ and CBNZ; or one of them over B.
const CONDITIONAL_JUMP: [Reach; 2] =
    [Reach { bytes: 4, from: -MEBIBYTE, to: MEBIBYTE - 4 }, Reach { bytes: 8, from: 4 - 128 * MEBIBYTE, to: 128 * MEBIBYTE }];

/// The instruction set of one CPU level.
pub(super) struct Arm64 {
    dot_product: bool,
    matrix: bool,
}

impl Arm64 {
    /// Makes the instruction set of a machine.
    pub fn new(machine: &CpuMachine) -> Self {
        Self { dot_product: machine.has(Extension::DotProd), matrix: machine.has(Extension::I8mm) }
    }

    fn has(&self, feature: Feature) -> bool {
        match feature {
            Feature::Base => true,
            Feature::DotProduct => self.dot_product,
            Feature::Matrix => self.matrix,
        }
    }
}

impl InstructionSet for Arm64 {
    type Inst = Inst;
    type Frame = Frame;
    type Condition = Condition;
    type Reference = ();

    const ALIGNMENT: usize = 16;
    const LOOP_ALIGNMENT: usize = 4;
    const NOTHING: &'static [&'static [u8]] = &[&0xD503_201F_u32.to_le_bytes()];
    // BRK.
    const STOP: &'static [u8] = &0xD420_0000_u32.to_le_bytes();

    fn registers(&self) -> MachineEnv {
        allocatable(
            [
                registers_in(GENERAL, VOLATILE),
                registers_in(VECTOR, (0..SAVED_VECTORS.start).chain(SAVED_VECTORS.end..32)),
                PRegSet::empty(),
            ],
            [registers_in(GENERAL, SAVED), registers_in(VECTOR, SAVED_VECTORS), PRegSet::empty()],
        )
    }

    fn slot_words(&self, class: RegClass) -> usize {
        if class == VECTOR { 2 } else { 1 }
    }

    fn emit(&self, inst: &Inst, at: &[PReg], frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        if let Op::Row(row, _) = inst.op
            && !self.has(row.feature)
        {
            return Err(AssemblyError::OtherLevel { what: row.name.into() });
        }
        Emitter { frame, code }.inst(inst, at)
    }

    fn copy(&self, from: PReg, to: PReg, code: &mut Assembler) -> Result<(), AssemblyError> {
        let (source, result) = (from.hw_enc() as u32, to.hw_enc() as u32);
        // ORR of a register with the zero register, or with itself.
        code.word(match from.class() {
            RegClass::Int => 0xAA00_03E0 | source << 16 | result,
            _ => 0x4EA0_1C00 | source << 16 | source << 5 | result,
        });
        Ok(())
    }

    fn spill(&self, register: PReg, slot: usize, store: bool, _: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        let vector = register.class() == VECTOR;
        let moved = Moved { vector, bytes: if vector { 16 } else { 8 }, store, signed: false };
        access(moved, register.hw_enc() as u8, Place::Near(SP, 8 * slot as i32), code)
    }

    fn leave(&self, inst: &Inst, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        let Op::Return(status) = inst.op else { return Err(AssemblyError::misplaced(inst.op, Position::Return)) };
        code.constant(0, i64::from(status as u32));
        frame.leave(code);
        code.word(0xD65F_03C0);
        Ok(())
    }

    fn test(&self, inst: &Inst, at: &[PReg], code: &mut Assembler) -> Result<Condition, AssemblyError> {
        match inst.op {
            Op::TestBranch => Ok(Condition::Zero(general(at, 0)?, false)),
            Op::CompareBranch(flags) => {
                compare(&inst.args, at, code)?;
                Ok(Condition::Flags(flags))
            }
            other => Err(AssemblyError::misplaced(other, Position::Branch)),
        }
    }

    fn inverse(&self, condition: Condition) -> Condition {
        match condition {
            Condition::Flags(flags) => Condition::Flags(flags.inverse()),
            Condition::Zero(register, zero) => Condition::Zero(register, !zero),
        }
    }

    fn reaches(&self, condition: Option<Condition>) -> &'static [Reach] {
        if condition.is_some() { &CONDITIONAL_JUMP } else { &JUMP }
    }

    fn jump(&self, condition: Option<Condition>, reach: usize, distance: i64, bytes: &mut [u8]) {
        let always = |distance: i64| 0x1400_0000 | (distance >> 2) as u32 & 0x3FF_FFFF;
        let conditional = |condition, distance: i64| {
            let field = ((distance >> 2) as u32 & 0x7_FFFF) << 5;
            match condition {
                Condition::Flags(flags) => 0x5400_0000 | field | flags as u32,
                Condition::Zero(register, true) => 0xB400_0000 | field | u32::from(register),
                Condition::Zero(register, false) => 0xB500_0000 | field | u32::from(register),
            }
        };
        let (first, second) = match (condition, reach) {
            (None, _) => (always(distance), None),
            (Some(condition), 0) => (conditional(condition, distance), None),
            (Some(condition), _) => (conditional(self.inverse(condition), 8), Some(always(distance - 4))),
        };
        bytes[..4].copy_from_slice(&first.to_le_bytes());
        if let Some(second) = second {
            bytes[4..8].copy_from_slice(&second.to_le_bytes());
        }
    }

    fn refer(&self, (): (), distance: i64, field: &mut [u8]) -> Result<(), AssemblyError> {
        if !(-MEBIBYTE..MEBIBYTE).contains(&distance) || distance % 4 != 0 {
            return Err(AssemblyError::ConstantTooFar { distance });
        }
        let mut word = [0; 4];
        word.copy_from_slice(&field[..4]);
        let word = u32::from_le_bytes(word) | ((distance >> 2) as u32 & 0x7_FFFF) << 5;
        field[..4].copy_from_slice(&word.to_le_bytes());
        Ok(())
    }
}
