//! Reductions over dimensions.

use super::super::fault::Fault;
use super::super::registers::Number;
use super::Translate;
use super::call::{Call, compute_type, float_type};
use crate::ir::{ElementType, Extent, NanRule, Reduction, Scalar, ScalarOp, Search, Value};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::sum.IntList_out", |c| total(c, false)),
    ("aten::mean.out", |c| total(c, true)),
    ("aten::mean.dtype_out", mean_of_all),
    ("aten::prod.int_out", |c| along(c, Reduction::Product, None)),
    ("aten::prod.out", |c| of_all(c, Reduction::Product, None)),
    ("aten::amax.out", |c| over_list(c, Reduction::Max, None)),
    ("aten::amin.out", |c| over_list(c, Reduction::Min, None)),
    ("aten::max.unary_out", |c| of_all(c, Reduction::Max, None)),
    ("aten::min.unary_out", |c| of_all(c, Reduction::Min, None)),
    ("aten::any.out", |c| along(c, Reduction::Any, Some(ElementType::Bool))),
    ("aten::any.all_out", |c| of_all(c, Reduction::Any, Some(ElementType::Bool))),
    ("aten::any.dims_out", |c| over_list(c, Reduction::Any, Some(ElementType::Bool))),
    ("aten::all.out", |c| along(c, Reduction::All, Some(ElementType::Bool))),
    ("aten::all.all_out", |c| of_all(c, Reduction::All, Some(ElementType::Bool))),
    ("aten::argmax.out", |c| search(c, Search::Max)),
    ("aten::argmin.out", |c| search(c, Search::Min)),
    ("aten::max.dim_max", |c| extreme_and_position(c, Reduction::Max, Search::Max)),
    ("aten::min.dim_min", |c| extreme_and_position(c, Reduction::Min, Search::Min)),
    ("aten::var.correction_out", |c| variance_of(c, 3, correction)),
    ("aten::var.out", |c| variance_of(c, 3, |c| Ok(f64::from(u8::from(c.flag(2)?))))),
    ("aten::var_mean.correction_out", variance_and_mean),
];

/// Axes of a list argument; none, or an empty list, mean all.
fn axes(c: &Call<'_, '_, '_>, index: usize, rank: usize) -> Result<Vec<usize>, Fault> {
    let list = c.optional_ints(index)?.unwrap_or_default();
    if list.is_empty() {
        return Ok((0..rank).collect());
    }
    let axes: Result<Vec<usize>, Fault> = list.into_iter().map(|d| c.axis(d, rank)).collect();
    Ok(axes?.into_iter().filter(|&axis| axis < rank).collect())
}

/// A reduction; the axes keep extent 1 or are left out.
pub(super) fn reduce(c: &mut Call<'_, '_, '_>, x: Value, reduction: Reduction, axes: &[usize], keep: bool) -> Result<Value, Fault> {
    let y = if axes.is_empty() { x } else { c.builder().reduce(x, reduction, axes.to_vec())? };
    without(c, y, axes, keep)
}

/// How many elements go into one result.
fn count(c: &mut Call<'_, '_, '_>, x: Value, axes: &[usize]) -> Result<Extent, Fault> {
    let shape = c.extents(x);
    let reduced: Vec<Extent> = axes.iter().map(|&axis| shape[axis]).collect();
    Ok(c.graph().product(&reduced)?)
}

/// Sum or mean over a list of dimensions: (self, dims, keepdim, dtype).
fn total(c: &mut Call<'_, '_, '_>, mean: bool) -> Outcome {
    let x = c.tensor(0)?;
    let (axes, keep) = (axes(c, 1, c.rank(x))?, c.flag(2)?);
    let y = sum_or_mean(c, x, &axes, keep, mean)?;
    c.finish(y)
}

fn mean_of_all(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axes: Vec<usize> = (0..c.rank(x)).collect();
    let y = sum_or_mean(c, x, &axes, false, true)?;
    c.finish(y)
}

fn sum_or_mean(c: &mut Call<'_, '_, '_>, x: Value, axes: &[usize], keep: bool, mean: bool) -> Result<Value, Fault> {
    let ty = compute_type(c.out_form(c.out())?.element);
    let divisor = count(c, x, axes)?;
    let x = c.cast(x, ty)?;
    let y = reduce(c, x, Reduction::Sum, axes, keep)?;
    if mean { divided(c, y, divisor, 0.0) } else { Ok(y) }
}

/// A sum over a count, from which a correction is subtracted that leaves 0 at least.
fn divided(c: &mut Call<'_, '_, '_>, y: Value, count: Extent, correction: f64) -> Result<Value, Fault> {
    let ty = c.element(y);
    if let Extent::Static(count) = count {
        return c.map(&[y], |b, n| {
            let divisor = b.constant(Scalar::float(ty, (count as f64 - correction).max(0.0)));
            Ok(b.op(ScalarOp::Div, &[n[0], divisor])?)
        });
    }
    let count = c.graph().extent_tensor(count, ElementType::I64)?;
    c.map(&[y, count], |b, n| {
        let mut divisor = b.convert(n[1], ty);
        if correction != 0.0 {
            let (correction, zero) = (b.constant(Scalar::float(ty, correction)), b.constant(Scalar::float(ty, 0.0)));
            divisor = b.op(ScalarOp::Sub, &[divisor, correction])?;
            divisor = b.op(ScalarOp::Max(NanRule::Propagate), &[divisor, zero])?;
        }
        Ok(b.op(ScalarOp::Div, &[n[0], divisor])?)
    })
}

/// In the result's type, or another that the elements are converted to first.
fn prepared(c: &mut Call<'_, '_, '_>, ty: Option<ElementType>) -> Result<Value, Fault> {
    let x = c.tensor(0)?;
    let ty = ty.unwrap_or(compute_type(c.out_form(c.out())?.element));
    c.cast(x, ty)
}

