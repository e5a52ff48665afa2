//! Integer semantics. A number of any integer type travels as an `i64`: sign- or zero-extended from its type, and for
//! `u64` the same 64 bits. Truth values are 0 and 1.

use super::rules::{Comparison, RequantizeRule};
use crate::types::ElementType;

/// The function of an operation on integers of a type. The result is not wrapped to the type yet.
#[derive(Clone, Copy)]
pub enum Integers {
    /// No function: the operation is not one of integers, or its operands are of other types.
    Undefined,
    /// A function of one operand.
    Unary(fn(ElementType, i64) -> i64),
    /// A function of two operands.
    Binary(fn(ElementType, i64, i64) -> i64),
    /// A function of three operands.
    Ternary(fn(ElementType, i64, i64, i64) -> i64),
}

impl Integers {
    /// Number of operands.
    pub fn arity(&self) -> Option<usize> {
        match self {
            Self::Undefined => None,
            Self::Unary(_) => Some(1),
            Self::Binary(_) => Some(2),
            Self::Ternary(_) => Some(3),
        }
    }
}

/// The low bits of `value` as a number of the type.
pub fn wrap(ty: ElementType, value: i64) -> i64 {
    match ty {
        ElementType::Bool => i64::from(value != 0),
        ElementType::I2 => value << 62 >> 62,
        ElementType::I4 => value << 60 >> 60,
        ElementType::U4 => value & 15,
        ElementType::I8 => i64::from(value as i8),
        ElementType::I16 => i64::from(value as i16),
        ElementType::I32 => i64::from(value as i32),
        ElementType::U8 => i64::from(value as u8),
        ElementType::U16 => i64::from(value as u16),
        ElementType::U32 => i64::from(value as u32),
        _ => value,
    }
}

/// The nearest number of the type `to`, from a number of the type `from`.
pub fn saturate(from: ElementType, to: ElementType, value: i64) -> i64 {
    let wide = if from == ElementType::U64 { i128::from(value as u64) } else { i128::from(value) };
    let Some((low, high)) = to.integer_range() else { return i64::from(value != 0) };
    wide.clamp(low, high) as i64
}

/// The nearest number of an integer type to a float cut towards zero; 0 for NaN.
pub fn saturate_float(to: ElementType, value: f64) -> i64 {
    match to {
        ElementType::Bool => i64::from(value != 0.0),
        ElementType::U64 => value as u64 as i64,
        _ => saturate(ElementType::I64, to, value as i64),
    }
}

fn is_wide_unsigned(ty: ElementType) -> bool {
    ty == ElementType::U64
}

/// Tests whether a comparison holds between two numbers of a type.
pub fn compare(comparison: Comparison, ty: ElementType, a: i64, b: i64) -> bool {
    let order = if is_wide_unsigned(ty) { (a as u64).cmp(&(b as u64)) } else { a.cmp(&b) };
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterEqual => order.is_ge(),
    }
}

/// The truncated quotient; 0 for a zero divisor.
pub fn quotient(ty: ElementType, a: i64, b: i64) -> i64 {
    match b {
        0 => 0,
        _ if is_wide_unsigned(ty) => (a as u64 / b as u64) as i64,
        _ => a.wrapping_div(b),
    }
}

/// The remainder of the truncated quotient; 0 for a zero divisor.
pub fn remainder(ty: ElementType, a: i64, b: i64) -> i64 {
    match b {
        0 => 0,
        _ if is_wide_unsigned(ty) => (a as u64 % b as u64) as i64,
        _ => a.wrapping_rem(b),
    }
}

/// Counts outside the width, negative ones too, give zero.
pub fn shift_left(ty: ElementType, a: i64, count: i64) -> i64 {
    if (0..i64::from(ty.bits())).contains(&count) { a << count } else { 0 }
}

/// Counts outside the width, negative ones too, leave only the sign.
pub fn shift_right(ty: ElementType, a: i64, count: i64) -> i64 {
    let inside = (0..i64::from(ty.bits())).contains(&count);
    if is_wide_unsigned(ty) { if inside { (a as u64 >> count) as i64 } else { 0 } } else { a >> if inside { count } else { 63 } }
}

