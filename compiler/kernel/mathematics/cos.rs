//! The cosine.

use super::quadrant::sine_from;
use super::{is_wide, wide};
use crate::kernel::{KernelBuilder, Value};

/// cos x, within 2 ulp for |x| ≤ 2²⁶. From there to 2⁵⁰ the absolute error is at most |x| · 2⁻⁵² more, and beyond the result stays in −1..=1;
/// infinities give NaN.
pub fn cos(b: &mut KernelBuilder, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::cos(b, x);
    }
    sine_from(b, x, 1)
}
