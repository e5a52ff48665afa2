//! The cosine.

use super::quadrant::{sine_by_fused, sine_of_magnitude};
use super::{Arithmetic, is_wide, wide};
use crate::{KernelBuilder, Value};

/// Computes cos x within 2 ulp. Infinities give NaN.
pub fn cos(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::cos(b, x);
    }
    if arithmetic.fused { sine_by_fused(b, arithmetic, x, 1) } else { sine_of_magnitude(b, x, 1) }
}
