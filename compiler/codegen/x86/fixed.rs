//! Fixed-point arithmetic of 32-bit lanes, and dot products.

use super::held::Held;
use super::inst::Arg;
use super::length::Length;
use super::lowering::Lowering;
use super::registers::MASK;
use super::rows::{self, Row};
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, DotOp, Value};
use regalloc2::VReg;

/// Lanes that were divided by a power of two.
struct Divided {
    quotient: VReg,
    remainder: VReg,
    /// The largest remainder that is not rounded up.
    half: VReg,
}

impl Lowering<'_> {
    /// Computes 64-bit products of the even lanes and of the odd lanes, by the signed or unsigned multiplication `row`. `equal` is `true` if all
    /// lanes of the second factor are the same.
    fn wide_products(&mut self, row: &'static Row, n: Length, [x, y]: [VReg; 2], equal: bool) -> (VReg, VReg) {
        let even = self.two(row, n, x, y);
        let x_odd = self.one_with(&rows::VPSRLQ, n, x, 32);
        let y_odd = if equal { y } else { self.odd_lanes(n, y) };
        (even, self.two(row, n, x_odd, y_odd))
    }

    /// Combines the low halves of some 64-bit lanes and the high halves of others into 32-bit lanes.
    fn even_and_odd(&mut self, n: Length, even: VReg, odd: VReg) -> VReg {
        if !self.set.avx512 {
            return self.two_with(&rows::VPBLENDD, n, even, odd, 0xAA);
        }
        // high ? odd : even
        let high = self.number(8, n, 0xFFFF_FFFF_0000_0000);
        self.row(&rows::VPTERNLOGD, n, &[Arg::Tied(odd), Arg::Use(even), Arg::Use(high), Arg::Number(0xE4)])
    }

    /// Computes the high 32 bits of signed or unsigned products.
    pub fn multiply_high(&mut self, signed: bool, a: Value, b: Value) -> Result<Held, CodegenError> {
        let row = if signed { &rows::VPMULDQ } else { &rows::VPMULUDQ };
        let equal_lanes = self.constants.contains_key(&b);
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        Ok(Held::Vector(self.map2(&a, &b, |l, n, x, y| {
            let (even, odd) = l.wide_products(row, n, [x, y], equal_lanes);
            l.high_halves(n, even, odd)
        })))
    }

    /// Moves each odd 32-bit lane to the even lane before it. A loaded value is loaded again instead: a load uses no port that products need.
    fn odd_lanes(&mut self, n: Length, x: VReg) -> VReg {
        match self.set.constant_loads.get(&x) {
            Some(&address) => self.row(&rows::VMOVSHDUP, n, &[Arg::Memory(address)]),
            None => self.one(&rows::VMOVSHDUP, n, x),
        }
    }

    /// Takes the high halves of 64-bit lanes: those of the first operand for even lanes, those of the second for odd lanes.
    fn high_halves(&mut self, n: Length, even: VReg, odd: VReg) -> VReg {
        if !self.set.avx512 {
            let even = self.one_with(&rows::VPSRLQ, n, even, 32);
            return self.two_with(&rows::VPBLENDD, n, even, odd, 0xAA);
        }
        let lanes = n.bytes() / 4;
        let order: Vec<u8> = (0..lanes).flat_map(|i| (i / 2 * 2 + 1 + i % 2 * lanes).to_le_bytes()).collect();
        let order = self.pool(n, &order);
        self.tied(&rows::VPERMI2D, n, order, even, odd)
    }

    /// Computes `(a·b + 2³⁰) >> 31`, saturated. An odd lane is the high half of twice the rounded product. Only INT_MIN · INT_MIN overflows, and
    /// wraps to INT_MIN. No other product rounds to INT_MIN, so INT_MIN is replaced by INT_MAX.
    pub fn doubling_high_multiply(&mut self, a: Value, b: Value, saturates: bool) -> Result<Held, CodegenError> {
        let equal_lanes = self.constants.contains_key(&b);
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        let result = self.map2(&a, &b, |l, n, x, y| {
            let (even, odd) = l.wide_products(&rows::VPMULDQ, n, [x, y], equal_lanes);
            let half = l.number(8, n, 1 << 30);
            let (even, odd) = (l.two(&rows::VPADDQ, n, even, half), l.two(&rows::VPADDQ, n, odd, half));
            let (even, odd) = (l.one_with(&rows::VPSRLQ, n, even, 31), l.two(&rows::VPADDQ, n, odd, odd));
            l.even_and_odd(n, even, odd)
        });
        if !saturates {
            return Ok(Held::Vector(result));
        }
        Ok(Held::Vector(self.map(&result, |l, n, x| {
            if l.set.avx512 {
                let smallest = l.number(4, n, 1 << 31);
                let mask = l.row_of(MASK, &rows::VPCMPD, n, &[Arg::Use(x), Arg::Use(smallest), Arg::Number(0)]);
                let largest = l.number(4, n, i32::MAX as u64);
                return l.blend_bits(4, n, mask, largest, x);
            }
            let smallest = l.number(4, n, 1 << 31);
            let wrapped = l.two(&rows::VPCMPEQD, n, x, smallest);
            l.two(&rows::VPXOR, n, x, wrapped)
        })))
    }

    /// Divides by 2ᵇ and rounds to nearest, ties away from zero: `(x >> b) + (remainder > threshold)`. The threshold is half of the divisor's mask,
    /// plus one for negative numbers.
    pub fn rounding_divide(&mut self, a: Value, b: Value) -> Result<Held, CodegenError> {
        let constant = self.constants.get(&b).map(|&bits| bits as u32 & 31);
        let a = self.vector(a)?;
        if let Some(count) = constant {
            if count == 0 {
                return Ok(Held::Vector(a));
            }
            let quotient = self.shift_vector(BinaryOp::ShiftRightSigned, &a, count);
            let parts = (0..a.parts.len()).map(|i| {
                let (n, x) = (a.length(), a.parts[i]);
                let mask = self.number(4, n, (1 << count) - 1);
                let remainder = self.two(&rows::VPAND, n, x, mask);
                let half = self.number(4, n, ((1 << count) - 1) >> 1);
                self.round_up(n, x, Divided { quotient: quotient.parts[i], remainder, half })
            });
            let parts = parts.collect();
            return Ok(Held::Vector(a.with(parts)));
        }
        let b = self.vector(b)?;
        Ok(Held::Vector(self.map2(&a, &b, |l, n, x, count| {
            let quotient = l.two(&rows::VPSRAVD, n, x, count);
            let ones = l.number(4, n, u64::MAX);
            let high = l.two(&rows::VPSLLVD, n, ones, count);
            let mask = l.two(&rows::VPXOR, n, high, ones);
            let remainder = l.two(&rows::VPAND, n, x, mask);
            let half = l.one_with(&rows::VPSRLD, n, mask, 1);
            l.round_up(n, x, Divided { quotient, remainder, half })
        })))
    }

    /// Returns the quotient, plus one if the remainder is above the threshold.
    fn round_up(&mut self, n: Length, x: VReg, Divided { quotient, remainder, half }: Divided) -> VReg {
        let sign = self.one_with(&rows::VPSRAD, n, x, 31);
        let threshold = self.two(&rows::VPSUBD, n, half, sign);
        if self.set.avx512 {
            // The sign of threshold − remainder, both small: −1 if the remainder is larger.
            let difference = self.two(&rows::VPSUBD, n, threshold, remainder);
            let up = self.one_with(&rows::VPSRAD, n, difference, 31);
            return self.two(&rows::VPSUBD, n, quotient, up);
        }
        let up = self.two(&rows::VPCMPGTD, n, remainder, threshold);
        self.two(&rows::VPSUBD, n, quotient, up)
    }

    /// Computes dot products, added to an accumulator.
    pub fn dot(&mut self, op: DotOp, accumulator: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        if op.is_of_few_machines() {
            return self.unsupported(Operation::Dot(op), self.ty(accumulator));
        }
        let (sums, a, b) = (self.vector(accumulator)?, self.vector(a)?, self.vector(b)?);
        let length = sums.length();
        let in_place = self.adds_in_place(accumulator);
        let parts = (0..sums.parts.len()).map(|i| {
            let (sum, x, y) = (sums.parts[i], a.parts[i], b.parts[i]);
            match op {
                DotOp::UnsignedSigned8 if self.set.avx512 => self.tied(&rows::VPDPBUSD, length, sum, x, y),
                DotOp::Signed16 if self.set.avx512 => self.tied(&rows::VPDPWSSD, length, sum, x, y),
                DotOp::Signed16 => {
                    let products = self.two(&rows::VPMADDWD, length, x, y);
                    self.add_to(length, sum, products, in_place)
                }
                DotOp::UnsignedSigned8To16 => {
                    let pairs = self.two(&rows::VPMADDUBSW, length, x, y);
                    self.two(&rows::VPADDW, length, sum, pairs)
                }
                _ => {
                    let products = self.dot_bytes(op, length, x, y);
                    self.add_to(length, sum, products, in_place)
                }
            }
        });
        let parts = parts.collect();
        Ok(Held::Vector(sums.with(parts)))
    }

    /// Multiplies bytes as 16-bit lanes, even and odd ones separately, and adds pairs of products.
    fn dot_bytes(&mut self, op: DotOp, n: Length, x: VReg, y: VReg) -> VReg {
        let signed = op == DotOp::Signed8;
        let (x_even, x_odd) = self.even_and_odd_bytes(n, x, signed);
        let (y_even, y_odd) = self.even_and_odd_bytes(n, y, true);
        let even = self.two(&rows::VPMADDWD, n, x_even, y_even);
        let odd = self.two(&rows::VPMADDWD, n, x_odd, y_odd);
        self.two(&rows::VPADDD, n, even, odd)
    }

    fn even_and_odd_bytes(&mut self, n: Length, x: VReg, signed: bool) -> (VReg, VReg) {
        let right = if signed { &rows::VPSRAW } else { &rows::VPSRLW };
        let even = self.one_with(&rows::VPSLLW, n, x, 8);
        (self.one_with(right, n, even, 8), self.one_with(right, n, x, 8))
    }
}
