//! The meaning of the instructions, in plain Rust on the bits of one lane.

use modelc_kernel::{BinaryOp, CompareOp, ConvertOp, Lane, UnaryOp};

fn width(lane: Lane) -> u32 {
    8 * lane.bytes()
}

fn mask(lane: Lane) -> u64 {
    if width(lane) == 64 { u64::MAX } else { (1 << width(lane)) - 1 }
}

fn signed(lane: Lane, bits: u64) -> i64 {
    let unused = 64 - width(lane);
    ((bits << unused) as i64) >> unused
}

/// Returns a float of either width as binary64, exactly.
pub(super) fn float(lane: Lane, bits: u64) -> f64 {
    if lane == Lane::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Returns the bits of a float, rounded for binary32.
pub(super) fn float_bits(lane: Lane, value: f64) -> u64 {
    if lane == Lane::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() }
}

/// Computes a binary operation. For the four operations and the square root, a second rounding from binary64 to binary32 is harmless.
pub(super) fn binary(op: BinaryOp, lane: Lane, a: u64, b: u64) -> u64 {
    if lane.is_float() { float_binary(op, lane, a, b) } else { integer_binary(op, lane, a, b) & mask(lane) }
}

fn integer_binary(op: BinaryOp, lane: Lane, a: u64, b: u64) -> u64 {
    let (x, y) = (signed(lane, a), signed(lane, b));
    let limit = |v: i64| v.clamp(-(1 << (width(lane) - 1)), (1 << (width(lane) - 1)) - 1) as u64;
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::SignedDiv if y == 0 => 0,
        BinaryOp::SignedDiv => x.wrapping_div(y) as u64,
        BinaryOp::UnsignedDiv => a.checked_div(b).unwrap_or(0),
        BinaryOp::SignedRem if y == 0 => 0,
        BinaryOp::SignedRem => x.wrapping_rem(y) as u64,
        BinaryOp::UnsignedRem => a.checked_rem(b).unwrap_or(0),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::ShiftLeft => a << b,
        BinaryOp::ShiftRightSigned => (x >> b) as u64,
        BinaryOp::ShiftRightUnsigned => a >> b,
        BinaryOp::SignedMin => x.min(y) as u64,
        BinaryOp::SignedMax => x.max(y) as u64,
        BinaryOp::UnsignedMin => a.min(b),
        BinaryOp::UnsignedMax => a.max(b),
        BinaryOp::SignedAddSaturating => limit(x + y),
        BinaryOp::SignedSubSaturating => limit(x - y),
        other => unreachable!("{other:?} of integers"),
    }
}

fn float_binary(op: BinaryOp, lane: Lane, a: u64, b: u64) -> u64 {
    let (x, y) = (float(lane, a), float(lane, b));
    let order = |first: bool| if first { b } else { a };
    let ieee = |low: bool| match (x.is_nan() || y.is_nan(), x == y) {
        (true, _) => float_bits(lane, f64::NAN),
        // Zeros: −0 is less than +0.
        (_, true) => order(low == y.is_sign_negative() && x.is_sign_negative() != y.is_sign_negative()),
        _ => order((y < x) == low),
    };
    match op {
        BinaryOp::Add => float_bits(lane, x + y),
        BinaryOp::Sub => float_bits(lane, x - y),
        BinaryOp::Mul => float_bits(lane, x * y),
        BinaryOp::FloatDiv => float_bits(lane, x / y),
        BinaryOp::FloatMinFirst => order(y < x),
        BinaryOp::FloatMaxFirst => order(x < y),
        BinaryOp::FloatMinPropagate => ieee(true),
        BinaryOp::FloatMaxPropagate => ieee(false),
        BinaryOp::FloatMinIgnore => order(x.is_nan() || y < x),
        BinaryOp::FloatMaxIgnore => order(x.is_nan() || x < y),
        other => unreachable!("{other:?} of floats"),
    }
}

/// Computes an operation on one lane.
pub(super) fn unary(op: UnaryOp, lane: Lane, a: u64) -> u64 {
    if lane.is_float() {
        let x = float(lane, a);
        let result = match op {
            UnaryOp::Neg => -x,
            UnaryOp::Abs => x.abs(),
            UnaryOp::Sqrt => x.sqrt(),
            UnaryOp::Floor => x.floor(),
            UnaryOp::Ceil => x.ceil(),
            UnaryOp::Trunc => x.trunc(),
            UnaryOp::Nearest => x.round_ties_even(),
            other => unreachable!("{other:?} of floats"),
        };
        return float_bits(lane, result);
    }
    let result = match op {
        UnaryOp::Neg => a.wrapping_neg(),
        UnaryOp::Abs => signed(lane, a).wrapping_abs() as u64,
        UnaryOp::Not => !a,
        UnaryOp::CountLeadingZeros => u64::from(a.leading_zeros() - (64 - width(lane))),
        other => unreachable!("{other:?} of integers"),
    };
    result & mask(lane)
}

