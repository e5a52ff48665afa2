//! Code of one scalar operation.

use super::division::{Quotients, quotient};
use super::lanes::{register_lane, wrap};
use super::ranges::{Range, type_range, within};
use crate::ir::{Comparison, ElementType, NanRule, RequantizeRule, ScalarOp};
use crate::kernel::mathematics::Arithmetic;
use crate::kernel::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Type, UnaryOp, Value, mathematics};
use crate::schedule::unsupported::Unsupported;

/// One operation on computed operands.
pub(super) struct Call<'a> {
    /// Lanes of every value.
    pub lanes: u16,
    /// `true` if a fused multiply-add is one instruction.
    pub fma: bool,
    /// Way to compute quotients of integers.
    pub quotients: Quotients,
    /// Instructions that mathematical functions may use.
    pub arithmetic: Arithmetic,
    /// Type of the result.
    pub ty: ElementType,
    /// Types of the operands.
    pub types: &'a [ElementType],
    /// Intervals of the operands.
    pub ranges: &'a [Range],
    /// Integers that the first operand can round to, if it is a float that a clamp bounds.
    pub clamped: Option<Range>,
    /// Operands in register form.
    pub arguments: &'a [Value],
}

impl Call<'_> {
    fn unsupported<T>(&self, op: ScalarOp) -> Result<T, Unsupported> {
        Err(Unsupported::ScalarOperation { op, from: self.types.to_vec(), to: self.ty })
    }

    fn vector(&self) -> Result<Type, Unsupported> {
        Ok(Type::vector(register_lane(self.ty)?, self.lanes))
    }

    /// Writes a number.
    pub fn constant(&self, b: &mut KernelBuilder, value: crate::ir::Scalar) -> Result<Value, Unsupported> {
        let ty = self.vector()?;
        Ok(match ty.lane {
            Lane::Mask => b.mask(ty.lanes, value.bits() != 0),
            Lane::F32 if self.ty != ElementType::F32 => b.float(ty, value.as_f64()),
            Lane::F32 | Lane::F64 => b.float_bits(ty, value.bits()),
            _ => b.int(ty, value.as_i64()),
        })
    }

    /// Writes a quotient of integers without a division of each lane, if that is exact.
    fn short_quotient(&self, b: &mut KernelBuilder) -> Option<Value> {
        quotient(b, self.quotients, [self.arguments[0], self.arguments[1]], [self.ranges[0], self.ranges[1]])
    }

    /// Writes any operation except numbers, look-ups and shifts.
    pub fn emit(&self, b: &mut KernelBuilder, op: ScalarOp) -> Result<Value, Unsupported> {
        use ScalarOp as S;
        let a = self.arguments;
        let operand = self.types.first().copied().unwrap_or(self.ty);
        let float = operand.is_float();
        let unsigned = operand.is_unsigned_integer();
        let integer = |signed: BinaryOp, other: BinaryOp| if unsigned { other } else { signed };
        let is_mask = operand == ElementType::Bool;
        Ok(match op {
            S::Add => b.binary(BinaryOp::Add, a[0], a[1]),
            S::Sub => b.binary(BinaryOp::Sub, a[0], a[1]),
            S::Mul => b.binary(BinaryOp::Mul, a[0], a[1]),
            S::Div if float => b.binary(BinaryOp::FloatDiv, a[0], a[1]),
            S::Div => self.short_quotient(b).unwrap_or_else(|| b.binary(integer(BinaryOp::SignedDiv, BinaryOp::UnsignedDiv), a[0], a[1])),
            S::Rem if !float => b.binary(integer(BinaryOp::SignedRem, BinaryOp::UnsignedRem), a[0], a[1]),
            S::Neg => b.unary(UnaryOp::Neg, a[0]),
            S::Abs => b.unary(UnaryOp::Abs, a[0]),
            S::Min(rule) if float => b.binary(float_min(rule), a[0], a[1]),
            S::Max(rule) if float => b.binary(float_max(rule), a[0], a[1]),
            S::Min(_) => b.binary(integer(BinaryOp::SignedMin, BinaryOp::UnsignedMin), a[0], a[1]),
            S::Max(_) => b.binary(integer(BinaryOp::SignedMax, BinaryOp::UnsignedMax), a[0], a[1]),
            S::And => b.binary(BinaryOp::And, a[0], a[1]),
            S::Or => b.binary(BinaryOp::Or, a[0], a[1]),
            S::Xor => b.binary(BinaryOp::Xor, a[0], a[1]),
            S::Not => b.unary(UnaryOp::Not, a[0]),
            S::Compare(comparison) if is_mask => self.compare_masks(b, comparison),
            S::Compare(comparison) => compare(b, comparison, unsigned, a[0], a[1]),
            S::Select if self.ty == ElementType::Bool => select_masks(b, [a[0], a[1], a[2]]),
            S::Select => b.select(a[0], a[1], a[2]),
            S::Convert => self.convert(b, false)?,
            S::ConvertSaturating => self.convert(b, true)?,
            S::Floor => b.unary(UnaryOp::Floor, a[0]),
            S::Ceil => b.unary(UnaryOp::Ceil, a[0]),
            S::Trunc => b.unary(UnaryOp::Trunc, a[0]),
            S::RoundEven => b.unary(UnaryOp::Nearest, a[0]),
            S::RoundAway => round_away(b, a[0]),
            S::Sqrt => b.unary(UnaryOp::Sqrt, a[0]),
            S::Rsqrt => mathematics::rsqrt(b, a[0]),
            S::Atan2 => mathematics::atan2(b, a[0], a[1]),
            S::Pow if operand.is_integer() => power(b, a[0], a[1]),
            S::Exp | S::Log | S::Tanh | S::Logistic | S::Erf | S::Erfc | S::NormalCdf | S::Sin | S::Cos | S::Pow | S::Rem if float => {
                self.mathematics(b, op)
            }
            S::RoundTo(narrow) => round_to(b, a[0], narrow),
            S::Fma if self.fma => b.fma(a[0], a[1], a[2]),
            S::Fma if self.ty == ElementType::F32 => fused_in_binary64(b, [a[0], a[1], a[2]]),
            S::CountLeadingZeros => leading_zeros(b, a[0], operand),
            S::SaturatingRoundingDoublingHighMul => {
                let smallest = i128::from(i32::MIN);
                let saturates = self.ranges.iter().all(|r| r.low == smallest);
                b.saturating_rounding_doubling_high_mul(a[0], a[1], saturates)
            }
            S::RoundingDivideByPowerOfTwo => b.rounding_divide_by_power_of_two(a[0], a[1]),
            S::Requantize(RequantizeRule::TfliteDouble) => self.requantize_double(b),
            S::Requantize(RequantizeRule::TfliteSingle) => self.requantize_single(b),
            _ => return self.unsupported(op),
        })
    }

    fn mathematics(&self, b: &mut KernelBuilder, op: ScalarOp) -> Value {
        let (a, with) = (self.arguments, self.arithmetic);
        match op {
            ScalarOp::Exp => mathematics::exp(b, with, a[0]),
            ScalarOp::Tanh => mathematics::tanh(b, with, a[0]),
            ScalarOp::Log => mathematics::log(b, with, a[0]),
            ScalarOp::Logistic => mathematics::logistic(b, with, a[0]),
            ScalarOp::Erf => mathematics::erf(b, with, a[0]),
            ScalarOp::Erfc => mathematics::erfc(b, with, a[0]),
            ScalarOp::NormalCdf => mathematics::normal_cdf(b, with, a[0]),
            ScalarOp::Rem => mathematics::remainder(b, a[0], a[1]),
            ScalarOp::Sin => mathematics::sin(b, with, a[0]),
            ScalarOp::Cos => mathematics::cos(b, with, a[0]),
            _ => mathematics::pow(b, a[0], a[1]),
        }
    }

    fn compare_masks(&self, b: &mut KernelBuilder, comparison: Comparison) -> Value {
        let [x, y] = [self.arguments[0], self.arguments[1]].map(|v| b.convert(ConvertOp::MaskToInteger, v, Lane::I32));
        compare(b, comparison, false, x, y)
    }

    /// Writes a shift. Counts outside the width give zero, or copies of the sign.
    pub fn shift(&self, b: &mut KernelBuilder, op: ScalarOp, counts: Range) -> Result<Value, Unsupported> {
        let (value, count) = (self.arguments[0], self.arguments[1]);
        let bits = i128::from(self.ty.bits());
        let binary = match op {
            ScalarOp::ShiftLeft => BinaryOp::ShiftLeft,
            _ if self.ty.is_unsigned_integer() => BinaryOp::ShiftRightUnsigned,
            _ => BinaryOp::ShiftRightSigned,
        };
        if counts.low == counts.high && (0..bits).contains(&counts.low) {
            return Ok(b.shift(binary, value, counts.low as u8));
        }
        if counts.low >= 0 && counts.high < bits {
            return Ok(b.binary(binary, value, count));
        }
        let ty = b.ty(count);
        let last = b.int(ty, bits as i64 - 1);
        let inside = b.compare(CompareOp::UnsignedLessEqual, count, last);
        let safe = b.select(inside, count, last);
        let shifted = b.binary(binary, value, safe);
        if binary == BinaryOp::ShiftRightSigned {
            return Ok(shifted);
        }
        let zero = b.int(ty, 0);
        Ok(b.select(inside, shifted, zero))
    }

    fn convert(&self, b: &mut KernelBuilder, saturating: bool) -> Result<Value, Unsupported> {
        let (value, from, to) = (self.arguments[0], self.types[0], self.ty);
        let (from_lane, to_lane) = (register_lane(from)?, register_lane(to)?);
        if to == ElementType::Bool {
            let ty = b.ty(value);
            let zero = if from.is_float() { b.float(ty, 0.0) } else { b.int(ty, 0) };
            return Ok(b.compare(CompareOp::NotEqual, value, zero));
        }
        if from == ElementType::Bool {
            let integer = b.convert(ConvertOp::MaskToInteger, value, if to_lane == Lane::I64 { Lane::I64 } else { Lane::I32 });
            return Ok(if to.is_float() { b.convert(ConvertOp::SignedToFloat, integer, to_lane) } else { integer });
        }
        if from.is_float() && to.is_float() {
            let narrow = to.is_half();
            let same = match (from_lane, to_lane) {
                (Lane::F32, Lane::F64) => b.convert(ConvertOp::Promote, value, Lane::F64),
                (Lane::F64, Lane::F32) if narrow => mathematics::f32_to_odd(b, value),
                (Lane::F64, Lane::F32) => b.convert(ConvertOp::Demote, value, Lane::F32),
                _ => value,
            };
            return Ok(if narrow && from != to { round_to(b, same, to) } else { same });
        }
        let clamped = self.clamped.filter(|range| to.is_signed_integer() || range.low >= 0);
        if let (Some(range), Lane::F32, Lane::I32) = (clamped, from_lane, to_lane) {
            let integer = b.convert(ConvertOp::FloatToSignedInRange, value, Lane::I32);
            return Ok(if within(range, type_range(to)) || to.bits() == 32 { integer } else { clamp(b, integer, to) });
        }
        if from.is_float() {
            let unsigned = matches!(to, ElementType::U32 | ElementType::U64);
            let op = if unsigned { ConvertOp::FloatToUnsigned } else { ConvertOp::FloatToSigned };
            let integer = b.convert(op, value, to_lane);
            return Ok(if to.bits() < 32 { clamp(b, integer, to) } else { integer });
        }
        if to.is_float() {
            let unsigned = matches!(from, ElementType::U32 | ElementType::U64);
            let op = if unsigned { ConvertOp::UnsignedToFloat } else { ConvertOp::SignedToFloat };
            let float = b.convert(op, value, to_lane);
            return Ok(if to.is_half() { round_to(b, float, to) } else { float });
        }
        let mut value = value;
        if saturating {
            value = saturated(b, value, from, to);
        }
        Ok(match (from_lane, to_lane) {
            (Lane::I32, Lane::I64) if from == ElementType::U32 => b.convert(ConvertOp::ZeroExtend, value, Lane::I64),
            (Lane::I32, Lane::I64) => b.convert(ConvertOp::SignExtend, value, Lane::I64),
            (Lane::I64, Lane::I32) => {
                let low = b.convert(ConvertOp::Wrap, value, Lane::I32);
                if saturating { low } else { wrap(b, low, to, None) }
            }
            _ if saturating => value,
            _ if within(type_range(from), type_range(to)) => value,
            _ => wrap(b, value, to, Some(self.ranges[0])),
        })
    }

    /// Writes `MultiplyByQuantizedMultiplier` with shifts that are known only at run time.
    fn requantize_double(&self, b: &mut KernelBuilder) -> Value {
        let (accumulator, multiplier, shift) = (self.arguments[0], self.arguments[1], self.arguments[2]);
        let ty = b.ty(shift);
        let zero = b.int(ty, 0);
        let left = b.binary(BinaryOp::SignedMax, shift, zero);
        let negated = b.unary(UnaryOp::Neg, shift);
        let right = b.binary(BinaryOp::SignedMax, negated, zero);
        let shifted = b.binary(BinaryOp::ShiftLeft, accumulator, left);
        let product = b.saturating_rounding_doubling_high_mul(shifted, multiplier, true);
        b.rounding_divide_by_power_of_two(product, right)
    }

    /// Writes `(acc · multiplier + 2^(30 − shift)) >> (31 − shift)` in 64-bit lanes.
    fn requantize_single(&self, b: &mut KernelBuilder) -> Value {
        let [accumulator, multiplier, shift] = [0, 1, 2].map(|i| b.convert(ConvertOp::SignExtend, self.arguments[i], Lane::I64));
        let ty = b.ty(shift);
        let thirty_one = b.int(ty, 31);
        let total = b.sub(thirty_one, shift);
        let one = b.int(ty, 1);
        let below = b.sub(total, one);
        let half = b.binary(BinaryOp::ShiftLeft, one, below);
        let product = b.mul(accumulator, multiplier);
        let rounded = b.add(product, half);
        let wide = b.binary(BinaryOp::ShiftRightSigned, rounded, total);
        b.convert(ConvertOp::Wrap, wide, Lane::I32)
    }
}

