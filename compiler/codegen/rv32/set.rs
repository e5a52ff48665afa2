//! 32-bit RISC-V as an instruction set of [`crate::own`]: registers, moves, jumps.

use super::emit::{Emitter, condition};
use super::encode::{Assembler, Operand, Reference};
use super::frame::Frame;
use super::inst::{Inst, Op};
use super::jump::{Condition, jump, reaches};
use super::registers::{CHANGED, CHANGED_SINGLES, GENERAL, PARAMETERS, RA, SAVED, SAVED_SINGLES, SINGLE};
use super::rows::Feature;
use crate::own::{AssemblyError, InstructionSet, Position, Reach, allocatable, registers_in};
use modelc_machine::{CpuMachine, Extension};
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};

/// The instruction set of one level.
pub(super) struct Riscv32 {
    has_floats: bool,
}

impl Riscv32 {
    /// Makes the set of a machine.
    pub fn new(machine: &CpuMachine) -> Self {
        Self { has_floats: machine.has(Extension::Fpu) }
    }
}

impl InstructionSet for Riscv32 {
    type Inst = Inst;
    type Frame = Frame;
    type Condition = Condition;
    type Reference = Reference;

    const ALIGNMENT: usize = 4;
    const LOOP_ALIGNMENT: usize = 4;
    const NOTHING: &'static [&'static [u8]] = &[&0x0001_u16.to_le_bytes()];
    // The instruction that no processor has.
    const STOP: &'static [u8] = &[0, 0];

    fn registers(&self) -> MachineEnv {
        allocatable(
            [
                registers_in(GENERAL, CHANGED.into_iter().flatten()),
                registers_in(SINGLE, CHANGED_SINGLES.into_iter().flatten()),
                PRegSet::empty(),
            ],
            [
                registers_in(GENERAL, SAVED.into_iter().flatten().chain([usize::from(RA)])),
                registers_in(SINGLE, SAVED_SINGLES.into_iter().flatten()),
                PRegSet::empty(),
            ],
        )
    }

    fn slot_words(&self, _: RegClass) -> usize {
        1
    }

    fn emit(&self, inst: &Inst, at: &[PReg], frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        if let Op::Row(row) = inst.op
            && row.feature == Feature::Single
            && !self.has_floats
        {
            return Err(AssemblyError::OtherLevel { what: row.name.into() });
        }
        Emitter { frame, code }.inst(inst, at)
    }

    fn copy(&self, from: PReg, to: PReg, code: &mut Assembler) -> Result<(), AssemblyError> {
        let (from_number, to_number) = (from.hw_enc() as u8, to.hw_enc() as u8);
        if from.class() == GENERAL { code.copy(to_number, from_number) } else { code.copy_single(to_number, from_number) }
    }

    fn spill(&self, register: PReg, slot: usize, store: bool, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        code.stack_word(Operand::of(register), frame.slots as i32 + 4 * slot as i32, store)
    }

    fn leave(&self, inst: &Inst, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Return(status) => code.constant(PARAMETERS.start as u8, status)?,
            Op::ReturnWith => {}
            other => return Err(AssemblyError::misplaced(other, Position::Return)),
        }
        frame.leave(code)
    }

    fn test(&self, inst: &Inst, at: &[PReg], _: &mut Assembler) -> Result<Condition, AssemblyError> {
        match inst.op {
            Op::CompareBranch(relation) => condition(relation, &inst.args, at),
            other => Err(AssemblyError::misplaced(other, Position::Branch)),
        }
    }

    fn inverse(&self, condition: Condition) -> Condition {
        condition.inverse()
    }

    fn reaches(&self, condition: Option<Condition>) -> &'static [Reach] {
        reaches(condition)
    }

    fn jump(&self, condition: Option<Condition>, _: usize, distance: i64, bytes: &mut [u8]) {
        let mut code = Assembler::default();
        jump(condition, bytes.len(), distance, &mut code);
        bytes.copy_from_slice(&code.bytes);
    }

    fn refer(&self, constant: Reference, _: i64, _: &mut [u8]) -> Result<(), AssemblyError> {
        match constant {}
    }
}
