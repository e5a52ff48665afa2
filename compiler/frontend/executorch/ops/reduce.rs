//! Reductions over dimensions.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{ElementType, Extent, Reduction, Search, Value};
use crate::operators::complex::{from_pairs, is_complex, pairs};
use crate::operators::promotion::{Number, compute_type, float_type};
use crate::operators::reduction::{self, Axes};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::sum.IntList_out", |c| total(c, false)),
    ("aten::mean.out", |c| total(c, true)),
    ("aten::mean.dtype_out", mean_of_all),
    ("aten::prod.int_out", |c| along(c, Reduction::Product, None)),
    ("aten::prod.out", |c| of_all(c, Reduction::Product, None)),
    ("aten::amax.out", |c| over_list(c, Reduction::MaxOrNan, None)),
    ("aten::amin.out", |c| over_list(c, Reduction::MinOrNan, None)),
    ("aten::max.unary_out", |c| of_all(c, Reduction::MaxOrNan, None)),
    ("aten::min.unary_out", |c| of_all(c, Reduction::MinOrNan, None)),
    ("aten::any.out", |c| along(c, Reduction::Any, Some(ElementType::Bool))),
    ("aten::any.all_out", |c| of_all(c, Reduction::Any, Some(ElementType::Bool))),
    ("aten::any.dims_out", any_of_dimensions),
    ("aten::all.out", |c| along(c, Reduction::All, Some(ElementType::Bool))),
    ("aten::all.all_out", |c| of_all(c, Reduction::All, Some(ElementType::Bool))),
    ("aten::argmax.out", |c| search(c, Search::MaxOrNan)),
    ("aten::argmin.out", |c| search(c, Search::MinOrNan)),
    ("aten::max.dim_max", |c| extreme_and_position(c, Search::MaxOrNan)),
    ("aten::min.dim_min", |c| extreme_and_position(c, Search::MinOrNan)),
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

/// The axes as a call asks for them.
fn shape(keep: bool) -> Axes {
    if keep { Axes::Kept } else { Axes::Dropped }
}

/// Sum or mean over a list of dimensions: (self, dims, keepdim, dtype).
fn total(c: &mut Call<'_, '_, '_>, mean: bool) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.graph().rank(x);
    let (axes, keep) = (axes(c, 1, rank)?, c.flag(2)?);
    let y = sum_or_mean(c, x, &axes, keep, mean)?;
    c.finish(y)
}

fn mean_of_all(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axes: Vec<usize> = (0..c.graph().rank(x)).collect();
    let y = sum_or_mean(c, x, &axes, false, true)?;
    c.finish(y)
}

fn sum_or_mean(c: &mut Call<'_, '_, '_>, x: Value, axes: &[usize], keep: bool, mean: bool) -> Result<Value, Fault> {
    let ty = compute_type(c.out_form(c.out())?.element);
    let x = c.cast(x, ty)?;
    let g = c.graph();
    if is_complex(ty) {
        // The parts are summed separately: they lie in a dimension of their own.
        let pairs = pairs(g, x)?;
        let sums = if mean {
            reduction::mean(g, pairs, axes, shape(keep))?
        } else {
            reduction::reduce(g, pairs, Reduction::Sum, axes, shape(keep))?
        };
        return Ok(from_pairs(g, sums)?);
    }
    Ok(if mean { reduction::mean(g, x, axes, shape(keep))? } else { reduction::reduce(g, x, Reduction::Sum, axes, shape(keep))? })
}

/// Converts the operand to `ty`, or to the type in which the result is computed.
fn prepared(c: &mut Call<'_, '_, '_>, ty: Option<ElementType>) -> Result<Value, Fault> {
    let x = c.tensor(0)?;
    let ty = ty.unwrap_or(compute_type(c.out_form(c.out())?.element));
    c.cast(x, ty)
}

/// (self, dim, keepdim, …).
fn along(c: &mut Call<'_, '_, '_>, kind: Reduction, ty: Option<ElementType>) -> Outcome {
    let x = prepared(c, ty)?;
    let rank = c.graph().rank(x);
    let axis = c.axis(c.int(1)?, rank)?;
    let keep = c.flag(2)?;
    let axes: Vec<usize> = (axis < rank).then_some(axis).into_iter().collect();
    let y = reduction::reduce(c.graph(), x, kind, &axes, shape(keep))?;
    c.finish(y)
}

