//! Matrix products.

use super::super::fault::Fault;
use super::binary::scaled;
use super::call::{Call, Translate};
use crate::ir::{ElementType, ScalarOp, Value};
use crate::operators::activation::Activation;
use crate::operators::complex;
use crate::operators::contraction::Numerics;
use crate::operators::contraction::products::{self, matmul, swapped};
use crate::operators::promotion::compute_type;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::mm.out", product),
    ("aten::bmm.out", product),
    ("aten::addmm.out", addmm),
    ("aten::baddbmm.out", addmm),
    ("aten::linear.out", linear),
];

/// The type that products are summed in: single precision for half, the integer's own width at least.
pub(super) fn accumulator(element: ElementType) -> Result<ElementType, Fault> {
    match element {
        _ if element.is_float() => Ok(compute_type(element)),
        ElementType::I64 | ElementType::U64 => Ok(ElementType::I64),
        _ if element.is_integer() => Ok(ElementType::I32),
        _ => Err(Fault::unsupported(format!("products of {element} are not supported"))),
    }
}

/// An operand of a product: half precision is multiplied in single, and 16-bit integers in 32 bits, where products of them are exact.
pub(super) fn widened(c: &mut Call<'_, '_, '_>, x: Value) -> Result<Value, Fault> {
    let ty = match c.element(x) {
        ElementType::I16 | ElementType::U16 => ElementType::I32,
        other => compute_type(other),
    };
    c.cast(x, ty)
}

/// Sums of an accumulator's type as results of another.
pub(super) fn plain(accumulator: ElementType, result: ElementType) -> Numerics {
    Numerics::Plain { accumulator, activation: Activation::NONE, result }
}

/// [… M, K] × [… K, N].
fn multiply(c: &mut Call<'_, '_, '_>, left: Value, right: Value) -> Result<Value, Fault> {
    if complex::is_complex(c.element(left)) && complex::is_complex(c.element(right)) {
        return multiply_complex(c, left, right);
    }
    let sum = accumulator(c.element(left))?;
    let (left, right) = (widened(c, left)?, widened(c, right)?);
    let g = c.graph();
    if g.rank(right) < 2 || g.rank(right) != g.rank(left) {
        return Err(Fault::invalid("the operands are not matrices"));
    }
    let right = swapped(g, right)?;
    Ok(matmul(g, left, right, None, &plain(sum, sum))?)
}

/// The product of complex matrices by four of their parts.
fn multiply_complex(c: &mut Call<'_, '_, '_>, left: Value, right: Value) -> Result<Value, Fault> {
    let ([a, b], [x, y]) = (complex::parts(c.graph(), left)?, complex::parts(c.graph(), right)?);
    let (ax, by, ay, bx) = (multiply(c, a, x)?, multiply(c, b, y)?, multiply(c, a, y)?, multiply(c, b, x)?);
    let real = c.map(&[ax, by], |b, n| Ok(b.op(ScalarOp::Sub, n)?))?;
    let imaginary = c.map(&[ay, bx], |b, n| Ok(b.op(ScalarOp::Add, n)?))?;
    Ok(complex::joined(c.graph(), [real, imaginary])?)
}

fn product(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (left, right) = (c.tensor(0)?, c.tensor(1)?);
    let y = multiply(c, left, right)?;
    c.finish(y)
}

/// beta·self + alpha·(mat1 × mat2).
fn addmm(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (bias, left, right) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (beta, alpha) = (c.number(3)?, c.number(4)?);
    let y = multiply(c, left, right)?;
    if beta.as_f64() == 0.0 && alpha.as_f64() == 1.0 {
        return c.finish(y);
    }
    let out = c.out_form(c.out())?.element;
    let ty = c.element(y);
    let y = c.map(&[y, bias], |b, n| {
        let product = scaled(b, n[0], alpha)?;
        let bias = b.convert(n[1], ty);
        let bias = scaled(b, bias, beta)?;
        let sum = if beta.as_f64() == 0.0 { product } else { b.op(ScalarOp::Add, &[product, bias])? };
        Ok(b.convert(sum, out))
    })?;
    c.finish(y)
}

/// input × weightᵀ + bias.
fn linear(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, weight, bias) = (c.tensor(0)?, c.tensor(1)?, c.optional_tensor(2)?);
    let numerics = plain(accumulator(c.element(input))?, c.out_form(c.out())?.element);
    let (input, weight) = (widened(c, input)?, widened(c, weight)?);
    let y = products::linear(c.graph(), input, weight, bias, &numerics)?;
    c.finish(y)
}
