//! Operators on one tensor, element by element.

use super::error::{invalid, missing_options};
use super::filter::symmetric;
use super::operator::{Lowered, Operand, Operator};
use super::sigmoid16;
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Node, Scalar, ScalarOp, Value};
use crate::operators::activation::Activation;
use crate::operators::nonlinear::{self, Below, Gelu, Sixth};
use crate::operators::quantization::integer_range;
use crate::operators::quantization::multiplier;
use crate::operators::tables::{self, Scales};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8};
use std::rc::Rc;

fn unary(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Rc<TensorInfo>), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    Ok((operator.any_input(0)?, operator.output(0)?))
}

/// Binds an expression of the operand.
fn bind(operator: &mut Operator<'_, '_, '_>, input: &Operand, build: impl FnOnce(&mut Terms, Node) -> Term) -> Lowered {
    let mut terms = Terms::new(&[input.element()]);
    let x = terms.input(0);
    let result = build(&mut terms, x)?;
    let value = operator.map(&[input.value], terms.finish(result))?;
    operator.bind(0, value)
}

/// RELU and its like: a clamp, on integers after bringing them to the output's scale.
pub(super) fn relu(operator: &mut Operator<'_, '_, '_>, activation: Activation) -> Lowered {
    let (input, output) = unary(operator)?;
    let types = [input.element(), output.element];
    match types {
        [F32, F32] => bind(operator, &input, |terms, x| activation.clamp_float(terms, x)),
        [I8, I8] | [U8, U8] => rescaled_relu(operator, &input, &output, activation),
        [I16, I16] if activation == Activation::RELU || activation == Activation::RELU6 => {
            rescaled_relu(operator, &input, &output, activation)
        }
        _ => Err(operator.type_error(&types)),
    }
}

fn rescaled_relu(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo, activation: Activation) -> Lowered {
    let (from, to) = (operator.affine(&input.info)?, operator.affine(output)?);
    let factor = multiplier(f64::from(from.scale / to.scale))?;
    let bounds = activation.integer_bounds(output.element, to)?;
    bind(operator, input, |terms, x| {
        let (x, from_zero, to_zero) = (terms.convert(x, I32), terms.i32(from.zero_point), terms.i32(to.zero_point));
        let x = terms.sub(x, from_zero)?;
        let x = terms.requantize_by(x, factor)?;
        let x = terms.add(x, to_zero)?;
        let x = terms.clamp_i32(x, bounds)?;
        Ok(terms.convert(x, output.element))
    })
}

/// A function of the real number: as it is on floats, as a table on the quantized types that `tables` lists. `function` computes in
/// binary32 as the reference does when it fills its tables.
pub(super) fn by_table(operator: &mut Operator<'_, '_, '_>, op: ScalarOp, function: fn(f32) -> f32, tables: &[ElementType]) -> Lowered {
    let (input, output) = unary(operator)?;
    let types = [input.element(), output.element];
    match types {
        [F32, F32] | [F16, F16] | [Bf16, Bf16] if op != ScalarOp::Exp || types[0] == F32 => {
            bind(operator, &input, |terms, x| terms.op(op, &[x]))
        }
        [from, to] if from == to && tables.contains(&from) => tabulated(operator, &input, &output, function),
        _ => Err(operator.type_error(&types)),
    }
}

/// LOGISTIC: the output of an 8-bit one has the scale 1 ÷ 256.
pub(super) fn logistic(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    if [input.element(), output.element] == [I16, I16] {
        return sigmoid16::logistic(operator, &input, &output);
    }
    if matches!(output.element, I8 | U8) && operator.affine(&output)?.scale != 1.0 / 256.0 {
        let found = operator.affine(&output)?.scale.to_string();
        return Err(invalid(codes::SCALE, "the output's scale is fixed for this operator")
            .about_tensor(&output.name)
            .expected("0.00390625", found));
    }
    by_table(operator, ScalarOp::Logistic, logistic_f32, &[I8, U8])
}

/// TANH
pub(super) fn tanh(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    if [input.element(), output.element] == [I16, I16] {
        return sigmoid16::tanh(operator, &input, &output);
    }
    by_table(operator, ScalarOp::Tanh, tanh_f32, &[I8, U8])
}

