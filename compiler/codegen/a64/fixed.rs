//! Fixed-point arithmetic of 32-bit lanes.

use super::held::Held;
use super::inst::Arg;
use super::lowering::Lowering;
use super::rows::{self, Size};
use crate::CodegenError;
use modelc_kernel::Value;
use regalloc2::VReg;

impl Lowering<'_> {
    /// Computes the high 32 bits of signed or unsigned products.
    pub fn multiply_high(&mut self, signed: bool, a: Value, b: Value) -> Result<Held, CodegenError> {
        let [low, high] = if signed { [&rows::SMULL, &rows::SMULL2] } else { [&rows::UMULL, &rows::UMULL2] };
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        let both = a.total() > 8;
        Ok(Held::Vector(self.map2(&a, &b, |l, x, y| {
            let low = l.two(low, Size::S, x, y);
            let high = if both { l.two(high, Size::S, x, y) } else { low };
            l.two(&rows::UZP2, Size::S, low, high)
        })))
    }

    /// Computes `(a·b + 2³⁰) >> 31`, saturated.
    pub fn doubling_high_multiply(&mut self, a: Value, b: Value) -> Result<Held, CodegenError> {
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        Ok(Held::Vector(self.map2(&a, &b, |l, x, y| {
            let result = l.two(&rows::SQRDMULH, Size::S, x, y);
            l.set.doubled.insert(result);
            result
        })))
    }

    /// Divides by 2ᵇ and rounds to nearest, ties away from zero. The shift instruction rounds ties up, so 1 is subtracted from negative numbers
    /// first, unless the count is 0. The smallest number stays as it is. A doubling high product is never the smallest number.
    pub fn rounding_divide(&mut self, a: Value, b: Value) -> Result<Held, CodegenError> {
        let constant = self.constants.get(&b).map(|&bits| i64::from(bits as u32 & 31));
        let a = self.vector(a)?;
        match constant {
            Some(0) => return Ok(Held::Vector(a)),
            Some(count) => {
                return Ok(Held::Vector(self.map(&a, |l, x| {
                    let lowered = l.lowered(x, x);
                    l.one_with(&rows::SRSHR, Size::S, lowered, count)
                })));
            }
            None => {}
        }
        let b = self.vector(b)?;
        Ok(Held::Vector(self.map2(&a, &b, |l, x, count| {
            let left = l.one(&rows::NEG, Size::S, count);
            let sign = l.two(&rows::AND, Size::B, x, left);
            let lowered = l.lowered(x, sign);
            l.two(&rows::SRSHL, Size::S, lowered, left)
        })))
    }

    /// Divides by 2 to the power of `count` and rounds to nearest, ties up.
    pub fn shift_to_nearest(&mut self, a: Value, count: i64) -> Result<Held, CodegenError> {
        let a = self.vector(a)?;
        Ok(Held::Vector(if count == 0 { a } else { self.map(&a, |l, x| l.one_with(&rows::SRSHR, Size::S, x, count)) }))
    }

    /// Subtracts 1 from x where the sign of another register is set; the smallest number stays.
    fn lowered(&mut self, x: VReg, sign: VReg) -> VReg {
        if self.set.doubled.contains(&x) {
            return self.row(&rows::SSRA, Size::S, &[Arg::Tied(x), Arg::Use(sign), Arg::Number(31)]);
        }
        let less = self.one_with(&rows::SSHR, Size::S, sign, 31);
        self.two(&rows::SQADD, Size::S, x, less)
    }
}
