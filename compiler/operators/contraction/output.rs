//! The output of a contraction from its sums: bias, scale, zero point, activation.

use crate::ir::{Comparison, ElementType, Interval, Node, ScalarOp, Value, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::quantization::{Affine, Multiplier, multiplier};
use crate::operators::quantize::nearest_step;
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};

/// The scaling of sums to the output.
#[derive(Clone, PartialEq, Debug)]
pub enum Scaling {
    /// A fixed-point multiplier for all channels, or one each.
    FixedPoint(Vec<Multiplier>),
    /// A product in binary64, rounded half away from zero; for all channels, or one each.
    Binary64(Vec<f64>),
    /// XNNPACK's product in binary32, rounded half to even; for all channels, or one each.
    Binary32(Vec<f32>),
}

/// The quantized output of a contraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntegerOutput {
    /// Type of the elements.
    pub element: ElementType,
    /// The integer that stands for zero.
    pub zero_point: i32,
    /// The least and the largest integer.
    pub bounds: Interval<i32>,
}

impl IntegerOutput {
    /// Clamped by an activation, whose bounds are rounded to the scale as TFLite does.
    ///
    /// # Errors
    /// The errors of [`Activation::integer_bounds`].
    pub fn new(element: ElementType, affine: Affine, activation: Activation) -> Result<Self, Error> {
        Ok(Self { element, zero_point: affine.zero_point, bounds: activation.integer_bounds(element, affine)? })
    }
}

/// The number types of a contraction: operands, sums and results.
#[derive(Clone, PartialEq, Debug)]
pub enum Numerics {
    /// Numbers without scales, floats above all. The bias is added in the type of the sums.
    Plain {
        /// Type of the sums.
        accumulator: ElementType,
        /// Clamp.
        activation: Activation,
        /// Type of the result.
        result: ElementType,
    },
    /// Integers of a scale and a zero point. The bias has the type of the sums.
    Integer {
        /// Zero points of the left operand or input, and of the right operand or filter.
        zero_points: ZeroPoints,
        /// Type of the sums.
        accumulator: ElementType,
        /// The scaling to the result.
        scaling: Scaling,
        /// The result.
        output: IntegerOutput,
    },
}

impl Numerics {
    /// Numbers of one type.
    pub fn plain(element: ElementType, activation: Activation) -> Self {
        Self::Plain { accumulator: element, activation, result: element }
    }

    /// Zero points of the operands.
    pub fn zero_points(&self) -> ZeroPoints {
        match self {
            Self::Plain { .. } => ZeroPoints::NONE,
            Self::Integer { zero_points, .. } => *zero_points,
        }
    }

    /// Type of the sums.
    pub fn accumulator(&self) -> ElementType {
        match self {
            Self::Plain { accumulator, .. } | Self::Integer { accumulator, .. } => *accumulator,
        }
    }

    /// The result of sums, whose channels are the last dimension. A bias has shape `[channels]`.
    ///
    /// # Errors
    /// When the bias does not fit, or the scale is too small for its activation.
    pub fn output(&self, g: &mut Graph<'_>, sums: Value, bias: Option<Value>) -> Result<Value, Error> {
        match self {
            Self::Plain { activation, result, .. } => plain_output(g, sums, bias, *activation, *result),
            Self::Integer { scaling, output, .. } => integer_output(g, sums, bias, scaling, output),
        }
    }
}

impl Scaling {
    /// Fixed point for the scales of input, filter (one or one a channel) and output, multiplied and divided in binary64.
    ///
    /// # Errors
    /// [`Error::ScaleRatio`].
    pub fn fixed_point(input: f32, filter: &[f32], output: f32) -> Result<Self, Error> {
        let multipliers = filter.iter().map(|&scale| multiplier(f64::from(input) * f64::from(scale) / f64::from(output)));
        Ok(Self::FixedPoint(multipliers.collect::<Result<_, _>>()?))
    }

    /// Fixed point for scales that are multiplied in binary32 first.
    ///
    /// # Errors
    /// [`Error::ScaleRatio`].
    pub fn fixed_point_of_product(input: f32, filter: &[f32], output: f32) -> Result<Self, Error> {
        let multipliers = filter.iter().map(|&scale| multiplier(f64::from(input * scale) / f64::from(output)));
        Ok(Self::FixedPoint(multipliers.collect::<Result<_, _>>()?))
    }

    /// Binary64 for the scales of input, filter (one or one a channel) and output.
    pub fn binary64(input: f32, filter: &[f32], output: f32) -> Self {
        Self::Binary64(filter.iter().map(|&scale| f64::from(input) * f64::from(scale) / f64::from(output)).collect())
    }

    /// Binary32, with each of the two operations rounded.
    ///
    /// # Errors
    /// [`Error::ScaleRatio`].
    pub fn binary32(input: f32, filter: &[f32], output: f32) -> Result<Self, Error> {
        let factors = filter.iter().map(|&scale| input * scale / output);
        let finite = |factor: f32| if factor.is_finite() { Ok(factor) } else { Err(Error::ScaleRatio { ratio: f64::from(factor) }) };
        Ok(Self::Binary32(factors.map(finite).collect::<Result<_, _>>()?))
    }
}