/// (self, dims, keepdim).
fn over_list(c: &mut Call<'_, '_, '_>, kind: Reduction, ty: Option<ElementType>) -> Outcome {
    let x = prepared(c, ty)?;
    let rank = c.graph().rank(x);
    let axes = axes(c, 1, rank)?;
    let keep = c.flag(2)?;
    let y = reduction::reduce(c.graph(), x, kind, &axes, shape(keep))?;
    c.finish(y)
}

/// (self, dims, keepdim): unlike in the sums, a list of no dimension leaves each element by itself.
fn any_of_dimensions(c: &mut Call<'_, '_, '_>) -> Outcome {
    if c.optional_ints(1)?.is_some_and(|dims| dims.is_empty()) {
        let each = prepared(c, Some(ElementType::Bool))?;
        return c.finish(each);
    }
    over_list(c, Reduction::Any, Some(ElementType::Bool))
}

fn of_all(c: &mut Call<'_, '_, '_>, kind: Reduction, ty: Option<ElementType>) -> Outcome {
    let x = prepared(c, ty)?;
    let axes: Vec<usize> = (0..c.graph().rank(x)).collect();
    let y = reduction::reduce(c.graph(), x, kind, &axes, Axes::Dropped)?;
    c.finish(y)
}

/// The first position of the extreme element; without a dimension, of all elements in order.
fn search(c: &mut Call<'_, '_, '_>, search: Search) -> Outcome {
    let x = c.tensor(0)?;
    let (dim, keep) = (c.optional_int(1)?, c.flag(2)?);
    let extents = c.graph().extents(x);
    let (x, axis) = match dim {
        Some(dim) if !extents.is_empty() => (x, c.axis(dim, extents.len())?),
        _ => {
            let count = c.graph().product(&extents)?;
            (c.graph().reshape(x, &[count])?, 0)
        }
    };
    let y = reduction::position(c.graph(), x, search, axis, ElementType::I64)?;
    let one = |d: usize, extent: Extent| if dim.is_none() || d == axis { Extent::Static(1) } else { extent };
    let y = match (dim, keep) {
        (_, true) => {
            let kept: Vec<Extent> = extents.iter().enumerate().map(|(d, &extent)| one(d, extent)).collect();
            c.graph().reshape(y, &kept)?
        }
        (_, false) => y,
    };
    c.finish(y)
}

/// (self, dim, keepdim, values, indices).
fn extreme_and_position(c: &mut Call<'_, '_, '_>, search: Search) -> Outcome {
    let mut x = c.tensor(0)?;
    let rank = c.graph().rank(x);
    let (axis, mut keep) = (c.axis(c.int(1)?, rank)?, c.flag(2)?);
    if rank == 0 {
        // A scalar is a line of one element, and stays a scalar.
        (x, keep) = (c.reshape(x, &[1])?, false);
    }
    let g = c.graph();
    let values = reduction::reduce(g, x, search.reduction(), &[axis], shape(keep))?;
    let indices = reduction::position(g, x, search, axis, ElementType::I64)?;
    let target = g.extents(values);
    let indices = g.reshape(indices, &target)?;
    c.define(3, values)?;
    c.define(4, indices)
}

/// (self, dims, correction, keepdim). The number that is subtracted from the number of elements.
fn correction(c: &Call<'_, '_, '_>) -> Result<f64, Fault> {
    Ok(c.optional_number(2)?.map_or(1.0, Number::as_f64))
}

type Correction = fn(&Call<'_, '_, '_>) -> Result<f64, Fault>;

fn moments_of_call(c: &mut Call<'_, '_, '_>, keep: usize, correction: Correction) -> Result<(Value, Value), Fault> {
    let x = c.tensor(0)?;
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let rank = c.graph().rank(x);
    let (axes, keep, correction) = (axes(c, 1, rank)?, c.flag(keep)?, correction(c)?);
    let g = c.graph();
    let (mean, variance) = reduction::moments(g, x, &axes, correction)?;
    if keep { Ok((mean, variance)) } else { Ok((reduction::without(g, mean, &axes)?, reduction::without(g, variance, &axes)?)) }
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
