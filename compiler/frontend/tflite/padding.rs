//! PAD, PADV2, MIRROR_PAD and DILATE.

use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, extents, invalid, unsupported};
use crate::diagnostic::Diagnostic;
use crate::frontend::terms::Terms;
use crate::ir::{Attribute, ElementType, Extent, Op, Scalar};
use crate::schema::tflite::MirrorPadMode;

/// Amounts before and after each dimension, from a constant `[rank, 2]`.
fn amounts(operator: &mut Operator<'_, '_, '_>, input: &Operand) -> Result<(Vec<i64>, Vec<i64>), Diagnostic> {
    let list = operator.input(1)?;
    let amounts = operator.integers(&list, "paddings")?;
    if amounts.len() != 2 * input.rank() {
        return Err(invalid(311, "the paddings do not fit the rank").expected((2 * input.rank()).to_string(), amounts.len().to_string()));
    }
    if let Some(amount) = amounts.iter().find(|amount| !(0..=i64::from(i32::MAX)).contains(*amount)) {
        return Err(invalid(312, "a padding is negative or too large").expected("0 to 2147483647", amount.to_string()));
    }
    Ok((amounts.iter().step_by(2).copied().collect(), amounts.iter().skip(1).step_by(2).copied().collect()))
}

/// PAD and PADV2: zeros (the zero point of a quantized tensor), or the number given.
pub(super) fn pad(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let element = input.element();
    if element.bits() < 8 || element == ElementType::C128 {
        return Err(operator.type_error(&[element]));
    }
    let (low, high) = amounts(operator, &input)?;
    let zero = Scalar::int(element, output.quantization.as_ref().map_or(0, |q| q.zero_points[0]));
    let value = match operator.optional_input(2)? {
        None => zero,
        Some(given) if given.element() != element || given.elements() != 1 => {
            let message = "the number to pad with must be one of the input's type";
            return Err(invalid(313, message).about_tensor(&given.info.name));
        }
        Some(given) => match operator.number(&given) {
            Some(number) => number,
            None => return pad_with(operator, &input, &given, low, high),
        },
    };
    let value = operator.builder().pad(input.value, low, high, value)?;
    operator.bind(0, value)
}

/// A border of a number that is known only when the model runs: chosen where a border of truth values says so.
fn pad_with(operator: &mut Operator<'_, '_, '_>, input: &Operand, number: &Operand, low: Vec<i64>, high: Vec<i64>) -> Lowered {
    let element = input.element();
    let inside = operator.constant(ElementType::Bool, &[], vec![1])?;
    let inside = operator.broadcast_to(inside, &input.extents)?;
    let inside = operator.builder().pad(inside, low.clone(), high.clone(), Scalar::bool(false))?;
    let padded = operator.builder().pad(input.value, low, high, Scalar::int(element, 0))?;
    let number = operator.reshape(number.value, &[])?;
    let mut terms = Terms::new(&[ElementType::Bool, element, element]);
    let (c, x, y) = (terms.input(0), terms.input(1), terms.input(2));
    let result = terms.select(c, x, y)?;
    let value = operator.map(&[inside, padded, number], terms.finish(result))?;
    operator.bind(0, value)
}

/// DILATE: so many elements less one of a number between neighbours in each dimension.
pub(super) fn dilate(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (input, list, number) = (operator.input(0)?, operator.input(1)?, operator.input(2)?);
    let element = input.element();
    let steps = operator.integers(&list, "dilations")?;
    if steps.len() != input.rank() || steps.iter().any(|step| !(1..=i64::from(i32::MAX)).contains(step)) {
        let expected = format!("{} numbers above 0", input.rank());
        return Err(invalid(312, "the dilations do not fit the input").expected(expected, format!("{steps:?}")));
    }
    let number = operator.number(&number).filter(|number| number.element() == element && element.bits() <= 64);
    let number = number.ok_or_else(|| unsupported("numbers between elements must be known when the model is compiled"))?;
    // A dimension of gaps behind each dimension; then both are one, less the gap behind the last element.
    let (mut apart, mut gaps, mut joined) = (vec![], vec![], vec![]);
    for (&extent, &step) in input.shape.iter().zip(&steps) {
        apart.extend([extent, 1]);
        gaps.extend([0, step - 1]);
        joined.push(extent.checked_mul(step as u64).ok_or_else(|| invalid(302, "the result has too many elements"))?);
    }
    let kept: Vec<u64> = joined.iter().zip(&steps).map(|(&whole, &step)| whole.saturating_sub(step as u64 - 1)).collect();
    let value = operator.reshape(input.value, &apart)?;
    let value = operator.builder().pad(value, vec![0; gaps.len()], gaps, number)?;
    let value = operator.reshape(value, &joined)?;
    let starts = vec![Extent::Static(0); kept.len()];
    let value = operator.builder().slice(value, starts, extents(&kept), vec![1; kept.len()])?;
    operator.bind(0, value)
}

/// MIRROR_PAD: SYMMETRIC repeats the edge, REFLECT does not.
pub(super) fn mirror_pad(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_mirror_pad_options().ok_or_else(missing_options)?;
    let input = operator.any_input(0)?;
    let edge = match options.mode() {
        MirrorPadMode::REFLECT => false,
        MirrorPadMode::SYMMETRIC => true,
        other => return Err(invalid(313, "unknown mode").expected("REFLECT or SYMMETRIC", format!("{other:?}"))),
    };
    let (low, high) = amounts(operator, &input)?;
    let attributes = vec![Attribute::Ints(low), Attribute::Ints(high), Attribute::Bool(edge)];
    let value = operator.inst(Op::MirrorPad, &[input.value], attributes)?;
    operator.bind(0, value)
}
