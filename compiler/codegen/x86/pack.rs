//! Narrowing of lanes to bytes and 16-bit words. Packing joins two registers within 128-bit lanes; the order is restored once at the end.

use super::held::Vector;
use super::length::Length;
use super::lowering::Lowering;
use super::rows::{self, Row};
use regalloc2::VReg;

/// Order of 64-bit lanes that restores the order after packing two registers of 256 bits.
const UNPACK_QUADS: i32 = 0xD8;

/// Returns the instructions that narrow to 16 bits and then to 8, for a result of one or two bytes. Steps before the last saturate as signed numbers,
/// which keeps every unsigned result.
pub(super) fn packs(bytes: u32, signed: bool) -> [&'static Row; 2] {
    let last = if signed { &rows::VPACKSSWB } else { &rows::VPACKUSWB };
    let first = if signed || bytes == 1 { &rows::VPACKSSDW } else { &rows::VPACKUSDW };
    [first, last]
}

/// A way to narrow two registers of 32-bit lanes to one of 16-bit lanes.
#[derive(Clone, Copy)]
enum Words {
    /// An instruction that saturates.
    Saturated(&'static Row),
    /// The low halves of the lanes.
    LowHalves,
}

impl Lowering<'_> {
    /// Narrows lanes of four or two bytes to two or one, by an instruction for each step. From four bytes to one, `added` is added to the 16-bit
    /// lanes in between.
    pub fn pack(&mut self, a: &Vector, bytes: u32, rows: [&'static Row; 2], added: i16) -> Vector {
        if let ([single], true) = (&a.parts[..], self.set.avx512 && a.bytes == 4 && bytes == 1 && rows[0] == &rows::VPACKSSDW) {
            return self.pack_one(a, *single, rows[1] == &rows::VPACKSSWB, added);
        }
        if a.bytes == 4 && bytes == 1 && added == i16::from(i8::MIN) && rows[1] == &rows::VPACKSSWB {
            // Narrowed to unsigned bytes; adding −128 then flips the sign bit. This is one operation on bytes, which take the fewest registers.
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

    /// Narrows the low halves of 32-bit lanes, plus a number, to bytes with saturation.
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

    /// Narrows the low halves of a single register, with instructions that narrow one register.
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

    /// Narrows two registers of 32-bit lanes to one of 16-bit lanes, within 128-bit lanes.
    fn words(&mut self, words: Words, length: Length, low: VReg, high: VReg) -> VReg {
        match words {
            Words::Saturated(row) => self.two(row, length, low, high),
            Words::LowHalves if self.set.avx512 => {
                let count = length.bytes() as u16 / 2;
                let order: Vec<u8> = (0..count).flat_map(|i| (i / 8 * 8 + i % 4 * 2 + i / 4 % 2 * count).to_le_bytes()).collect();
                let order = self.pool(length, &order);
                self.tied(&rows::VPERMT2W, length, low, order, high)
            }
            // With the high halves cleared, unsigned saturation changes nothing.
            Words::LowHalves => {
                let mask = self.number(4, length, 0xFFFF);
                let [low, high] = [low, high].map(|x| self.two(&rows::VPAND, length, x, mask));
                self.two(&rows::VPACKUSDW, length, low, high)
            }
        }
    }

    /// Adds a number to a register of signed 32-bit lanes, and narrows it to bytes by one instruction. The unsigned instruction expects unsigned
    /// lanes, so negative ones become 0 first.
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

    /// Adds a number to 16-bit lanes, saturated.
    fn words_plus(&mut self, words: &Vector, added: i16) -> Vector {
        if added == 0 {
            return words.clone();
        }
        let number = self.number(2, words.length(), u64::from(added as u16));
        self.map(words, |l, n, x| l.two(&rows::VPADDSW, n, x, number))
    }

    /// Narrows four registers of 32-bit lanes to one of bytes, then restores the order once.
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

    /// Narrows one or two registers of 32-bit lanes to the low end of a register of bytes. After two packings, each 128-bit lane holds four bytes of
    /// each register. The order is then restored once.
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

    /// Narrows pairs of registers to one with lanes of half the bytes. Packing works within 128-bit lanes; their order is restored if `ordered`. A
    /// single register is packed with its own upper half.
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

    /// Restores the order of the 64-bit lanes of a packed register.
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
