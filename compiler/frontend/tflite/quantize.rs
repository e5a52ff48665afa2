//! QUANTIZE, DEQUANTIZE, FAKE_QUANT and CAST.

use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, invalid, unsupported};
use super::requantize::multiplier;
use super::tensor::TensorInfo;
use crate::diagnostic::Diagnostic;
use crate::ir::{Comparison, ElementType, Node, Scalar, Value};
use crate::operators::quantization::integer_range;
use crate::operators::terms::{Term, Terms};
use ElementType::{Bf16, Bool, C64, F16, F32, F64, I4, I8, I16, I32, U8};

/// Scales and zero points for a map with the quantized tensor: numbers, or operands that vary along one dimension.
struct Steps {
    operands: Vec<Value>,
    types: Vec<ElementType>,
    scale: f32,
    zero_point: i32,
}

impl Steps {
    /// For a tensor of a shape; `first` is the map's first operand, its type `element`.
    fn new(operator: &mut Operator<'_, '_, '_>, info: &TensorInfo, shape: &[u64], first: (Value, ElementType)) -> Result<Self, Diagnostic> {
        let mut steps = Self { operands: vec![first.0], types: vec![first.1], scale: 0.0, zero_point: 0 };
        match &info.quantization {
            Some(quantization) if quantization.scales.len() > 1 => {
                let mut broadcast = vec![1; shape.len()];
                broadcast[quantization.axis] = quantization.scales.len() as u64;
                let zero_points: Vec<i32> = quantization.zero_points.iter().map(|&z| z as i32).collect();
                steps.operands.push(operator.constant_f32(&broadcast, &quantization.scales)?);
                steps.operands.push(operator.constant_i32(&broadcast, &zero_points)?);
                steps.types.extend([F32, I32]);
            }
            _ => {
                let affine = operator.affine(info)?;
                (steps.scale, steps.zero_point) = (affine.scale, affine.zero_point);
            }
        }
        Ok(steps)
    }

    /// The terms of scale and zero point.
    fn terms(&self, terms: &mut Terms) -> (crate::ir::Node, crate::ir::Node) {
        if self.operands.len() > 1 { (terms.input(1), terms.input(2)) } else { (terms.f32(self.scale), terms.i32(self.zero_point)) }
    }
}

/// QUANTIZE: from floats, or from another integer scale.
pub(super) fn quantize(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    let result = match types {
        [F32, I4 | I8 | U8 | I16] => from_floats(operator, &input, &output)?,
        [I8 | U8, I8 | U8 | I16] | [I16, I8 | I16 | I32] | [I32, I8 | I16] => rescale(operator, &input, &output)?,
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, result)
}

/// `clamp(round(x) + zero point)` of a binary32 in steps of the scale, halves away from zero.
pub(super) fn at_zero_point(terms: &mut Terms, x: Node, zero_point: Node, bounds: (i32, i32)) -> Term {
    let x = terms.round_away(x)?;
    let x = terms.convert(x, I32);
    // Numbers this large are out of range with any zero point, and adding one must not wrap.
    let x = terms.clamp_i32(x, (-(1 << 20), 1 << 20))?;
    let x = terms.add(x, zero_point)?;
    terms.clamp_i32(x, bounds)
}

/// `clamp(round(x ÷ scale) + zero point)`, halves away from zero; beyond the range, and beyond 32 bits, to the nearer end.
fn from_floats(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo) -> Result<Value, Diagnostic> {
    let steps = Steps::new(operator, output, &input.shape, (input.value, F32))?;
    let bounds = integer_range(output.element).ok_or_else(|| unsupported("no such quantized type"))?;
    let mut terms = Terms::new(&steps.types);
    let x = terms.input(0);
    let (scale, zero_point) = steps.terms(&mut terms);
    let x = terms.div(x, scale)?;
    let x = at_zero_point(&mut terms, x, zero_point, bounds)?;
    let x = terms.convert(x, output.element);
    operator.map(&steps.operands, terms.finish(x))
}

