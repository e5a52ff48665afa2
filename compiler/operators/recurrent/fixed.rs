//! The gate functions of integer cells: gemmlowp's logistic function and hyperbolic tangent in 16-bit fixed point.
//!
//! Numbers are 16-bit raw values held in i32; one with *n* integer bits stands for `raw ÷ 2^(15 − n)`. Each rounding is part of the
//! definition. Products never meet −2¹⁵ × −2¹⁵ here, the only pair that would have to saturate.

use crate::ir::{Comparison, Node, ScalarOp};
use crate::operators::terms::{Term, Terms};

const LARGEST: i32 = 32767;

/// `a × b ÷ 2¹⁵` to nearest.
pub(super) fn multiply(terms: &mut Terms, a: Node, b: Node) -> Term {
    let product = terms.mul(a, b)?;
    let (half, fifteen) = (terms.i32(1 << 14), terms.i32(15));
    let product = terms.add(product, half)?;
    terms.op(ScalarOp::ShiftRight, &[product, fifteen])
}

fn multiply_by(terms: &mut Terms, a: Node, b: i32) -> Term {
    let b = terms.i32(b);
    multiply(terms, a, b)
}

fn shift_left(terms: &mut Terms, x: Node, count: i32) -> Term {
    let count = terms.i32(count);
    terms.op(ScalarOp::ShiftLeft, &[x, count])
}

fn divide_by_power_of_two(terms: &mut Terms, x: Node, exponent: i32) -> Term {
    let exponent = terms.i32(exponent);
    terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[x, exponent])
}

fn at_most_largest(terms: &mut Terms, x: Node) -> Term {
    let largest = terms.i32(LARGEST);
    terms.min(x, largest)
}

/// eᵃ for −¼ ≤ a < 0: the Taylor series to the fourth power around −⅛, without integer bits.
fn exp_near_minus_one_eighth(terms: &mut Terms, a: Node) -> Term {
    const EXP_MINUS_ONE_EIGHTH: i32 = 28918;
    const ONE_THIRD: i32 = 10923;
    let eighth = terms.i32(1 << 12);
    let x = terms.add(a, eighth)?;
    let square = multiply(terms, x, x)?;
    let cube = multiply(terms, square, x)?;
    let fourth = multiply(terms, square, square)?;
    let fourth_over_4 = divide_by_power_of_two(terms, fourth, 2)?;
    let tail = terms.add(fourth_over_4, cube)?;
    let tail = multiply_by(terms, tail, ONE_THIRD)?;
    let tail = terms.add(tail, square)?;
    let tail = divide_by_power_of_two(terms, tail, 1)?;
    let polynomial = terms.add(x, tail)?;
    let product = multiply_by(terms, polynomial, EXP_MINUS_ONE_EIGHTH)?;
    let constant = terms.i32(EXP_MINUS_ONE_EIGHTH);
    let sum = terms.add(constant, product)?;
    at_most_largest(terms, sum)
}

/// eᵃ for a ≤ 0 with `integer_bits` from 0 to 7; the result has none.
fn exp_of_negative(terms: &mut Terms, a: Node, integer_bits: i32) -> Term {
    // e^−2^k for k = −2..=4, multiplied in where the argument has that bit.
    const FACTORS: [i32; 7] = [25520, 19875, 12055, 4435, 600, 11, 0];
    let fraction_bits = 15 - integer_bits;
    let quarter = 1 << (fraction_bits - 2);
    let (mask, quarter_term, zero) = (terms.i32(quarter - 1), terms.i32(quarter), terms.i32(0));
    let low_bits = terms.op(ScalarOp::And, &[a, mask])?;
    let within_quarter = terms.sub(low_bits, quarter_term)?;
    let remainder = terms.sub(within_quarter, a)?;
    let argument = shift_left(terms, within_quarter, integer_bits)?;
    let mut result = exp_near_minus_one_eighth(terms, argument)?;
    for (exponent, factor) in (-2..=4).zip(FACTORS) {
        if integer_bits > exponent {
            let bit = terms.i32(1 << (fraction_bits + exponent));
            let present = terms.op(ScalarOp::And, &[remainder, bit])?;
            let present = terms.compare(Comparison::NotEqual, present, zero)?;
            let product = multiply_by(terms, result, factor)?;
            result = terms.select(present, product, result)?;
        }
    }
    if integer_bits > 5 {
        // Below −32 the bits above are not looked at.
        let clamp = terms.i32(-(1 << (20 - integer_bits)));
        let tiny = terms.compare(Comparison::Less, a, clamp)?;
        result = terms.select(tiny, zero, result)?;
    }
    let is_zero = terms.compare(Comparison::Equal, a, zero)?;
    let one = terms.i32(LARGEST);
    terms.select(is_zero, one, result)
}