/// LOG: tables give the lowest output where there is no logarithm.
pub(super) fn log(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] => bind(operator, &input, |terms, x| terms.op(ScalarOp::Log, &[x])),
        [I8, I8] | [I16, I16] => {
            let to = operator.affine(&output)?;
            let lowest = integer_range(output.element).map_or(0, |range| range.low);
            let least = (lowest - to.zero_point) as f32 * to.scale;
            tabulated(operator, &input, &output, |x| if x <= 0.0 { least } else { libm::log(f64::from(x)) as f32 })
        }
        types => Err(operator.type_error(&types)),
    }
}

/// RSQRT: 8 bits in fixed point; 16-bit tables give the largest output where there is no root.
pub(super) fn rsqrt(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] => bind(operator, &input, |terms, x| terms.op(ScalarOp::Rsqrt, &[x])),
        [I8, I8] => bind_table(operator, &input, &output, tables::inverse_root),
        [I16, I16] => {
            let most = 32767.0 * operator.affine(&output)?.scale;
            tabulated(operator, &input, &output, |x| if x <= 0.0 { most } else { 1.0 / libm::sqrtf(x) })
        }
        types => Err(operator.type_error(&types)),
    }
}

/// eˣ, rounded once to binary32.
pub(super) fn exp_f32(x: f32) -> f32 {
    libm::exp(f64::from(x)) as f32
}

/// 1 ÷ (1 + e⁻ˣ) in binary32, the exponential rounded once.
pub(super) fn logistic_f32(x: f32) -> f32 {
    1.0 / (1.0 + libm::exp(f64::from(-x)) as f32)
}

/// The hyperbolic tangent, rounded once to binary32.
pub(super) fn tanh_f32(x: f32) -> f32 {
    libm::tanh(f64::from(x)) as f32
}

/// A scalar operation on floats only.
pub(super) fn float(operator: &mut Operator<'_, '_, '_>, op: ScalarOp) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] | [F16, F16] => bind(operator, &input, |terms, x| terms.op(op, &[x])),
        [Bf16, Bf16] if op == ScalarOp::Floor => bind(operator, &input, |terms, x| terms.op(op, &[x])),
        types => Err(operator.type_error(&types)),
    }
}

/// ABS and NEG: plain numbers.
pub(super) fn signed(operator: &mut Operator<'_, '_, '_>, op: ScalarOp) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] | [I32, I32] => bind(operator, &input, |terms, x| terms.op(op, &[x])),
        [I8, I8] if op == ScalarOp::Abs => bind_table(operator, &input, &output, tables::abs),
        [I16, I16] if op == ScalarOp::Abs && input.info.quantization.is_some() => rescaled_abs(operator, &input, &output),
        [I16, I16] if op == ScalarOp::Abs => bind(operator, &input, |terms, x| terms.op(op, &[x])),
        [F16, F16] | [Bf16, Bf16] | [I8, I8] | [I16, I16] | [I64, I64] if op == ScalarOp::Neg => {
            bind(operator, &input, |terms, x| terms.op(op, &[x]))
        }
        types => Err(operator.type_error(&types)),
    }
}

/// ABS of 16-bit integers on quantized scales.
fn rescaled_abs(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo) -> Lowered {
    let (from, to) = (operator.affine(&input.info)?, operator.affine(output)?);
    let factor = (from.scale != to.scale).then(|| multiplier(f64::from(from.scale / to.scale))).transpose()?;
    let bounds = Activation::NONE.integer_bounds(output.element, to)?;
    bind(operator, input, |terms, x| {
        let (x, from_zero, to_zero) = (terms.convert(x, I32), terms.i32(from.zero_point), terms.i32(to.zero_point));
        let x = terms.sub(x, from_zero)?;
        let mut x = terms.op(ScalarOp::Abs, &[x])?;
        if let Some(factor) = factor {
            x = terms.requantize_by(x, factor)?;
        }
        let x = terms.add(x, to_zero)?;
        let x = terms.clamp_i32(x, bounds)?;
        Ok(terms.convert(x, output.element))
    })
}

