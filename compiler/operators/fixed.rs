//! gemmlowp's fixed-point functions as terms, for values that are only known when the program runs. A number with *n* integer bits holds its value
//! times 2^(31−n) in 32 bits. A product of two has as many integer bits as both together.

use super::terms::{Term, Terms};
use crate::ir::scalar::ExpressionError;
use crate::ir::{Comparison, ElementType, Node, ScalarOp};

/// a × b, rounded and saturating.
pub fn multiply(terms: &mut Terms, a: Node, b: Node) -> Term {
    terms.op(ScalarOp::SaturatingRoundingDoublingHighMul, &[a, b])
}

/// x ÷ 2^count to nearest, halves away from zero.
pub fn divide(terms: &mut Terms, x: Node, count: i32) -> Term {
    let count = terms.i32(count);
    terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[x, count])
}

/// x × 2^count, saturating.
pub fn shift_left(terms: &mut Terms, x: Node, count: i32) -> Term {
    let limit = (1 << (31 - count)) - 1;
    let (above, below, count) = (terms.i32(limit), terms.i32(-limit), terms.i32(count));
    let (largest, smallest) = (terms.i32(i32::MAX), terms.i32(i32::MIN));
    let shifted = terms.op(ScalarOp::ShiftLeft, &[x, count])?;
    let over = terms.compare(Comparison::Greater, x, above)?;
    let under = terms.compare(Comparison::Less, x, below)?;
    let result = terms.select(over, largest, shifted)?;
    terms.select(under, smallest, result)
}

/// x × 2^count for a count that varies and is not negative, saturating.
pub fn shift_left_by(terms: &mut Terms, x: Node, count: Node) -> Term {
    let (wide, count) = (terms.convert(x, ElementType::I64), terms.convert(count, ElementType::I64));
    let shifted = terms.op(ScalarOp::ShiftLeft, &[wide, count])?;
    Ok(terms.saturate(shifted, ElementType::I32))
}

/// (a + b) ÷ 2 rounded up, of numbers that are not negative.
fn half_sum(terms: &mut Terms, a: Node, b: Node) -> Term {
    let (a, b, one) = (terms.convert(a, ElementType::I64), terms.convert(b, ElementType::I64), terms.i64(1));
    let sum = terms.add(a, b)?;
    let sum = terms.add(sum, one)?;
    let half = terms.op(ScalarOp::ShiftRight, &[sum, one])?;
    Ok(terms.convert(half, ElementType::I32))
}

/// 1 ÷ (1 + x) for x in 0..1 without integer bits. Three Newton steps start from 48⁄17 − 32⁄17 · d with d = (1 + x) ÷ 2.
pub fn one_over_one_plus(terms: &mut Terms, x: Node) -> Term {
    let one = terms.i32(i32::MAX);
    let half = half_sum(terms, x, one)?;
    let correct = |terms: &mut Terms, estimate: Node, rest: Node| {
        let correction = multiply(terms, estimate, rest)?;
        shift_left(terms, correction, 2)
    };
    let estimate = newton_steps(terms, half, correct)?;
    shift_left(terms, estimate, 1)
}

/// 1 ÷ (1 + x) like [`one_over_one_plus`], in fewer operations. For x in 0..1 no correction is large enough to saturate, and the result is not
/// negative.
pub fn one_over_one_plus_fraction(terms: &mut Terms, x: Node) -> Term {
    let (one, two, half) = (terms.i32(1), terms.i32(2), terms.i32(1 << 30));
    let x = terms.op(ScalarOp::ShiftRight, &[x, one])?;
    let half = terms.add(x, half)?;
    let zero = terms.i32(0);
    let correct = |terms: &mut Terms, estimate: Node, rest: Node| {
        // The maximum shows range analysis that no product saturates.
        let estimate = terms.max(estimate, zero)?;
        let correction = multiply(terms, estimate, rest)?;
        terms.op(ScalarOp::ShiftLeft, &[correction, two])
    };
    let estimate = newton_steps(terms, half, correct)?;
    let largest = terms.i32(i32::MAX >> 1);
    let is_one = terms.compare(Comparison::Greater, estimate, largest)?;
    let (largest, doubled) = (terms.i32(i32::MAX), terms.op(ScalarOp::ShiftLeft, &[estimate, one])?);
    terms.select(is_one, largest, doubled)
}

