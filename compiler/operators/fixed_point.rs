//! Fixed-point functions as gemmlowp defines them, evaluated at compile time to fill tables.
//!
//! A number with *n* integer bits holds its value times 2^(31−n) in 32 bits. Rounding is part of each definition, so these follow
//! the published algorithm step by step.

use super::quantization::Multiplier;

/// `(a × b + 2³⁰) >> 31`, saturating; ties away from zero for negative products as gemmlowp has them.
pub fn multiply_high(a: i32, b: i32) -> i32 {
    if a == i32::MIN && b == i32::MIN {
        return i32::MAX;
    }
    let product = i64::from(a) * i64::from(b);
    let nudge = if product >= 0 { 1 << 30 } else { 1 - (1 << 30) };
    ((product + nudge) / (1 << 31)) as i32
}

/// `x ÷ 2^exponent` to nearest, ties away from zero; 0 by more than all bits, where the algorithm is not defined.
pub fn divide_by_power_of_two(x: i32, exponent: u32) -> i32 {
    if exponent >= i32::BITS {
        return 0;
    }
    let mask = ((1i64 << exponent) - 1) as i32;
    let threshold = (mask >> 1) + i32::from(x < 0);
    (x >> exponent) + i32::from(x & mask > threshold)
}

/// eᵃ for −¼ ≤ a < 0, argument and result with no integer bits: the Taylor series to the fourth power around −⅛.
fn exp_near_minus_one_eighth(a: i32) -> i32 {
    const EXP_MINUS_ONE_EIGHTH: i32 = 1_895_147_668;
    const ONE_THIRD: i32 = 715_827_883;
    let x = a.wrapping_add(1 << 28);
    let square = multiply_high(x, x);
    let cube = multiply_high(square, x);
    let fourth_over_4 = divide_by_power_of_two(multiply_high(square, square), 2);
    let tail = multiply_high(fourth_over_4.wrapping_add(cube), ONE_THIRD).wrapping_add(square);
    let polynomial = x.wrapping_add(divide_by_power_of_two(tail, 1));
    EXP_MINUS_ONE_EIGHTH.wrapping_add(multiply_high(EXP_MINUS_ONE_EIGHTH, polynomial))
}

/// eᵃ for a ≤ 0 with five integer bits; the result has none.
pub fn exp_of_negative(a: i32) -> i32 {
    // e^−2^k for k = −2..=4, multiplied in where the argument has that bit.
    const FACTORS: [i32; 7] = [1_672_461_947, 1_302_514_674, 790_015_084, 290_630_308, 39_332_535, 720_401, 242];
    const QUARTER: i32 = 1 << 24;
    if a == 0 {
        return i32::MAX;
    }
    let within_quarter = (a & (QUARTER - 1)) - QUARTER;
    let remainder = within_quarter.wrapping_sub(a);
    let mut result = exp_near_minus_one_eighth(within_quarter << 5);
    for (bit, factor) in FACTORS.into_iter().enumerate() {
        if remainder & (QUARTER << bit) != 0 {
            result = multiply_high(result, factor);
        }
    }
    result
}

/// x × 2^count, saturating.
fn shift_left(x: i32, count: u32) -> i32 {
    (i64::from(x) << count).clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// 1 ÷ √x of a whole number x > 0 as a multiplier (TFLite's `GetInvSqrtQuantizedMultiplierExp`). x is shifted by an even number of bits to 2²⁷..2²⁹.
/// Five Newton steps from 1 follow, with three integer bits. 1 gives the largest mantissa.
pub fn inverse_root_of(x: i32) -> Multiplier {
    const HALF_ROOT_OF_TWO: i32 = 1_518_500_250;
    if x <= 1 {
        return Multiplier { mantissa: i32::MAX, shift: 0 };
    }
    let (mut x, mut right) = (x, 11);
    while x >= 1 << 29 {
        x /= 4;
        right += 1;
    }
    let pairs = (x.leading_zeros() as i32 - 1) / 2 - 1;
    right -= pairs;
    let input = (x << (2 * pairs)) >> 1;
    let half = divide_by_power_of_two(input, 1);
    let mut estimate = 1 << 28;
    for _ in 0..5 {
        let cube = shift_left(multiply_high(multiply_high(estimate, estimate), estimate), 6);
        let next = multiply_high((1 << 28) + (1 << 27), estimate) - multiply_high(half, cube);
        estimate = shift_left(next, 3);
    }
    let mantissa = multiply_high(estimate, HALF_ROOT_OF_TWO) << (-right).max(0);
    Multiplier { mantissa, shift: -right.max(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_close_to_the_real_one() {
        // The series leaves out (1 ÷ 8)⁵ ÷ 5!, 2.5e-7.
        for step in 1..2000 {
            let a = -(step * 33_333);
            let real = libm::exp(f64::from(a) / f64::from(1 << 26));
            let fixed = f64::from(exp_of_negative(a)) / f64::from(1u32 << 31);
            assert!((real - fixed).abs() < 3e-7, "{a}: {fixed} instead of {real}");
        }
    }

    #[test]
    fn the_inverse_root_is_close_to_the_real_one() {
        for x in [2, 3, 4, 10, 255, 65_025, 1 << 20, (1 << 29) - 1, 1 << 29, i32::MAX] {
            let found = inverse_root_of(x);
            let real = f64::from(found.mantissa) * libm::exp2(f64::from(found.shift - 31));
            // Five steps from 1 leave this error.
            assert!((real * libm::sqrt(f64::from(x)) - 1.0).abs() < 1e-5, "{x}: {real}");
        }
    }

    #[test]
    fn halves_round_away_from_zero() {
        assert_eq!(divide_by_power_of_two(3, 1), 2);
        assert_eq!(divide_by_power_of_two(-3, 1), -2);
        assert_eq!(divide_by_power_of_two(-2, 2), -1);
        assert_eq!(multiply_high(i32::MIN, i32::MIN), i32::MAX);
    }
}
