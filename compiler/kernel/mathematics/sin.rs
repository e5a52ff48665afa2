//! The sine.

use super::quadrant::{flip_sign, sine_by_fused, sine_of_magnitude};
use super::{Arithmetic, is_wide, wide};
use crate::{ConvertOp, KernelBuilder, Lane, Value};

/// Computes sin x within 2 ulp. The sign of zero is kept, and infinities give NaN.
pub fn sin(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::sin(b, x);
    }
    if arithmetic.fused {
        return sine_by_fused(b, arithmetic, x, 0);
    }
    let result = sine_of_magnitude(b, x, 0);
    let sign = b.convert(ConvertOp::Bitcast, x, Lane::I32);
    flip_sign(b, result, sign)
}
