//! Operations on the bits of one lane.

use crate::types::signed;
use crate::*;

/// Truncates a number to the bits of a lane.
pub fn cut(lane: Lane, number: i128) -> u64 {
    match lane {
        Lane::Mask => number as u64 & 1,
        Lane::I64 | Lane::F64 => number as u64,
        _ => number as u64 & ((1 << (8 * lane.bytes())) - 1),
    }
}

/// Converts a float lane to binary64, exactly.
fn float(lane: Lane, bits: u64) -> f64 {
    if lane == Lane::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Returns the bits of a float, rounded to the lane. Sums, differences, products, quotients and square roots of binary32 numbers may be computed in
/// binary64 first. The second rounding then gives the result of a single one, because binary64 has more than twice the digits.
fn float_bits(lane: Lane, value: f64) -> u64 {
    if lane == Lane::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() }
}

/// Computes an operation on two lanes.
pub fn binary(op: BinaryOp, lane: Lane, a: u64, b: u64) -> u64 {
    match lane {
        Lane::F32 | Lane::F64 => float_bits(lane, float_binary(op, float(lane, a), float(lane, b))),
        _ => integer(op, lane, a, b),
    }
}

/// Computes an operation on the bits of integers. Shift counts are below the width.
fn integer(op: BinaryOp, lane: Lane, x: u64, y: u64) -> u64 {
    let [a, b] = [x, y].map(|bits| if lane == Lane::Mask { bits as i64 } else { signed(lane, bits) });
    let saturate = |number: i128| number.clamp(smallest(lane), largest(lane));
    let number = match op {
        BinaryOp::Add | BinaryOp::SignedAddInRange => i128::from(a) + i128::from(b),
        BinaryOp::Sub => i128::from(a) - i128::from(b),
        BinaryOp::Mul => i128::from(a.wrapping_mul(b)),
        BinaryOp::SignedDiv if b == 0 => 0,
        BinaryOp::SignedDiv => i128::from(a) / i128::from(b),
        BinaryOp::UnsignedDiv => x.checked_div(y).unwrap_or(0).into(),
        BinaryOp::SignedRem if b == 0 => 0,
        BinaryOp::SignedRem => i128::from(a) % i128::from(b),
        BinaryOp::UnsignedRem => x.checked_rem(y).unwrap_or(0).into(),
        BinaryOp::And => (x & y).into(),
        BinaryOp::Or => (x | y).into(),
        BinaryOp::Xor => (x ^ y).into(),
        BinaryOp::ShiftLeft => i128::from(x) << y,
        BinaryOp::ShiftRightSigned => (a >> y).into(),
        BinaryOp::ShiftRightUnsigned => (x >> y).into(),
        BinaryOp::ShiftNearest if b == 0 => a.into(),
        BinaryOp::ShiftNearest => ((i128::from(a) >> (-b - 1).clamp(0, 31)) + 1) >> 1,
        BinaryOp::SignedMin => a.min(b).into(),
        BinaryOp::SignedMax => a.max(b).into(),
        BinaryOp::UnsignedMin => x.min(y).into(),
        BinaryOp::UnsignedMax => x.max(y).into(),
        BinaryOp::SignedAddSaturating => saturate(i128::from(a) + i128::from(b)),
        BinaryOp::SignedSubSaturating => saturate(i128::from(a) - i128::from(b)),
        _ => unreachable!("{op:?} of integers"),
    };
    cut(lane, number)
}

fn smallest(lane: Lane) -> i128 {
    -(1 << (8 * lane.bytes() - 1))
}

fn largest(lane: Lane) -> i128 {
    (1 << (8 * lane.bytes() - 1)) - 1
}

fn float_binary(op: BinaryOp, a: f64, b: f64) -> f64 {
    // Zeros differ: −0 is less than +0.
    let below = |a: f64, b: f64| a < b || a == b && a.is_sign_negative();
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::FloatDiv => a / b,
        // Exact in binary64 for what binary32 holds; the lane is rounded to once.
        BinaryOp::FloatScale => a * libm::exp2(b),
        BinaryOp::FloatMinFirst if b < a => b,
        BinaryOp::FloatMaxFirst if a < b => b,
        BinaryOp::FloatMinFirst | BinaryOp::FloatMaxFirst => a,
        BinaryOp::FloatMinPropagate | BinaryOp::FloatMaxPropagate if a.is_nan() || b.is_nan() => f64::NAN,
        BinaryOp::FloatMinIgnore | BinaryOp::FloatMaxIgnore if a.is_nan() => b,
        BinaryOp::FloatMinIgnore | BinaryOp::FloatMaxIgnore if b.is_nan() => a,
        BinaryOp::FloatMinPropagate | BinaryOp::FloatMinIgnore => {
            if below(a, b) {
                a
            } else {
                b
            }
        }
        BinaryOp::FloatMaxPropagate | BinaryOp::FloatMaxIgnore => {
            if below(a, b) {
                b
            } else {
                a
            }
        }
        _ => unreachable!("{op:?} of floats"),
    }
}

