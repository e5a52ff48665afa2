//! Constants in vector registers: made by one instruction if possible, else loaded from memory behind the code.

use super::held::{Held, Vector, WIDTH, is_general, lane_bytes, part_count};
use super::inst::{Arg, Op};
use super::lowering::Lowering;
use super::registers::VECTOR;
use crate::own::Address;
use modelc_kernel::{Lane, Type};
use regalloc2::VReg;

/// Repeats a lane's bits to 64 bits.
fn repeated(bytes: u32, bits: u64) -> u64 {
    let lane = &bits.to_le_bytes()[..bytes as usize];
    let mut all = [0; 8];
    all.iter_mut().zip(lane.iter().cycle()).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(all)
}

/// Returns the instruction that puts these bits into both halves of register 0: MOVI, MVNI or FMOV. `None` if there is none.
pub(super) fn modified(bits: u64) -> Option<u32> {
    let word = |inverted: u32, mode: u32, byte: u64| {
        let byte = byte as u32;
        Some(0x4F00_0400 | inverted << 29 | (byte >> 5) << 16 | mode << 12 | (byte & 31) << 5)
    };
    if bits == repeated(1, bits) {
        return word(0, 0b1110, bits & 0xFF);
    }
    for (inverted, bits) in [(0, bits), (1, !bits)] {
        if bits == repeated(2, bits) {
            for shift in [0, 1] {
                if bits & 0xFFFF & !(0xFF << (8 * shift)) == 0 {
                    return word(inverted, 0b1000 | shift << 1, bits >> (8 * shift) & 0xFF);
                }
            }
        }
        if bits == repeated(4, bits) {
            for shift in 0..4 {
                if bits & 0xFFFF_FFFF & !(0xFF << (8 * shift)) == 0 {
                    return word(inverted, shift << 1, bits >> (8 * shift) & 0xFF);
                }
            }
            for (mode, ones) in [(0b1100, 8), (0b1101, 16)] {
                let lane = bits & 0xFFFF_FFFF;
                if lane >> (ones + 8) == 0 && lane & ((1 << ones) - 1) == (1 << ones) - 1 {
                    return word(inverted, mode, lane >> ones & 0xFF);
                }
            }
        }
    }
    if bits.to_le_bytes().iter().all(|byte| [0, 0xFF].contains(byte)) {
        let mask = bits.to_le_bytes().iter().enumerate().fold(0, |mask, (i, byte)| mask | u64::from(byte & 1) << i);
        return word(1, 0b1110, mask);
    }
    if bits == repeated(4, bits) {
        return word(0, 0b1111, short_float(bits & 0xFFFF_FFFF, 32)?);
    }
    word(1, 0b1111, short_float(bits, 64)?)
}

/// Encodes a float with a fraction of four bits and a small exponent as the byte of FMOV. `None` if it does not fit.
fn short_float(bits: u64, width: u32) -> Option<u64> {
    let (fraction, exponent) = if width == 32 { (23, 8) } else { (52, 11) };
    let top = bits >> (fraction - 4);
    if top << (fraction - 4) != bits {
        return None;
    }
    // Bits of `top`: sign, first bit of the exponent, copies of its inverse, two more bits, four bits of the fraction.
    let copies = top >> 6 & ((1 << (exponent - 3)) - 1);
    let first = top >> (4 + exponent - 1) & 1;
    let wanted = if first == 1 { 0 } else { (1 << (exponent - 3)) - 1 };
    let sign = bits >> (width - 1) & 1;
    (copies == wanted).then_some(sign << 7 | (1 - first) << 6 | top & 0x3F)
}

/// Returns the bits of both halves of a register, if the halves are equal.
fn halves(contents: &[u8]) -> Option<u64> {
    let [low, high] = contents.as_chunks::<8>().0 else { return None };
    (low == high).then(|| u64::from_le_bytes(*low))
}

impl Lowering<'_> {
    /// Makes a register with a constant in every lane.
    pub fn number(&mut self, bytes: u32, bits: u64) -> VReg {
        let half = repeated(bytes, bits).to_le_bytes();
        self.pool(&[half, half].concat())
    }

    /// Makes a register with the given bytes, once in a block.
    pub fn pool(&mut self, contents: &[u8]) -> VReg {
        let key = (self.block, contents.to_vec());
        if let Some(&known) = self.set.numbers.get(&key) {
            return known;
        }
        let result = self.register(VECTOR);
        match halves(contents).and_then(|bits| modified(bits).map(|_| bits)) {
            Some(bits) => self.emit(Op::Pattern(bits), vec![Arg::Def(result)]),
            None => {
                let at = self.function.constant(contents);
                self.emit(Op::LoadVector(WIDTH), vec![Arg::Def(result), Arg::Memory(Address::pool(at))]);
            }
        }
        self.set.numbers.insert(key, result);
        result
    }

    /// Makes a constant of a type.
    pub fn constant_of(&mut self, ty: Type, bits: u64) -> Held {
        if is_general(ty) {
            return Held::General(self.general_number(bits as i64));
        }
        let bytes = lane_bytes(ty.lane);
        let bits = if ty.lane == Lane::Mask && bits != 0 { u64::MAX } else { bits };
        let register = self.number(bytes, bits);
        Held::Vector(Vector { bytes, lanes: ty.lanes, parts: vec![register; part_count(bytes, ty.lanes)] })
    }

    /// Makes a vector with a constant in every lane, in the shape of `a`.
    pub fn number_like(&mut self, a: &Vector, bits: u64) -> Vector {
        let number = self.number(a.bytes, bits);
        a.with(vec![number; a.parts.len()])
    }
}
