//! Lookups of bytes in a table of 256 bytes or 32-bit words, in registers.
//!
//! The table begins with the entry of the byte −128. The code indexes by the bits of a byte as an unsigned number, so it exchanges the table's
//! halves. AVX-512 picks 16-bit words from two registers by six bits of an index; a word holds the entries of two neighbouring bytes. AVX2 picks
//! bytes from 16 by four bits; a set top bit gives zero.

use super::held::Vector;
use super::inst::Arg;
use super::length::Length;
use super::lowering::Lowering;
use super::registers::MASK;
use super::rows::{self, Row};
use crate::own::Address;
use regalloc2::VReg;

/// Number of entries of a table.
pub(super) const ENTRIES: u64 = 256;

/// Truth table of `vpternlogd`: a bit of the first operand if the third operand's bit is 1, else the second's.
const CHOOSE: i32 = 0xE4;

impl Lowering<'_> {
    /// Looks up each byte in the table of bytes at an address.
    pub fn look_up(&mut self, table: Address, bytes: &Vector) -> Vector {
        match self.set.avx512 {
            true if bytes.total() > 32 => self.map(bytes, |l, _, x| l.entries_by_words(table, x)),
            true => self.map(bytes, |l, _, x| l.entries_of_few(table, x)),
            false => self.map(bytes, |l, n, x| l.entries_by_bytes(table, n, x)),
        }
    }

    /// Looks up each byte in the table of 32-bit words at an address, with AVX-512.
    pub fn look_up_words(&mut self, table: Address, bytes: &Vector) -> Vector {
        let pieces = bytes.total().div_ceil(16);
        let parts = (0..pieces).map(|i| {
            let piece = self.piece(bytes, 16 * i, bytes.total().min(16));
            let x = self.one(&rows::VPMOVZXBD, Length::Z, piece);
            self.words_of_all(table, x)
        });
        Vector { bytes: 4, lanes: bytes.lanes, parts: parts.collect() }
    }

    /// Looks up 16 indices below 256. Eight instructions pick from two registers each, by the low five bits. The other three bits choose among their
    /// results.
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

    /// Looks up 64 bytes of a register: even and odd bytes separately as 16-bit words, then the right byte of each word.
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
            let args = [Arg::Tied(even), Arg::Use(odd), Arg::Use(low_bytes), Arg::Number(CHOOSE)];
            self.row(&rows::VPTERNLOGD, n, &args)
        };
        let (first, second) = (choose(even, first_of_odd), choose(second_of_even, odd));
        let is_second = self.test(&rows::VPTESTMB, n, x, 1, 1);
        self.blend_bits(1, n, is_second, second, first)
    }

    /// Looks up to 32 bytes, extended to 16-bit words.
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

    /// Picks words of the table by six bits of each index. If `is_high` is set, they come from the upper half of the unsigned order.
    fn words_of(&mut self, table: Address, index: VReg, is_high: VReg) -> VReg {
        let n = Length::Z;
        let mut half = |first: i32| {
            let [a, b] = [first, first + 64].map(|at| self.row(&rows::VMOVUPS, n, &[Arg::Memory(table.plus(at))]));
            self.tied(&rows::VPERMI2W, n, index, a, b)
        };
        let (low, high) = (half(128), half(0));
        self.blend_bits(2, n, is_high, high, low)
    }

    /// Makes a mask of the lanes in which one of `bits` is set.
    fn test(&mut self, row: &'static Row, n: Length, x: VReg, lane: u32, bits: u64) -> VReg {
        let bits = self.number(lane, n, bits);
        self.row_of(MASK, row, n, &[Arg::Use(x), Arg::Use(bits)])
    }

    /// Looks up the bytes of a register. Bits 4 and 5 select one of four rows of 16 entries; the other rows give zeros. The two bits above choose
    /// among four such results.
    fn entries_by_bytes(&mut self, table: Address, n: Length, x: VReg) -> VReg {
        let mask = self.number(1, n, 0x3F);
        let low = self.two(&rows::VPAND, n, x, mask);
        let places = [0, 1, 2, 3].map(|row| self.place_in_row(n, low, row));
        let [first, second, third, fourth] = [0, 4, 8, 12].map(|row| self.entries_of_rows(table, n, row, &places));
        let bit_6 = self.one_with(&rows::VPSLLW, n, x, 1);
        let (low, high) = (self.blend(1, n, bit_6, second, first), self.blend(1, n, bit_6, fourth, third));
        self.blend(1, n, x, high, low)
    }

    /// Computes the positions of bytes in one of four rows of 16, by their six low bits. The top bit is set for a byte of another row.
    fn place_in_row(&mut self, n: Length, low: VReg, row: u64) -> VReg {
        let mut place = low;
        if row > 0 {
            let first = self.number(1, n, row << 4);
            place = self.two(&rows::VPXOR, n, low, first);
        }
        let rest = self.number(1, n, 0x70);
        self.two(&rows::VPADDUSB, n, place, rest)
    }

    /// Looks up bytes in four consecutive rows of the table, starting at row `first` of the unsigned order.
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