/// Computes an operation on one lane.
pub fn unary(op: UnaryOp, lane: Lane, a: u64) -> u64 {
    match lane {
        // Signs are bits, also of NaN.
        Lane::F32 | Lane::F64 => match op {
            UnaryOp::Neg => a ^ sign(lane),
            UnaryOp::Abs => a & !sign(lane),
            _ => float_bits(lane, float_unary(op, float(lane, a))),
        },
        Lane::Mask => a ^ 1,
        _ => match op {
            UnaryOp::Neg => cut(lane, -i128::from(signed(lane, a))),
            UnaryOp::Abs => cut(lane, i128::from(signed(lane, a)).abs()),
            UnaryOp::Not => cut(lane, (!a).into()),
            UnaryOp::CountLeadingZeros => u64::from(a.leading_zeros()) - (64 - 8 * u64::from(lane.bytes())),
            _ => unreachable!("{op:?} of integers"),
        },
    }
}

fn sign(lane: Lane) -> u64 {
    1 << (8 * lane.bytes() - 1)
}

fn float_unary(op: UnaryOp, a: f64) -> f64 {
    match op {
        UnaryOp::Sqrt => a.sqrt(),
        UnaryOp::Floor => a.floor(),
        UnaryOp::Ceil => a.ceil(),
        UnaryOp::Trunc => a.trunc(),
        UnaryOp::Nearest => a.round_ties_even(),
        _ => unreachable!("{op:?} of floats"),
    }
}

/// Computes a × b + c with one rounding.
pub fn fma(lane: Lane, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    match lane {
        Lane::F32 => {
            let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
            u64::from(if rounding == Rounding::Nearest { libm::fmaf(a, b, c) } else { fma_toward_zero(a, b, c) }.to_bits())
        }
        _ => libm::fma(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits(),
    }
}

/// Computes a × b + c, rounded towards zero.
pub fn fma_toward_zero(a: f32, b: f32, c: f32) -> f32 {
    // The product is exact in binary64; of the sum, Knuth's algorithm gives what rounding left.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let part = sum - product;
    let rest = (product - (sum - part)) + (c - part);
    if !sum.is_finite() {
        return sum as f32;
    }
    let beyond = rest != 0.0 && (rest < 0.0) != (sum < 0.0);
    let sum = if beyond { f64::from_bits(sum.to_bits() - 1) } else { sum };
    let nearest = sum as f32;
    if f64::from(nearest).abs() > sum.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest }
}

/// Compares two lanes.
pub fn compare(op: CompareOp, lane: Lane, a: u64, b: u64) -> bool {
    match (op, lane) {
        (CompareOp::UnsignedLess, _) => a < b,
        (CompareOp::UnsignedLessEqual, _) => a <= b,
        (_, Lane::Mask) => ordered(op, &a, &b),
        (_, Lane::F32 | Lane::F64) => ordered(op, &float(lane, a), &float(lane, b)),
        _ => ordered(op, &signed(lane, a), &signed(lane, b)),
    }
}

fn ordered<T: PartialOrd>(op: CompareOp, a: &T, b: &T) -> bool {
    match op {
        CompareOp::Equal => a == b,
        CompareOp::NotEqual => a != b,
        CompareOp::Less | CompareOp::UnsignedLess => a < b,
        CompareOp::LessEqual | CompareOp::UnsignedLessEqual => a <= b,
        CompareOp::Greater => a > b,
        CompareOp::GreaterEqual => a >= b,
    }
}

/// Converts a lane to another type.
pub fn convert(op: ConvertOp, from: Lane, to: Lane, a: u64) -> u64 {
    let bounds = |low: i128, high: i128| cut(to, i128::from(signed(from, a)).clamp(low, high));
    let unsigned_largest = |lane: Lane| (1i128 << (8 * lane.bytes())) - 1;
    match op {
        ConvertOp::SignExtend => cut(to, signed(from, a).into()),
        ConvertOp::ZeroExtend | ConvertOp::Bitcast | ConvertOp::MaskToInteger => a,
        ConvertOp::Wrap => cut(to, a.into()),
        ConvertOp::NarrowSigned => bounds(smallest(to), largest(to)),
        ConvertOp::NarrowUnsigned => bounds(0, unsigned_largest(to)),
        // From integers to binary32 at once: through binary64 the second rounding could show.
        ConvertOp::SignedToFloat if to == Lane::F32 => u64::from((signed(from, a) as f32).to_bits()),
        ConvertOp::SignedToFloat => (signed(from, a) as f64).to_bits(),
        ConvertOp::UnsignedToFloat if to == Lane::F32 => u64::from((a as f32).to_bits()),
        ConvertOp::UnsignedToFloat => (a as f64).to_bits(),
        ConvertOp::FloatToSigned => cut(to, (float(from, a) as i128).clamp(smallest(to), largest(to))),
        ConvertOp::FloatToUnsigned => cut(to, (float(from, a) as i128).clamp(0, unsigned_largest(to))),
        ConvertOp::FloatToSignedInRange => {
            // What does not fit gives the smallest number, as it does on x86; NaN too.
            let value = float(from, a);
            let number = if value.is_nan() { smallest(to) } else { value as i128 };
            let fits = (smallest(to)..=largest(to)).contains(&number);
            cut(to, if fits { number } else { smallest(to) })
        }
        ConvertOp::Promote | ConvertOp::Demote => float_bits(to, float(from, a)),
        ConvertOp::HalfToFloat => u64::from(half::f16::from_bits(a as u16).to_f32().to_bits()),
        ConvertOp::FloatToHalf => u64::from(half::f16::from_f32(f32::from_bits(a as u32)).to_bits()),
    }
}
