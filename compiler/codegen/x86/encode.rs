//! Encoding of instructions: VEX and EVEX from rows of [`super::rows`], and the few general-purpose encodings that kernels need. The source is
//! Intel's Software Developer's Manual, volume 2, chapters 2.3 and 2.7.

use super::length::Length;
use super::rows::{Map, Row, Shape};
use crate::own::Buffer;

/// An operand in memory, with physical registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MemoryOperand {
    /// `[base + index << shift + displacement]`.
    Sum {
        /// Number of the base register.
        base: u8,
        /// Number of the index register, and its scale as an exponent.
        index: Option<(u8, u8)>,
        /// Displacement in bytes.
        displacement: i32,
    },
    /// An offset in the constants behind the code.
    Pool(u32),
}

/// An operand that is a register or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rm {
    /// A register.
    Register(u8),
    /// Memory.
    Memory(MemoryOperand),
}

/// The operands of a vector instruction, by their fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// Register of ModRM.reg.
    pub reg: u8,
    /// Register of VEX.vvvv.
    pub vvvv: u8,
    /// Operand of ModRM.rm.
    pub rm: Rm,
    /// Vector length.
    pub length: Length,
    /// Mask register, 0 for no mask.
    pub mask: u8,
    /// `true` if masked lanes become zero.
    pub zeroing: bool,
    /// `true` if the memory operand is one element that all lanes use.
    pub broadcast: bool,
    /// Immediate, the last byte.
    pub immediate: Option<u8>,
}

/// The code under construction.
pub(super) type Assembler = Buffer<Tail>;

/// A reference to a constant by its distance from the end of the instruction. The number is the distance from the field's first byte to that end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail(pub u8);

/// Conditions of jumps, `setcc` and `cmovcc`; the discriminant is the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    /// Below (unsigned).
    Below = 2,
    /// Above or equal (unsigned).
    AboveOrEqual = 3,
    /// Equal, zero.
    Equal = 4,
    /// Not equal, not zero.
    NotEqual = 5,
    /// Below or equal (unsigned).
    BelowOrEqual = 6,
    /// Above (unsigned).
    Above = 7,
    /// Less (signed).
    Less = 12,
    /// Greater or equal (signed).
    GreaterOrEqual = 13,
    /// Less or equal (signed).
    LessOrEqual = 14,
    /// Greater (signed).
    Greater = 15,
}

impl Condition {
    /// Returns the opposite condition.
    pub fn inverse(self) -> Self {
        match self {
            Self::Below => Self::AboveOrEqual,
            Self::AboveOrEqual => Self::Below,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::BelowOrEqual => Self::Above,
            Self::Above => Self::BelowOrEqual,
            Self::Less => Self::GreaterOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
        }
    }
}

impl Assembler {
    /// Writes a vector instruction: with VEX if that suffices, since it is shorter, else with EVEX.
    pub fn vector(&mut self, row: &Row, fields: &Fields) {
        let high = |number: u8| number > 15;
        let needs_evex = fields.length == Length::Z
            || fields.mask != 0
            || fields.broadcast
            || high(fields.reg)
            || high(fields.vvvv)
            || matches!(fields.rm, Rm::Register(n) if high(n));
        match (row.vex, row.evex) {
            (Some(wide), evex) if !needs_evex || evex.is_none() => self.vex(row, wide, fields),
            (_, evex) => self.evex(row, evex.unwrap_or(false), fields),
        }
    }