/// Rounds an f32 to a narrower type and returns it as f32: to nearest, ties to even. It saturates to i8, and NaN becomes 0.
pub(super) fn round_to(b: &mut KernelBuilder, x: Value, narrow: ElementType) -> Value {
    match narrow {
        // Binary32 has more than twice the digits, so a second rounding of its sums, products, quotients and roots gives the correctly rounded
        // result.
        ElementType::F16 => {
            let bits = b.convert(ConvertOp::FloatToHalf, x, Lane::I16);
            b.convert(ConvertOp::HalfToFloat, bits, Lane::F32)
        }
        ElementType::Bf16 => {
            let bits = mathematics::bf16_of_f32(b, x);
            mathematics::f32_of_bf16(b, bits)
        }
        _ => {
            let nearest = b.unary(UnaryOp::Nearest, x);
            let integer = b.convert(ConvertOp::FloatToSigned, nearest, Lane::I32);
            let integer = clamp(b, integer, narrow);
            b.convert(ConvertOp::SignedToFloat, integer, Lane::F32)
        }
    }
}

/// Computes aⁿ of integers by squaring, modulo the width. A negative exponent gives the truncated reciprocal power.
fn power(b: &mut KernelBuilder, base: Value, exponent: Value) -> Value {
    let ty = b.ty(base);
    let [zero, one, minus_one] = [0, 1, -1].map(|n| b.int(ty, n));
    let bits = ty.lane.bytes() as u8 * 8;
    let mut result = one;
    let mut square = base;
    // Only negative exponents have the highest bit set, and these are handled below.
    for bit in 0..bits - 1 {
        let shifted = b.shift(BinaryOp::ShiftRightUnsigned, exponent, bit);
        let low = b.binary(BinaryOp::And, shifted, one);
        let taken = b.compare(CompareOp::NotEqual, low, zero);
        let product = b.mul(result, square);
        result = b.select(taken, product, result);
        square = b.mul(square, square);
    }
    let odd = b.binary(BinaryOp::And, exponent, one);
    let odd = b.compare(CompareOp::NotEqual, odd, zero);
    let sign = b.select(odd, minus_one, one);
    let is_minus_one = b.compare(CompareOp::Equal, base, minus_one);
    let is_one = b.compare(CompareOp::Equal, base, one);
    let reciprocal = b.select(is_minus_one, sign, zero);
    let reciprocal = b.select(is_one, one, reciprocal);
    let negative = b.compare(CompareOp::Less, exponent, zero);
    b.select(negative, reciprocal, result)
}

