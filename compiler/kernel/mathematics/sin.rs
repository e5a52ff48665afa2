//! The sine.

use super::quadrant::{flip_sign, sine_from};
use super::{is_wide, wide};
use crate::kernel::{ConvertOp, KernelBuilder, Lane, Value};

/// sin x, within 2 ulp; keeps the sign of zero. Infinities give NaN.
pub fn sin(b: &mut KernelBuilder, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::sin(b, x);
    }
    let result = sine_from(b, x, 0);
    let sign = b.convert(ConvertOp::Bitcast, x, Lane::I32);
    flip_sign(b, result, sign)
}
