//! Operators on two tensors: ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, comparisons and logic.

use super::activation::Activation;
use super::operator::{Affine, Lowered, Operand, Operator, invalid};
use super::requantize::multiplier;
use super::tensor::TensorInfo;
use crate::diagnostic::Diagnostic;
use crate::frontend::terms::{Term, Terms};
use crate::ir::{Comparison, ElementType, Node, Scalar, ScalarOp, Value};
use ElementType::{Bool, F32, I8, I16, I32, I64, U8};
use std::rc::Rc;

/// The two operands and the result.
struct Binary {
    left: Operand,
    right: Operand,
    output: Rc<TensorInfo>,
}

impl Binary {
    fn new(operator: &mut Operator<'_, '_, '_>) -> Result<Self, Diagnostic> {
        operator.arity(2..=2, 1..=1)?;
        Ok(Self { left: operator.input(0)?, right: operator.input(1)?, output: operator.output(0)? })
    }

    fn types(&self) -> [ElementType; 3] {
        [self.left.element(), self.right.element(), self.output.element]
    }

    fn quantizations(&self, operator: &Operator<'_, '_, '_>) -> Result<[Affine; 3], Diagnostic> {
        Ok([operator.affine(&self.left.info)?, operator.affine(&self.right.info)?, operator.affine(&self.output)?])
    }

    fn is_quantized(&self) -> bool {
        self.left.info.quantization.is_some()
    }

    /// Appends an expression of both operands and binds it.
    fn bind(&self, operator: &mut Operator<'_, '_, '_>, build: impl FnOnce(&mut Terms, Node, Node) -> Term) -> Lowered {
        let mut terms = Terms::new(&[self.left.element(), self.right.element()]);
        let (a, b) = (terms.input(0), terms.input(1));
        let result = build(&mut terms, a, b)?;
        let value = operator.map(&[self.left.value, self.right.value], terms.finish(result))?;
        operator.bind(0, value)
    }
}

/// Clamps plain numbers: floats by their bounds, integers likewise.
fn clamp_plain(terms: &mut Terms, x: Node, activation: Activation) -> Term {
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
    let activation = options.map_or(Ok(Activation::NONE), |o| Activation::from_code(o.fused_activation_function()))?;
    sum(operator, activation, options.is_none_or(|o| o.pot_scale_int16()), ScalarOp::Add)
}

/// SUB
pub(super) fn sub(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_sub_options();
    let activation = options.map_or(Ok(Activation::NONE), |o| Activation::from_code(o.fused_activation_function()))?;
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
                return Err(invalid(306, "zero points of 16-bit tensors must be 0"));
            }
            match quantizations.map(|q| exponent(q.scale)) {
                [Some(left), Some(right), Some(output)] if power_of_two_scales => {
                    shifted_sum(operator, &binary, activation, combine, [left - output, right - output])
                }
                _ => quantized_sum(operator, &binary, activation, combine, 15),
            }
        }
        [I16, I16, I16] if combine == ScalarOp::Add => binary.bind(operator, |terms, a, b| {
            let sum = terms.add(a, b)?;
            clamp_plain(terms, sum, activation)
        }),
        types => Err(operator.type_error(&types)),
    }
}

/// The exponent of a scale that is a power of two, within the tolerance that the reference has.
fn exponent(scale: f32) -> Option<i32> {
    let logarithm = libm::logf(scale) * (1.0 / libm::logf(2.0));
    let rounded = libm::roundf(logarithm);
    ((logarithm - rounded).abs() < 1e-3).then_some(rounded as i32)
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
        return Err(invalid(304, "the output's scale is too small for the inputs'").about_tensor(&binary.output.name).expected("", found));
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
        return Err(invalid(304, "power-of-two scales do not fit the output's").expected("one equal, the other smaller", found));
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
    let activation = options.map_or(Ok(Activation::NONE), |o| Activation::from_code(o.fused_activation_function()))?;
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] | [I32, I32, I32] | [I64, I64, I64] => binary.bind(operator, |terms, a, b| {
            let product = terms.mul(a, b)?;
            clamp_plain(terms, product, activation)
        }),
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
        return Err(invalid(306, "zero points of 16-bit tensors must be 0"));
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