fn float_min(rule: NanRule) -> BinaryOp {
    match rule {
        NanRule::Propagate => BinaryOp::FloatMinPropagate,
        NanRule::Ignore => BinaryOp::FloatMinIgnore,
        NanRule::First => BinaryOp::FloatMinFirst,
    }
}

fn float_max(rule: NanRule) -> BinaryOp {
    match rule {
        NanRule::Propagate => BinaryOp::FloatMaxPropagate,
        NanRule::Ignore => BinaryOp::FloatMaxIgnore,
        NanRule::First => BinaryOp::FloatMaxFirst,
    }
}

fn compare(b: &mut KernelBuilder, comparison: Comparison, unsigned: bool, x: Value, y: Value) -> Value {
    let (op, x, y) = match (comparison, unsigned) {
        (Comparison::Equal, _) => (CompareOp::Equal, x, y),
        (Comparison::NotEqual, _) => (CompareOp::NotEqual, x, y),
        (Comparison::Less, false) => (CompareOp::Less, x, y),
        (Comparison::LessEqual, false) => (CompareOp::LessEqual, x, y),
        (Comparison::Greater, false) => (CompareOp::Greater, x, y),
        (Comparison::GreaterEqual, false) => (CompareOp::GreaterEqual, x, y),
        (Comparison::Less, true) => (CompareOp::UnsignedLess, x, y),
        (Comparison::LessEqual, true) => (CompareOp::UnsignedLessEqual, x, y),
        (Comparison::Greater, true) => (CompareOp::UnsignedLess, y, x),
        (Comparison::GreaterEqual, true) => (CompareOp::UnsignedLessEqual, y, x),
    };
    b.compare(op, x, y)
}