    fn vex(&mut self, row: &Row, wide: bool, fields: &Fields) {
        let (x, b) = extensions(fields.rm);
        let r = fields.reg >> 3 & 1;
        let long = u8::from(row.shape != Shape::General && (fields.length == Length::Y || row.long));
        let last = u8::from(wide) << 7 | (!fields.vvvv & 15) << 3 | long << 2 | row.prefix as u8;
        if x == 0 && b == 0 && !wide && row.map == Map::M0F {
            self.bytes.extend([0xC5, (r ^ 1) << 7 | last & 0x7F]);
        } else {
            self.bytes.extend([0xC4, (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | row.map as u8, last]);
        }
        self.bytes.push(row.opcode);
        self.operand(fields.reg, fields.rm, None, fields.immediate);
    }

    fn evex(&mut self, row: &Row, wide: bool, fields: &Fields) {
        let (mut x, b) = extensions(fields.rm);
        if let Rm::Register(number) = fields.rm {
            x = number >> 4 & 1;
        }
        let (r, r_high) = (fields.reg >> 3 & 1, fields.reg >> 4 & 1);
        let v_high = fields.vvvv >> 4 & 1;
        self.bytes.extend([
            0x62,
            (r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | (r_high ^ 1) << 4 | row.map as u8,
            u8::from(wide) << 7 | (!fields.vvvv & 15) << 3 | 1 << 2 | row.prefix as u8,
            u8::from(fields.zeroing) << 7 | (fields.length as u8) << 5 | u8::from(fields.broadcast) << 4 | (v_high ^ 1) << 3 | fields.mask,
            row.opcode,
        ]);
        let element = if wide { 8 } else { 4 };
        let unit = if fields.broadcast { element } else { row.tuple.bytes(fields.length) };
        self.operand(fields.reg, fields.rm, Some(unit), fields.immediate);
    }

    /// Writes ModRM, SIB, displacement and immediate. With a `unit`, a displacement of one byte counts units.
    fn operand(&mut self, reg: u8, rm: Rm, unit: Option<u32>, immediate: Option<u8>) {
        let fixup = self.modrm(reg, rm, unit);
        self.bytes.extend(immediate);
        self.finish(fixup);
    }

    fn finish(&mut self, fixup: Option<(usize, u32)>) {
        if let Some((at, offset)) = fixup {
            self.name_constant(at, Tail((self.bytes.len() - at) as u8), offset);
        }
    }

    /// Writes ModRM, SIB and displacement. Returns the position of a distance to a constant, and the constant's offset.
    fn modrm(&mut self, reg: u8, rm: Rm, unit: Option<u32>) -> Option<(usize, u32)> {
        let reg = (reg & 7) << 3;
        match rm {
            Rm::Register(number) => self.bytes.push(0xC0 | reg | number & 7),
            Rm::Memory(MemoryOperand::Pool(offset)) => {
                self.bytes.push(reg | 5);
                let at = self.bytes.len();
                self.bytes.extend([0; 4]);
                return Some((at, offset));
            }
            Rm::Memory(MemoryOperand::Sum { base, index, displacement }) => {
                let unit = unit.unwrap_or(1) as i32;
                let short = i8::try_from(displacement / unit).ok().filter(|_| displacement % unit == 0);
                // Base registers 5 and 13 have no form without a displacement.
                let (mode, short) = match short {
                    Some(0) if base & 7 != 5 => (0, None),
                    Some(byte) => (1, Some(byte)),
                    None => (2, None),
                };
                match index {
                    None if base & 7 != 4 => self.bytes.push(mode << 6 | reg | base & 7),
                    None => self.bytes.extend([mode << 6 | reg | 4, 0x24]),
                    Some((index, shift)) => self.bytes.extend([mode << 6 | reg | 4, shift << 6 | (index & 7) << 3 | base & 7]),
                }
                match (mode, short) {
                    (1, Some(byte)) => self.bytes.push(byte as u8),
                    (2, _) => self.bytes.extend(displacement.to_le_bytes()),
                    _ => {}
                }
            }
        }
        None
    }

    /// Writes a general-purpose instruction of 64 bits, or of 32 if not `wide`. The opcode has one to three bytes, after an optional prefix.
    pub fn general(&mut self, prefix: Option<u8>, wide: bool, opcode: &[u8], reg: u8, rm: Rm, immediate: &[u8]) {
        self.sized(prefix, wide, false, opcode, reg, rm, immediate);
    }

    /// Writes a general-purpose instruction on an operand of one byte. Registers 4 to 7 then need a REX prefix.
    pub fn general_byte(&mut self, opcode: &[u8], reg: u8, rm: Rm) {
        self.sized(None, false, true, opcode, reg, rm, &[]);
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of an instruction")]
    fn sized(&mut self, prefix: Option<u8>, wide: bool, byte: bool, opcode: &[u8], reg: u8, rm: Rm, immediate: &[u8]) {
        self.bytes.extend(prefix);
        let (x, b) = extensions(rm);
        let rex = 0x40 | u8::from(wide) << 3 | (reg >> 3 & 1) << 2 | x << 1 | b;
        let low_byte = byte && (reg > 3 || matches!(rm, Rm::Register(n) if n > 3));
        if rex != 0x40 || low_byte {
            self.bytes.push(rex);
        }
        self.bytes.extend(opcode);
        let fixup = self.modrm(reg, rm, None);
        self.bytes.extend(immediate);
        self.finish(fixup);
    }

    /// Writes `push` or `pop` of a register.
    pub fn push_pop(&mut self, opcode: u8, register: u8) {
        if register > 7 {
            self.bytes.push(0x41);
        }
        self.bytes.push(opcode + (register & 7));
    }

    /// Writes the shortest load of a constant into a register.
    pub fn constant(&mut self, register: u8, value: i64) {
        if value == 0 {
            self.general(None, false, &[0x31], register, Rm::Register(register), &[]);
        } else if let Ok(small) = u32::try_from(value) {
            if register > 7 {
                self.bytes.push(0x41);
            }
            self.bytes.push(0xB8 + (register & 7));
            self.bytes.extend(small.to_le_bytes());
        } else if let Ok(small) = i32::try_from(value) {
            self.general(None, true, &[0xC7], 0, Rm::Register(register), &small.to_le_bytes());
        } else {
            self.bytes.extend([0x48 | register >> 3, 0xB8 + (register & 7)]);
            self.bytes.extend(value.to_le_bytes());
        }
    }
}

/// Instructions of one to nine bytes that do nothing.
pub(super) const NOPS: [&[u8]; 9] = [
    &[0x90],
    &[0x66, 0x90],
    &[0x0F, 0x1F, 0x00],
    &[0x0F, 0x1F, 0x40, 0x00],
    &[0x0F, 0x1F, 0x44, 0x00, 0x00],
    &[0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00],
    &[0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00],
    &[0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    &[0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
];

/// Returns the high bits of the index and base registers.
fn extensions(rm: Rm) -> (u8, u8) {
    match rm {
        Rm::Register(number) => (0, number >> 3 & 1),
        Rm::Memory(MemoryOperand::Sum { base, index, .. }) => (index.map_or(0, |(n, _)| n >> 3 & 1), base >> 3 & 1),
        Rm::Memory(MemoryOperand::Pool(_)) => (0, 0),
    }
}
