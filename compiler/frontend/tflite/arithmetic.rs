//! Operators on two tensors: ADD, SUB, MUL, MAXIMUM, MINIMUM, SQUARED_DIFFERENCE, POW, ATAN2, bitwise ones.

use super::binary::Binary;
use super::error::invalid;
use super::operator::{Lowered, Operand, Operator};
use super::options;
use crate::diagnostic::codes;
use crate::ir::{Comparison, ElementType, Node, Scalar, ScalarOp, Value};
use crate::operators::activation::Activation;
use crate::operators::quantization::exponent;
use crate::operators::quantization::multiplier;
use crate::operators::terms::{Term, Terms};
use ElementType::{Bf16, Bool, C64, F16, F32, F64, I8, I16, I32, I64, U8, U32};

/// Tests whether operands and result have one type.
fn uniform([left, right, output]: [ElementType; 3]) -> bool {
    left == right && left == output
}

/// Clamps plain numbers: floats and integers by their bounds.
pub(super) fn clamp_plain(terms: &mut Terms, x: Node, activation: Activation) -> Term {
    let element = terms.ty(x);
    if element.is_float() {
        return activation.clamp_float(terms, x);
    }
    let (low, high) = activation.plain_integer_bounds();
    let mut x = x;
    if let Some(low) = low {
        let low = terms.constant(Scalar::int(element, low));
        x = terms.max(x, low)?;
    }
    if let Some(high) = high {
        let high = terms.constant(Scalar::int(element, high));
        x = terms.min(x, high)?;
    }
    Ok(x)
}

/// ADD
pub(super) fn add(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_add_options();
    let activation = options.map_or(Ok(Activation::NONE), |o| options::activation(o.fused_activation_function()))?;
    sum(operator, activation, options.is_none_or(|o| o.pot_scale_int16()), ScalarOp::Add)
}

/// SUB
pub(super) fn sub(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_sub_options();
    let activation = options.map_or(Ok(Activation::NONE), |o| options::activation(o.fused_activation_function()))?;
    sum(operator, activation, options.is_none_or(|o| o.pot_scale_int16()), ScalarOp::Sub)
}

/// a + b or a − b.
fn sum(operator: &mut Operator<'_, '_, '_>, activation: Activation, power_of_two_scales: bool, combine: ScalarOp) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] | [I32, I32, I32] | [I64, I64, I64] => binary.bind(operator, |terms, a, b| {
            let sum = terms.op(combine, &[a, b])?;
            clamp_plain(terms, sum, activation)
        }),
        [I8, I8, I8] | [U8, U8, U8] => quantized_sum(operator, &binary, activation, combine, 20),
        [I16, I16, I16] if binary.is_quantized() => {
            let quantizations = binary.quantizations(operator)?;
            if quantizations.iter().any(|q| q.zero_point != 0) {
                return Err(invalid(codes::ZERO_POINT, "zero points of 16-bit tensors must be 0"));
            }
            match quantizations.map(|q| exponent(q.scale)) {
                [Some(left), Some(right), Some(output)] if power_of_two_scales => {
                    shifted_sum(operator, &binary, activation, combine, [left - output, right - output])
                }
                _ => quantized_sum(operator, &binary, activation, combine, 15),
            }
        }
        [F16, F16, F16] | [I16, I16, I16] if combine == ScalarOp::Add => binary.bind(operator, |terms, a, b| {
            let sum = terms.add(a, b)?;
            clamp_plain(terms, sum, activation)
        }),
        types => Err(operator.type_error(&types)),
    }
}