/// DIV: floats, and integers towards zero.
pub(super) fn div(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_div_options();
    let activation = options.map_or(Ok(Activation::NONE), |o| Activation::from_code(o.fused_activation_function()))?;
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] | [I32, I32, I32] => binary.bind(operator, |terms, a, b| {
            let quotient = terms.div(a, b)?;
            clamp_plain(terms, quotient, activation)
        }),
        types => Err(operator.type_error(&types)),
    }
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
        [F32, F32, F32] | [I8, I8, I8] | [U8, U8, U8] | [I16, I16, I16] | [I32, I32, I32] | [I64, I64, I64] => binary.bind(operator, build),
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
        return Err(invalid(304, "the output's scale is too small for the inputs'").about_tensor(&binary.output.name));
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

/// ADD_N: any number of tensors of one shape.
pub(super) fn add_n(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let count = operator.input_count();
    operator.arity(1..=count.max(1), 1..=1)?;
    let operands: Vec<Operand> = (0..count).map(|index| operator.input(index)).collect::<Result<_, _>>()?;
    let types: Vec<ElementType> = operands.iter().map(Operand::element).collect();
    let differs = operands.iter().any(|operand| operand.shape != operands[0].shape || operand.element() != types[0]);
    if !matches!(types[0], F32 | I32) || differs {
        return Err(operator.type_error(&types));
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

/// FLOOR_DIV, towards −∞.
pub(super) fn floor_div(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] => binary.bind(operator, |terms, a, b| {
            let quotient = terms.div(a, b)?;
            terms.op(ScalarOp::Floor, &[quotient])
        }),
        [I32, I32, I32] | [I16, I16, I16] | [I8, I8, I8] if !binary.is_quantized() => binary.bind(operator, |terms, a, b| {
            let (quotient, inexact) = (terms.div(a, b)?, inexact_and_opposed(terms, a, b)?);
            let one = terms.constant(Scalar::int(terms.ty(a), 1));
            let below = terms.sub(quotient, one)?;
            terms.select(inexact, below, quotient)
        }),
        types => Err(operator.type_error(&types)),
    }
}

/// FLOOR_MOD: the remainder with the divisor's sign.
pub(super) fn floor_mod(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] | [I8, I8, I8] | [I16, I16, I16] | [I32, I32, I32] | [I64, I64, I64] if !binary.is_quantized() => {
            binary.bind(operator, |terms, a, b| {
                let (remainder, opposed) = (terms.op(ScalarOp::Rem, &[a, b])?, inexact_and_opposed(terms, a, b)?);
                let moved = terms.add(remainder, b)?;
                terms.select(opposed, moved, remainder)
            })
        }
        types => Err(operator.type_error(&types)),
    }
}

/// Whether a ÷ b has a remainder whose sign differs from b's.
fn inexact_and_opposed(terms: &mut Terms, a: Node, b: Node) -> Term {
    let remainder = terms.op(ScalarOp::Rem, &[a, b])?;
    let zero = terms.constant(Scalar::int(terms.ty(a), 0));
    let inexact = terms.compare(Comparison::NotEqual, remainder, zero)?;
    let (negative_rest, negative_divisor) = (terms.compare(Comparison::Less, remainder, zero)?, terms.compare(Comparison::Less, b, zero)?);
    let opposed = terms.op(ScalarOp::Xor, &[negative_rest, negative_divisor])?;
    terms.op(ScalarOp::And, &[inexact, opposed])
}

/// POW of floats.
pub(super) fn pow(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] => binary.bind(operator, |terms, a, b| terms.op(ScalarOp::Pow, &[a, b])),
        types => Err(operator.type_error(&types)),
    }
}