/// Selects among truth values: `mask ? yes : no`.
fn select_masks(b: &mut KernelBuilder, [mask, yes, no]: [Value; 3]) -> Value {
    let yes = b.binary(BinaryOp::And, mask, yes);
    let not = b.unary(UnaryOp::Not, mask);
    let no = b.binary(BinaryOp::And, not, no);
    b.binary(BinaryOp::Or, yes, no)
}

/// Counts the leading zeros of integers of a type, which may be narrower than their lanes.
fn leading_zeros(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    let ty = b.ty(value);
    // A narrow number is in a wider lane, with copies of its sign above it.
    let narrow = element.is_signed_integer() && element.bits() < 32;
    let mask = b.int(ty, (1 << element.bits().min(32)) - 1);
    let bits = if narrow { b.binary(BinaryOp::And, value, mask) } else { value };
    let zeros = b.unary(UnaryOp::CountLeadingZeros, bits);
    let extra = b.int(ty, i64::from(32u32.saturating_sub(element.bits())));
    let zeros = b.sub(zeros, extra);
    // A negative narrow number has ones in the extra bits, so the difference can be negative: it has no leading zeros.
    let none = b.int(ty, 0);
    b.binary(BinaryOp::SignedMax, zeros, none)
}

/// Computes x · y + z of binary32 on machines without a fused instruction. The product is exact in binary64. The sum is rounded twice, which differs
/// from the fused result by one unit in the last place for about one sum in 2^29.
fn fused_in_binary64(b: &mut KernelBuilder, operands: [Value; 3]) -> Value {
    let [x, y, z] = operands.map(|value| b.convert(ConvertOp::Promote, value, Lane::F64));
    let product = b.mul(x, y);
    let sum = b.add(product, z);
    b.convert(ConvertOp::Demote, sum, Lane::F32)
}