/// Operands on integer scales: both are shifted left, brought to twice the larger scale, combined, and brought to the output's.
fn quantized_sum(
    operator: &mut Operator<'_, '_, '_>,
    binary: &Binary,
    activation: Activation,
    combine: ScalarOp,
    left_shift: i32,
) -> Lowered {
    let [left, right, output] = binary.quantizations(operator)?;
    let twice_larger = f64::from(2.0 * left.scale.max(right.scale));
    let factors = [
        multiplier(f64::from(left.scale) / twice_larger)?,
        multiplier(f64::from(right.scale) / twice_larger)?,
        multiplier(twice_larger / f64::from((1 << left_shift) as f32 * output.scale))?,
    ];
    if factors[2].shift > 0 {
        let found = format!("{} from {} and {}", output.scale, left.scale, right.scale);
        return Err(invalid(codes::SCALE, "the output's scale is too small for the inputs'")
            .about_tensor(&binary.output.name)
            .expected("", found));
    }
    let bounds = activation.integer_bounds(binary.output.element, output)?;
    binary.bind(operator, |terms, a, b| {
        let mut scaled = Vec::new();
        for (x, affine, factor) in [(a, left, factors[0]), (b, right, factors[1])] {
            let x = terms.convert(x, I32);
            let (zero_point, shift) = (terms.i32(affine.zero_point), terms.i32(left_shift));
            let x = terms.sub(x, zero_point)?;
            let x = terms.op(ScalarOp::ShiftLeft, &[x, shift])?;
            scaled.push(terms.requantize_by(x, factor)?);
        }
        let sum = terms.op(combine, &scaled)?;
        let x = terms.requantize_by(sum, factors[2])?;
        let zero_point = terms.i32(output.zero_point);
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, bounds)?;
        Ok(terms.convert(x, binary.output.element))
    })
}

/// 16-bit operands whose scales are powers of two, one of them the output's: the other is shifted right with rounding.
fn shifted_sum(
    operator: &mut Operator<'_, '_, '_>,
    binary: &Binary,
    activation: Activation,
    combine: ScalarOp,
    shifts: [i32; 2],
) -> Lowered {
    if !shifts.iter().all(|shift| (-31..=0).contains(shift)) || !shifts.contains(&0) {
        let found = format!("2^{} and 2^{} of it", shifts[0], shifts[1]);
        return Err(invalid(codes::SCALE, "power-of-two scales do not fit the output's").expected("one equal, the other smaller", found));
    }
    let [_, _, output] = binary.quantizations(operator)?;
    let bounds = activation.integer_bounds(I16, output)?;
    binary.bind(operator, |terms, a, b| {
        let mut scaled = Vec::new();
        for (x, shift) in [(a, shifts[0]), (b, shifts[1])] {
            let (x, shift) = (terms.convert(x, I32), terms.i32(-shift));
            scaled.push(terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[x, shift])?);
        }
        let sum = terms.op(combine, &scaled)?;
        let x = terms.clamp_i32(sum, bounds)?;
        Ok(terms.convert(x, I16))
    })
}

/// MUL
pub(super) fn mul(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_mul_options();
    let activation = options.map_or(Ok(Activation::NONE), |o| options::activation(o.fused_activation_function()))?;
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F16 | F32, _, F16 | F32] | [I32 | I64 | U32, _, I32 | I64 | U32] if uniform(binary.types()) => {
            binary.bind(operator, |terms, a, b| {
                let product = terms.mul(a, b)?;
                clamp_plain(terms, product, activation)
            })
        }
        [C64, C64, C64] if activation == Activation::NONE => super::complex::product(operator, &binary),
        [I8, I8, I8] | [U8, U8, U8] => quantized_product(operator, &binary, activation),
        [I16, I16, I16] if binary.is_quantized() => quantized_product(operator, &binary, activation),
        [I16, I16, I16] => binary.bind(operator, |terms, a, b| {
            let product = terms.mul(a, b)?;
            clamp_plain(terms, product, activation)
        }),
        types => Err(operator.type_error(&types)),
    }
}

