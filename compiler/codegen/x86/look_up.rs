//! Bytes looked up in a table of 256 bytes or words of 32 bits, in registers.
//!
//! The byte −128 has the first entry. Tables are read by the bits of a byte, so the two halves of the table change places. AVX-512 picks words from two
//! registers by six bits of an index: the entries of two neighbouring bytes are one word. AVX2 picks bytes from 16 by four bits, or zeros by the highest.

use super::held::Vector;
use super::inst::Arg;
use super::length::Length;
use super::lowering::Lowering;
use super::registers::MASK;
use super::rows::{self, Row};
use crate::codegen::own::Address;
use regalloc2::VReg;

/// Entries of a table.
pub(super) const ENTRIES: u64 = 256;

/// For each bit, the first operand's where the third's is 1, else the second's.
const CHOOSE: i32 = 0xE4;

impl Lowering<'_> {
    /// The entry of each byte in the table at an address.
    pub fn look_up(&mut self, table: Address, bytes: &Vector) -> Vector {
        match self.set.avx512 {
            true if bytes.total() > 32 => self.map(bytes, |l, _, x| l.entries_by_words(table, x)),
            true => self.map(bytes, |l, _, x| l.entries_of_few(table, x)),
            false => self.map(bytes, |l, n, x| l.entries_by_bytes(table, n, x)),
        }
    }

    /// The 32-bit entry of each byte in the table at an address; AVX-512.
    pub fn look_up_words(&mut self, table: Address, bytes: &Vector) -> Vector {
        let pieces = bytes.total().div_ceil(16);
        let parts = (0..pieces).map(|i| {
            let piece = self.piece(bytes, 16 * i, bytes.total().min(16));
            let x = self.one(&rows::VPMOVZXBD, Length::Z, piece);
            self.words_of_all(table, x)
        });
        Vector { bytes: 4, lanes: bytes.lanes, parts: parts.collect() }
    }

    /// The entries of 16 indices below 256. Each of eight instructions picks from two registers by the low five bits, and the three others choose
    /// among the results.
    fn words_of_all(&mut self, table: Address, x: VReg) -> VReg {
        let n = Length::Z;
        let register = |i: i32| table.plus(64 * (i ^ 8));
        let mut results: Vec<VReg> = (0..8)
            .map(|pair| {
                let [a, b] = [2 * pair, 2 * pair + 1].map(|i| self.row(&rows::VMOVUPS, n, &[Arg::Memory(register(i))]));
                self.tied(&rows::VPERMT2D, n, a, x, b)
            })
            .collect();
        for bit in 5..8 {
            let is_high = self.test(&rows::VPTESTMD, n, x, 4, 1 << bit);
            results = results.chunks(2).map(|pair| self.blend_bits(4, n, is_high, pair[1], pair[0])).collect();
        }
        results[0]
    }

    /// The entries of a register of 64 bytes: those of even bytes, those of odd ones, and from the words of both the bytes.
    fn entries_by_words(&mut self, table: Address, x: VReg) -> VReg {
        let n = Length::Z;
        let (even, odd) = (self.one_with(&rows::VPSRLW, n, x, 1), self.one_with(&rows::VPSRLW, n, x, 9));
        let is_high = self.test(&rows::VPTESTMW, n, x, 2, 0x80);
        let even = self.words_of(table, even, is_high);
        let is_high = self.row_of(MASK, &rows::VPMOVW2M, n, &[Arg::Use(x)]);
        let odd = self.words_of(table, odd, is_high);
        let second_of_even = self.one_with(&rows::VPSRLW, n, even, 8);
        let first_of_odd = self.one_with(&rows::VPSLLW, n, odd, 8);
        let low_bytes = self.number(2, n, 0xFF);
        let mut choose = |even, odd| {
            let args = [Arg::Tied(even), Arg::Use(odd), Arg::Use(low_bytes), Arg::Immediate(CHOOSE)];
            self.row(&rows::VPTERNLOGD, n, &args)
        };
        let (first, second) = (choose(even, first_of_odd), choose(second_of_even, odd));
        let is_second = self.test(&rows::VPTESTMB, n, x, 1, 1);
        self.blend_bits(1, n, is_second, second, first)
    }

    /// The entries of up to 32 bytes, as words.
    fn entries_of_few(&mut self, table: Address, x: VReg) -> VReg {
        let n = Length::Z;
        let x = self.one(&rows::VPMOVZXBW, n, x);
        let index = self.one_with(&rows::VPSRLW, n, x, 1);
        let is_high = self.test(&rows::VPTESTMW, n, x, 2, 0x80);
        let first = self.words_of(table, index, is_high);
        let second = self.one_with(&rows::VPSRLW, n, first, 8);
        let is_second = self.test(&rows::VPTESTMW, n, x, 2, 1);
        let entries = self.blend_bits(2, n, is_second, second, first);
        self.one(&rows::VPMOVWB, n, entries)
    }

    /// Words of the table by six bits of each index; those of its second half by bits where a mask is true.
    fn words_of(&mut self, table: Address, index: VReg, is_high: VReg) -> VReg {
        let n = Length::Z;
        let mut half = |first: i32| {
            let [a, b] = [first, first + 64].map(|at| self.row(&rows::VMOVUPS, n, &[Arg::Memory(table.plus(at))]));
            self.tied(&rows::VPERMI2W, n, index, a, b)
        };
        let (low, high) = (half(128), half(0));
        self.blend_bits(2, n, is_high, high, low)
    }

    /// A mask of the lanes that have one of some bits.
    fn test(&mut self, row: &'static Row, n: Length, x: VReg, lane: u32, bits: u64) -> VReg {
        let bits = self.number(lane, n, bits);
        self.row_of(MASK, row, n, &[Arg::Use(x), Arg::Use(bits)])
    }

    /// The entries of a register's bytes. Bits 4 and 5 tell which of four rows of 16 has an entry: there the other rows give zeros. The two bits above them
    /// choose among four such results.
    fn entries_by_bytes(&mut self, table: Address, n: Length, x: VReg) -> VReg {
        let mask = self.number(1, n, 0x3F);
        let low = self.two(&rows::VPAND, n, x, mask);
        let places = [0, 1, 2, 3].map(|row| self.place_in_row(n, low, row));
        let [first, second, third, fourth] = [0, 4, 8, 12].map(|row| self.entries_of_rows(table, n, row, &places));
        let bit_6 = self.one_with(&rows::VPSLLW, n, x, 1);
        let (low, high) = (self.blend(1, n, bit_6, second, first), self.blend(1, n, bit_6, fourth, third));
        self.blend(1, n, x, high, low)
    }

    /// Positions of bytes in one of four rows of 16, by their six low bits. The highest bit is set for a byte of another row.
    fn place_in_row(&mut self, n: Length, low: VReg, row: u64) -> VReg {
        let mut place = low;
        if row > 0 {
            let first = self.number(1, n, row << 4);
            place = self.two(&rows::VPXOR, n, low, first);
        }
        let rest = self.number(1, n, 0x70);
        self.two(&rows::VPADDUSB, n, place, rest)
    }

    /// The entries that lie in four rows of a table, by the bits of bytes, from one on.
    fn entries_of_rows(&mut self, table: Address, n: Length, first: i32, places: &[VReg; 4]) -> VReg {
        let load = if n == Length::X { &rows::VMOVUPS } else { &rows::VBROADCASTI128 };
        let entries: Vec<VReg> = (first..)
            .zip(places)
            .map(|(row, &place)| {
                let row = self.row(load, n, &[Arg::Memory(table.plus(16 * (row ^ 8)))]);
                self.two(&rows::VPSHUFB, n, row, place)
            })
            .collect();
        entries.into_iter().reduce(|a, b| self.two(&rows::VPOR, n, a, b)).expect("four rows")
    }
}
