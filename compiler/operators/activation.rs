//! Activations fused into operators: clamps in f32 or on the output's integer scale.

use super::Error;
use super::quantization::{Affine, integer_range, quantize};
use super::terms::{Term, Terms};
use crate::ir::{ElementType, Interval, Node};

/// A clamp by its real bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Activation {
    low: Option<f32>,
    high: Option<f32>,
}

impl Activation {
    /// No clamp.
    pub const NONE: Self = Self { low: None, high: None };
    /// A clamp to 0 and above.
    pub const RELU: Self = Self { low: Some(0.0), high: None };
    /// A clamp from 0 to 6.
    pub const RELU6: Self = Self { low: Some(0.0), high: Some(6.0) };
    /// A clamp from −1 to 1.
    pub const RELU_N1_TO_1: Self = Self { low: Some(-1.0), high: Some(1.0) };
    /// A clamp from 0 to 1.
    pub const RELU_0_TO_1: Self = Self { low: Some(0.0), high: Some(1.0) };

    /// A clamp between two numbers. Infinite ones are no bounds.
    pub fn between(low: f32, high: f32) -> Self {
        let finite = |bound: f32| Some(bound).filter(|bound| bound.is_finite());
        Self { low: finite(low), high: finite(high) }
    }

    /// Clamps a float as `min(max(x, low), high)`; a NaN stays one.
    ///
    /// # Errors
    /// [`Error::Expression`] if x is no float.
    pub fn clamp_float(self, terms: &mut Terms, x: Node) -> Term {
        let element = terms.ty(x);
        let bound = |terms: &mut Terms, value: f32| terms.constant(crate::ir::Scalar::float(element, f64::from(value)));
        let mut x = x;
        if let Some(low) = self.low {
            let low = bound(terms, low);
            x = terms.max(x, low)?;
        }
        if let Some(high) = self.high {
            let high = bound(terms, high);
            x = terms.min(x, high)?;
        }
        Ok(x)
    }

    /// The bounds on an integer scale, within the type's range.
    ///
    /// # Errors
    /// [`Error::NotQuantized`] and [`Error::ActivationScale`].
    pub fn integer_bounds(self, element: ElementType, output: Affine) -> Result<Interval<i32>, Error> {
        let Interval { low: lowest, high: highest } = integer_range(element).ok_or(Error::NotQuantized { element })?;
        let on_scale = |real: f32| quantize(real, output.scale, output.zero_point).ok_or(Error::ActivationScale { scale: output.scale });
        let low = self.low.map(on_scale).transpose()?.map_or(lowest, |low| low.max(lowest));
        let high = self.high.map(on_scale).transpose()?.map_or(highest, |high| high.min(highest));
        Ok(Interval { low, high })
    }

    /// The bounds in a plain integer type.
    pub fn plain_integer_bounds(self) -> (Option<i64>, Option<i64>) {
        (self.low.map(|low| low as i64), self.high.map(|high| high as i64))
    }
}