/// Rounds to nearest, ties away from zero: truncates, then steps away from zero if at least half was cut off.
fn round_away(b: &mut KernelBuilder, x: Value) -> Value {
    let ty = b.ty(x);
    let truncated = b.unary(UnaryOp::Trunc, x);
    let rest = b.sub(x, truncated);
    let cut = b.unary(UnaryOp::Abs, rest);
    let half = b.float(ty, 0.5);
    let out = b.compare(CompareOp::GreaterEqual, cut, half);
    let zero = b.float(ty, 0.0);
    let negative = b.compare(CompareOp::Less, x, zero);
    let (minus, plus) = (b.float(ty, -1.0), b.float(ty, 1.0));
    let step = b.select(negative, minus, plus);
    let further = b.add(truncated, step);
    b.select(out, further, truncated)
}

/// Clamps an integer to the range of another integer type, as far as its lane can represent that range.
fn saturated(b: &mut KernelBuilder, value: Value, from: ElementType, to: ElementType) -> Value {
    let ty = b.ty(value);
    // Narrow integers of either sign are in signed lanes.
    if from.is_unsigned_integer() && from.bits() >= 32 {
        let high = type_range(to).high;
        let bound = b.int(ty, high as i64);
        return if high < type_range(from).high { b.binary(BinaryOp::UnsignedMin, value, bound) } else { value };
    }
    if to.bits() < ty.lane.bytes() * 8 {
        return clamp(b, value, to);
    }
    if from.is_signed_integer() && to.is_unsigned_integer() {
        let zero = b.int(ty, 0);
        return b.binary(BinaryOp::SignedMax, value, zero);
    }
    value
}

/// Clamps signed lanes to the range of an integer type.
fn clamp(b: &mut KernelBuilder, value: Value, to: ElementType) -> Value {
    let ty = b.ty(value);
    let Range { low, high } = type_range(to);
    let (low, high) = (b.int(ty, low as i64), b.int(ty, high as i64));
    let above = b.binary(BinaryOp::SignedMax, value, low);
    b.binary(BinaryOp::SignedMin, above, high)
}

#[cfg(test)]
mod tests;
