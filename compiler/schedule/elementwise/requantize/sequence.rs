//! The sequences of instructions that requantize.

use super::numbers::{ONES, ROOM_ADDED};
use crate::kernel::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Rounding, Value};

/// A sequence of instructions. Its operands are the sum, then tables with one number for each channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requantizer {
    /// Low 16 bits of `sum · scale + c`, with a last place of one. Scale and c are bits of binary32. Results are narrowed to bytes.
    Rounded,
    /// Low 16 bits of `product + c`, with a last place of one. The sum is rounded to binary32, and so is its product with the scale. Scales have type
    /// binary32, and c is [`ONES`].
    RoundedProduct,
    /// Steps of TFLite's double rounding: a doubling high product with the multiplier, then a rounding shift. The second table has negative counts.
    Steps {
        /// `true` if negative results matter. Ties of these are rounded away from zero.
        signed: bool,
    },
    /// `trunc(sum · scale + c)`. Scale and c are bits of binary32. If `signed`, c has the sign of the sum.
    Float {
        /// `true` if negative results matter.
        signed: bool,
        /// Rounding of the product and the sum.
        precision: Precision,
    },
    /// `(((sum · multiplier >> 32) − (1 if below the pivot)) >> shift) + constant`. The pivot is an operand only if `signed`.
    HighProduct {
        /// Presence of a pivot.
        signed: bool,
    },
    /// `(sum · multiplier + c) >> shift` in 32 bits.
    LowProduct {
        /// Count of the shift.
        shift: u8,
    },
    /// `((sum · multiplier >> 32) + c) >> shift`, with signed numbers.
    HighSigned {
        /// Count of the shift.
        shift: u8,
    },
    /// `trunc(a · scale + (b · scale + c)) + constant`: see [`super::sum_of_two`]. Operands are a, b, the scales and c as bits of binary32, and the
    /// constant.
    SumOfTwo {
        /// Rounding of both products and sums.
        precision: Precision,
    },
    /// `(a · scale + b · scale + c) >> shift`, with integers. Operands are a, b, the scales, c and the shift.
    IntegersOfTwo,
    /// Product `a · b + (b · added + offset)`, exact in binary32, then scaled like a sum. Operands are a, b, the numbers `added` and `offset` in
    /// binary32, and the tables.
    ProductOfTwo(OfProduct),
}

/// Scaling of a product of two integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfProduct {
    /// Scaling of [`Requantizer::Rounded`].
    Rounded,
    /// Scaling of [`Requantizer::Float`].
    Float {
        /// `true` if negative results matter.
        signed: bool,
        /// Rounding of the product and the sum.
        precision: Precision,
    },
}

impl OfProduct {
    fn precision(self) -> Precision {
        match self {
            Self::Rounded => Precision::Nearest,
            Self::Float { precision, .. } => precision,
        }
    }
}

/// Rounding of a product with a scale and of the sum after it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Precision {
    /// Rounded to nearest.
    Nearest,
    /// Rounded towards zero.
    TowardZero,
    /// Rounded towards zero, with a second number for the scale's remaining bits.
    TowardZeroTwice,
}

impl Precision {
    /// Returns the rounding of each instruction.
    pub fn rounding(self) -> Rounding {
        if self == Self::Nearest { Rounding::Nearest } else { Rounding::TowardZero }
    }
}

impl Requantizer {
    /// Returns the rounding of a sequence in floats. `None` for integers.
    pub fn precision(self) -> Option<Precision> {
        match self {
            Self::Rounded | Self::RoundedProduct => Some(Precision::Nearest),
            Self::Float { precision, .. } | Self::SumOfTwo { precision } => Some(precision),
            Self::ProductOfTwo(of) => Some(of.precision()),
            Self::Steps { .. } | Self::HighProduct { .. } | Self::LowProduct { .. } | Self::HighSigned { .. } | Self::IntegersOfTwo => None,
        }
    }

