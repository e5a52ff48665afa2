//! Constants in registers, and sums of a register and a small constant.

use super::level::Level;
use crate::own::{AssemblyError, NumberError};
use crate::thumb::encode::{Assembler, Operand};
use crate::thumb::registers::SP;
use crate::thumb::rows;

/// Tests whether a constant fits the eight bits that instructions have for it.
pub(super) fn is_byte(number: i32) -> bool {
    (0..256).contains(&number)
}

/// Step of the computation of a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// MOVS.
    Set(u32),
    /// LSLS.
    Left(u32),
    /// LSRS.
    Right(u32),
    /// ADDS.
    Add(u32),
    /// MVNS.
    Invert,
}

/// Returns a byte and a left shift that give a number. `None` if there are none.
fn shifted_byte(bits: u32) -> Option<[Step; 2]> {
    let shift = bits.trailing_zeros();
    (shift < 32 && bits >> shift < 256).then(|| [Step::Set(bits >> shift), Step::Left(shift)])
}

/// Returns the steps that compute a constant, at most seven.
fn steps(number: i32) -> Vec<Step> {
    let direct = upward(number as u32);
    let inverted = upward(!number as u32);
    if direct.len() <= inverted.len() + 1 { direct } else { [&inverted[..], &[Step::Invert]].concat() }
}

/// Returns steps from the highest byte on, or fewer.
fn upward(bits: u32) -> Vec<Step> {
    let rest = bits & !0xFF;
    if bits < 256 {
        return vec![Step::Set(bits)];
    }
    if bits < 511 {
        return vec![Step::Set(255), Step::Add(bits - 255)];
    }
    if let Some(steps) = shifted_byte(bits) {
        return steps.to_vec();
    }
    if let Some(steps) = shifted_byte(rest) {
        return [&steps[..], &[Step::Add(bits & 0xFF)]].concat();
    }
    if bits == u32::MAX >> bits.leading_zeros() {
        return vec![Step::Set(0), Step::Invert, Step::Right(bits.leading_zeros())];
    }
    let mut steps = vec![];
    let mut shift = 0;
    for byte in bits.to_be_bytes() {
        shift += 8;
        match (steps.is_empty(), byte) {
            (_, 0) => {}
            (true, _) => {
                steps.push(Step::Set(byte.into()));
                shift = 0;
            }
            (false, _) => {
                steps.extend([Step::Left(shift), Step::Add(byte.into())]);
                shift = 0;
            }
        }
    }
    if shift > 0 {
        steps.push(Step::Left(shift));
    }
    steps
}

impl Assembler {
    /// Sets a low register to a constant: by MOVW and MOVT if the level has them and they are fewer. It may change flags.
    pub(super) fn build_at(&mut self, level: Level, to: u8, number: i32) -> Result<(), AssemblyError> {
        let [high, low] = [number as u32 >> 16, number as u32 & 0xFFFF].map(|half| half as u16);
        let halves = if high == 0 { 1 } else { 2 };
        if level == Level::Armv6 || steps(number).len() <= halves {
            return self.build(to, number);
        }
        self.move_half(false, to, low);
        if high != 0 {
            self.move_half(true, to, high);
        }
        Ok(())
    }

    /// Sets a low register to a constant, by up to seven instructions. It changes flags.
    pub(super) fn build(&mut self, to: u8, number: i32) -> Result<(), AssemblyError> {
        if to >= 8 {
            return Err(NumberError::Register(to).into());
        }
        for step in steps(number) {
            let word = |number: u32| [Operand::Word(to), Operand::Word(to), Operand::Number(number as i32)];
            match step {
                Step::Set(byte) => self.half(0x2000 | u16::from(to) << 8 | byte as u16),
                Step::Left(count) => self.short(&rows::LSL_NUMBER, &word(count))?,
                Step::Right(count) => self.short(&rows::LSR_NUMBER, &word(count))?,
                Step::Add(byte) => self.short(&rows::ADD_TWELVE, &word(byte))?,
                Step::Invert => self.short(&rows::MVN, &word(0)[..2])?,
            }
        }
        Ok(())
    }

    /// Adds a constant of up to eight bits, or subtracts it, in low registers. It changes flags.
    pub(super) fn add_byte(&mut self, to: u8, from: u8, number: i32) -> Result<(), AssemblyError> {
        let row = if number < 0 { &rows::SUB_TWELVE } else { &rows::ADD_TWELVE };
        let number = Operand::Number(number.abs());
        let operands = |from: u8| [Operand::Word(to), Operand::Word(from), number];
        if number == Operand::Number(0) || self.short(row, &operands(from)).is_err() {
            self.copy(to, from);
            if number != Operand::Number(0) {
                self.short(row, &operands(to))?;
            }
        }
        Ok(())
    }

    /// Writes ADD of any two registers to the first one. It changes no flags.
    pub(super) fn accumulate(&mut self, to: u8, from: u8) {
        self.half(0x4400 | u16::from(to >> 3) << 7 | u16::from(from) << 3 | u16::from(to & 7));
    }

    /// Sets a low register to the stack pointer plus a constant. It may change flags.
    pub(super) fn stack_address(&mut self, to: u8, displacement: i32) -> Result<(), AssemblyError> {
        if to < 8 && displacement % 4 == 0 && (0..1024).contains(&displacement) {
            self.half(0xA800 | u16::from(to) << 8 | (displacement as u16 / 4));
            return Ok(());
        }
        self.build(to, displacement)?;
        self.accumulate(to, SP);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(steps: &[Step]) -> u32 {
        steps.iter().fold(0, |bits, step| match *step {
            Step::Set(byte) if byte < 256 => byte,
            Step::Left(count) if (1..32).contains(&count) => bits << count,
            Step::Right(count) if (1..32).contains(&count) => bits >> count,
            Step::Add(byte) if byte < 256 => bits.wrapping_add(byte),
            Step::Invert => !bits,
            _ => panic!("{step:?}"),
        })
    }

    #[test]
    fn constants_of_halves_take_one_instruction_for_each() {
        let halves = |level, number| {
            let mut code = Assembler::default();
            code.build_at(level, 3, number).expect("a low register");
            code.bytes.len() / 2
        };
        assert_eq!([0x1234, 0x1234_5678, 200, 0x4400].map(|number| halves(Level::Armv8, number)), [2, 4, 1, 2]);
        assert_eq!([0x1234, 0x1234_5678].map(|number| halves(Level::Armv6, number)), [3, 7]);
    }

    #[test]
    fn steps_give_their_constant() {
        let edges = [0, 1, 255, 256, 510, 511, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0x0100_0001, 0xFF00_00FF, u32::MAX];
        let near = |bit: u32| [0u32.wrapping_sub(1 << bit), 1 << bit, (1u32 << bit).wrapping_sub(1), (1 << bit) + 1];
        let mut bits = 0x9E37_79B9u32;
        let random = (0..10_000).map(|i| {
            bits ^= bits << 13;
            bits ^= bits >> 17;
            bits ^= bits << 5;
            if i % 2 == 0 { bits } else { bits >> (bits & 31) }
        });
        for number in edges.into_iter().chain((0..32).flat_map(near)).chain(random) {
            let steps = steps(number as i32);
            assert!(result(&steps) == number && steps.len() <= 7, "{number:#x}: {steps:?}");
        }
        assert_eq!(steps(-128).len(), 2);
        assert_eq!(steps(i32::MIN), [Step::Set(1), Step::Left(31)]);
    }
}
