//! Float semantics. Mathematics is `libm`'s for the width of the type, so that results do not depend on the host; operations
//! that IEEE 754 defines exactly (arithmetic, square root, rounding) are the host's.

use crate::ir::scalar::{NanRule, ScalarOp};
use crate::ir::types::ElementType;

/// A float type of the host.
pub trait Real: Copy + PartialOrd {
    /// A unary operation, `None` when it is not one of floats.
    fn unary(op: ScalarOp, a: Self) -> Option<Self>;
    /// A binary operation, `None` when it is not one of floats.
    fn binary(op: ScalarOp, a: Self, b: Self) -> Option<Self>;
    /// a × b + c with one rounding.
    fn fma(a: Self, b: Self, c: Self) -> Self;
}

impl Real for f32 {
    fn unary(op: ScalarOp, a: f32) -> Option<f32> {
        Some(match op {
            ScalarOp::Neg => -a,
            ScalarOp::Abs => a.abs(),
            ScalarOp::Floor => a.floor(),
            ScalarOp::Ceil => a.ceil(),
            ScalarOp::Trunc => a.trunc(),
            ScalarOp::RoundEven => a.round_ties_even(),
            ScalarOp::RoundAway => a.round(),
            ScalarOp::Sqrt => a.sqrt(),
            ScalarOp::Rsqrt => 1.0 / a.sqrt(),
            ScalarOp::Exp => libm::expf(a),
            ScalarOp::Log => libm::logf(a),
            ScalarOp::Tanh => libm::tanhf(a),
            ScalarOp::Logistic => 1.0 / (1.0 + libm::expf(-a)),
            ScalarOp::Erf => libm::erff(a),
            ScalarOp::Erfc => libm::erfcf(a),
            ScalarOp::Sin => libm::sinf(a),
            ScalarOp::Cos => libm::cosf(a),
            ScalarOp::RoundTo(narrow) => round_to(narrow, a),
            _ => return None,
        })
    }

    fn binary(op: ScalarOp, a: f32, b: f32) -> Option<f32> {
        Some(match op {
            ScalarOp::Add => a + b,
            ScalarOp::Sub => a - b,
            ScalarOp::Mul => a * b,
            ScalarOp::Div => a / b,
            ScalarOp::Rem => a % b,
            ScalarOp::Min(rule) => extreme(rule, a, b, b < a),
            ScalarOp::Max(rule) => extreme(rule, a, b, a < b),
            ScalarOp::Pow => libm::powf(a, b),
            ScalarOp::Atan2 => libm::atan2f(a, b),
            _ => return None,
        })
    }

    fn fma(a: f32, b: f32, c: f32) -> f32 {
        libm::fmaf(a, b, c)
    }
}

impl Real for f64 {
    fn unary(op: ScalarOp, a: f64) -> Option<f64> {
        Some(match op {
            ScalarOp::Neg => -a,
            ScalarOp::Abs => a.abs(),
            ScalarOp::Floor => a.floor(),
            ScalarOp::Ceil => a.ceil(),
            ScalarOp::Trunc => a.trunc(),
            ScalarOp::RoundEven => a.round_ties_even(),
            ScalarOp::RoundAway => a.round(),
            ScalarOp::Sqrt => a.sqrt(),
            ScalarOp::Rsqrt => 1.0 / a.sqrt(),
            ScalarOp::Exp => libm::exp(a),
            ScalarOp::Log => libm::log(a),
            ScalarOp::Tanh => libm::tanh(a),
            ScalarOp::Logistic => 1.0 / (1.0 + libm::exp(-a)),
            ScalarOp::Erf => libm::erf(a),
            ScalarOp::Erfc => libm::erfc(a),
            ScalarOp::Sin => libm::sin(a),
            ScalarOp::Cos => libm::cos(a),
            _ => return None,
        })
    }

    fn binary(op: ScalarOp, a: f64, b: f64) -> Option<f64> {
        Some(match op {
            ScalarOp::Add => a + b,
            ScalarOp::Sub => a - b,
            ScalarOp::Mul => a * b,
            ScalarOp::Div => a / b,
            ScalarOp::Rem => a % b,
            ScalarOp::Min(rule) => extreme(rule, a, b, b < a),
            ScalarOp::Max(rule) => extreme(rule, a, b, a < b),
            ScalarOp::Pow => libm::pow(a, b),
            ScalarOp::Atan2 => libm::atan2(a, b),
            _ => return None,
        })
    }

    fn fma(a: f64, b: f64, c: f64) -> f64 {
        libm::fma(a, b, c)
    }
}

/// Minimum or maximum: the second operand when it wins the comparison, else the first, with the rule for NaN before it.
#[expect(clippy::eq_op, reason = "a number that differs from itself is NaN, for either width")]
fn extreme<T: Real>(rule: NanRule, a: T, b: T, second_wins: bool) -> T {
    let (a_is_nan, b_is_nan) = (a != a, b != b);
    match rule {
        NanRule::Propagate if a_is_nan => a,
        NanRule::Propagate if b_is_nan => b,
        NanRule::Ignore if a_is_nan => b,
        _ if second_wins => b,
        _ => a,
    }
}

/// An f32 rounded to the values of a narrower type: nearest even; for `i8` saturated, NaN to 0.
fn round_to(narrow: ElementType, a: f32) -> f32 {
    match narrow {
        ElementType::I8 => f32::from(a.round_ties_even() as i8),
        _ => round_storage(narrow, a),
    }
}

/// What is left of an f32 when it is stored as a value of a 16-bit float type; other types keep it.
pub fn round_storage(ty: ElementType, a: f32) -> f32 {
    match ty {
        ElementType::F16 => half::f16::from_f32(a).to_f32(),
        ElementType::Bf16 => half::bf16::from_f32(a).to_f32(),
        _ => a,
    }
}
