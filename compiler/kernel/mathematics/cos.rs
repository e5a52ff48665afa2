//! The cosine.

use super::quadrant::sine_from;
use super::{is_wide, wide};
use crate::kernel::{KernelBuilder, Value};

/// cos x, within 2 ulp; infinities give NaN.
pub fn cos(b: &mut KernelBuilder, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::cos(b, x);
    }
    sine_from(b, x, 1)
}
