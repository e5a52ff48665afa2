//! What a machine's instructions do at once, and sums of products with it.

use super::{add_constant, constant};
use crate::kernel::{KernelBuilder, Value};

/// What the instructions of a machine do at once. Functions take the shortest way that these allow. Their errors keep the documented bounds either way,
/// but the last bits of a result differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arithmetic {
    /// A product and a sum, with one rounding ([`KernelBuilder::fma`]).
    pub fused: bool,
    /// A product with a power of two for each lane ([`crate::kernel::BinaryOp::FloatScale`]).
    pub scales: bool,
}

impl Arithmetic {
    /// Only separate products and sums.
    pub const PLAIN: Self = Self { fused: false, scales: false };

    /// x · y + z.
    pub(super) fn multiply_add(self, b: &mut KernelBuilder, x: Value, y: Value, z: Value) -> Value {
        if self.fused {
            return b.fma(x, y, z);
        }
        let product = b.mul(x, y);
        b.add(z, product)
    }

    /// x · c + z.
    pub(super) fn add_multiple(self, b: &mut KernelBuilder, x: Value, c: f64, z: Value) -> Value {
        let c = constant(b, x, c);
        self.multiply_add(b, x, c, z)
    }

    /// c₀ + c₁x + c₂x² + …, by Horner's rule.
    pub(super) fn polynomial(self, b: &mut KernelBuilder, x: Value, coefficients: &[f64]) -> Value {
        let (last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
        let mut sum = constant(b, x, *last);
        for &coefficient in rest.iter().rev() {
            if self.fused {
                let coefficient = constant(b, x, coefficient);
                sum = b.fma(sum, x, coefficient);
            } else {
                sum = b.mul(sum, x);
                sum = add_constant(b, sum, coefficient);
            }
        }
        sum
    }
}
