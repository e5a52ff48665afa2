//! Quantization written out: `round(x ÷ scale) + zero point`, limited, and `(q − zero point) × scale`.

use super::super::fault::Fault;
use super::Translate;
use super::call::{Call, Operand};
use crate::ir::{ElementType, ExpressionBuilder, NanRule, Node, Reduction, Scalar, ScalarOp, Value};

type Outcome = Result<(), Fault>;
type Built = Result<Node, Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("quantized_decomposed::quantize_per_tensor.out", |c| quantize(c, None, 3)),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out", |c| quantize(c, None, 3)),
    ("quantized_decomposed::quantize_per_channel.out", |c| quantize(c, Some(3), 4)),
    ("quantized_decomposed::choose_qparams.Tensor_out", choose_parameters),
    ("quantized_decomposed::dequantize_per_tensor.out", |c| dequantize(c, None)),
    ("quantized_decomposed::dequantize_per_tensor.Tensor_out", |c| dequantize(c, None)),
    ("quantized_decomposed::dequantize_per_channel.out", |c| dequantize(c, Some(3))),
];

/// Scale and zero point, arguments 1 and 2, as tensors or numbers that broadcast over the input.
fn parameters(c: &mut Call<'_, '_, '_>, x: Value, axis: Option<usize>) -> Result<[Operand; 2], Fault> {
    let scale = c.operand(1)?;
    let zero_point = if c.is_none(2)? { Operand::Number(super::super::registers::Number::Int(0)) } else { c.operand(2)? };
    let mut parameters = [scale, zero_point];
    for parameter in &mut parameters {
        let Operand::Tensor(value) = parameter else { continue };
        let shape = match axis {
            None => vec![],
            Some(argument) => {
                let rank = c.rank(x);
                let axis = c.axis(c.int(argument)?, rank)?;
                let mut shape = vec![1; rank];
                *shape.get_mut(axis).ok_or_else(|| Fault::invalid("a scalar has no channels"))? = c.shape(*value)?.iter().product();
                shape
            }
        };
        *value = c.reshape(*value, &shape)?;
    }
    Ok(parameters)
}

/// Numbers and tensors as nodes behind those of the first `given` operands.
fn nodes(b: &mut ExpressionBuilder, operands: &[Operand], inputs: &[Node], ty: ElementType) -> Vec<Node> {
    let mut rest = inputs.iter();
    let mut node = |operand: &Operand| match operand {
        Operand::Number(number) => b.constant(number.to_scalar(ty)),
        Operand::Tensor(_) => match rest.next() {
            Some(&input) => b.convert(input, ty),
            None => b.constant(Scalar::int(ty, 0)),
        },
    };
    operands.iter().map(&mut node).collect()
}

fn tensors(operands: &[Operand]) -> impl Iterator<Item = Value> + '_ {
    operands.iter().filter_map(|o| if let Operand::Tensor(v) = o { Some(*v) } else { None })
}

fn op(b: &mut ExpressionBuilder, operation: ScalarOp, operands: &[Node]) -> Built {
    Ok(b.op(operation, operands)?)
}

/// Half-way cases go to the even number; the product with 1 ÷ scale is in single precision.
fn quantize(c: &mut Call<'_, '_, '_>, axis: Option<usize>, range: usize) -> Outcome {
    let x = c.tensor(0)?;
    let parameters = parameters(c, x, axis)?;
    let (low, high) = (c.int(range)?, c.int(range + 1)?);
    let out = c.out_form(c.out())?.element;
    let inverse = match parameters[0] {
        Operand::Number(scale) => Some(1.0 / scale.as_f64()),
        Operand::Tensor(_) => None,
    };
    let operands: Vec<Value> = std::iter::once(x).chain(tensors(&parameters)).collect();
    let y = c.map(&operands, |b, n| {
        let ty = ElementType::F32;
        let given = nodes(b, &parameters, &n[1..], ty);
        let one = b.constant(Scalar::f32(1.0));
        let factor = match inverse {
            Some(inverse) => b.constant(Scalar::float(ty, inverse)),
            None => op(b, ScalarOp::Div, &[one, given[0]])?,
        };
        let x = b.convert(n[0], ty);
        let scaled = op(b, ScalarOp::Mul, &[x, factor])?;
        let rounded = op(b, ScalarOp::RoundEven, &[scaled])?;
        let moved = op(b, ScalarOp::Add, &[rounded, given[1]])?;
        let (low, high) = (b.constant(Scalar::int(ty, low)), b.constant(Scalar::int(ty, high)));
        let above = op(b, ScalarOp::Max(NanRule::First), &[moved, low])?;
        let limited = op(b, ScalarOp::Min(NanRule::First), &[above, high])?;
        Ok(b.convert(limited, out))
    })?;
    c.finish(y)
}

