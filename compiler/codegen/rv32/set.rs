//! 32-bit RISC-V as an instruction set of [`crate::own`]: registers, moves, jumps.

use super::emit::{Emitter, condition};
use super::encode::{Assembler, Operand, Reference};
use super::frame::Frame;
use super::inst::{Inst, Op};
use super::jump::{Condition, jump, reaches};
use super::registers::{CHANGED, CHANGED_SINGLES, FIRST, GENERAL, RA, SAVED, SAVED_SINGLES, SINGLE};
use super::rows::Feature;
use crate::own::{AssemblyError, InstructionSet, Need, Position, Reach};
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

fn operand(register: PReg) -> Operand {
    let number = register.hw_enc() as u8;
    if register.class() == GENERAL { Operand::Word(number) } else { Operand::Single(number) }
}

impl InstructionSet for Riscv32 {
    type Inst = Inst;
    type Frame = Frame;
    type Condition = Condition;
    type Reference = Reference;

    const ALIGNMENT: usize = 4;
    const LOOP_ALIGNMENT: usize = 4;

    fn registers(&self) -> MachineEnv {
        let set = |class: RegClass, numbers: &mut dyn Iterator<Item = usize>| PRegSet::from_iter(numbers.map(|n| PReg::new(n, class)));
        MachineEnv {
            preferred_regs_by_class: [
                set(GENERAL, &mut CHANGED.into_iter().flatten()),
                set(SINGLE, &mut CHANGED_SINGLES.into_iter().flatten()),
                PRegSet::empty(),
            ],
            non_preferred_regs_by_class: [
                set(GENERAL, &mut SAVED.into_iter().flatten().chain([usize::from(RA)])),
                set(SINGLE, &mut SAVED_SINGLES.into_iter().flatten()),
                PRegSet::empty(),
            ],
            scratch_by_class: [None; 3],
            fixed_stack_slots: vec![],
        }
    }

    fn slot_words(&self, _: RegClass) -> usize {
        1
    }

    fn frame(&self, need: &Need) -> Frame {
        Frame::new(need)
    }

    fn stack_bytes(&self, frame: &Frame) -> u32 {
        frame.bytes
    }

    fn enter(&self, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        frame.enter(code)
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
        code.stack_word(operand(register), frame.slots as i32 + 4 * slot as i32, store)
    }

    fn leave(&self, inst: &Inst, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Return(status) => code.constant(FIRST as u8, status)?,
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

    fn pad(&self, bytes: usize, code: &mut Assembler) {
        // C.NOP.
        (0..bytes / 2).for_each(|_| code.half(0x0001));
    }

    fn fill(&self, bytes: usize, code: &mut Assembler) {
        // The instruction that no processor has.
        (0..bytes / 2).for_each(|_| code.half(0));
    }

    fn refer(&self, constant: Reference, _: i64, _: &mut [u8]) -> Result<(), AssemblyError> {
        match constant {}
    }
}
