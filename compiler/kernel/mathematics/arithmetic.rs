//! The fast instructions of a machine, and polynomials that use them.

use super::{add_constant, constant};
use crate::{KernelBuilder, Value};

/// Instructions that a machine has. Functions use the shortest form that these allow. The error bounds hold for every form, but the last bits of
/// results differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arithmetic {
    /// `true` for fused products and sums: one instruction with one rounding ([`KernelBuilder::fma`]).
    pub fused: bool,
    /// `true` for products with a power of two for each lane ([`crate::BinaryOp::FloatScale`]).
    pub scales: bool,
}

impl Arithmetic {
    /// Separate products and sums only.
    pub const PLAIN: Self = Self { fused: false, scales: false };

    /// Computes x · y + z.
    pub(super) fn multiply_add(self, b: &mut KernelBuilder, x: Value, y: Value, z: Value) -> Value {
        if self.fused {
            return b.fma(x, y, z);
        }
        let product = b.mul(x, y);
        b.add(z, product)
    }

    /// Computes x · c + z.
    pub(super) fn add_multiple(self, b: &mut KernelBuilder, x: Value, c: f64, z: Value) -> Value {
        let c = constant(b, x, c);
        self.multiply_add(b, x, c, z)
    }

    /// Computes c₀ + c₁x + c₂x² + … by Horner's rule.
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

/// Computes c₀ + c₁x + c₂x² + … by separate products and sums.
pub(super) fn polynomial(b: &mut KernelBuilder, x: Value, coefficients: &[f64]) -> Value {
    Arithmetic::PLAIN.polynomial(b, x, coefficients)
}
