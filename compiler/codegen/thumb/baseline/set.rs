//! The 16-bit instructions as an instruction set of [`crate::own`]: registers, moves and jumps.

use super::emit::{Emitter, compare};
use super::frame::Frame;
use super::inst::{Inst, Op};
use super::level::Level;
use super::spill::spill;
use crate::own::{AssemblyError, InstructionSet, Position, Reach, allocatable, registers_in};
use crate::thumb::encode::{Assembler, Flags};
use crate::thumb::registers::{GENERAL, LOW, LR, SP};
use crate::thumb::set::{Thumb2, jump, jump_on, reach};
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};
use std::convert::Infallible;

/// Bytes of a far jump.
const FAR_BYTES: usize = 20;
/// Reach of B in 16 bits, and of a far jump.
const JUMP: [Reach; 2] = [reach(2, 1 << 11, 0), reach(FAR_BYTES, 1 << 23, 0)];
/// Reach of a conditional B, and of one over B or over a far jump.
const ON_FLAGS: [Reach; 3] = [reach(2, 1 << 8, 0), reach(4, 1 << 11, 2), reach(2 + FAR_BYTES, 1 << 23, 2)];

/// The instruction set of a level.
pub(super) struct Thumb1(pub Level);

impl InstructionSet for Thumb1 {
    type Inst = Inst;
    type Frame = Frame;
    type Condition = Flags;
    type Reference = Infallible;

    const ALIGNMENT: usize = 4;
    const LOOP_ALIGNMENT: usize = 4;
    const NOTHING: &'static [&'static [u8]] = Thumb2::NOTHING;
    const STOP: &'static [u8] = Thumb2::STOP;

    fn registers(&self) -> MachineEnv {
        let none = PRegSet::empty();
        allocatable(
            [registers_in(GENERAL, LOW), none, none],
            [registers_in(GENERAL, (LOW.end..usize::from(SP)).chain([usize::from(LR)])), none, none],
        )
    }

    fn slot_words(&self, _: RegClass) -> usize {
        1
    }

    fn emit(&self, inst: &Inst, at: &[PReg], frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        Emitter { frame, level: self.0, code }.inst(inst, at)
    }

    fn copy(&self, from: PReg, to: PReg, code: &mut Assembler) -> Result<(), AssemblyError> {
        code.copy(to.hw_enc() as u8, from.hw_enc() as u8);
        Ok(())
    }

    fn spill(&self, register: PReg, slot: usize, store: bool, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        spill(register, slot, store, frame, code)
    }

    fn leave(&self, inst: &Inst, frame: &Frame, code: &mut Assembler) -> Result<(), AssemblyError> {
        match inst.op {
            Op::Return(status) => code.build(0, status)?,
            Op::ReturnWith => {}
            other => return Err(AssemblyError::misplaced(other, Position::Return)),
        }
        frame.leave(code)
    }

    fn test(&self, inst: &Inst, at: &[PReg], code: &mut Assembler) -> Result<Flags, AssemblyError> {
        match inst.op {
            Op::CompareBranch(flags) => {
                compare(&inst.args, at, code)?;
                Ok(flags)
            }
            other => Err(AssemblyError::misplaced(other, Position::Branch)),
        }
    }

    fn inverse(&self, condition: Flags) -> Flags {
        condition.inverse()
    }

    fn reaches(&self, condition: Option<Flags>) -> &'static [Reach] {
        if condition.is_some() { &ON_FLAGS } else { &JUMP }
    }

    fn jump(&self, condition: Option<Flags>, reach: usize, distance: i64, bytes: &mut [u8]) {
        let mut code = Assembler::default();
        match (condition, reach) {
            (None, 0) => jump(0, distance, &mut code),
            (None, _) => far_jump(distance, &mut code),
            (Some(flags), 0) => jump_on(flags, 0, distance, &mut code),
            (Some(flags), far) => {
                jump_on(flags.inverse(), 0, bytes.len() as i64, &mut code);
                if far == 1 { jump(0, distance - 2, &mut code) } else { far_jump(distance - 2, &mut code) }
            }
        }
        bytes.copy_from_slice(&code.bytes);
    }

    fn refer(&self, constant: Infallible, _: i64, _: &mut [u8]) -> Result<(), AssemblyError> {
        match constant {}
    }
}

/// Writes a jump to anywhere in a function. It computes the address in r0, and POP sets the program counter and r0 again.
fn far_jump(distance: i64, code: &mut Assembler) {
    // The program counter at its ADD is 18 bytes further on. The lowest bit selects the Thumb state.
    let number = (distance - 18) as i32 | 1;
    let bits = if number < 0 { !number } else { number } as u32;
    let [_, high, middle, low] = bits.to_be_bytes().map(u16::from);
    let invert_or_nothing = if number < 0 { 0x43C0 } else { 0xBF00 };
    // PUSH {r0, r1}, MOVS, LSLS, ADDS, LSLS, ADDS, MVNS, ADD of pc, STR to the place of r1, POP {r0, pc}.
    let halves = [0xB403, 0x2000 | high, 0x0200, 0x3000 | middle, 0x0200, 0x3000 | low, invert_or_nothing, 0x4478, 0x9001, 0xBD01];
    halves.into_iter().for_each(|half| code.half(half));
}