/// aᵇ by squaring, wrapping; a negative exponent gives the truncated reciprocal power (0 unless |a| = 1, and 0 for a = 0).
pub fn power(a: i64, b: i64) -> i64 {
    if b < 0 {
        return match a {
            1 => 1,
            -1 => 1 - 2 * (b & 1),
            _ => 0,
        };
    }
    let (mut result, mut base, mut exponent) = (1i64, a, b as u64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}

/// The number of zero bits of the type above the highest set bit.
pub fn leading_zeros(ty: ElementType, a: i64) -> i64 {
    let bits = (a as u64) << (64 - ty.bits());
    i64::from(if bits == 0 { ty.bits() } else { bits.leading_zeros() })
}

/// gemmlowp's high multiplication: `round(a × b ÷ 2³¹)`, ties upwards, saturated in its one overflow.
pub fn saturating_rounding_doubling_high_mul(a: i32, b: i32) -> i32 {
    if a == i32::MIN && b == i32::MIN {
        return i32::MAX;
    }
    ((i64::from(a) * i64::from(b) + (1 << 30)) >> 31) as i32
}

/// gemmlowp's division by `2^exponent` (0 to 31, clamped), to nearest, ties away from zero.
pub fn rounding_divide_by_power_of_two(a: i32, exponent: i64) -> i32 {
    let exponent = exponent.clamp(0, 31);
    let mask = (1i64 << exponent) - 1;
    let remainder = i64::from(a) & mask;
    let threshold = (mask >> 1) + i64::from(a < 0);
    ((i64::from(a) >> exponent) + i64::from(remainder > threshold)) as i32
}

/// An accumulator scaled by `multiplier × 2^(shift − 31)` with the rounding of a rule.
pub fn requantize(rule: RequantizeRule, accumulator: i32, multiplier: i32, shift: i32) -> i32 {
    match rule {
        RequantizeRule::TfliteDouble => {
            let left = shift.max(0) as u32;
            let scaled = if left < 32 { accumulator.wrapping_shl(left) } else { 0 };
            let high = saturating_rounding_doubling_high_mul(scaled, multiplier);
            rounding_divide_by_power_of_two(high, -i64::from(shift.min(0)))
        }
        RequantizeRule::TfliteSingle => {
            let total = (31 - i64::from(shift)).clamp(1, 62);
            let product = i64::from(accumulator) * i64::from(multiplier);
            ((product.wrapping_add(1 << (total - 1))) >> total) as i32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::ScalarOp;

    /// gemmlowp's own wording: the nudge follows the sign and the division truncates.
    fn gemmlowp_high_mul(a: i32, b: i32) -> i32 {
        if a == b && a == i32::MIN {
            return i32::MAX;
        }
        let product = i64::from(a) * i64::from(b);
        let nudge = if product >= 0 { 1 << 30 } else { 1 - (1 << 30) };
        ((product + nudge) / (1 << 31)) as i32
    }

    fn samples() -> Vec<i32> {
        let edges = [0, 1, -1, 2, 3, -3, 1 << 30, (1 << 30) + 1, i32::MAX, i32::MIN, i32::MIN + 1, -(1 << 30)];
        let mut state = 1u32;
        let random = (0..200).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state ^ (state >> 9)) as i32 >> (state % 31)
        });
        edges.into_iter().chain(random).collect()
    }

    #[test]
    fn high_multiplication_is_gemmlowps() {
        for &a in &samples() {
            for &b in &samples() {
                assert_eq!(saturating_rounding_doubling_high_mul(a, b), gemmlowp_high_mul(a, b), "{a} × {b}");
            }
        }
    }

    #[test]
    fn rounding_division_rounds_half_away_from_zero() {
        for &a in &samples() {
            for exponent in 0..=31 {
                let exact = f64::from(a) / (1i64 << exponent) as f64;
                assert_eq!(f64::from(rounding_divide_by_power_of_two(a, exponent)), exact.round(), "{a} ÷ 2^{exponent}");
            }
        }
    }

    #[test]
    fn requantization_is_nearest_within_its_double_rounding() {
        for &accumulator in &samples() {
            for shift in -20..=0 {
                let multiplier = 1_518_500_250;
                let exact = f64::from(accumulator) * f64::from(multiplier) * 2f64.powi(shift - 31);
                let double = requantize(RequantizeRule::TfliteDouble, accumulator, multiplier, shift);
                let single = requantize(RequantizeRule::TfliteSingle, accumulator, multiplier, shift);
                assert!((f64::from(double) - exact).abs() <= 0.5 + 0.5, "{accumulator} {shift}");
                assert!((f64::from(single) - exact).abs() <= 0.5, "{accumulator} {shift}");
            }
        }
    }

    fn row_of(op: ScalarOp, ty: ElementType, operands: &[i64]) -> Option<i64> {
        let value = match (op.row().integers, operands) {
            (Integers::Unary(f), &[a]) => f(ty, a),
            (Integers::Binary(f), &[a, b]) => f(ty, a, b),
            _ => return None,
        };
        Some(wrap(ty, value))
    }

    #[test]
    fn operations_stay_inside_their_type() {
        assert_eq!(row_of(ScalarOp::Div, ElementType::I8, &[-128, -1]), Some(-128));
        assert_eq!(row_of(ScalarOp::Add, ElementType::U8, &[255, 1]), Some(0));
        assert_eq!(row_of(ScalarOp::ShiftRight, ElementType::I8, &[-2, 9]), Some(-1));
        assert_eq!(row_of(ScalarOp::Max(crate::NanRule::First), ElementType::U64, &[-1, 1]), Some(-1));
        assert_eq!(row_of(ScalarOp::CountLeadingZeros, ElementType::I16, &[1]), Some(15));
        assert_eq!(row_of(ScalarOp::CountLeadingZeros, ElementType::I8, &[0]), Some(8));
        assert_eq!(row_of(ScalarOp::CountLeadingZeros, ElementType::I8, &[-1]), Some(0));
        assert_eq!(row_of(ScalarOp::Pow, ElementType::I32, &[-3, 3]), Some(-27));
    }
}
