//! Elements written at places that index tensors name.

use super::super::fault::Fault;
use super::super::tensors::shape_text;
use super::call::{Call, Translate};
use super::index::indexed;
use crate::ir::{Combination, Extent, Value};
use crate::operators::indexing::placed;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::index_put.out", index_put_out),
    ("aten::index_put_", |c| index_put(c, 0)),
    ("aten::index_put_.default", |c| index_put(c, 0)),
    ("aten::scatter.src_out", |c| scatter_elements(c, Combination::Set)),
    ("aten::scatter.value_out", scatter_number),
    ("aten::scatter_add.out", |c| scatter_elements(c, Combination::Sum)),
    ("aten::max_unpool2d.out", |c| unpool(c, 2)),
    ("aten::max_unpool3d.out", |c| unpool(c, 3)),
];

fn index_put_out(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out();
    index_put(c, out)
}

/// index_put: elements named as `index` names them, set or added to; argument `out` is the result.
fn index_put(c: &mut Call<'_, '_, '_>, out: usize) -> Outcome {
    let (values, accumulate) = (c.tensor(2)?, c.flag(3)?);
    let Some(indexed) = indexed(c)? else {
        return Err(Fault::unsupported("index_put without an index is not supported"));
    };
    let whole = c.tensor(0)?;
    let (shape, element) = (c.extents(whole), c.element(whole));
    let values = c.cast(values, element)?;
    let combination = if accumulate { Combination::Sum } else { Combination::Set };
    let placed = placed::listed(c.graph(), &shape, &indexed, values, combination)?;
    c.define(out, placed)
}

/// Elements of a tensor that the index tensor names along one dimension, and by its own coordinates in the others. Each takes the update of the same
/// coordinates.
fn placed_elements(c: &mut Call<'_, '_, '_>, updates: Value, combination: Combination) -> Outcome {
    let (data, index) = (c.tensor(0)?, c.tensor(2)?);
    let axis = c.axis(c.int(1)?, c.rank(data))?;
    let placed = placed::elements(c.graph(), [data, index, updates], axis, combination)?;
    c.finish(placed)
}

fn scatter_elements(c: &mut Call<'_, '_, '_>, combination: Combination) -> Outcome {
    let (data, index, source) = (c.tensor(0)?, c.tensor(2)?, c.tensor(3)?);
    let (target, available) = (c.extents(index), c.extents(source));
    let is_less = |(have, want): (&Extent, &Extent)| have.as_static().zip(want.as_static()).is_some_and(|(have, want)| have < want);
    if available.len() != target.len() || available.iter().zip(&target).any(is_less) {
        return Err(Fault::invalid("the source is smaller than the index").expected(shape_text(&target), shape_text(&available)));
    }
    let element = c.element(data);
    let source = c.cast(source, element)?;
    placed_elements(c, source, combination)
}

/// (self, indices, output_size, …): the last `spatial` dimensions under another size, zeros but for the elements where pooling found the largest ones.
fn unpool(c: &mut Call<'_, '_, '_>, spatial: usize) -> Outcome {
    let (x, places, sizes) = (c.tensor(0)?, c.tensor(1)?, c.wholes(2)?);
    let shape = c.extents(x);
    let outer = shape.len().checked_sub(spatial).filter(|_| sizes.len() == spatial);
    let outer =
        outer.ok_or_else(|| Fault::invalid("needs an image and its size").expected(format!("{spatial} sizes"), sizes.len().to_string()))?;
    let mut target = shape[..outer].to_vec();
    for size in sizes {
        target.push(c.extent(size)?);
    }
    let g = c.graph();
    let (rows, count, area) = (g.product(&shape[..outer])?, g.product(&shape[outer..])?, g.product(&target[outer..])?);
    let (places, updates) = (c.reshape_to(places, &[rows, count])?, c.reshape_to(x, &[rows, count])?);
    let y = placed::in_rows(c.graph(), [places, updates], area, false)?;
    let y = c.reshape_to(y, &target)?;
    c.finish(y)
}

fn scatter_number(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (data, index, number) = (c.tensor(0)?, c.tensor(2)?, c.number(3)?);
    let element = c.element(data);
    let target = c.extents(index);
    let updates = c.graph().filled(number.to_scalar(element), &target)?;
    placed_elements(c, updates, Combination::Set)
}
