//! Matrix products.

use super::super::fault::Fault;
use super::Translate;
use super::binary::scaled;
use super::call::{Call, compute_type};
use crate::ir::{ElementType, Extent, ScalarOp, Value};

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

/// [… M, K] × [… K, N].
fn multiply(c: &mut Call<'_, '_, '_>, left: Value, right: Value) -> Result<Value, Fault> {
    let rank = c.rank(right);
    if rank < 2 || rank != c.rank(left) {
        return Err(Fault::invalid("the operands are no matrices"));
    }
    let (l, r) = (c.extents(left), c.extents(right));
    let pairs = l[..rank - 2].iter().zip(&r[..rank - 2]).chain([(&l[rank - 1], &r[rank - 2])]);
    for (&a, &b) in pairs.filter(|(a, b)| a.as_static().is_none() || b.as_static().is_none()) {
        c.translator.equate(a, b)?;
    }
    let mut permutation: Vec<usize> = (0..rank).collect();
    permutation.swap(rank - 2, rank - 1);
    let right = c.transpose(right, &permutation)?;
    let sum = accumulator(c.element(left))?;
    Ok(c.builder().matmul(left, right, (0, 0), sum)?)
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
    let sum = accumulator(c.element(input))?;
    let shape = c.extents(input);
    let Some((&depth, rows)) = shape.split_last() else { return Err(Fault::invalid("the input has no dimension")) };
    if let (Extent::Value(_), Some(&wanted)) = (depth, c.extents(weight).last()) {
        c.translator.equate(depth, wanted)?;
    }
    let count = c.graph().product(rows)?;
    let flat = c.reshape_to(input, &[count, depth])?;
    let y = c.builder().matmul(flat, weight, (0, 0), sum)?;
    let mut result = rows.to_vec();
    result.push(c.extents(y)[1]);
    let mut y = c.reshape_to(y, &result)?;
    if let Some(bias) = bias {
        y = add_bias(c, y, bias)?;
    }
    c.finish(y)
}

/// Adds a vector along the last dimension, in the type of the sums, and converts to the result's type.
pub(super) fn add_bias(c: &mut Call<'_, '_, '_>, y: Value, bias: Value) -> Result<Value, Fault> {
    let (ty, out) = (c.element(y), c.out_form(c.out())?.element);
    c.map(&[y, bias], |b, n| {
        let bias = b.convert(n[1], ty);
        let sum = b.op(ScalarOp::Add, &[n[0], bias])?;
        Ok(b.convert(sum, out))
    })
}