fn dequantize(c: &mut Call<'_, '_, '_>, axis: Option<usize>) -> Outcome {
    let x = c.tensor(0)?;
    let parameters = parameters(c, x, axis)?;
    let out = c.out_form(c.out())?.element;
    let operands: Vec<Value> = std::iter::once(x).chain(tensors(&parameters)).collect();
    let y = c.map(&operands, |b, n| {
        let ty = ElementType::F32;
        let given = nodes(b, &parameters, &n[1..], ty);
        let x = b.convert(n[0], ty);
        let difference = op(b, ScalarOp::Sub, &[x, given[1]])?;
        let product = op(b, ScalarOp::Mul, &[difference, given[0]])?;
        Ok(b.convert(product, out))
    })?;
    c.finish(y)
}

/// (input, low, high, eps, dtype, scale, zero point): the scale at which the input, with zero in it, spans the integers, and the integer
/// that zero becomes.
fn choose_parameters(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (low, high, eps) = (c.int(1)?, c.int(2)?, c.double(3)?);
    let ty = ElementType::F32;
    let x = c.cast(x, ty)?;
    let axes: Vec<usize> = (0..c.rank(x)).collect();
    let (smallest, largest) =
        (super::reduce::reduce(c, x, Reduction::Min, &axes, false)?, super::reduce::reduce(c, x, Reduction::Max, &axes, false)?);
    let scale = c.map(&[smallest, largest], |b, n| {
        let zero = b.constant(Scalar::f32(0.0));
        let (bottom, top) =
            (op(b, ScalarOp::Min(NanRule::Propagate), &[n[0], zero])?, op(b, ScalarOp::Max(NanRule::Propagate), &[n[1], zero])?);
        let span = op(b, ScalarOp::Sub, &[top, bottom])?;
        let steps = b.constant(Scalar::float(ty, high.saturating_sub(low) as f64));
        let scale = op(b, ScalarOp::Div, &[span, steps])?;
        let eps = b.constant(Scalar::float(ty, eps));
        op(b, ScalarOp::Max(NanRule::Propagate), &[scale, eps])
    })?;
    let zero_point = c.map(&[smallest, scale], |b, n| {
        let zero = b.constant(Scalar::f32(0.0));
        let bottom = op(b, ScalarOp::Min(NanRule::Propagate), &[n[0], zero])?;
        let steps = op(b, ScalarOp::Div, &[bottom, n[1]])?;
        let rounded = op(b, ScalarOp::RoundEven, &[steps])?;
        let (low, high) = (b.constant(Scalar::float(ty, low as f64)), b.constant(Scalar::float(ty, high as f64)));
        let point = op(b, ScalarOp::Sub, &[low, rounded])?;
        let above = op(b, ScalarOp::Max(NanRule::First), &[point, low])?;
        op(b, ScalarOp::Min(NanRule::First), &[above, high])
    })?;
    for (index, value) in [(5, scale), (6, zero_point)] {
        let shape = c.out_form(index)?.shape;
        let value = c.reshape_to(value, &shape)?;
        c.define(index, value)?;
    }
    Ok(())
}