/// EQUAL, LESS and their like. Quantized operands are brought to a common scale first, unless they have it.
pub(super) fn compare(operator: &mut Operator<'_, '_, '_>, comparison: Comparison) -> Lowered {
    let binary = Binary::new(operator)?;
    let types = binary.types();
    let ok = types[0] == types[1] && types[2] == Bool;
    match types[0] {
        F32 | I32 | I64 if ok => binary.bind(operator, |terms, a, b| terms.compare(comparison, a, b)),
        Bool if ok && matches!(comparison, Comparison::Equal | Comparison::NotEqual) => {
            binary.bind(operator, |terms, a, b| terms.compare(comparison, a, b))
        }
        I8 | U8 | I16 if ok && !binary.is_quantized() => binary.bind(operator, |terms, a, b| terms.compare(comparison, a, b)),
        I8 | U8 if ok => quantized_comparison(operator, &binary, comparison),
        _ => Err(operator.type_error(&types)),
    }
}

fn quantized_comparison(operator: &mut Operator<'_, '_, '_>, binary: &Binary, comparison: Comparison) -> Lowered {
    const LEFT_SHIFT: i32 = 8;
    let affines = [operator.affine(&binary.left.info)?, operator.affine(&binary.right.info)?];
    let factors = [multiplier(f64::from(affines[0].scale))?, multiplier(f64::from(affines[1].scale))?];
    if factors.iter().any(|factor| factor.shift > 0) {
        return Err(invalid(304, "the scales of compared tensors must be below 1"));
    }
    binary.bind(operator, |terms, a, b| {
        let mut scaled = Vec::new();
        for (x, affine, factor) in [(a, affines[0], factors[0]), (b, affines[1], factors[1])] {
            let (x, zero_point, shift) = (terms.convert(x, I32), terms.i32(affine.zero_point), terms.i32(LEFT_SHIFT));
            let x = terms.sub(x, zero_point)?;
            let x = terms.op(ScalarOp::ShiftLeft, &[x, shift])?;
            scaled.push(terms.requantize_by(x, factor)?);
        }
        terms.compare(comparison, scaled[0], scaled[1])
    })
}

/// LOGICAL_AND and LOGICAL_OR.
pub(super) fn logical(operator: &mut Operator<'_, '_, '_>, op: ScalarOp) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [Bool, Bool, Bool] => binary.bind(operator, |terms, a, b| terms.op(op, &[a, b])),
        types => Err(operator.type_error(&types)),
    }
}

/// SELECT and SELECT_V2: `condition ? a : b`, broadcast as NumPy does; the older one lets a vector choose whole slices.
pub(super) fn select(operator: &mut Operator<'_, '_, '_>, by_slice: bool) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (condition, a, b, output) = (operator.input(0)?, operator.input(1)?, operator.input(2)?, operator.output(0)?);
    let types = [condition.element(), a.element(), b.element(), output.element];
    if types[0] != Bool || types[1] != types[2] || types[1] != types[3] {
        return Err(operator.type_error(&types));
    }
    let mut chosen: Value = condition.value;
    if by_slice && condition.shape != a.shape {
        if a.shape != b.shape
            || condition.rank() > 1
            || (condition.rank() == 1 && condition.shape[0] != 1 && condition.shape.first() != a.shape.first())
        {
            return Err(invalid(311, "the condition does not fit the operands")
                .expected(format!("{:?}", a.shape), format!("{:?}", condition.shape)));
        }
        let mut shape = vec![1; a.rank().max(1)];
        shape[0] = condition.elements();
        chosen = operator.reshape(chosen, &shape)?;
    }
    let mut terms = Terms::new(&types[..3]);
    let (c, x, y) = (terms.input(0), terms.input(1), terms.input(2));
    let result = terms.select(c, x, y)?;
    let value = operator.map(&[chosen, a.value, b.value], terms.finish(result))?;
    operator.bind(0, value)
}
