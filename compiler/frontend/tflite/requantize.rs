//! From the sums of a contraction to its output: bias, scale, zero point, activation.

use super::activation::Activation;
use super::operator::{Affine, Operand, Operator, invalid, unsupported};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Node, Value};
use crate::operators::quantization::Multiplier;
use crate::operators::terms::{Term, Terms};

/// How sums are brought to the output's scale.
pub(super) enum Scaling {
    /// A fixed-point multiplier for all channels, or one each.
    FixedPoint(Vec<Multiplier>),
    /// A product in binary64, rounded half away from zero; for all channels, or one each.
    Binary64(Vec<f64>),
}

/// The quantized output of a contraction.
pub(super) struct IntegerOutput {
    /// Type of the elements.
    pub element: ElementType,
    /// Scale and zero point.
    pub affine: Affine,
    /// Clamp.
    pub activation: Activation,
}

/// A multiplier, or the error that it cannot be held.
pub(super) fn multiplier(real: f64) -> Result<Multiplier, Diagnostic> {
    let error = || invalid(304, "the ratio of the scales is out of range").expected("a finite number", real.to_string());
    Multiplier::from_real(real).ok_or_else(error)
}

/// The scales of the filter, one or one a channel; a scale of zero is a channel without weights.
pub(super) fn filter_scales(filter: &Operand, axis: usize, channels: u64) -> Result<Vec<f32>, Diagnostic> {
    let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&filter.info.name);
    let Some(quantization) = &filter.info.quantization else {
        return Err(at(invalid(309, "the tensor has no quantization").expected("scales", "none")));
    };
    let scales = &quantization.scales;
    if scales.len() == 1 {
        return Ok(scales.clone());
    }
    if quantization.axis != axis || scales.len() as u64 != channels {
        let found = format!("{} scales along dimension {}", scales.len(), quantization.axis);
        return Err(at(
            invalid(305, "the filter's scales do not fit its channels").expected(format!("{channels} along dimension {axis}"), found)
        ));
    }
    if quantization.zero_points.iter().any(|&zero_point| zero_point != 0) {
        return Err(at(invalid(306, "zero points of a filter with a scale for each channel must be 0")));
    }
    Ok(scales.clone())
}

/// A bias as a value of shape `[channels]`, its type among `types`.
pub(super) fn bias(
    operator: &mut Operator<'_, '_, '_>,
    index: usize,
    channels: u64,
    types: &[ElementType],
) -> Result<Option<(Value, ElementType)>, Diagnostic> {
    let Some(bias) = operator.optional_input(index)? else { return Ok(None) };
    let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&bias.info.name);
    if bias.elements() != channels {
        return Err(at(
            invalid(311, "the bias does not fit the output channels").expected(format!("{channels} elements"), bias.elements().to_string())
        ));
    }
    if !types.contains(&bias.element()) {
        let expected: Vec<_> = types.iter().map(|element| element.name()).collect();
        return Err(at(unsupported("the bias has a type that is not supported").expected(expected.join(" or "), bias.element().name())));
    }
    Ok(Some((operator.reshape(bias.value, &[channels])?, bias.element())))
}

/// Adds the bias to sums in f32 and clamps.
pub(super) fn float_output(
    operator: &mut Operator<'_, '_, '_>,
    sums: Value,
    bias: Option<Value>,
    activation: Activation,
) -> Result<Value, Diagnostic> {
    if bias.is_none() && activation == Activation::NONE {
        return Ok(sums);
    }
    let operands: Vec<Value> = [Some(sums), bias].into_iter().flatten().collect();
    let mut terms = Terms::new(&vec![ElementType::F32; operands.len()]);
    let mut x = terms.input(0);
    if bias.is_some() {
        let bias = terms.input(1);
        x = terms.add(x, bias)?;
    }
    x = activation.clamp_float(&mut terms, x)?;
    operator.map(&operands, terms.finish(x))
}

/// Adds the bias to integer sums (of the bias's type), scales, adds the zero point, clamps, and narrows. The last dimension of
/// `sums` has `channels` elements.
pub(super) fn integer_output(
    operator: &mut Operator<'_, '_, '_>,
    sums: Value,
    bias: Option<Value>,
    channels: u64,
    scaling: &Scaling,
    output: &IntegerOutput,
) -> Result<Value, Diagnostic> {
    let accumulator = operator.builder().tensor(sums).element;
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
                operands.push(operator.constant_i32(&[channels], &parts)?);
                types.push(ElementType::I32);
            }
        }
        Scaling::Binary64(factors) if factors.len() > 1 => {
            operands.push(operator.constant_f64(&[channels], factors)?);
            types.push(ElementType::F64);
        }
        _ => {}
    }
    let bounds = output.activation.integer_bounds(output.element, output.affine)?;
    let mut terms = Terms::new(&types);
    let mut x = terms.input(0);
    if bias.is_some() {
        let bias = terms.input(1);
        x = terms.add(x, bias)?;
    }
    let x = scale(&mut terms, x, scaling, first_factor)?;
    let zero_point = terms.i32(output.affine.zero_point);
    let x = terms.add(x, zero_point)?;
    let x = terms.clamp_i32(x, bounds)?;
    let x = terms.convert(x, output.element);
    operator.map(&operands, terms.finish(x))
}

/// The scaled sum as i32; factors of each channel are the inputs from `first_factor` on.
fn scale(terms: &mut Terms, x: Node, scaling: &Scaling, first_factor: usize) -> Term {
    match scaling {
        Scaling::FixedPoint(multipliers) => {
            let (mantissa, shift) = match multipliers[..] {
                [only] => (terms.i32(only.mantissa), terms.i32(only.shift)),
                _ => (terms.input(first_factor), terms.input(first_factor + 1)),
            };
            if terms.ty(x) == ElementType::I64 { scale_wide(terms, x, mantissa, shift) } else { terms.requantize(x, mantissa, shift) }
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
            terms.clamp_i32(x, (-(1 << 20), 1 << 20))
        }
    }
}

/// A 64-bit sum by a fixed-point factor whose fraction is first rounded to 16 bits: `(x × m + 2^(14 − shift)) >> (15 − shift)`.
pub(super) fn scale_wide(terms: &mut Terms, x: Node, mantissa: Node, shift: Node) -> Term {
    use crate::ir::{Comparison, ScalarOp};
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
