//! Reshapes, permutations, and conversions of element types.

use super::super::fault::Fault;
use super::super::program::Form;
use super::super::registers::{Register, TensorPlace};
use super::call::{Call, Translate};
use super::whole::Whole;
use crate::ir::{Extent, Value};
use crate::operators::{Error, Graph, blocks, extents};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::view_copy.out", view),
    ("aten::_unsafe_view.out", view),
    ("aten::squeeze_copy.dim_out", |c| squeeze(c, |c| Ok(vec![c.int(1)?]))),
    ("aten::squeeze_copy.dims_out", |c| squeeze(c, |c| c.ints(1))),
    ("aten::unsqueeze_copy.out", unsqueeze),
    ("aten::permute_copy.out", permute),
    ("aten::transpose_copy.int_out", swap),
    ("aten::t_copy.out", turn),
    ("aten::expand_copy.out", expand),
    ("aten::pixel_shuffle.out", |c| shuffle(c, blocks::pixel_shuffle)),
    ("aten::pixel_unshuffle.out", |c| shuffle(c, blocks::pixel_unshuffle)),
    ("aten::clone.out", same),
    ("aten::alias_copy.out", same),
    ("aten::detach_copy.out", same),
    ("aten::lift_fresh_copy.out", same),
    ("aten::_to_copy.out", same),
    ("dim_order_ops::_to_dim_order_copy.out", same),
    ("dim_order_ops::_clone_dim_order.out", same),
    ("et_copy::_h2d_copy.out", same),
    ("et_copy::_d2h_copy.out", same),
    ("llama::fallback.out", same),
    ("aten::copy.out", |c| copy(c, 1)),
    ("aten::copy_", copy_in_place),
    ("aten::copy_.default", copy_in_place),
    ("executorch_prim::et_view.default", alias),
];

/// Copies the tensor to the result's own element type and order in memory.
fn same(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    c.finish(x)
}

/// Resolves a list of sizes for this many elements: one size may be −1.
fn sizes(list: &[i64], elements: u64) -> Result<Vec<u64>, Fault> {
    let wrong = || Fault::invalid("the elements do not fill the shape").expected(format!("{elements} elements"), format!("{list:?}"));
    let known = list.iter().filter(|&&n| n != -1).try_fold(1u64, |product, &n| product.checked_mul(u64::try_from(n).ok()?));
    let known = known.ok_or_else(wrong)?;
    let open = list.iter().filter(|&&n| n == -1).count();
    let rest = match open {
        0 => 1,
        1 if known > 0 && elements.is_multiple_of(known) => elements / known,
        _ => return Err(wrong()),
    };
    if known.checked_mul(rest) != Some(elements) {
        return Err(wrong());
    }
    Ok(list.iter().map(|&n| u64::try_from(n).unwrap_or(rest)).collect())
}

/// Resolves a list of sizes to extents for the elements of a shape: one size may be −1.
fn target(c: &mut Call<'_, '_, '_>, list: &[Whole], from: &[Extent]) -> Result<Vec<Extent>, Fault> {
    let numbers: Option<Vec<i64>> = list.iter().map(|item| if let Whole::Known(n) = item { Some(*n) } else { None }).collect();
    let known: Option<Vec<u64>> = from.iter().map(|extent| extent.as_static()).collect();
    if let (Some(numbers), Some(known)) = (&numbers, known) {
        return Ok(extents(&sizes(numbers, known.iter().product())?));
    }
    let open = list.iter().position(|item| *item == Whole::Known(-1));
    let mut shape = Vec::with_capacity(list.len());
    for (i, &item) in list.iter().enumerate() {
        shape.push(if open == Some(i) { Extent::Static(1) } else { c.extent(item)? });
    }
    match open {
        Some(open) => shape[open] = c.graph().quotient(from, &shape)?,
        None => c.translator.fill(from, &shape)?,
    }
    Ok(shape)
}

fn view(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, list) = (c.tensor(0)?, c.wholes(1)?);
    let from = c.extents(x);
    let shape = target(c, &list, &from)?;
    let y = c.reshape_to(x, &shape)?;
    c.finish(y)
}

/// The result names the operand's elements under another shape: no bytes move. In which order these lie matters as little as in views without an
/// instruction ([`assemble`](super::super::memory::assemble)).
fn alias(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (source, result) = (c.register(0)?, c.register(2)?);
    let (list, mut handle) = (c.wholes(1)?, c.translator.handle(source)?.clone());
    let place = c.translator.handle(result)?.form.element;
    if place != handle.form.element {
        return Err(Fault::invalid("the element type of the view is wrong").expected(handle.form.element.to_string(), place.to_string()));
    }
    let from = c.shape_of(0)?;
    let shape = target(c, &list, &from)?;
    if let TensorPlace::Constant(_) = handle.place {
        let x = c.tensor(0)?;
        let y = c.reshape_to(x, &shape)?;
        return c.define(2, y);
    }
    handle.form = Form::row_major(place, shape);
    c.translator.environment.registers[result] = Register::Tensor(handle);
    Ok(())
}