fn quantized_product(operator: &mut Operator<'_, '_, '_>, binary: &Binary, activation: Activation) -> Lowered {
    let [left, right, output] = binary.quantizations(operator)?;
    if binary.output.element == I16 && [left, right, output].iter().any(|q| q.zero_point != 0) {
        return Err(invalid(codes::ZERO_POINT, "zero points of 16-bit tensors must be 0"));
    }
    // The reference computes this ratio in binary32.
    let factor = multiplier(f64::from(left.scale * right.scale / output.scale))?;
    let bounds = activation.integer_bounds(binary.output.element, output)?;
    binary.bind(operator, |terms, a, b| {
        let mut factors = Vec::new();
        for (x, affine) in [(a, left), (b, right)] {
            let (x, zero_point) = (terms.convert(x, I32), terms.i32(affine.zero_point));
            factors.push(terms.sub(x, zero_point)?);
        }
        let product = terms.mul(factors[0], factors[1])?;
        let x = terms.requantize_by(product, factor)?;
        let zero_point = terms.i32(output.zero_point);
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, bounds)?;
        Ok(terms.convert(x, binary.output.element))
    })
}

/// MAXIMUM: `a > b ? a : b`. Quantized tensors compare as integers.
pub(super) fn maximum(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    extreme(operator, |terms, a, b| terms.max(b, a))
}

/// MINIMUM: `a < b ? a : b`.
pub(super) fn minimum(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    extreme(operator, |terms, a, b| terms.min(b, a))
}

fn extreme(operator: &mut Operator<'_, '_, '_>, build: impl FnOnce(&mut Terms, Node, Node) -> Term) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F16 | Bf16 | F32 | I8 | U8 | I16 | I32 | I64, ..] if uniform(binary.types()) => binary.bind(operator, build),
        types => Err(operator.type_error(&types)),
    }
}

/// SQUARED_DIFFERENCE.
pub(super) fn squared_difference(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] | [I32, I32, I32] => binary.bind(operator, |terms, a, b| {
            let difference = terms.sub(a, b)?;
            terms.mul(difference, difference)
        }),
        [I8, I8, I8] => quantized_squared_difference(operator, &binary),
        types => Err(operator.type_error(&types)),
    }
}

/// Operands shifted left by seven bits and brought to twice the larger scale; their difference has fourteen bits more once squared.
fn quantized_squared_difference(operator: &mut Operator<'_, '_, '_>, binary: &Binary) -> Lowered {
    let [left, right, output] = binary.quantizations(operator)?;
    let twice_larger = f64::from(2.0 * left.scale.max(right.scale));
    let factors = [
        multiplier(f64::from(left.scale) / twice_larger)?,
        multiplier(f64::from(right.scale) / twice_larger)?,
        multiplier(twice_larger * twice_larger / f64::from((1 << 14) as f32 * output.scale))?,
    ];
    if factors[2].shift > 0 {
        return Err(invalid(codes::SCALE, "the output's scale is too small for the inputs'").about_tensor(&binary.output.name));
    }
    let bounds = Activation::NONE.integer_bounds(binary.output.element, output)?;
    binary.bind(operator, |terms, a, b| {
        let mut scaled = Vec::new();
        for (x, affine, factor) in [(a, left, factors[0]), (b, right, factors[1])] {
            let (x, zero_point, shift) = (terms.convert(x, I32), terms.i32(affine.zero_point), terms.i32(7));
            let x = terms.sub(x, zero_point)?;
            let x = terms.op(ScalarOp::ShiftLeft, &[x, shift])?;
            scaled.push(terms.requantize_by(x, factor)?);
        }
        let difference = terms.sub(scaled[0], scaled[1])?;
        let square = terms.mul(difference, difference)?;
        let (x, zero_point) = (terms.requantize_by(square, factors[2])?, terms.i32(output.zero_point));
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, bounds)?;
        Ok(terms.convert(x, binary.output.element))
    })
}

/// BITWISE_XOR
pub(super) fn bitwise_xor(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    let [left, right, output] = binary.types();
    if left != right || left != output || !(left.is_integer() && left.bits() >= 8) {
        return Err(operator.type_error(&binary.types()));
    }
    binary.bind(operator, |terms, a, b| terms.op(ScalarOp::Xor, &[a, b]))
}