/// 1 ÷ d with two integer bits, for d in ½..1 without integer bits. `correction` multiplies an estimate by 1 less the product of d and the estimate.
fn newton_steps(terms: &mut Terms, half: Node, correction: impl Fn(&mut Terms, Node, Node) -> Term) -> Term {
    const FORTY_EIGHT_SEVENTEENTHS: i32 = 1_515_870_810;
    const MINUS_THIRTY_TWO_SEVENTEENTHS: i32 = -1_010_580_540;
    let (start, slope, one) = (terms.i32(FORTY_EIGHT_SEVENTEENTHS), terms.i32(MINUS_THIRTY_TWO_SEVENTEENTHS), terms.i32(1 << 29));
    let product = multiply(terms, half, slope)?;
    let mut estimate = terms.add(start, product)?;
    for _ in 0..3 {
        let product = multiply(terms, half, estimate)?;
        let rest = terms.sub(one, product)?;
        let correction = correction(terms, estimate, rest)?;
        estimate = terms.add(estimate, correction)?;
    }
    Ok(estimate)
}

/// 1 ÷ √x of a whole number x as a multiplier: mantissa and shift (TFLite's `GetInvSqrtQuantizedMultiplierExp`, by five Newton steps
/// from 1). Numbers below 2 give the largest mantissa.
pub fn inverse_root(terms: &mut Terms, x: Node) -> Result<(Node, Node), ExpressionError> {
    const HALF_ROOT_OF_TWO: i32 = 1_518_500_250;
    let (one, two, eleven) = (terms.i32(1), terms.i32(2), terms.i32(11));
    // Brought to 2²⁷..2²⁹ by an even number of bits.
    let large = terms.i32(1 << 29);
    let is_large = terms.compare(Comparison::GreaterEqual, x, large)?;
    let quarter = terms.op(ScalarOp::ShiftRight, &[x, two])?;
    let reduced = terms.select(is_large, quarter, x)?;
    let twelve = terms.i32(12);
    let right = terms.select(is_large, twelve, eleven)?;
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[reduced])?;
    let bits = terms.sub(zeros, one)?;
    let pairs = terms.op(ScalarOp::ShiftRight, &[bits, one])?;
    let pairs = terms.sub(pairs, one)?;
    let right = terms.sub(right, pairs)?;
    let count = terms.op(ScalarOp::ShiftLeft, &[pairs, one])?;
    let normal = terms.op(ScalarOp::ShiftLeft, &[reduced, count])?;
    // Three integer bits from here on.
    let input = terms.op(ScalarOp::ShiftRight, &[normal, one])?;
    let half = divide(terms, input, 1)?;
    let three_halves = terms.i32((1 << 28) + (1 << 27));
    let mut estimate = terms.i32(1 << 28);
    for _ in 0..5 {
        let square = multiply(terms, estimate, estimate)?;
        let cube = multiply(terms, square, estimate)?;
        let cube = shift_left(terms, cube, 6)?;
        let (more, less) = (multiply(terms, three_halves, estimate)?, multiply(terms, half, cube)?);
        let next = terms.sub(more, less)?;
        estimate = shift_left(terms, next, 3)?;
    }
    let root = terms.i32(HALF_ROOT_OF_TWO);
    let mantissa = multiply(terms, estimate, root)?;
    // A shift to the left goes into the mantissa.
    let zero = terms.i32(0);
    let left = terms.sub(zero, right)?;
    let left = terms.max(left, zero)?;
    let mantissa = terms.op(ScalarOp::ShiftLeft, &[mantissa, left])?;
    let right = terms.max(right, zero)?;
    let shift = terms.sub(zero, right)?;
    let (largest, tiny) = (terms.i32(i32::MAX), terms.compare(Comparison::LessEqual, x, one)?);
    Ok((terms.select(tiny, largest, mantissa)?, terms.select(tiny, zero, shift)?))
}

