//! Complex numbers of programs: arithmetic, angles, and their parts.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{Comparison, ElementType, Scalar, ScalarOp, Value};
use crate::operators::complex::{self, Pair, from_pairs, is_complex, joined, pairs, parts};
use crate::operators::promotion::{Number, Operand, float_type};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::view_as_real_copy.out", as_pairs),
    ("aten::view_as_complex_copy.out", as_complex),
    ("aten::_conj_physical.out", conjugate),
    ("aten::_conj_copy.out", conjugate),
    ("aten::resolve_conj.out", same),
    ("aten::complex.out", |c| of_parts(c, |_, pair| Ok(pair))),
    ("aten::polar.out", |c| of_parts(c, of_polar)),
    ("aten::angle.out", angle),
    ("aten::real.out", |c| part(c, 0)),
    ("aten::imag.out", |c| part(c, 1)),
];

/// Tests whether the result of a call is complex.
pub(super) fn is_result(c: &Call<'_, '_, '_>) -> Result<bool, Fault> {
    Ok(is_complex(c.out_form(c.out())?.element))
}

/// Tests whether at least one of some operands is complex.
pub(super) fn is_among(c: &Call<'_, '_, '_>, operands: &[Operand]) -> bool {
    operands.iter().any(|operand| matches!(operand, Operand::Tensor(value) if is_complex(c.element(*value))))
}

/// An expression over tensors of floats with two results, the parts of complex numbers.
fn pair_of(
    g: &mut Graph<'_>,
    operands: &[Value],
    build: impl FnOnce(&mut Terms, &[crate::ir::Node]) -> Result<Pair, Error>,
) -> Result<Value, Error> {
    let elements: Vec<ElementType> = operands.iter().map(|&value| g.element(value)).collect();
    let mut terms = Terms::new(&elements);
    let inputs: Vec<_> = (0..operands.len()).map(|input| terms.input(input)).collect();
    let pair = build(&mut terms, &inputs)?;
    let results = g.map_many(operands, terms.finish_many(pair.to_vec()))?;
    joined(g, [results[0], results[1]])
}

/// The parts of an operand as tensors of a type of floats.
fn parts_of(c: &mut Call<'_, '_, '_>, operand: Operand, ty: ElementType) -> Result<[Value; 2], Fault> {
    let real = match operand {
        Operand::Tensor(value) if is_complex(c.element(value)) => {
            let [real, imaginary] = parts(c.graph(), value)?;
            return Ok([c.cast(real, ty)?, c.cast(imaginary, ty)?]);
        }
        Operand::Tensor(value) => c.cast(value, ty)?,
        Operand::Number(number) => c.graph().scalar(number.to_scalar(ty))?,
    };
    Ok([real, c.graph().scalar(Scalar::float(ty, 0.0))?])
}

/// A function of two complex numbers, in the type of the result.
fn binary(c: &mut Call<'_, '_, '_>, operands: [Operand; 2], build: impl FnOnce(&mut Terms, Pair, Pair) -> Result<Pair, Error>) -> Outcome {
    let ty = c.out_form(c.out())?.element.part();
    let ([a, b], [x, y]) = (parts_of(c, operands[0], ty)?, parts_of(c, operands[1], ty)?);
    let value = pair_of(c.graph(), &[a, b, x, y], |terms, n| build(terms, [n[0], n[1]], [n[2], n[3]]))?;
    c.finish(value)
}

pub(super) fn product(c: &mut Call<'_, '_, '_>, operands: [Operand; 2]) -> Outcome {
    binary(c, operands, complex::product)
}

pub(super) fn quotient(c: &mut Call<'_, '_, '_>, operands: [Operand; 2]) -> Outcome {
    binary(c, operands, complex::quotient)
}

/// x ± alpha·y.
pub(super) fn sum(c: &mut Call<'_, '_, '_>, operands: [Operand; 2], operation: ScalarOp, alpha: Number) -> Outcome {
    binary(c, operands, |terms, x, y| {
        let mut part = |index: usize| -> Term {
            let y = if alpha.as_f64() == 1.0 {
                y[index]
            } else {
                let factor = terms.constant(alpha.to_scalar(terms.ty(y[index])));
                terms.mul(y[index], factor)?
            };
            terms.op(operation, &[x[index], y])
        };
        Ok([part(0)?, part(1)?])
    })
}

/// Tests two complex numbers for equality or inequality.
pub(super) fn compare(c: &mut Call<'_, '_, '_>, operands: [Operand; 2], comparison: Comparison) -> Outcome {
    let combine = match comparison {
        Comparison::Equal => ScalarOp::And,
        Comparison::NotEqual => ScalarOp::Or,
        _ => return Err(Fault::invalid("complex numbers have no order")),
    };
    let ([a, b], [x, y]) = (parts_of(c, operands[0], ElementType::F64)?, parts_of(c, operands[1], ElementType::F64)?);
    let value = c.graph().compute::<Error>(&[a, b, x, y], |terms, n| {
        let (real, imaginary) = (terms.compare(comparison, n[0], n[2])?, terms.compare(comparison, n[1], n[3])?);
        Ok(terms.op(combine, &[real, imaginary])?)
    })?;
    c.finish(value)
}