    /// Returns the constant of the last table that makes results larger by `number`. `None` if the sequence or its range does not allow it.
    pub fn plus(self, constant: i32, number: i64) -> Option<i32> {
        match self {
            // Binary32 has both integers exactly.
            Self::Rounded | Self::ProductOfTwo(OfProduct::Rounded) => {
                Some((f32::from_bits(constant as u32) + number as f32).to_bits() as i32)
            }
            Self::HighProduct { .. } => i32::try_from(i64::from(constant) + number).ok(),
            Self::LowProduct { shift } | Self::HighSigned { shift } if number.abs() <= ROOM_ADDED => {
                i32::try_from(i64::from(constant) + (number << shift)).ok()
            }
            Self::LowProduct { .. } | Self::HighSigned { .. } | Self::Steps { .. } => None,
            Self::Float { .. } | Self::SumOfTwo { .. } | Self::IntegersOfTwo | Self::RoundedProduct | Self::ProductOfTwo(_) => None,
        }
    }

    /// Writes the instructions. Operands are the sum, with its offset, and the tables, in lanes of 32 bits. Sequences of two integers take the two
    /// instead of the sum.
    pub fn emit(self, b: &mut KernelBuilder, operands: &[Value]) -> Value {
        let sum = operands[0];
        match self {
            Self::Rounded => rounded(b, &operands[1..], |b| b.convert(ConvertOp::SignedToFloat, sum, Lane::F32)),
            Self::RoundedProduct => {
                let float = b.convert(ConvertOp::SignedToFloat, sum, Lane::F32);
                let product = b.mul(float, operands[1]);
                let ty = b.ty(product);
                let ones = b.float(ty, ONES.into());
                let rounded = b.add(product, ones);
                low_halves(b, rounded)
            }
            Self::Steps { signed } => {
                let mut product = b.saturating_rounding_doubling_high_mul(sum, operands[1], true);
                if signed {
                    let signs = b.shift(BinaryOp::ShiftRightSigned, product, 31);
                    product = b.add(product, signs);
                }
                b.binary(BinaryOp::ShiftNearest, product, operands[2])
            }
            Self::Float { signed, precision } => {
                scaled(b, sum, &operands[1..], signed, precision, |b| b.convert(ConvertOp::SignedToFloat, sum, Lane::F32))
            }
            Self::ProductOfTwo(of) => {
                let product = product(b, operands, of.precision().rounding());
                match of {
                    OfProduct::Rounded => rounded(b, &operands[4..], |_| product),
                    OfProduct::Float { signed, precision } => {
                        let bits = b.convert(ConvertOp::Bitcast, product, Lane::I32);
                        scaled(b, bits, &operands[4..], signed, precision, |_| product)
                    }
                }
            }
            Self::HighProduct { signed } => high_product(b, operands, signed),
            Self::LowProduct { shift } => {
                let product = b.mul(sum, operands[1]);
                shifted(b, product, operands[2], shift)
            }
            Self::HighSigned { shift } => {
                let high = b.mul_high(true, sum, operands[1]);
                shifted(b, high, operands[2], shift)
            }
            Self::SumOfTwo { precision } => sum_of_two(b, operands, precision),
            Self::IntegersOfTwo => {
                let [first, second] = [0, 1].map(|i| b.mul(operands[i], operands[2 + i]));
                let rest = b.add(second, operands[4]);
                let sum = b.add(first, rest);
                b.binary(BinaryOp::ShiftRightSigned, sum, operands[5])
            }
        }
    }
}

/// Writes [`Requantizer::HighProduct`].
fn high_product(b: &mut KernelBuilder, operands: &[Value], signed: bool) -> Value {
    let mut high = b.mul_high(false, operands[0], operands[1]);
    if signed {
        let below = b.compare(CompareOp::Less, high, operands[2]);
        let one = b.convert(ConvertOp::MaskToInteger, below, Lane::I32);
        high = b.sub(high, one);
    }
    let [shift, constant] = [operands[operands.len() - 2], operands[operands.len() - 1]];
    let quotient = b.binary(BinaryOp::ShiftRightUnsigned, high, shift);
    b.add(quotient, constant)
}

