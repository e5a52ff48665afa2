//! Float semantics. Mathematics is `libm`'s for the width of the type, so that results do not depend on the host. Operations that IEEE 754 defines
//! exactly (arithmetic, square root, rounding) are the host's.

use super::rules::NanRule;
use crate::types::ElementType;

/// The function of an operation on floats of a type.
#[derive(Clone, Copy)]
pub enum Reals<T> {
    /// No function: the operation is not one of floats, or its operands are of other types.
    Undefined,
    /// A function of one operand.
    Unary(fn(T) -> T),
    /// A function of two operands.
    Binary(fn(T, T) -> T),
    /// A function of three operands.
    Ternary(fn(T, T, T) -> T),
}

impl<T> Reals<T> {
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

/// The smaller; see [`NanRule::Propagate`].
pub fn min_propagate<T: Copy + PartialOrd>(a: T, b: T) -> T {
    extreme(NanRule::Propagate, a, b, b < a)
}

/// The smaller; see [`NanRule::Ignore`].
pub fn min_ignore<T: Copy + PartialOrd>(a: T, b: T) -> T {
    extreme(NanRule::Ignore, a, b, b < a)
}

/// The smaller; see [`NanRule::First`].
pub fn min_first<T: Copy + PartialOrd>(a: T, b: T) -> T {
    extreme(NanRule::First, a, b, b < a)
}

/// The larger; see [`NanRule::Propagate`].
pub fn max_propagate<T: Copy + PartialOrd>(a: T, b: T) -> T {
    extreme(NanRule::Propagate, a, b, a < b)
}

/// The larger; see [`NanRule::Ignore`].
pub fn max_ignore<T: Copy + PartialOrd>(a: T, b: T) -> T {
    extreme(NanRule::Ignore, a, b, a < b)
}

/// The larger; see [`NanRule::First`].
pub fn max_first<T: Copy + PartialOrd>(a: T, b: T) -> T {
    extreme(NanRule::First, a, b, a < b)
}

/// Minimum or maximum: the second operand when it wins the comparison, else the first, with the rule for NaN before it.
#[expect(clippy::eq_op, reason = "a number that differs from itself is NaN, for either width")]
fn extreme<T: Copy + PartialOrd>(rule: NanRule, a: T, b: T, second_wins: bool) -> T {
    let (a_is_nan, b_is_nan) = (a != a, b != b);
    match rule {
        NanRule::Propagate if a_is_nan => a,
        NanRule::Propagate if b_is_nan => b,
        NanRule::Ignore if a_is_nan => b,
        _ if second_wins => b,
        _ => a,
    }
}

/// Rounds an f32 as if it were stored in a 16-bit float type. Other types keep it.
pub fn round_storage(ty: ElementType, a: f32) -> f32 {
    match ty {
        ElementType::F16 => half::f16::from_f32(a).to_f32(),
        ElementType::Bf16 => half::bf16::from_f32(a).to_f32(),
        _ => a,
    }
}
