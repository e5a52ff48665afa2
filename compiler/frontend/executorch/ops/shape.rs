//! The same elements under another shape, order, or element type.

use super::super::fault::Fault;
use super::Translate;
use super::call::Call;
use crate::operators::extents;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::view_copy.out", |c| view(c, Some(1))),
    ("aten::_unsafe_view.out", |c| view(c, Some(1))),
    ("aten::squeeze_copy.dim_out", |c| squeeze(c, |c| Ok(vec![c.int(1)?]))),
    ("aten::squeeze_copy.dims_out", |c| squeeze(c, |c| c.ints(1))),
    ("aten::unsqueeze_copy.out", unsqueeze),
    ("aten::permute_copy.out", permute),
    ("aten::transpose_copy.int_out", swap),
    ("aten::t_copy.out", turn),
    ("aten::expand_copy.out", expand),
    ("aten::pixel_shuffle.out", pixel_shuffle),
    ("aten::pixel_unshuffle.out", pixel_unshuffle),
    ("aten::clone.out", same),
    ("aten::alias_copy.out", same),
    ("aten::detach_copy.out", same),
    ("aten::lift_fresh_copy.out", same),
    ("aten::_to_copy.out", same),
    ("dim_order_ops::_to_dim_order_copy.out", same),
    ("dim_order_ops::_clone_dim_order.out", same),
    ("et_copy::_h2d_copy.out", same),
    ("et_copy::_d2h_copy.out", same),
    ("aten::copy.out", |c| copy(c, 1)),
    ("aten::copy_", copy_in_place),
    ("aten::copy_.default", copy_in_place),
    ("executorch_prim::et_view.default", alias),
];

/// The same tensor, perhaps of another element type or in another order in memory, both of which are the result's own.
fn same(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    c.finish(x)
}

/// The shape that a list of sizes means for so many elements: one size may be −1.
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

fn view(c: &mut Call<'_, '_, '_>, argument: Option<usize>) -> Outcome {
    let x = c.tensor(0)?;
    let elements = c.shape(x)?.iter().product();
    let shape = match argument {
        Some(index) => sizes(&c.ints(index)?, elements)?,
        None => c.out_form(c.out())?.shape,
    };
    let y = c.reshape(x, &shape)?;
    c.finish(y)
}

/// The result names the operand's bytes under another shape: no bytes move.
fn alias(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (source, target) = (c.register(0)?, c.register(2)?);
    let mut handle = c.translator.handle(source)?.clone();
    let shape = sizes(&c.ints(1)?, handle.form.elements())?;
    if handle.form.layout.order().is_some() {
        return Err(Fault::unsupported("views of tensors that are not row major are not supported"));
    }
    let place = c.translator.handle(target)?.form.element;
    if place != handle.form.element {
        return Err(Fault::invalid("the view has another element type").expected(handle.form.element.to_string(), place.to_string()));
    }
    if let super::super::translate::Place::Constant(_) = handle.place {
        let x = c.tensor(0)?;
        let y = c.reshape(x, &shape)?;
        return c.define(2, y);
    }
    handle.form.shape = shape;
    c.translator.environment.registers[target] = super::super::translate::Register::Tensor(handle);
    Ok(())
}

fn squeeze(c: &mut Call<'_, '_, '_>, dims: fn(&Call<'_, '_, '_>) -> Result<Vec<i64>, Fault>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.shape(x)?;
    let axes: Result<Vec<usize>, Fault> = dims(c)?.into_iter().map(|d| c.axis(d, shape.len())).collect();
    let axes = axes?;
    let kept: Vec<u64> = shape.iter().enumerate().filter(|(d, n)| **n != 1 || !axes.contains(d)).map(|(_, &n)| n).collect();
    let y = c.reshape(x, &kept)?;
    c.finish(y)
}

fn unsqueeze(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let mut shape = c.shape(x)?;
    let axis = c.axis(c.int(1)?, shape.len() + 1)?;
    shape.insert(axis, 1);
    let y = c.reshape(x, &shape)?;
    c.finish(y)
}

fn permute(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.shape(x)?.len();
    let permutation: Result<Vec<usize>, Fault> = c.ints(1)?.into_iter().map(|d| c.axis(d, rank)).collect();
    let y = c.transpose(x, &permutation?)?;
    c.finish(y)
}

