//! PAD, PADV2, MIRROR_PAD, DILATE and STABLEHLO_PAD.

use super::borders::numbers;
use super::complex;
use super::error::{invalid, missing_options};
use super::operator::{Lowered, Operand, Operator};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Scalar, Value};
use crate::operators::joins;
use crate::operators::terms::Terms;
use crate::schema::tflite::MirrorPadMode;
use std::rc::Rc;

/// PAD and PADV2: zeros (the zero point of a quantized tensor), or the number given.
pub(super) fn pad(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=3, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let element = input.element();
    if element.bits() < 8 || element == ElementType::C128 {
        return Err(operator.type_error(&[element]));
    }
    let list = operator.input(1)?;
    let [low, high] = operator.amounts(&list, input.rank())?;
    let zero = Scalar::int(element, output.quantization.as_ref().map_or(0, |q| q.zero_points[0]));
    let value = match operator.optional_input(2)? {
        None => zero,
        Some(given) if given.element() != element || given.elements() != 1 => {
            let message = "the number to pad with must be one of the input's type";
            return Err(invalid(codes::OPTION_CHOICE, message).about_tensor(&given.info.name));
        }
        Some(given) => match operator.number(&given) {
            Some(number) => number,
            None => {
                let amounts = numbers(&low, None).zip(numbers(&high, None));
                let (low, high) = amounts.ok_or_else(|| operator.unknown(&list, "paddings by a number that is computed too, and"))?;
                let value = padded(operator, &input, &given, low, high)?;
                return operator.bind(0, value);
            }
        },
    };
    let value = joins::bordered(operator.graph(), input.value, &low, &high, value)?;
    operator.bind(0, value)
}

/// A border of a number.
pub(super) fn padded(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    number: &Operand,
    low: Vec<i64>,
    high: Vec<i64>,
) -> Result<Value, Diagnostic> {
    match operator.number(number) {
        Some(known) => Ok(operator.graph().pad(input.value, &low, &high, known)?),
        None if input.element() == ElementType::C64 => pad_complex(operator, input, number, Border { low, high }),
        None => pad_with(operator, input, number, low, high),
    }
}

/// The elements of a border before and after each dimension.
struct Border {
    low: Vec<i64>,
    high: Vec<i64>,
}

/// Complex numbers are bordered as pairs of floats.
fn pad_complex(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    number: &Operand,
    Border { mut low, mut high }: Border,
) -> Result<Value, Diagnostic> {
    low.push(0);
    high.push(0);
    let info = Rc::new(TensorInfo { element: ElementType::F32, ..(*input.info).clone() });
    let (pairs, pair) = (complex::parts(operator, input.value)?, complex::parts(operator, number.value)?);
    let pair = operator.reshape(pair, &[2])?;
    let (pairs, pair) = (operator.operand(pairs, info.clone()), operator.operand(pair, info));
    let value = pad_with(operator, &pairs, &pair, low, high)?;
    complex::from_parts(operator, value)
}

/// Pads with a run-time number. A padded tensor of truth values selects between the elements and this number.
fn pad_with(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    number: &Operand,
    low: Vec<i64>,
    high: Vec<i64>,
) -> Result<Value, Diagnostic> {
    let element = input.element();
    let inside = operator.constant(ElementType::Bool, &[], vec![1])?;
    let inside = operator.broadcast_to(inside, &input.extents)?;
    let inside = operator.graph().pad(inside, &low, &high, Scalar::bool(false))?;
    let padded = operator.graph().pad(input.value, &low, &high, Scalar::int(element, 0))?;
    let shape = if number.elements() == 1 { vec![] } else { number.shape.clone() };
    let number = operator.reshape(number.value, &shape)?;
    let mut terms = Terms::new(&[ElementType::Bool, element, element]);
    let (c, x, y) = (terms.input(0), terms.input(1), terms.input(2));
    let result = terms.select(c, x, y)?;
    operator.map(&[inside, padded, number], terms.finish(result))
}

/// DILATE: this many elements less one of a number between neighbours in each dimension.
pub(super) fn dilate(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (input, list, number) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?);
    let steps = operator.integers(&list, "dilations")?;
    let value = spread(operator, &input, &steps, &number)?.value;
    operator.bind(0, value)
}