/// 2 ÷ (1 + x) for 0 ≤ x ≤ 1 with two integer bits. Newton's method gives the reciprocal of d = (1 + x) ÷ 2. It takes three rounds from the best
/// linear approximation, 48/17 − 32/17 d.
fn two_over_one_plus(terms: &mut Terms, x: Node) -> Term {
    let (one, halving) = (terms.i32(1 << 15), terms.i32(1));
    let sum = terms.add(x, one)?;
    let half_denominator = terms.op(ScalarOp::ShiftRight, &[sum, halving])?;
    let product = multiply_by(terms, half_denominator, -15420)?;
    let start = terms.i32(23130);
    let mut x = terms.add(start, product)?;
    let one = terms.i32(1 << 13);
    for _ in 0..3 {
        let product = multiply(terms, half_denominator, x)?;
        let error = terms.sub(one, product)?;
        let correction = multiply(terms, x, error)?;
        let correction = shift_left(terms, correction, 2)?;
        x = terms.add(x, correction)?;
    }
    Ok(x)
}

/// −|a|, where −2¹⁵ stays itself.
fn negative_magnitude(terms: &mut Terms, a: Node) -> Term {
    let negated = terms.op(ScalarOp::Neg, &[a])?;
    terms.min(a, negated)
}

/// 1 ÷ (1 + e⁻ᵃ); `a` has three integer bits, the result none.
pub(super) fn logistic(terms: &mut Terms, a: Node) -> Term {
    let magnitude = negative_magnitude(terms, a)?;
    let exponential = exp_of_negative(terms, magnitude, 3)?;
    let doubled = two_over_one_plus(terms, exponential)?;
    let doubled = shift_left(terms, doubled, 1)?;
    let of_positive = at_most_largest(terms, doubled)?;
    let (largest, zero, half) = (terms.i32(LARGEST), terms.i32(0), terms.i32(1 << 14));
    let of_negative = terms.sub(largest, of_positive)?;
    let is_positive = terms.compare(Comparison::Greater, a, zero)?;
    let is_zero = terms.compare(Comparison::Equal, a, zero)?;
    let result = terms.select(is_positive, of_positive, of_negative)?;
    terms.select(is_zero, half, result)
}

/// tanh a; `a` has `integer_bits` from 0 to 6, the result none.
pub(super) fn tanh(terms: &mut Terms, a: Node, integer_bits: i32) -> Term {
    let magnitude = negative_magnitude(terms, a)?;
    // Twice the argument is the same raw number with one more integer bit.
    let exponential = exp_of_negative(terms, magnitude, integer_bits + 1)?;
    let doubled = two_over_one_plus(terms, exponential)?;
    let one = terms.i32(1 << 13);
    let difference = terms.sub(doubled, one)?;
    let of_positive = shift_left(terms, difference, 2)?;
    let of_positive = at_most_largest(terms, of_positive)?;
    let zero = terms.i32(0);
    let of_negative = terms.op(ScalarOp::Neg, &[of_positive])?;
    let is_negative = terms.compare(Comparison::Less, a, zero)?;
    let is_zero = terms.compare(Comparison::Equal, a, zero)?;
    let result = terms.select(is_negative, of_negative, of_positive)?;
    terms.select(is_zero, zero, result)
}