fn swap(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.shape(x)?.len();
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
    let permutation: Vec<usize> = (0..c.shape(x)?.len()).rev().collect();
    if permutation.len() > 2 {
        return Err(Fault::invalid("only matrices can be turned").expected("at most 2 dimensions", permutation.len().to_string()));
    }
    let y = c.transpose(x, &permutation)?;
    c.finish(y)
}

/// Repetition along axes of extent 1 and new leading axes; −1 keeps an extent.
fn expand(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (shape, sizes) = (c.shape(x)?, c.ints(1)?);
    let added = sizes.len().checked_sub(shape.len()).ok_or_else(|| Fault::invalid("fewer sizes than dimensions"))?;
    let extent = |(d, &size): (usize, &i64)| match u64::try_from(size) {
        Ok(n) => Ok(n),
        Err(_) if size == -1 && d >= added => Ok(shape[d - added]),
        Err(_) => Err(Fault::invalid("a size is negative").expected("0 or more, or -1", size.to_string())),
    };
    let target: Result<Vec<u64>, Fault> = sizes.iter().enumerate().map(extent).collect();
    let y = c.graph().broadcast(x, &extents(&target?))?;
    c.finish(y)
}

/// [… C·r², H, W] to [… C, H·r, W·r].
fn pixel_shuffle(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (lead, channels, height, width, r) = image(c)?;
    if channels % (r * r) != 0 {
        return Err(Fault::invalid("the channels do not divide").expected(format!("a multiple of {}", r * r), channels.to_string()));
    }
    let split = c.reshape(x, &[lead, channels / (r * r), r, r, height, width])?;
    let moved = c.transpose(split, &[0, 1, 4, 2, 5, 3])?;
    shaped_as_result(c, moved)
}

/// [… C, H·r, W·r] to [… C·r², H, W].
fn pixel_unshuffle(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (lead, channels, height, width, r) = image(c)?;
    if height % r != 0 || width % r != 0 {
        return Err(Fault::invalid("the image does not divide").expected(format!("multiples of {r}"), format!("{height} × {width}")));
    }
    let split = c.reshape(x, &[lead, channels, height / r, r, width / r, r])?;
    let moved = c.transpose(split, &[0, 1, 3, 5, 2, 4])?;
    shaped_as_result(c, moved)
}

fn image(c: &mut Call<'_, '_, '_>) -> Result<(u64, u64, u64, u64, u64), Fault> {
    let x = c.tensor(0)?;
    let shape = c.shape(x)?;
    let factor = u64::try_from(c.int(1)?).ok().filter(|r| (1..1 << 16).contains(r));
    let factor = factor.ok_or_else(|| Fault::invalid("the factor must be positive"))?;
    match shape[..] {
        [ref lead @ .., channels, height, width] => Ok((lead.iter().product(), channels, height, width, factor)),
        _ => Err(Fault::invalid("needs an image").expected("3 dimensions or more", shape.len().to_string())),
    }
}

fn shaped_as_result(c: &mut Call<'_, '_, '_>, value: crate::ir::Value) -> Outcome {
    let shape = c.out_form(c.out())?.shape;
    let y = c.reshape(value, &shape)?;
    c.finish(y)
}

/// Argument `source` broadcast to the shape of argument 0.
fn copy(c: &mut Call<'_, '_, '_>, source: usize) -> Outcome {
    let shape = c.out_form(0)?.shape;
    let y = broadcast_source(c, source, &shape)?;
    c.finish(y)
}

/// Argument 1 over the whole of argument 0.
fn copy_in_place(c: &mut Call<'_, '_, '_>) -> Outcome {
    let shape = c.out_form(0)?.shape;
    let y = broadcast_source(c, 1, &shape)?;
    c.define(0, y)
}

fn broadcast_source(c: &mut Call<'_, '_, '_>, source: usize, shape: &[u64]) -> Result<crate::ir::Value, Fault> {
    let x = c.tensor(source)?;
    if c.shape(x)? == shape {
        return Ok(x);
    }
    Ok(c.builder().broadcast(x, extents(shape))?)
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
