//! Comparisons, logic and choice: EQUAL, LESS and their like, LOGICAL_AND, LOGICAL_OR, SELECT.

use super::binary::Binary;
use super::complex;
use super::error::invalid;
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Extent, ScalarOp, Value};
use crate::operators::quantization::multiplier;
use crate::operators::terms::Terms;
use ElementType::{Bf16, Bool, C64, F16, F32, I8, I16, I32, I64, U8};

/// EQUAL, LESS and their like. 16-bit integers compare as they are; quantized ones of 8 bits are brought to a common scale first, unless they have it.
pub(super) fn compare(operator: &mut Operator<'_, '_, '_>, comparison: Comparison) -> Lowered {
    let binary = Binary::new(operator)?;
    let types = binary.types();
    let ok = types[0] == types[1] && types[2] == Bool;
    match types[0] {
        Bf16 if ok && matches!(comparison, Comparison::Greater | Comparison::Less) => {
            binary.bind(operator, |terms, a, b| terms.compare(comparison, a, b))
        }
        F16 | F32 | I16 | I32 | I64 if ok => binary.bind(operator, |terms, a, b| terms.compare(comparison, a, b)),
        Bool if ok && matches!(comparison, Comparison::Equal | Comparison::NotEqual) => {
            binary.bind(operator, |terms, a, b| terms.compare(comparison, a, b))
        }
        I8 | U8 if ok && !binary.is_quantized() => binary.bind(operator, |terms, a, b| terms.compare(comparison, a, b)),
        I8 | U8 if ok => quantized_comparison(operator, &binary, comparison),
        _ => Err(operator.type_error(&types)),
    }
}

fn quantized_comparison(operator: &mut Operator<'_, '_, '_>, binary: &Binary, comparison: Comparison) -> Lowered {
    const LEFT_SHIFT: i32 = 8;
    let affines = [operator.affine(&binary.left.info)?, operator.affine(&binary.right.info)?];
    let factors = [multiplier(f64::from(affines[0].scale))?, multiplier(f64::from(affines[1].scale))?];
    if factors.iter().any(|factor| factor.shift > 0) {
        return Err(invalid(codes::SCALE, "the scales of compared tensors must be below 1"));
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
    let (condition, a, b, output) = (operator.any_input(0)?, operator.any_input(1)?, operator.any_input(2)?, operator.output(0)?);
    let types = [condition.element(), a.element(), b.element(), output.element];
    if types[0] != Bool || types[1] != types[2] || types[1] != types[3] {
        return Err(operator.type_error(&types));
    }
    if types[1] == C64 {
        return select_complex(operator, &condition, [&a, &b], by_slice);
    }
    let chosen = chosen(operator, &condition, [&a, &b], by_slice)?;
    let mut terms = Terms::new(&types[..3]);
    let (c, x, y) = (terms.input(0), terms.input(1), terms.input(2));
    let result = terms.select(c, x, y)?;
    let value = operator.map(&[chosen, a.value, b.value], terms.finish(result))?;
    operator.bind(0, value)
}

/// The choice between complex numbers is one between their parts.
fn select_complex(operator: &mut Operator<'_, '_, '_>, condition: &Operand, [a, b]: [&Operand; 2], by_slice: bool) -> Lowered {
    let chosen = chosen(operator, condition, [a, b], by_slice)?;
    let mut shape = operator.shape(chosen)?;
    shape.push(1);
    let chosen = operator.reshape(chosen, &shape)?;
    let parts = [complex::parts(operator, a.value)?, complex::parts(operator, b.value)?];
    let mut terms = Terms::new(&[Bool, F32, F32]);
    let (c, x, y) = (terms.input(0), terms.input(1), terms.input(2));
    let result = terms.select(c, x, y)?;
    let pairs = operator.map(&[chosen, parts[0], parts[1]], terms.finish(result))?;
    let value = complex::from_parts(operator, pairs)?;
    operator.bind(0, value)
}

/// The condition in a shape that broadcasts to the operands.
fn chosen(operator: &mut Operator<'_, '_, '_>, condition: &Operand, [a, b]: [&Operand; 2], by_slice: bool) -> Result<Value, Diagnostic> {
    let mut chosen: Value = condition.value;
    if by_slice && condition.shape != a.shape {
        if a.shape != b.shape
            || condition.rank() > 1
            || (condition.rank() == 1 && condition.shape[0] != 1 && condition.shape.first() != a.shape.first())
        {
            return Err(invalid(codes::SHAPES_DIFFER, "the condition does not fit the operands")
                .expected(format!("{:?}", a.shape), format!("{:?}", condition.shape)));
        }
        let mut shape = vec![Extent::Static(1); a.rank().max(1)];
        shape[0] = condition.extents.first().copied().unwrap_or(Extent::Static(1));
        chosen = operator.reshape_to(chosen, &shape)?;
    }
    Ok(chosen)
}