/// SQUARE
pub(super) fn square(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] => bind(operator, &input, |terms, x| terms.mul(x, x)),
        types => Err(operator.type_error(&types)),
    }
}

/// LOGICAL_NOT
pub(super) fn logical_not(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [Bool, Bool] => bind(operator, &input, |terms, x| terms.op(ScalarOp::Not, &[x])),
        types => Err(operator.type_error(&types)),
    }
}

/// HARD_SWISH: x · min(max(0, x + 3), 6) · (1 ÷ 6), where the reference divides: processors multiply ten times as fast. A table on 8-bit integers.
pub(super) fn hard_swish(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] => bind(operator, &input, |terms, x| nonlinear::hard_swish(terms, x, Sixth::Product)),
        [I8, I8] | [U8, U8] => bind_table(operator, &input, &output, tables::hard_swish),
        types => Err(operator.type_error(&types)),
    }
}

/// SIGN of floats and integers: −1, 0 or 1; of NaN itself.
pub(super) fn sign(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] | [F64, F64] | [I32, I32] => bind(operator, &input, |terms, x| {
            let element = terms.ty(x);
            let [minus, zero, one] = [-1, 0, 1].map(|n| terms.constant(Scalar::int(element, n)));
            let negative = terms.compare(Comparison::Less, x, zero)?;
            let positive = terms.compare(Comparison::Greater, x, zero)?;
            let neither = terms.compare(Comparison::Equal, x, zero)?;
            let rest = terms.select(neither, zero, x)?;
            let rest = terms.select(positive, one, rest)?;
            terms.select(negative, minus, rest)
        }),
        types => Err(operator.type_error(&types)),
    }
}

const ROOT_OF_TWO_OVER_PI: f32 = 0.797_884_6;

/// GELU: x · Φ(x), or its approximation by tanh; tables on integers.
pub(super) fn gelu(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let approximate = operator.record.builtin_options_as_gelu_options().is_some_and(|o| o.approximate());
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] | [F16, F16] => {
            let form = if approximate { Gelu::Tanh } else { Gelu::Complement };
            bind(operator, &input, |terms, x| nonlinear::gelu(terms, x, form))
        }
        [I8, I8] | [U8, U8] | [I16, I16] => tabulated(operator, &input, &output, if approximate { approximate_gelu_f32 } else { gelu_f32 }),
        types => Err(operator.type_error(&types)),
    }
}

fn gelu_f32(x: f32) -> f32 {
    0.5 * x * libm::erfc(f64::from(x * -std::f32::consts::FRAC_1_SQRT_2)) as f32
}

fn approximate_gelu_f32(x: f32) -> f32 {
    let argument = ROOT_OF_TWO_OVER_PI * (x + 0.044715 * x * x * x);
    0.5 * x * (1.0 + tanh_f32(argument))
}

/// ELU of floats: eˣ − 1 below zero.
pub(super) fn elu(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] => bind(operator, &input, |terms, x| nonlinear::elu(terms, x, 1.0)),
        types => Err(operator.type_error(&types)),
    }
}

/// LEAKY_RELU: x, or alpha · x below zero; on integers each side has its own factor.
pub(super) fn leaky_relu(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_leaky_relu_options().ok_or_else(missing_options)?;
    let alpha = options.alpha();
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] => bind(operator, &input, |terms, x| {
            let slope = terms.f32(alpha);
            nonlinear::leaky_relu(terms, x, slope, Below::NotGreater)
        }),
        [I8, I8] | [U8, U8] | [I16, I16] => {
            let (from, to) = (operator.affine(&input.info)?, operator.affine(&output)?);
            let identity = multiplier(f64::from(from.scale / to.scale))?;
            // A negative factor turns the sign of the rounded product, which decides where halves go.
            let below = multiplier(f64::from((from.scale * alpha / to.scale).abs()))?;
            let bounds = Activation::NONE.integer_bounds(output.element, to)?;
            bind(operator, &input, |terms, x| {
                let (x, from_zero, to_zero, zero) =
                    (terms.convert(x, I32), terms.i32(from.zero_point), terms.i32(to.zero_point), terms.i32(0));
                let x = terms.sub(x, from_zero)?;
                let (above, mut below) = (terms.requantize_by(x, identity)?, terms.requantize_by(x, below)?);
                if alpha < 0.0 {
                    below = terms.op(ScalarOp::Neg, &[below])?;
                }
                let not_negative = terms.compare(Comparison::GreaterEqual, x, zero)?;
                let x = terms.select(not_negative, above, below)?;
                let x = terms.add(x, to_zero)?;
                let x = terms.clamp_i32(x, bounds)?;
                Ok(terms.convert(x, output.element))
            })
        }
        types => Err(operator.type_error(&types)),
    }
}