/// RIGHT_SHIFT: counts are clamped to the type's width.
pub(super) fn right_shift(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    let [left, right, output] = binary.types();
    if left != right || left != output || !(left.is_integer() && left.bits() >= 8) {
        return Err(operator.type_error(&binary.types()));
    }
    binary.bind(operator, |terms, a, b| {
        let [zero, most] = [0, i64::from(left.bits()) - 1].map(|n| terms.constant(Scalar::int(left, n)));
        let count = terms.max(b, zero)?;
        let count = terms.min(count, most)?;
        terms.op(ScalarOp::ShiftRight, &[a, count])
    })
}

/// STABLEHLO_ADD and its like: plain numbers of one shape and type, whatever their scales; of truth values OR or AND.
pub(super) fn plain(operator: &mut Operator<'_, '_, '_>, op: ScalarOp) -> Lowered {
    let mut binary = Binary::new(operator)?;
    let element = binary.types()[0];
    let number = element.is_float() || element.is_integer() || element == Bool;
    if !uniform(binary.types()) || !number {
        return Err(operator.type_error(&binary.types()));
    }
    operator.require_shape_of(&mut binary.right, &binary.left)?;
    let op = match op {
        ScalarOp::Add | ScalarOp::Max(_) if element == Bool => ScalarOp::Or,
        ScalarOp::Mul | ScalarOp::Min(_) if element == Bool => ScalarOp::And,
        other => other,
    };
    binary.bind(operator, |terms, a, b| terms.op(op, &[a, b]))
}

/// ADD_N: any number of tensors of one shape.
pub(super) fn add_n(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let count = operator.input_count();
    operator.arity(1..=count.max(1), 1..=1)?;
    let mut operands: Vec<Operand> = (0..count).map(|index| operator.any_input(index)).collect::<Result<_, _>>()?;
    let types: Vec<ElementType> = operands.iter().map(Operand::element).collect();
    if !matches!(types[0], F32 | I32) || types.iter().any(|&element| element != types[0]) {
        return Err(operator.type_error(&types));
    }
    if let [first, others @ ..] = &mut operands[..] {
        others.iter_mut().try_for_each(|operand| operator.require_shape_of(operand, first))?;
    }
    let mut terms = Terms::new(&types);
    let mut sum = terms.input(0);
    for index in 1..count {
        let x = terms.input(index);
        sum = terms.add(sum, x)?;
    }
    let values: Vec<Value> = operands.iter().map(|operand| operand.value).collect();
    let value = operator.map(&values, terms.finish(sum))?;
    operator.bind(0, value)
}

/// POW of floats and integers.
pub(super) fn pow(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] => binary.bind(operator, |terms, a, b| terms.op(ScalarOp::Pow, &[a, b])),
        [I32, I32, I32] => binary.bind(operator, integer_power),
        types => Err(operator.type_error(&types)),
    }
}

/// A power of integers; the smallest integer where it does not fit, as the reference's conversion from binary64 gives. A power in 64 bits
/// is right where one in binary32 says that it is far from leaving them.
fn integer_power(terms: &mut Terms, a: Node, b: Node) -> Term {
    let (base, exponent) = (terms.convert(a, F32), terms.convert(b, F32));
    let base = terms.op(ScalarOp::Abs, &[base])?;
    let size = terms.op(ScalarOp::Pow, &[base, exponent])?;
    let (wide_a, wide_b) = (terms.convert(a, I64), terms.convert(b, I64));
    let power = terms.op(ScalarOp::Pow, &[wide_a, wide_b])?;
    let narrow = terms.convert(power, I32);
    let back = terms.convert(narrow, I64);
    let fits = terms.compare(Comparison::Equal, back, power)?;
    let limit = terms.f32((1u64 << 40) as f32);
    let known = terms.compare(Comparison::Less, size, limit)?;
    let fits = terms.op(ScalarOp::And, &[fits, known])?;
    let smallest = terms.i32(i32::MIN);
    terms.select(fits, narrow, smallest)
}

/// ATAN2
pub(super) fn atan2(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F16 | Bf16 | F32 | F64, ..] if uniform(binary.types()) => binary.bind(operator, |terms, a, b| terms.op(ScalarOp::Atan2, &[a, b])),
        types => Err(operator.type_error(&types)),
    }
}