/// The natural logarithm of x ≥ 1 with `from` integer bits, with `to` integer bits (TFLite's `log_x_for_x_greater_than_or_equal_to_1_impl`). x is
/// split into a power of two and a rest. Of two candidates, the rest nearer to √½ is taken.
pub fn logarithm(terms: &mut Terms, x: Node, from: i32, to: i32) -> Term {
    const LN_2: i32 = 1_488_522_236;
    const ROOT_OF_ROOT_OF_HALF: i32 = 1_805_811_301;
    const ROOT_OF_HALF: i32 = 1_518_500_250;
    let wide = to + 1;
    let (one, from) = (terms.i32(1), terms.i32(from));
    let (root_of_half, quarter) = (terms.i32(ROOT_OF_HALF), terms.i32((1 << 29) >> wide));
    // Half an octave lower for the one candidate, half an octave higher for the other.
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[x])?;
    let headroom = terms.sub(zeros, one)?;
    let first = shift_left_by(terms, x, headroom)?;
    let first = multiply(terms, first, root_of_half)?;
    let first = shift_left(terms, first, 1)?;
    let power = terms.sub(from, zeros)?;
    let power = shift_left(terms, power, 31 - wide)?;
    let first_power = saturating_sum(terms, power, quarter, ScalarOp::Add)?;
    let reduced = multiply(terms, x, root_of_half)?;
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[reduced])?;
    let headroom = terms.sub(zeros, one)?;
    let second = shift_left_by(terms, x, headroom)?;
    let power = terms.sub(from, headroom)?;
    let power = shift_left(terms, power, 31 - wide)?;
    let second_power = saturating_sum(terms, power, quarter, ScalarOp::Sub)?;
    let (rest, power) = (terms.min(first, second)?, terms.max(first_power, second_power)?);
    let centre = terms.i32(ROOT_OF_ROOT_OF_HALF);
    let fraction = logarithm_near_centre(terms, rest, centre, wide)?;
    let ln_2 = terms.i32(LN_2);
    let whole = multiply(terms, power, ln_2)?;
    let sum = terms.add(whole, fraction)?;
    shift_left(terms, sum, wide - to)
}

/// ln(r ÷ centre) by a quotient of polynomials, with `wide` integer bits.
fn logarithm_near_centre(terms: &mut Terms, r: Node, centre: Node, wide: i32) -> Term {
    const ALPHA_N: i32 = 117_049_297;
    const ALPHA_D: i32 = 127_690_142;
    const ALPHA_I: i32 = 1_057_819_769;
    const ALPHA_F: i32 = 638_450_708;
    let [alpha_n, alpha_d, alpha_i, alpha_f] = [ALPHA_N, ALPHA_D, ALPHA_I, ALPHA_F].map(|n| terms.i32(n));
    let p = half_sum(terms, r, centre)?;
    let q = terms.sub(r, centre)?;
    let q = terms.add(q, q)?;
    let square = multiply(terms, q, q)?;
    let (linear, cubic) = (multiply(terms, q, r)?, multiply(terms, q, square)?);
    let cubic = multiply(terms, cubic, alpha_n)?;
    let numerator = terms.add(linear, cubic)?;
    let quadratic = multiply(terms, alpha_d, square)?;
    let sum = terms.add(alpha_i, q)?;
    let sum = terms.add(sum, quadratic)?;
    let (product, rest) = (multiply(terms, p, sum)?, multiply(terms, alpha_f, q)?);
    let denominator = terms.add(product, rest)?;
    let reciprocal = one_over_one_plus(terms, denominator)?;
    let numerator = divide(terms, numerator, wide)?;
    multiply(terms, numerator, reciprocal)
}

/// a + b or a − b in 32 bits, saturating.
fn saturating_sum(terms: &mut Terms, a: Node, b: Node, op: ScalarOp) -> Term {
    let (a, b) = (terms.convert(a, ElementType::I64), terms.convert(b, ElementType::I64));
    let sum = terms.op(op, &[a, b])?;
    Ok(terms.saturate(sum, ElementType::I32))
}
