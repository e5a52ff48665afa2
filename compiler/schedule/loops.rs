//! Loops of kernels.

use crate::kernel::{KernelBuilder, Value};

/// A loop over `count` elements by `lanes`, then the rest with fewer active lanes.
pub fn row(b: &mut KernelBuilder, count: u64, lanes: u16, mut body: impl FnMut(&mut KernelBuilder, Value, u16)) {
    let whole = count / u64::from(lanes) * u64::from(lanes);
    b.for_range(0, whole as i64, i64::from(lanes), |b, i| body(b, i, lanes));
    if count > whole {
        let start = b.index(whole as i64);
        body(b, start, (count - whole) as u16);
    }
}