/// (self, dim, keepdim, …).
fn along(c: &mut Call<'_, '_, '_>, reduction: Reduction, ty: Option<ElementType>) -> Outcome {
    let x = prepared(c, ty)?;
    let rank = c.rank(x);
    let axis = c.axis(c.int(1)?, rank)?;
    let keep = c.flag(2)?;
    let axes: Vec<usize> = (axis < rank).then_some(axis).into_iter().collect();
    let y = reduce(c, x, reduction, &axes, keep)?;
    c.finish(y)
}

/// (self, dims, keepdim).
fn over_list(c: &mut Call<'_, '_, '_>, reduction: Reduction, ty: Option<ElementType>) -> Outcome {
    let x = prepared(c, ty)?;
    let axes = axes(c, 1, c.rank(x))?;
    let keep = c.flag(2)?;
    let y = reduce(c, x, reduction, &axes, keep)?;
    c.finish(y)
}

fn of_all(c: &mut Call<'_, '_, '_>, reduction: Reduction, ty: Option<ElementType>) -> Outcome {
    let x = prepared(c, ty)?;
    let axes: Vec<usize> = (0..c.rank(x)).collect();
    let y = reduce(c, x, reduction, &axes, false)?;
    c.finish(y)
}

/// The first position of the extreme element; without a dimension, of all elements in order.
fn search(c: &mut Call<'_, '_, '_>, search: Search) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let (dim, keep) = (c.optional_int(1)?, c.flag(2)?);
    let (x, axis) = match dim {
        Some(dim) if !shape.is_empty() => (x, c.axis(dim, shape.len())?),
        _ => {
            let count = c.graph().product(&shape)?;
            (c.reshape_to(x, &[count])?, 0)
        }
    };
    let y = position(c, x, search, axis)?;
    let kept = |d: usize, n: Extent| if d == axis { Extent::Static(1) } else { n };
    let target: Vec<Extent> = match (dim, keep) {
        (Some(_), true) => shape.iter().enumerate().map(|(d, &n)| kept(d, n)).collect(),
        (Some(_), false) => shape.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, &n)| n).collect(),
        (None, true) => vec![Extent::Static(1); shape.len()],
        (None, false) => vec![],
    };
    let y = c.reshape_to(y, &target)?;
    c.finish(y)
}

fn position(c: &mut Call<'_, '_, '_>, x: Value, search: Search, axis: usize) -> Result<Value, Fault> {
    Ok(c.builder().arg_reduce(x, search, axis, ElementType::I64)?)
}

/// (self, dim, keepdim, values, indices).
fn extreme_and_position(c: &mut Call<'_, '_, '_>, extreme: Reduction, search: Search) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.rank(x);
    let (axis, keep) = (c.axis(c.int(1)?, rank)?, c.flag(2)?);
    if rank == 0 {
        return Err(Fault::unsupported("a scalar has no dimension to search"));
    }
    let values = reduce(c, x, extreme, &[axis], keep)?;
    let indices = position(c, x, search, axis)?;
    let target = c.extents(values);
    let indices = c.reshape_to(indices, &target)?;
    c.define(3, values)?;
    c.define(4, indices)
}

/// (self, dims, correction, keepdim): what is subtracted from the number of elements.
fn correction(c: &Call<'_, '_, '_>) -> Result<f64, Fault> {
    Ok(c.optional_number(2)?.map_or(1.0, Number::as_f64))
}

/// Mean and variance over axes, both with extent 1 there. The variance is the mean square of the differences from the mean, `correction`
/// subtracted from the number of elements.
pub(super) fn moments(c: &mut Call<'_, '_, '_>, x: Value, axes: &[usize], correction: f64) -> Result<(Value, Value), Fault> {
    let elements = count(c, x, axes)?;
    let sum = reduce(c, x, Reduction::Sum, axes, true)?;
    let mean = divided(c, sum, elements, 0.0)?;
    let squares = c.map(&[x, mean], |b, n| {
        let difference = b.op(ScalarOp::Sub, n)?;
        Ok(b.op(ScalarOp::Mul, &[difference, difference])?)
    })?;
    let sum = reduce(c, squares, Reduction::Sum, axes, true)?;
    let variance = divided(c, sum, elements, correction)?;
    Ok((mean, variance))
}

fn without(c: &mut Call<'_, '_, '_>, value: Value, axes: &[usize], keep: bool) -> Result<Value, Fault> {
    if keep {
        return Ok(value);
    }
    let shape = c.extents(value);
    let kept: Vec<Extent> = shape.iter().enumerate().filter(|(d, _)| !axes.contains(d)).map(|(_, &n)| n).collect();
    c.reshape_to(value, &kept)
}

type Correction = fn(&Call<'_, '_, '_>) -> Result<f64, Fault>;

fn moments_of_call(c: &mut Call<'_, '_, '_>, keep: usize, correction: Correction) -> Result<(Value, Value), Fault> {
    let x = c.tensor(0)?;
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let (axes, keep, correction) = (axes(c, 1, c.rank(x))?, c.flag(keep)?, correction(c)?);
    let (mean, variance) = moments(c, x, &axes, correction)?;
    Ok((without(c, mean, &axes, keep)?, without(c, variance, &axes, keep)?))
}

fn variance_of(c: &mut Call<'_, '_, '_>, keep: usize, correction: Correction) -> Outcome {
    let (_, variance) = moments_of_call(c, keep, correction)?;
    c.finish(variance)
}

/// (self, dims, correction, keepdim, variance, mean).
fn variance_and_mean(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (mean, variance) = moments_of_call(c, 3, correction)?;
    c.define(4, variance)?;
    c.define(5, mean)
}