/// condition ? x : y.
pub(super) fn chosen(c: &mut Call<'_, '_, '_>, condition: Value, operands: [Operand; 2]) -> Outcome {
    let ty = c.out_form(c.out())?.element.part();
    let ([a, b], [x, y]) = (parts_of(c, operands[0], ty)?, parts_of(c, operands[1], ty)?);
    let value =
        pair_of(c.graph(), &[condition, a, b, x, y], |terms, n| Ok([terms.select(n[0], n[1], n[3])?, terms.select(n[0], n[2], n[4])?]))?;
    c.finish(value)
}

/// x².
pub(super) fn square(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.operand(0)?;
    product(c, [x, x])
}

/// 1 ÷ x.
pub(super) fn reciprocal(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.operand(0)?;
    quotient(c, [Operand::Number(Number::Int(1)), x])
}

/// e^x: of length e^(real part), at the angle of the imaginary part.
pub(super) fn exponential(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (operand, ty) = (c.operand(0)?, c.out_form(c.out())?.element.part());
    let parts = parts_of(c, operand, ty)?;
    let value = pair_of(c.graph(), &parts, |terms, n| {
        let length = terms.op(ScalarOp::Exp, &[n[0]])?;
        of_polar(terms, [length, n[1]])
    })?;
    c.finish(value)
}

/// Tests whether a part is NaN.
pub(super) fn is_nan(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.operand(0)?;
    compare(c, [x, x], Comparison::NotEqual)
}

/// −x.
pub(super) fn negative(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    let x = pairs(c.graph(), value)?;
    let y = c.graph().compute::<Error>(&[x], |terms, x| Ok(terms.op(ScalarOp::Neg, &[x[0]])?))?;
    let y = from_pairs(c.graph(), y)?;
    c.finish(y)
}

fn same(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    c.finish(value)
}

/// Absolute values; squares of binary32 are taken in binary64, where they do not overflow.
pub(super) fn magnitude(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    let parts = parts(c.graph(), value)?;
    let y = c.graph().compute::<Error>(&parts, |terms, parts| {
        let mut squares = Vec::new();
        for &part in parts {
            let wide = terms.convert(part, ElementType::F64);
            squares.push(terms.mul(wide, wide)?);
        }
        let sum = terms.add(squares[0], squares[1])?;
        Ok(terms.op(ScalarOp::Sqrt, &[sum])?)
    })?;
    c.finish(y)
}

fn as_pairs(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    let y = pairs(c.graph(), value)?;
    c.finish(y)
}

fn as_complex(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    let y = from_pairs(c.graph(), value)?;
    c.finish(y)
}

fn part(c: &mut Call<'_, '_, '_>, index: usize) -> Outcome {
    let value = c.tensor(0)?;
    let y = if is_complex(c.element(value)) { parts(c.graph(), value)?[index] } else { value };
    c.finish(y)
}

fn conjugate(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    if !is_complex(c.element(value)) {
        return c.finish(value);
    }
    let x = pairs(c.graph(), value)?;
    let part = c.element(x);
    let signs = [1.0, -1.0].map(|sign| Scalar::float(part, sign));
    let signs = c.graph().numbers(part, &[2], &signs)?;
    let y = c.map(&[x, signs], |b, n| Ok(b.op(ScalarOp::Mul, n)?))?;
    let y = from_pairs(c.graph(), y)?;
    c.finish(y)
}

/// Complex numbers of two tensors of floats.
fn of_parts(c: &mut Call<'_, '_, '_>, build: fn(&mut Terms, Pair) -> Result<Pair, Error>) -> Outcome {
    let operands = [c.tensor(0)?, c.tensor(1)?];
    let value = pair_of(c.graph(), &operands, |terms, n| build(terms, [n[0], n[1]]))?;
    c.finish(value)
}

/// The parts of a complex number with this length and angle.
fn of_polar(terms: &mut Terms, [length, angle]: Pair) -> Result<Pair, Error> {
    let (cosine, sine) = (terms.op(ScalarOp::Cos, &[angle])?, terms.op(ScalarOp::Sin, &[angle])?);
    Ok([terms.mul(length, cosine)?, terms.mul(length, sine)?])
}

/// The angle of complex numbers. The angle of a real number is 0 or π, and of NaN it is NaN.
fn angle(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    if is_complex(c.element(value)) {
        let [real, imaginary] = parts(c.graph(), value)?;
        let y = c.map(&[imaginary, real], |b, n| Ok(b.op(ScalarOp::Atan2, n)?))?;
        return c.finish(y);
    }
    let ty = float_type(c.element(value));
    let x = c.cast(value, ty)?;
    let y = c.graph().compute::<Error>(&[x], |terms, x| {
        let [zero, half_turn] = [0.0, std::f64::consts::PI].map(|number| terms.constant(Scalar::float(ty, number)));
        let (is_negative, is_nan) = (terms.compare(Comparison::Less, x[0], zero)?, terms.compare(Comparison::NotEqual, x[0], x[0])?);
        let angle = terms.select(is_negative, half_turn, zero)?;
        Ok(terms.select(is_nan, x[0], angle)?)
    })?;
    c.finish(y)
}