/// Adds the bias to sums without scales, clamps, and converts.
fn plain_output(g: &mut Graph<'_>, sums: Value, bias: Option<Value>, activation: Activation, result: ElementType) -> Result<Value, Error> {
    let sum_type = g.element(sums);
    if bias.is_none() && activation == Activation::NONE && result == sum_type {
        return Ok(sums);
    }
    let operands: Vec<Value> = [Some(sums), bias].into_iter().flatten().collect();
    g.compute(&operands, |terms, inputs| {
        let mut x = inputs[0];
        if let Some(&bias) = inputs.get(1) {
            let bias = terms.convert(bias, sum_type);
            x = terms.add(x, bias)?;
        }
        x = activation.clamp_float(terms, x)?;
        Ok(terms.convert(x, result))
    })
}

/// Adds the bias to integer sums (of the bias's type), scales, adds the zero point, clamps, and narrows.
fn integer_output(g: &mut Graph<'_>, sums: Value, bias: Option<Value>, scaling: &Scaling, output: &IntegerOutput) -> Result<Value, Error> {
    let accumulator = g.element(sums);
    let mut operands = vec![sums];
    let mut types = vec![accumulator];
    if let Some(bias) = bias {
        operands.push(bias);
        types.push(accumulator);
    }
    let first_factor = operands.len();
    match scaling {
        Scaling::FixedPoint(multipliers) if multipliers.len() > 1 => {
            for part in [|m: &Multiplier| m.mantissa, |m: &Multiplier| m.shift] {
                let parts: Vec<i32> = multipliers.iter().map(part).collect();
                operands.push(g.constant_i32(&[parts.len() as u64], &parts)?);
                types.push(ElementType::I32);
            }
        }
        Scaling::Binary64(factors) if factors.len() > 1 => {
            operands.push(g.constant_f64(&[factors.len() as u64], factors)?);
            types.push(ElementType::F64);
        }
        Scaling::Binary32(factors) if factors.len() > 1 => {
            operands.push(g.constant_f32(&[factors.len() as u64], factors)?);
            types.push(ElementType::F32);
        }
        _ => {}
    }
    let mut terms = Terms::new(&types);
    let mut x = terms.input(0);
    if bias.is_some() {
        let bias = terms.input(1);
        x = terms.add(x, bias)?;
    }
    let x = scale(&mut terms, x, scaling, first_factor, output)?;
    let x = terms.convert(x, output.element);
    g.map(&operands, terms.finish(x))
}

/// `clamp(round(x · factor) + zero point)` of an integer. The product is in binary32, and halves round to even. XNNPACK scales sums like this.
///
/// # Errors
/// Mistakes of types: x is no integer, or the factor no binary32.
pub fn nearest(terms: &mut Terms, x: Node, factor: Node, output: &IntegerOutput) -> Term {
    let x = terms.convert(x, ElementType::F32);
    let x = terms.mul(x, factor)?;
    nearest_step(terms, x, output.zero_point, output.bounds)
}

/// Scales the sum to the output and clamps it, as i32. Factors of each channel are the inputs from `first_factor` on.
fn scale(terms: &mut Terms, x: Node, scaling: &Scaling, first_factor: usize, output: &IntegerOutput) -> Term {
    let x = match scaling {
        Scaling::FixedPoint(multipliers) => {
            let (mantissa, shift) = match multipliers[..] {
                [only] => (terms.i32(only.mantissa), terms.i32(only.shift)),
                _ => (terms.input(first_factor), terms.input(first_factor + 1)),
            };
            if terms.ty(x) == ElementType::I64 { scale_wide(terms, x, mantissa, shift)? } else { terms.requantize(x, mantissa, shift)? }
        }
        Scaling::Binary64(factors) => {
            let factor = match factors[..] {
                [only] => terms.f64(only),
                _ => terms.input(first_factor),
            };
            let x = terms.convert(x, ElementType::F64);
            let x = terms.mul(x, factor)?;
            let x = terms.round_away(x)?;
            let x = terms.convert(x, ElementType::I32);
            // Sums this large are out of range with any zero point, and adding one must not wrap.
            terms.clamp_i32(x, Interval::new(-(1 << 20), 1 << 20))?
        }
        Scaling::Binary32(factors) => {
            let factor = match factors[..] {
                [only] => terms.f32(only),
                _ => terms.input(first_factor),
            };
            return nearest(terms, x, factor, output);
        }
    };
    let zero_point = terms.i32(output.zero_point);
    let x = terms.add(x, zero_point)?;
    terms.clamp_i32(x, output.bounds)
}

/// A 64-bit sum by a fixed-point factor whose fraction is first rounded to 16 bits: `(x × m + 2^(14 − shift)) >> (15 − shift)`.
///
/// # Errors
/// A mistake of type: x is no integer of 64 bits.
pub fn scale_wide(terms: &mut Terms, x: Node, mantissa: Node, shift: Node) -> Term {
    let (half, width, limit, largest) = (terms.i32(1 << 15), terms.i32(16), terms.i32(0x7FFF_0000), terms.i32(0x7FFF));
    let rounded = terms.add(mantissa, half)?;
    let rounded = terms.op(ScalarOp::ShiftRight, &[rounded, width])?;
    let small = terms.compare(Comparison::Less, mantissa, limit)?;
    let reduced = terms.select(small, rounded, largest)?;
    let reduced = terms.convert(reduced, ElementType::I64);
    let (fifteen, one) = (terms.i64(15), terms.i64(1));
    let shift = terms.convert(shift, ElementType::I64);
    let total = terms.sub(fifteen, shift)?;
    let before = terms.sub(total, one)?;
    let nudge = terms.op(ScalarOp::ShiftLeft, &[one, before])?;
    let product = terms.mul(x, reduced)?;
    let sum = terms.add(product, nudge)?;
    let shifted = terms.op(ScalarOp::ShiftRight, &[sum, total])?;
    Ok(terms.convert(shifted, ElementType::I32))
}
