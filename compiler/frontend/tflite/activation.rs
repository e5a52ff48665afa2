//! Activations fused into operators: clamps in f32 or on the output's integer scale.

use super::operator::{Affine, invalid, unsupported};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Node};
use crate::operators::quantization::{integer_range, quantize};
use crate::operators::terms::{Term, Terms};
use crate::schema::tflite::ActivationFunctionType as Code;

/// A clamp by its real bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Activation {
    low: Option<f32>,
    high: Option<f32>,
}

impl Activation {
    /// No clamp.
    pub const NONE: Self = Self { low: None, high: None };
    /// At least 0.
    pub const RELU: Self = Self { low: Some(0.0), high: None };
    /// 0 to 6.
    pub const RELU6: Self = Self { low: Some(0.0), high: Some(6.0) };
    /// −1 to 1.
    pub const RELU_N1_TO_1: Self = Self { low: Some(-1.0), high: Some(1.0) };
    /// 0 to 1.
    pub const RELU_0_TO_1: Self = Self { low: Some(0.0), high: Some(1.0) };

    /// The activation of a code in the file.
    pub fn from_code(code: Code) -> Result<Self, Diagnostic> {
        match code {
            Code::NONE => Ok(Self::NONE),
            Code::RELU => Ok(Self::RELU),
            Code::RELU6 => Ok(Self::RELU6),
            Code::RELU_N1_TO_1 => Ok(Self::RELU_N1_TO_1),
            other => Err(unsupported(format!("the fused activation {other:?} is not supported"))),
        }
    }

    /// Clamps a float as `min(max(x, low), high)`; a NaN stays one.
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
    pub fn integer_bounds(self, element: ElementType, output: Affine) -> Result<(i32, i32), Diagnostic> {
        let (lowest, highest) = integer_range(element).ok_or_else(|| unsupported(format!("{element} is no quantized output")))?;
        let on_scale = |real: f32| {
            let found = quantize(real, output.scale, output.zero_point);
            found.ok_or_else(|| invalid(304, "the output's scale is too small for its activation").expected("", output.scale.to_string()))
        };
        let low = self.low.map(on_scale).transpose()?.map_or(lowest, |low| low.max(lowest));
        let high = self.high.map(on_scale).transpose()?.map_or(highest, |high| high.min(highest));
        Ok((low, high))
    }

    /// The bounds in a plain integer type.
    pub fn plain_integer_bounds(self) -> (Option<i64>, Option<i64>) {
        (self.low.map(|low| low as i64), self.high.map(|high| high as i64))
    }
}