/// PRELU: x, or a broadcast alpha · x below zero.
pub(super) fn prelu(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, alpha, output) = (operator.any_input(0)?, operator.input(1)?, operator.output(0)?);
    let types = [input.element(), alpha.element(), output.element];
    let operands = [input.value, alpha.value];
    let mut terms = Terms::new(&types[..2]);
    let (x, a) = (terms.input(0), terms.input(1));
    let result = match types {
        [F32, F32, F32] => nonlinear::leaky_relu(&mut terms, x, a, Below::NotGreaterEqual)?,
        // The reference reads slopes beside 16-bit inputs as bytes.
        [I8, I8, I8] | [U8, U8, U8] | [I16, I8, I16] => {
            let (from, slope, to) = (operator.affine(&input.info)?, operator.affine(&alpha.info)?, operator.affine(&output)?);
            let identity = multiplier(f64::from(from.scale / to.scale))?;
            let below = multiplier(f64::from(from.scale * slope.scale / to.scale))?;
            let (x, a) = (terms.convert(x, I32), terms.convert(a, I32));
            let (from_zero, slope_zero, to_zero, zero) =
                (terms.i32(from.zero_point), terms.i32(slope.zero_point), terms.i32(to.zero_point), terms.i32(0));
            let (x, a) = (terms.sub(x, from_zero)?, terms.sub(a, slope_zero)?);
            let product = terms.mul(x, a)?;
            let (above, below) = (terms.requantize_by(x, identity)?, terms.requantize_by(product, below)?);
            let not_negative = terms.compare(Comparison::GreaterEqual, x, zero)?;
            let x = terms.select(not_negative, above, below)?;
            let x = terms.add(x, to_zero)?;
            let x = terms.clamp_i32(x, Activation::NONE.integer_bounds(output.element, to)?)?;
            terms.convert(x, output.element)
        }
        _ => return Err(operator.type_error(&types)),
    };
    let value = operator.map(&operands, terms.finish(result))?;
    operator.bind(0, value)
}

/// ZEROS_LIKE
pub(super) fn zeros_like(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, output) = unary(operator)?;
    match [input.element(), output.element] {
        [F32, F32] | [I32, I32] | [I64, I64] => {
            let zero = operator.constant(output.element, &[], Scalar::int(output.element, 0).to_bytes())?;
            let value = operator.broadcast_to(zero, &input.extents)?;
            operator.bind(0, value)
        }
        types => Err(operator.type_error(&types)),
    }
}

/// Operand and result on their scales.
fn scales(operator: &Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo) -> Result<Scales, Diagnostic> {
    Ok(Scales { from: operator.affine(&input.info)?, to: operator.affine(output)?, element: output.element })
}

/// Binds a function of a quantized tensor by its table.
fn bind_table(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    output: &TensorInfo,
    table: impl FnOnce(&mut Graph<'_>, Value, &Scales) -> Result<Value, Error>,
) -> Lowered {
    let scales = scales(operator, input, output)?;
    let value = table(operator.graph(), input.value, &scales)?;
    operator.bind(0, value)
}

/// Binds a function of real numbers on quantized tensors. 16-bit tensors have no zero points.
fn tabulated(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo, function: impl Fn(f32) -> f32) -> Lowered {
    let Scales { from, to, .. } = scales(operator, input, output)?;
    if input.element() == I16 && output.element == I16 {
        symmetric(from, to)?;
    }
    bind_table(operator, input, output, |g, value, scales| tables::function(g, value, scales, function))
}
