//! Copies of registers, constants in registers, and sums of a register and a constant.

use super::encode::{Assembler, Operand, double, modified, shorten, single, twelve};
use super::registers::SP;
use super::rows::{ADD_TWELVE, SUB_TWELVE, Single};

impl Assembler {
    /// Copies a register. It changes no flags.
    pub(super) fn copy(&mut self, to: u8, from: u8) {
        if to != from {
            self.half(0x4600 | u16::from(to >> 3) << 7 | u16::from(from) << 3 | u16::from(to & 7));
        }
    }

    /// Copies a binary32 register.
    pub(super) fn copy_float(&mut self, to: u8, from: u8) {
        if to != from {
            self.word(0xEEB0_0A40 | single(Single::D, to) | single(Single::M, from));
        }
    }

    /// Copies a binary64 register.
    pub(super) fn copy_double(&mut self, to: u8, from: u8) {
        if to != from {
            self.word(0xEEB0_0B40 | double(Single::D, to) | double(Single::M, from));
        }
    }

    /// Sets a register to a constant. It may change flags.
    pub(super) fn constant(&mut self, to: u8, number: i32) {
        let d = u32::from(to) << 8;
        let bits = number as u32;
        if to < 8 && bits < 256 {
            self.half(0x2000 | u16::from(to) << 8 | bits as u16);
        } else if let Some(field) = modified(number) {
            self.word(0xF04F_0000 | d | field);
        } else if let Some(field) = modified(!number) {
            self.word(0xF06F_0000 | d | field);
        } else {
            self.move_half(false, to, bits as u16);
            if bits >> 16 != 0 {
                self.move_half(true, to, (bits >> 16) as u16);
            }
        }
    }

    /// Writes MOVT, which sets only the upper half of a register, or MOVW, which sets the lower half and clears the upper one.
    pub(super) fn move_half(&mut self, upper: bool, to: u8, bits: u16) {
        let bits = u32::from(bits);
        self.word(0xF240_0000 | u32::from(upper) << 23 | (bits >> 12) << 16 | twelve(bits & 0xFFF) | u32::from(to) << 8);
    }

    /// Adds a constant to a register: in one instruction, or one byte at a time. It may change flags.
    pub(super) fn add_number(&mut self, to: u8, from: u8, number: i32) {
        let magnitude = number.unsigned_abs();
        let (near, far) = if number < 0 { (0xF2A0_0000, 0xF1A0_0000u32) } else { (0xF200_0000, 0xF100_0000u32) };
        let registers = |from: u8| u32::from(from) << 16 | u32::from(to) << 8;
        if number == 0 {
            self.copy(to, from);
        } else if let Some(half) = short_sum(to, from, number) {
            self.half(half);
        } else if magnitude < 1 << 12 {
            self.word(near | registers(from) | twelve(magnitude));
        } else {
            let whole = modified(magnitude as i32).map(|_| magnitude);
            let bytes = [0xFF00_0000, 0xFF_0000, 0xFF00, 0xFF].map(|mask| magnitude & mask);
            let parts = whole.map_or(bytes.to_vec(), |whole| vec![whole]);
            let mut from = from;
            for part in parts.into_iter().filter(|&part| part != 0) {
                self.word(far | registers(from) | modified(part as i32).unwrap_or(0));
                from = to;
            }
        }
    }
}

/// Returns the 16-bit encoding of a sum, if it has one.
fn short_sum(to: u8, from: u8, number: i32) -> Option<u16> {
    let magnitude = number.unsigned_abs();
    if from == SP {
        let words = magnitude.is_multiple_of(4).then_some(magnitude as u16 / 4)?;
        return match to {
            SP if magnitude < 512 => Some(0xB000 | u16::from(number < 0) << 7 | words),
            0..8 if (0..1024).contains(&number) => Some(0xA800 | u16::from(to) << 8 | words),
            _ => None,
        };
    }
    let row = if number < 0 { &SUB_TWELVE } else { &ADD_TWELVE };
    shorten(row, &[Operand::Word(to), Operand::Word(from), Operand::Number(magnitude as i32)])
}
