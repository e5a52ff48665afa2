//! Lanes narrowed to bytes and words: two registers become one, and what comes out of 128-bit lanes is put in order once.

use super::held::Vector;
use super::length::Length;
use super::lowering::Lowering;
use super::rows::{self, Row};
use regalloc2::VReg;

/// Doublings of 64-bit lanes are permuted like this by packing.
const UNPACK_QUADS: i32 = 0xD8;

/// The instructions that narrow to lanes of one or two bytes: the steps before the last saturate to signed, which holds every unsigned result.
pub(super) fn packs(bytes: u32, signed: bool) -> [&'static Row; 2] {
    let last = if signed { &rows::VPACKSSWB } else { &rows::VPACKUSWB };
    let first = if signed || bytes == 1 { &rows::VPACKSSDW } else { &rows::VPACKUSDW };
    [first, last]
}

/// How two registers of 32-bit lanes become one of 16 bits.
#[derive(Clone, Copy)]
enum Words {
    /// By an instruction that saturates.
    Saturated(&'static Row),
    /// By their low halves.
    LowHalves,
}

impl Lowering<'_> {
    /// Lanes of four or two bytes to two or one, by the instructions for each step. To lanes that go from four to one a number is added when
    /// they are two.
    pub fn pack(&mut self, a: &Vector, bytes: u32, rows: [&'static Row; 2], added: i16) -> Vector {
        if let ([single], true) = (&a.parts[..], self.set.avx512 && a.bytes == 4 && bytes == 1 && rows[0] == &rows::VPACKSSDW) {
            return self.pack_one(a, *single, rows[1] == &rows::VPACKSSWB, added);
        }
        if a.bytes == 4 && bytes == 1 && added == i16::from(i8::MIN) && rows[1] == &rows::VPACKSSWB {
            // As unsigned bytes, whose sum with −128 has the other sign bit: that works on bytes, where there are fewest registers.
            let unsigned = self.pack(a, 1, packs(1, false), 0);
            return self.with_number(&rows::VPXOR, &unsigned, 0x80);
        }
        if a.bytes == 4 && bytes == 1 && a.length() != Length::X {
            let words = Words::Saturated(rows[0]);
            return if a.parts.len() >= 4 {
                self.pack_fours(a, (words, rows[1]), added)
            } else {
                self.pack_few(a, (words, rows[1]), added)
            };
        }
        let mut a = a.clone();
        while a.bytes > bytes {
            let row = if a.bytes == 4 { rows[0] } else { rows[1] };
            a = self.halve(&a, |l, n, low, high| l.two(row, n, low, high), true);
            if a.bytes > bytes {
                a = self.words_plus(&a, added);
            }
        }
        a
    }

    /// The low halves of 32-bit lanes, plus a number, to bytes, saturating.
    pub fn pack_low_halves(&mut self, a: &Vector, signed: bool, added: i16) -> Vector {
        let last = packs(1, signed)[1];
        match a.parts[..] {
            [single] if self.set.avx512 => self.pack_low_halves_of_one(a, single, signed, added),
            [..] if a.length() == Length::X => {
                let words = self.halve(a, |l, n, low, high| l.words(Words::LowHalves, n, low, high), true);
                let words = self.words_plus(&words, added);
                self.halve(&words, |l, n, low, high| l.two(last, n, low, high), true)
            }
            [_, _, _, _, ..] => self.pack_fours(a, (Words::LowHalves, last), added),
            [..] => self.pack_few(a, (Words::LowHalves, last), added),
        }
    }

    /// The same of one register, by the instructions that narrow one.
    fn pack_low_halves_of_one(&mut self, a: &Vector, x: VReg, signed: bool, added: i16) -> Vector {
        let word = self.one(&rows::VPMOVDW, a.length(), x);
        let words = Vector { bytes: 2, lanes: a.lanes, parts: vec![word] };
        let words = self.words_plus(&words, added);
        let (mut word, length) = (words.parts[0], words.length());
        if !signed {
            let zero = self.number(2, length, 0);
            word = self.two(&rows::VPMAXSW, length, word, zero);
        }
        let row = if signed { &rows::VPMOVSWB } else { &rows::VPMOVUSWB };
        Vector { bytes: 1, lanes: a.lanes, parts: vec![self.one(row, length, word)] }
    }

    /// Two registers of 32-bit lanes to one of 16 bits, within 128-bit lanes.
    fn words(&mut self, words: Words, length: Length, low: VReg, high: VReg) -> VReg {
        match words {
            Words::Saturated(row) => self.two(row, length, low, high),
            Words::LowHalves if self.set.avx512 => {
                let count = length.bytes() as u16 / 2;
                let order: Vec<u8> = (0..count).flat_map(|i| (i / 8 * 8 + i % 4 * 2 + i / 4 % 2 * count).to_le_bytes()).collect();
                let order = self.pool(length, &order);
                self.tied(&rows::VPERMT2W, length, low, order, high)
            }
            // With the high halves cleared, saturation to unsigned changes nothing.
            Words::LowHalves => {
                let mask = self.number(4, length, 0xFFFF);
                let [low, high] = [low, high].map(|x| self.two(&rows::VPAND, length, x, mask));
                self.two(&rows::VPACKUSDW, length, low, high)
            }
        }
    }

    /// A register of signed 32-bit lanes plus a number to bytes, by one instruction. That to unsigned bytes takes unsigned lanes.
    fn pack_one(&mut self, a: &Vector, x: VReg, signed: bool, added: i16) -> Vector {
        let length = a.length();
        let mut sum = x;
        if added != 0 {
            let number = self.number(4, length, u64::from(i32::from(added) as u32));
            sum = self.two(&rows::VPADDD, length, sum, number);
        }
        if !signed {
            let zero = self.number(4, length, 0);
            sum = self.two(&rows::VPMAXSD, length, sum, zero);
        }
        let row = if signed { &rows::VPMOVSDB } else { &rows::VPMOVUSDB };
        Vector { bytes: 1, lanes: a.lanes, parts: vec![self.one(row, length, sum)] }
    }

    /// 16-bit lanes and a number, saturating.
    fn words_plus(&mut self, words: &Vector, added: i16) -> Vector {
        if added == 0 {
            return words.clone();
        }
        let number = self.number(2, words.length(), u64::from(added as u16));
        self.map(words, |l, n, x| l.two(&rows::VPADDSW, n, x, number))
    }

    /// Four registers of 32-bit lanes to one of bytes, the quarters put in order once.
    fn pack_fours(&mut self, a: &Vector, (words, last): (Words, &'static Row), added: i16) -> Vector {
        let words = self.halve(a, |l, n, low, high| l.words(words, n, low, high), false);
        let words = self.words_plus(&words, added);
        let bytes = self.halve(&words, |l, n, low, high| l.two(last, n, low, high), false);
        let count = self.set.width / 16;
        // Each 128-bit lane holds four bytes of each of the four registers.
        let order: Vec<u8> = (0..4 * count).flat_map(|i| (4 * (i % count) + i / count).to_le_bytes()).collect();
        let length = Length::of(self.set.width);
        let order = self.pool(length, &order);
        self.map(&bytes, |l, n, x| l.two(&rows::VPERMD, n, order, x))
    }

    /// One or two registers of 32-bit lanes to the low end of one of bytes: packed twice, which leaves four bytes of each register in each
    /// 128-bit lane, and put in order once.
    fn pack_few(&mut self, a: &Vector, (words, narrow): (Words, &'static Row), added: i16) -> Vector {
        let (length, count) = (a.length(), a.parts.len() as u32);
        let (first, last) = (a.parts[0], a.parts[count as usize - 1]);
        let words = self.words(words, length, first, last);
        let words = Vector { bytes: 2, lanes: (length.bytes() / 2) as u16, parts: vec![words] };
        let words = self.words_plus(&words, added).parts[0];
        let bytes = self.two(narrow, length, words, words);
        let blocks = length.bytes() / 16;
        let place = |i: u32| if i < count * blocks { 4 * (i % blocks) + i / blocks } else { 0 };
        let order: Vec<u8> = (0..4 * blocks).flat_map(|i| place(i).to_le_bytes()).collect();
        let order = self.pool(length, &order);
        let packed = self.two(&rows::VPERMD, length, order, bytes);
        Vector { bytes: 1, lanes: a.lanes, parts: vec![packed] }
    }

    /// Pairs of registers to one of lanes of half the bytes. Packing works within 128-bit lanes, which are put in order again
    /// if `ordered`. A single register is packed with its own upper half.
    pub fn halve(&mut self, a: &Vector, mut f: impl FnMut(&mut Self, Length, VReg, VReg) -> VReg, ordered: bool) -> Vector {
        let shape = Vector { bytes: a.bytes / 2, lanes: a.lanes, parts: vec![] };
        if let [single] = a.parts[..] {
            let total = a.total();
            if total <= 16 {
                let packed = f(self, Length::X, single, single);
                return shape.with(vec![packed]);
            }
            let half = total / 2;
            let high = self.piece(a, half, half);
            let packed = f(self, Length::of(half), single, high);
            let packed = if ordered { self.unpack_lanes(Length::of(half), packed) } else { packed };
            return shape.with(vec![packed]);
        }
        let length = a.length();
        let parts = a.parts.chunks(2).map(|pair| {
            let packed = f(self, length, pair[0], pair[1]);
            if ordered { self.unpack_lanes(length, packed) } else { packed }
        });
        let parts = parts.collect();
        shape.with(parts)
    }

    /// The 64-bit lanes of what was packed, in order.
    fn unpack_lanes(&mut self, length: Length, x: VReg) -> VReg {
        match length {
            Length::X => x,
            Length::Y => self.one_with(&rows::VPERMQ, length, x, UNPACK_QUADS),
            Length::Z => {
                let order: Vec<u8> = [0u64, 2, 4, 6, 1, 3, 5, 7].iter().flat_map(|i| i.to_le_bytes()).collect();
                let order = self.pool(length, &order);
                self.two(&rows::VPERMQ_LANES, length, order, x)
            }
        }
    }
}