/// STABLEHLO_PAD: a number between neighbours and at the edges, which it may also cut.
pub(super) fn stablehlo_pad(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_2_as_stablehlo_pad_options().ok_or_else(missing_options)?;
    let list = |list: Option<flatbuffers::Vector<'_, i64>>| list.into_iter().flatten().collect::<Vec<i64>>();
    let (low, high) = (list(options.edge_padding_low()), list(options.edge_padding_high()));
    let between = list(options.interior_padding());
    let (input, number) = (operator.any_input(0)?, operator.input(1)?);
    let rank = input.rank();
    let small = |n: &i64| n.unsigned_abs() <= 1 << 31;
    if [&low, &high, &between].iter().any(|list| list.len() != rank || !list.iter().all(small)) {
        let found = format!("{low:?}, {high:?}, {between:?}");
        return Err(invalid(codes::OPTION_RANGE, "the paddings do not fit the input").expected(format!("{rank} numbers each"), found));
    }
    let steps: Vec<i64> = between.iter().map(|n| n + 1).collect();
    let input = spread(operator, &input, &steps, &number)?;
    let value = padded(operator, &input, &number, low, high)?;
    operator.bind(0, value)
}

/// A tensor with this many elements less one of a number between neighbours in each dimension.
pub(super) fn spread(operator: &mut Operator<'_, '_, '_>, input: &Operand, steps: &[i64], number: &Operand) -> Result<Operand, Diagnostic> {
    let element = input.element();
    if steps.len() != input.rank() || steps.iter().any(|step| !(1..=i64::from(i32::MAX)).contains(step)) {
        let expected = format!("{} numbers above 0", input.rank());
        return Err(invalid(codes::OPTION_RANGE, "the dilations do not fit the input").expected(expected, format!("{steps:?}")));
    }
    if number.element() != element || number.elements() != 1 || element == ElementType::C128 || element.bits() < 8 {
        return Err(operator.type_error(&[element, number.element()]));
    }
    // A dimension of gaps after each dimension; then both are one, less the gap after the last element.
    let (mut apart, mut gaps, mut joined) = (vec![], vec![], vec![]);
    let mut kept = vec![];
    for ((&extent, &most), &step) in input.extents.iter().zip(&input.shape).zip(steps) {
        apart.extend([extent, Extent::Static(1)]);
        gaps.extend([0, step - 1]);
        most.checked_mul(step as u64).ok_or_else(|| invalid(codes::TOO_MANY_ELEMENTS, "the result has too many elements"))?;
        let whole = operator.graph().mul(extent, Extent::Static(step as u64))?;
        joined.push(whole);
        kept.push(operator.graph().sub(whole, Extent::Static(step as u64 - 1))?);
    }
    let value = operator.reshape_to(input.value, &apart)?;
    let between = operator.operand(value, input.info.clone());
    let value = padded(operator, &between, number, vec![0; gaps.len()], gaps)?;
    let value = operator.reshape_to(value, &joined)?;
    let (starts, strides) = (vec![Extent::Static(0); kept.len()], vec![1; kept.len()]);
    let value = operator.builder().slice(value, starts, kept, strides)?;
    Ok(operator.operand(value, input.info.clone()))
}

/// MIRROR_PAD: SYMMETRIC repeats the edge, REFLECT does not.
pub(super) fn mirror_pad(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_mirror_pad_options().ok_or_else(missing_options)?;
    let input = operator.any_input(0)?;
    let edge = match options.mode() {
        MirrorPadMode::REFLECT => false,
        MirrorPadMode::SYMMETRIC => true,
        other => return Err(invalid(codes::OPTION_CHOICE, "unknown mode").expected("REFLECT or SYMMETRIC", format!("{other:?}"))),
    };
    let list = operator.input(1)?;
    let [low, high] = operator.amounts(&list, input.rank())?;
    let amounts = numbers(&low, None).zip(numbers(&high, None));
    let (low, high) = amounts.ok_or_else(|| operator.unknown(&list, "paddings"))?;
    let value = operator.graph().mirror_pad(input.value, &low, &high, edge)?;
    operator.bind(0, value)
}
