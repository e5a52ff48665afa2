//! Fused products, and dot products.

use super::held::Held;
use super::inst::Arg;
use super::lowering::Lowering;
use super::rows::{self, Size};
use crate::{CodegenError, Operation};
use modelc_kernel::{DotOp, Rounding, Value};
use regalloc2::VReg;

impl Lowering<'_> {
    /// Computes a × b + c, rounded once.
    pub fn fused(&mut self, [a, b, c]: [Value; 3], rounding: Rounding) -> Result<Held, CodegenError> {
        if rounding == Rounding::TowardZero {
            return self.unsupported(Operation::Fused(rounding), self.ty(c));
        }
        let (a, b, c) = (self.vector(a)?, self.vector(b)?, self.vector(c)?);
        let size = a.size();
        let parts = (0..a.parts.len()).map(|i| {
            let (x, y, sum) = (a.parts[i], b.parts[i], c.parts[i]);
            match self.with_element(size, x, y) {
                Some((other, [part, lane])) => self.row(&rows::FMLA_ELEMENT, size, &[Arg::Tied(sum), Arg::Use(other), part, lane]),
                None => self.tied(&rows::FMLA, size, sum, x, y),
            }
        });
        let parts = parts.collect();
        Ok(Held::Vector(a.with(parts)))
    }

    /// Computes dot products, added to an accumulator.
    pub fn dot(&mut self, op: DotOp, accumulator: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        if op.is_of_squares() && !self.set.matrix {
            return self.unsupported(Operation::Dot(op), self.ty(accumulator));
        }
        let is = |value: Value, number: u64| self.constants.get(&value) == Some(&number);
        // Products with ones are sums of neighbouring lanes.
        let (begins, ones) = (is(accumulator, 0), is(b, 1));
        let (sums, a, b) = (self.vector(accumulator)?, self.vector(a)?, self.vector(b)?);
        let parts = (0..sums.parts.len()).map(|i| {
            let (sum, x, y) = (sums.parts[i], a.parts[i], b.parts[i]);
            Ok(match op {
                DotOp::Signed8 if self.set.dot_product => self.dot_signed(sum, x, y),
                DotOp::SignedSquares => self.tied(&rows::SMMLA, Size::B, sum, x, y),
                DotOp::UnsignedSignedSquares => self.tied(&rows::USMMLA, Size::B, sum, x, y),
                DotOp::UnsignedSigned8 if self.set.matrix => self.tied(&rows::USDOT, Size::B, sum, x, y),
                DotOp::UnsignedSigned8 if self.set.dot_product => {
                    // x with flipped sign bits changes each product by 128·y. A second dot product subtracts that.
                    let sign = self.number(1, 0x80);
                    let flipped = self.two(&rows::EOR, Size::B, x, sign);
                    let sum = self.dot_signed(sum, flipped, y);
                    let (zero, minus) = (self.number(4, 0), sign);
                    let surplus = self.dot_signed(zero, minus, y);
                    self.two(&rows::SUB, Size::S, sum, surplus)
                }
                DotOp::Signed8 => {
                    let products = [self.two(&rows::SMULL, Size::B, x, y), self.two(&rows::SMULL2, Size::B, x, y)];
                    self.add_fours(sum, products)
                }
                DotOp::UnsignedSigned8 => {
                    let products = self.mixed_products(x, y);
                    self.add_fours(sum, products)
                }
                DotOp::Signed16 if ones && begins => self.one(&rows::SADDLP, Size::H, x),
                DotOp::Signed16 if ones => self.tied_one(&rows::SADALP, Size::H, sum, x),
                DotOp::Signed16 => {
                    let (low, high) = (self.two(&rows::SMULL, Size::H, x, y), self.two(&rows::SMULL2, Size::H, x, y));
                    let pairs = self.two(&rows::ADDP, Size::S, low, high);
                    self.two(&rows::ADD, Size::S, sum, pairs)
                }
                DotOp::UnsignedSigned8To16 => {
                    let [low, high] = self.mixed_products(x, y);
                    let (even, odd) = (self.two(&rows::UZP1, Size::H, low, high), self.two(&rows::UZP2, Size::H, low, high));
                    let pairs = self.two(&rows::SQADD, Size::H, even, odd);
                    self.two(&rows::ADD, Size::H, sum, pairs)
                }
                DotOp::SignedSixteens => return self.unsupported(Operation::Dot(op), self.ty(accumulator)),
            })
        });
        let parts = parts.collect::<Result<_, CodegenError>>()?;
        Ok(Held::Vector(sums.with(parts)))
    }

    fn dot_signed(&mut self, sum: VReg, x: VReg, y: VReg) -> VReg {
        match self.with_element(Size::S, x, y) {
            Some((other, [part, lane])) => self.row(&rows::SDOT_ELEMENT, Size::S, &[Arg::Tied(sum), Arg::Use(other), part, lane]),
            None => self.tied(&rows::SDOT, Size::B, sum, x, y),
        }
    }

    /// Computes products of unsigned and signed bytes in 16 bits, without overflow.
    fn mixed_products(&mut self, x: VReg, y: VReg) -> [VReg; 2] {
        [[&rows::USHLL, &rows::SSHLL], [&rows::USHLL2, &rows::SSHLL2]].map(|[unsigned, signed]| {
            let (x, y) = (self.one_with(unsigned, Size::B, x, 0), self.one_with(signed, Size::B, y, 0));
            self.two(&rows::MUL, Size::H, x, y)
        })
    }

    /// Adds sums of four neighbouring 16-bit lanes to an accumulator.
    fn add_fours(&mut self, sum: VReg, products: [VReg; 2]) -> VReg {
        let [low, high] = products.map(|x| self.one(&rows::SADDLP, Size::H, x));
        let fours = self.two(&rows::ADDP, Size::S, low, high);
        self.two(&rows::ADD, Size::S, sum, fours)
    }
}