/// Removes the named dimensions that have one element. A run-time extent is removed if the file's result has fewer dimensions. It must then be 1,
/// which is checked.
fn squeeze(c: &mut Call<'_, '_, '_>, dims: fn(&Call<'_, '_, '_>) -> Result<Vec<i64>, Fault>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let axes: Result<Vec<usize>, Fault> = dims(c)?.into_iter().map(|d| c.axis(d, shape.len())).collect();
    let axes = axes?;
    let one = Extent::Static(1);
    let mut left_out: Vec<usize> = (0..shape.len()).filter(|d| axes.contains(d) && shape[*d] == one).collect();
    let missing = (shape.len() - left_out.len()).saturating_sub(c.out_form(c.out())?.shape.len());
    let open: Vec<usize> = (0..shape.len()).filter(|d| axes.contains(d) && shape[*d].as_static().is_none()).collect();
    if missing == open.len() {
        for &axis in &open {
            // The reshape compares an extent that is not known to be one.
            if let Err(Fault::Consequence) = c.translator.equate(shape[axis], one) {
                return Err(Fault::Consequence);
            }
        }
        left_out.extend(open);
    }
    let kept: Vec<Extent> = (0..shape.len()).filter(|d| !left_out.contains(d)).map(|d| shape[d]).collect();
    let y = c.graph().reshape(x, &kept)?;
    c.finish(y)
}

fn unsqueeze(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let mut shape = c.extents(x);
    let axis = c.axis(c.int(1)?, shape.len() + 1)?;
    shape.insert(axis, Extent::Static(1));
    let y = c.reshape_to(x, &shape)?;
    c.finish(y)
}

/// (input, permutation): a tensor with its dimensions in another order.
pub(super) fn permute(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.rank(x);
    let permutation: Result<Vec<usize>, Fault> = c.ints(1)?.into_iter().map(|d| c.axis(d, rank)).collect();
    let y = c.transpose(x, &permutation?)?;
    c.finish(y)
}

fn swap(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.rank(x);
    let (a, b) = (c.axis(c.int(1)?, rank)?, c.axis(c.int(2)?, rank)?);
    let mut permutation: Vec<usize> = (0..rank).collect();
    if a != b {
        permutation.swap(a, b);
    }
    let y = c.transpose(x, &permutation)?;
    c.finish(y)
}

fn turn(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let permutation: Vec<usize> = (0..c.rank(x)).rev().collect();
    if permutation.len() > 2 {
        return Err(Fault::invalid("only matrices can be turned").expected("at most 2 dimensions", permutation.len().to_string()));
    }
    let y = c.transpose(x, &permutation)?;
    c.finish(y)
}

/// Repetition along axes of extent 1 and new leading axes; −1 keeps an extent.
fn expand(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (shape, sizes) = (c.extents(x), c.wholes(1)?);
    let added = sizes.len().checked_sub(shape.len()).ok_or_else(|| Fault::invalid("fewer sizes than dimensions"))?;
    let mut target = Vec::with_capacity(sizes.len());
    for (d, &size) in sizes.iter().enumerate() {
        target.push(if size == Whole::Known(-1) && d >= added { shape[d - added] } else { c.extent(size)? });
    }
    let y = c.expand_to(x, &target)?;
    c.finish(y)
}

/// Pixels from channels, and channels from pixels: of a tensor and a factor.
fn shuffle(c: &mut Call<'_, '_, '_>, build: fn(&mut Graph<'_>, Value, u64) -> Result<Value, Error>) -> Outcome {
    let (x, factor) = (c.tensor(0)?, c.int(1)?);
    let factor = u64::try_from(factor).ok().filter(|r| (1..1 << 16).contains(r));
    let factor = factor.ok_or_else(|| Fault::invalid("the factor must be positive"))?;
    let y = build(c.graph(), x, factor)?;
    c.finish(y)
}

/// Argument `source` broadcast to the shape of argument 0.
fn copy(c: &mut Call<'_, '_, '_>, source: usize) -> Outcome {
    let y = broadcast_source(c, source)?;
    c.finish(y)
}

/// Argument 1 over the whole of argument 0.
fn copy_in_place(c: &mut Call<'_, '_, '_>) -> Outcome {
    let y = broadcast_source(c, 1)?;
    c.define(0, y)
}

fn broadcast_source(c: &mut Call<'_, '_, '_>, source: usize) -> Result<Value, Fault> {
    let (x, shape) = (c.tensor(source)?, c.shape_of(0)?);
    c.expand_to(x, &shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_size_may_be_open() {
        assert_eq!(sizes(&[2, -1], 6), Ok(vec![2, 3]));
        assert_eq!(sizes(&[6], 6), Ok(vec![6]));
        assert_eq!(sizes(&[], 1), Ok(vec![]));
        for (list, elements) in [(&[-1, -1][..], 4), (&[4, -1], 6), (&[0, -1], 0), (&[-2, 3], 6), (&[i64::MAX, i64::MAX], 1), (&[5], 6)] {
            assert!(sizes(list, elements).is_err(), "{list:?}");
        }
    }
}