/// Computes a conversion.
pub(super) fn convert(op: ConvertOp, from: Lane, to: Lane, a: u64) -> u64 {
    let (x, bits) = (signed(from, a), width(to));
    let clamp = |v: i64, low: i64, high: i64| v.clamp(low, high) as u64;
    let result = match op {
        ConvertOp::SignExtend => x as u64,
        ConvertOp::ZeroExtend | ConvertOp::Wrap | ConvertOp::Bitcast => a,
        ConvertOp::NarrowSigned => clamp(x, -(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        ConvertOp::NarrowUnsigned => clamp(x, 0, (1 << bits) - 1),
        ConvertOp::SignedToFloat if to == Lane::F32 => u64::from((x as f32).to_bits()),
        ConvertOp::SignedToFloat => (x as f64).to_bits(),
        ConvertOp::UnsignedToFloat if to == Lane::F32 => u64::from((a as f32).to_bits()),
        ConvertOp::UnsignedToFloat => (a as f64).to_bits(),
        ConvertOp::FloatToSigned | ConvertOp::FloatToSignedInRange => {
            let y = float(from, a);
            match to {
                Lane::I8 => y as i8 as u64,
                Lane::I16 => y as i16 as u64,
                Lane::I32 => y as i32 as u64,
                _ => y as i64 as u64,
            }
        }
        ConvertOp::FloatToUnsigned => {
            let y = float(from, a);
            match to {
                Lane::I8 => u64::from(y as u8),
                Lane::I16 => u64::from(y as u16),
                Lane::I32 => u64::from(y as u32),
                _ => y as u64,
            }
        }
        ConvertOp::Promote | ConvertOp::Demote => float_bits(to, float(from, a)),
        ConvertOp::HalfToFloat => float_bits(to, half_value(a)),
        ConvertOp::FloatToHalf => nearest_half(f32::from_bits(a as u32)),
        ConvertOp::MaskToInteger => unreachable!("masks are tested by comparisons"),
    };
    result & mask(to)
}

/// Computes a comparison.
pub(super) fn compare(op: CompareOp, lane: Lane, a: u64, b: u64) -> bool {
    let order = match lane.is_float() {
        true => float(lane, a).partial_cmp(&float(lane, b)),
        false => Some(signed(lane, a).cmp(&signed(lane, b))),
    };
    match op {
        CompareOp::Equal => order.is_some_and(|o| o.is_eq()),
        CompareOp::NotEqual => !order.is_some_and(|o| o.is_eq()),
        CompareOp::Less => order.is_some_and(|o| o.is_lt()),
        CompareOp::LessEqual => order.is_some_and(|o| o.is_le()),
        CompareOp::Greater => order.is_some_and(|o| o.is_gt()),
        CompareOp::GreaterEqual => order.is_some_and(|o| o.is_ge()),
        CompareOp::UnsignedLess => a < b,
        CompareOp::UnsignedLessEqual => a <= b,
    }
}

/// Computes `(a·b + 2³⁰) >> 31`, saturated.
pub(super) fn doubling_high_multiply(a: i32, b: i32) -> i32 {
    let rounded = (i64::from(a) * i64::from(b) + (1 << 30)) >> 31;
    rounded.min(i64::from(i32::MAX)) as i32
}

/// Divides by 2ⁿ, ties away from zero.
pub(super) fn rounding_divide(a: i32, n: u32) -> i32 {
    let divisor = 1i64 << n;
    let magnitude = (i64::from(a).abs() + divisor / 2) / divisor;
    (magnitude * i64::from(a.signum())) as i32
}

/// Divides by 2ⁿ, ties up.
pub(super) fn shift_to_nearest(a: i32, n: u32) -> i32 {
    (f64::from(a) / f64::from(2u32.pow(n)) + 0.5).floor() as i32
}

/// Returns the number that the bits of a binary16 encode.
fn half_value(bits: u64) -> f64 {
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
    let magnitude = match exponent {
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// Finds the bits of the binary16 nearest to a number by search; a tie goes to the even one.
fn nearest_half(x: f32) -> u64 {
    let sign = u64::from(x.to_bits() >> 31) << 15;
    if x.is_nan() {
        return sign | 0x7E00 | u64::from(x.to_bits() >> 13 & 0x3FF);
    }
    let magnitude = f64::from(x.abs());
    // Infinity counts as 65536, the next number of the format.
    let value = |bits: u64| if bits == 0x7C00 { 65536.0 } else { half_value(bits) };
    let (mut low, mut high) = (0, 0x7C00);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if value(middle) <= magnitude { low = middle } else { high = middle }
    }
    let (below, above) = (magnitude - value(low), value(high) - magnitude);
    let up = above < below || above == below && low % 2 == 1;
    sign | if up { high } else { low }
}