/// Writes [`Requantizer::SumOfTwo`].
fn sum_of_two(b: &mut KernelBuilder, operands: &[Value], precision: Precision) -> Value {
    let [first, second] = [0, 1].map(|i| b.convert(ConvertOp::SignedToFloat, operands[i], Lane::F32));
    let [outer, inner, c] = [2, 3, 4].map(|i| b.convert(ConvertOp::Bitcast, operands[i], Lane::F32));
    let sum = b.fma_rounded(second, inner, c, precision.rounding());
    let sum = b.fma_rounded(first, outer, sum, precision.rounding());
    let whole = b.convert(ConvertOp::FloatToSignedInRange, sum, Lane::I32);
    b.binary(BinaryOp::SignedAddInRange, whole, operands[5])
}

/// Computes `(product + c) >> shift`, for a sum that does not wrap.
fn shifted(b: &mut KernelBuilder, product: Value, c: Value, shift: u8) -> Value {
    let sum = b.binary(BinaryOp::SignedAddInRange, product, c);
    if shift == 0 { sum } else { b.shift(BinaryOp::ShiftRightSigned, sum, shift) }
}

/// Computes the product of [`Requantizer::ProductOfTwo`]. It is never a negative zero, since the offset is none.
fn product(b: &mut KernelBuilder, operands: &[Value], rounding: Rounding) -> Value {
    let [first, second] = [0, 1].map(|i| b.convert(ConvertOp::SignedToFloat, operands[i], Lane::F32));
    let rest = b.fma_rounded(second, operands[2], operands[3], rounding);
    b.fma_rounded(first, second, rest, rounding)
}

/// Scales and rounds a sum, and returns its low 16 bits. `numbers` are the scale and c.
fn rounded(b: &mut KernelBuilder, numbers: &[Value], sum: impl FnOnce(&mut KernelBuilder) -> Value) -> Value {
    let [scale, c] = [0, 1].map(|i| b.convert(ConvertOp::Bitcast, numbers[i], Lane::F32));
    let sum = sum(b);
    let rounded = b.fma(sum, scale, c);
    low_halves(b, rounded)
}

/// Scales a sum and truncates it. If `signed`, c gets the sign of `bits`. `numbers` are the scales and c.
fn scaled(
    b: &mut KernelBuilder,
    bits: Value,
    numbers: &[Value],
    signed: bool,
    precision: Precision,
    sum: impl FnOnce(&mut KernelBuilder) -> Value,
) -> Value {
    let mut c = numbers[numbers.len() - 1];
    if signed {
        let ty = b.ty(bits);
        let top = b.int(ty, i32::MIN.into());
        let sign = b.binary(BinaryOp::And, bits, top);
        c = b.binary(BinaryOp::Or, sign, c);
    }
    let mut scaled = b.convert(ConvertOp::Bitcast, c, Lane::F32);
    let sum = sum(b);
    // The small part of the scale comes first.
    for &factor in numbers[..numbers.len() - 1].iter().rev() {
        let factor = b.convert(ConvertOp::Bitcast, factor, Lane::F32);
        scaled = b.fma_rounded(sum, factor, scaled, precision.rounding());
    }
    b.convert(ConvertOp::FloatToSignedInRange, scaled, Lane::I32)
}

/// Returns the low halves of floats' bits, sign-extended to 32 bits.
fn low_halves(b: &mut KernelBuilder, floats: Value) -> Value {
    let bits = b.convert(ConvertOp::Bitcast, floats, Lane::I32);
    let ty = b.ty(bits);
    let half = b.int(ty, 16);
    let low = b.binary(BinaryOp::ShiftLeft, bits, half);
    b.binary(BinaryOp::ShiftRightSigned, low, half)
}
