//! x86-64 with AVX2 or AVX-512 as an instruction set of [`crate::own`]: registers, moves, jumps.

use super::emit::{Emitter, compare, general};
use super::encode::{Assembler, Condition, Fields, MemoryOperand, NOPS, Rm, Tail};
use super::frame::Frame;
use super::inst::{Inst, Op};
use super::length::Length;
use super::registers::{GENERAL, MASK, RAX, RSP, SAVED, VECTOR, VOLATILE};
use super::rows::{self, Feature, Row};
use crate::own::{AssemblyError, InstructionSet, Position, Reach, allocatable, registers_in};
use modelc_machine::{CpuMachine, Extension};
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};

/// Jumps have one encoding: distances of four bytes.
const JUMP: [Reach; 1] = [Reach { bytes: 5, from: i32::MIN as i64 + 5, to: i32::MAX as i64 }];
const CONDITIONAL_JUMP: [Reach; 1] = [Reach { bytes: 6, from: i32::MIN as i64 + 6, to: i32::MAX as i64 }];

/// The instruction set of one CPU level.
pub(super) struct X86 {
    /// Number of vector registers.
    vectors: usize,
    /// Bytes of a vector register.
    vector_bytes: u32,
    has_avx512: bool,
}

impl X86 {
    /// Makes the instruction set of a machine.
    pub fn new(machine: &CpuMachine) -> Self {
        Self {
            vectors: machine.registers.count().into(),
            vector_bytes: machine.vector_bytes().into(),
            has_avx512: machine.has(Extension::Avx512),
        }
    }

    /// Tests whether the level has AVX-512.
    pub fn has_avx512(&self) -> bool {
        self.has_avx512
    }
}

/// Writes a row's instruction with a register and another operand.
fn plain(row: &Row, length: Length, reg: u8, rm: Rm, code: &mut Assembler) {
    code.vector(row, &Fields { reg, vvvv: 0, rm, length, mask: 0, zeroing: false, broadcast: false, immediate: None });
}

impl InstructionSet for X86 {
    type Inst = Inst;
    type Frame = Frame;
    type Condition = Condition;
    type Reference = Tail;

    const ALIGNMENT: usize = 64;
    const LOOP_ALIGNMENT: usize = 32;
    const NOTHING: &'static [&'static [u8]] = &NOPS;
    // INT3.
    const STOP: &'static [u8] = &[0xCC];

    fn registers(&self) -> MachineEnv {
        allocatable(
            [registers_in(GENERAL, VOLATILE), registers_in(VECTOR, 0..self.vectors), registers_in(MASK, 1..8)],
            [registers_in(GENERAL, SAVED), PRegSet::empty(), PRegSet::empty()],
        )
    }

    fn slot_words(&self, class: RegClass) -> usize {
        if class == VECTOR { self.vector_bytes as usize / 8 } else { 1 }
    }

    fn emit(&self, inst: &Inst, at: &[PReg], frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        if let Op::Vector { row, length, .. } = inst.op
            && (!row.has(length) || length.bytes() > self.vector_bytes || row.feature == Feature::Avx512 && !self.has_avx512())
        {
            return Err(AssemblyError::OtherLevel { what: format!("{} of {} bytes", row.name, length.bytes()) });
        }
        Emitter { frame, code }.inst(inst, at)
    }

    fn copy(&self, from: PReg, to: PReg, code: &mut Assembler) -> Result<(), AssemblyError> {
        let (from_number, to_number) = (from.hw_enc() as u8, to.hw_enc() as u8);
        match from.class() {
            RegClass::Int => code.general(None, true, &[0x89], from_number, Rm::Register(to_number), &[]),
            RegClass::Float => plain(&rows::VMOVAPS, Length::of(self.vector_bytes), to_number, Rm::Register(from_number), code),
            RegClass::Vector => plain(&rows::KMOVQ, Length::X, to_number, Rm::Register(from_number), code),
        }
        Ok(())
    }

    fn spill(&self, register: PReg, slot: usize, store: bool, _: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        let place = Rm::Memory(MemoryOperand::Sum { base: RSP, index: None, displacement: 8 * slot as i32 });
        let (number, whole) = (register.hw_enc() as u8, Length::of(self.vector_bytes));
        match (register.class(), store) {
            (RegClass::Int, true) => code.general(None, true, &[0x89], number, place, &[]),
            (RegClass::Int, false) => code.general(None, true, &[0x8B], number, place, &[]),
            (RegClass::Float, true) => plain(&rows::VMOVUPS_STORE, whole, number, place, code),
            (RegClass::Float, false) => plain(&rows::VMOVUPS, whole, number, place, code),
            (RegClass::Vector, true) => plain(&rows::KMOVQ_MEMORY, Length::X, number, place, code),
            (RegClass::Vector, false) => plain(&rows::KMOVQ, Length::X, number, place, code),
        }
        Ok(())
    }

    fn leave(&self, inst: &Inst, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        let Op::Return(status) = inst.op else { return Err(AssemblyError::misplaced(inst.op, Position::Return)) };
        // Upper halves of vector registers are cleared (`vzeroupper`) for code that does not use them.
        code.bytes.extend([0xC5, 0xF8, 0x77]);
        code.constant(RAX, i64::from(status as u32));
        frame.leave(code);
        code.bytes.push(0xC3);
        Ok(())
    }

    fn test(&self, inst: &Inst, at: &[PReg], code: &mut Assembler) -> Result<Condition, AssemblyError> {
        match inst.op {
            Op::TestBranch => {
                let register = general(at, 0)?;
                code.general(None, false, &[0x85], register, Rm::Register(register), &[]);
                Ok(Condition::NotEqual)
            }
            Op::CompareBranch(condition) => {
                compare(&inst.args, at, code)?;
                Ok(condition)
            }
            other => Err(AssemblyError::misplaced(other, Position::Branch)),
        }
    }

    fn inverse(&self, condition: Condition) -> Condition {
        condition.inverse()
    }

    fn reaches(&self, condition: Option<Condition>) -> &'static [Reach] {
        if condition.is_some() { &CONDITIONAL_JUMP } else { &JUMP }
    }

    fn jump(&self, condition: Option<Condition>, _: usize, distance: i64, bytes: &mut [u8]) {
        let opcode: &[u8] = match condition {
            Some(condition) => &[0x0F, 0x80 | condition as u8],
            None => &[0xE9],
        };
        // The processor counts distances from the next instruction.
        let distance = (distance - bytes.len() as i64) as i32;
        let (first, rest) = bytes.split_at_mut(opcode.len());
        first.copy_from_slice(opcode);
        rest.copy_from_slice(&distance.to_le_bytes());
    }

    fn refer(&self, Tail(tail): Tail, distance: i64, field: &mut [u8]) -> Result<(), AssemblyError> {
        field[..4].copy_from_slice(&((distance - i64::from(tail)) as i32).to_le_bytes());
        Ok(())
    }
}