fn rescale(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo) -> Result<Value, Diagnostic> {
    let (from, to) = (operator.affine(&input.info)?, operator.affine(output)?);
    let factor = multiplier(f64::from(from.scale) / f64::from(to.scale))?;
    // What has 32 bits is clamped to them by its type.
    let bounds = if output.element == I32 { Some((i32::MIN, i32::MAX)) } else { integer_range(output.element) };
    let bounds = bounds.ok_or_else(|| unsupported("no such quantized type"))?;
    let mut terms = Terms::new(&[input.element()]);
    let x = terms.input_as(0, I32);
    let (from_zero, to_zero) = (terms.i32(from.zero_point), terms.i32(to.zero_point));
    let x = terms.sub(x, from_zero)?;
    let x = terms.requantize_by(x, factor)?;
    let x = terms.add(x, to_zero)?;
    let x = terms.clamp_i32(x, bounds)?;
    let x = terms.convert(x, output.element);
    operator.map(&[input.value], terms.finish(x))
}

/// DEQUANTIZE: `scale × (x − zero point)`. The product of an integer of so few bits and an f32 is rounded once in either width.
pub(super) fn dequantize(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    let result = match types {
        [F16, F16] => input.value,
        [F16, F32] => super::pooling::widen(operator, input.value, F32)?,
        [I4 | I8 | U8 | I16, F16 | F32] => {
            let steps = Steps::new(operator, &input.info, &input.shape, (input.value, types[0]))?;
            let mut terms = Terms::new(&steps.types);
            let x = terms.input_as(0, I32);
            let (scale, zero_point) = steps.terms(&mut terms);
            let x = terms.sub(x, zero_point)?;
            let x = terms.convert(x, F32);
            let x = terms.mul(x, scale)?;
            let x = terms.convert(x, output.element);
            operator.map(&steps.operands, terms.finish(x))?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, result)
}

/// FAKE_QUANT: floats rounded to the steps of a quantized scale over a range, which is moved a little so that zero is one of them.
pub(super) fn fake_quant(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_fake_quant_options().ok_or_else(missing_options)?;
    let (low, high, bits) = (options.min(), options.max(), options.num_bits());
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    if types != [F32, F32] {
        return Err(operator.type_error(&types));
    }
    let has_zero = low <= 0.0 && high >= 0.0 && low < high;
    if !((2..=16).contains(&bits) && has_zero) {
        let found = format!("{bits} bits from {low} to {high}");
        return Err(invalid(312, "the quantized range is not sound").expected("2 to 16 bits, zero within the range", found));
    }
    let (first, last) = (f32::from(u8::from(options.narrow_range())), ((1 << bits) - 1) as f32);
    let scale = (high - low) / (last - first);
    let zero = (first - low / scale).clamp(first, last);
    let zero = libm::roundf(zero);
    let (low, high) = ((first - zero) * scale, (last - zero) * scale);
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let (low_term, high_term, scale_term, inverse) = (terms.f32(low), terms.f32(high), terms.f32(scale), terms.f32(1.0 / scale));
    let x = terms.max(x, low_term)?;
    let x = terms.min(x, high_term)?;
    let x = terms.sub(x, low_term)?;
    let x = terms.mul(x, inverse)?;
    let x = terms.round_away(x)?;
    let x = terms.mul(x, scale_term)?;
    let x = terms.add(x, low_term)?;
    let value = operator.map(&[input.value], terms.finish(x))?;
    operator.bind(0, value)
}

/// CAST: C++'s conversions. A float beyond an integer type gives its nearest number, NaN the largest. Complex numbers go by their real
/// part.
pub(super) fn cast(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    let castable = |e: ElementType| e.is_integer() || matches!(e, Bool | F16 | Bf16 | F32 | F64 | C64);
    if types.iter().any(|&e| !castable(e)) {
        return Err(operator.type_error(&types));
    }
    if types == [C64, C64] {
        return operator.bind(0, input.value);
    }
    let value = if types[0] == C64 { super::complex::part(operator, &input, 0)? } else { input.value };
    let result = if types[1] == C64 {
        let real = converted(operator, value, F32)?;
        super::complex::from_real(operator, real)?
    } else {
        converted(operator, value, types[1])?
    };
    operator.bind(0, result)
}

fn converted(operator: &mut Operator<'_, '_, '_>, value: Value, to: ElementType) -> Result<Value, Diagnostic> {
    let from = operator.builder().tensor(value).element;
    let Some((_, largest)) = to.integer_range().filter(|_| from.is_float()) else {
        return super::pooling::widen(operator, value, to);
    };
    let mut terms = Terms::new(&[from]);
    let x = terms.input(0);
    let (integer, largest) = (terms.convert(x, to), terms.constant(Scalar::from_bits(to, largest as u64)));
    let known = terms.compare(Comparison::Equal, x, x)?;
    let result = terms.select(known, integer, largest)?;
    operator.map(&[value], terms.finish(result))
}
