//! Elements written at places that index tensors name.

use super::super::fault::Fault;
use super::super::tensors::shape_text;
use super::call::{Call, Translate};
use super::index::{Indexed, flattened, indexed};
use crate::ir::{Combination, ElementType, Extent, Scatter, Value};
use crate::operators::extents;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::index_put.out", index_put_out),
    ("aten::index_put_", |c| index_put(c, 0)),
    ("aten::index_put_.default", |c| index_put(c, 0)),
    ("aten::scatter.src_out", |c| scatter_elements(c, Combination::Set)),
    ("aten::scatter.value_out", scatter_number),
    ("aten::scatter_add.out", |c| scatter_elements(c, Combination::Sum)),
];

/// Slices of `data` along `axis` combined with `updates` where `positions` say.
fn place(c: &mut Call<'_, '_, '_>, [data, positions, updates]: [Value; 3], axis: usize, combination: Combination) -> Result<Value, Fault> {
    let scatter = Scatter { axis, batch: 0, combination, skips_negative: false };
    Ok(c.builder().scatter([data, positions, updates], scatter)?)
}

fn index_put_out(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out();
    index_put(c, out)
}

/// index_put: elements named as `index` names them, set or added to; argument `out` is the result.
fn index_put(c: &mut Call<'_, '_, '_>, out: usize) -> Outcome {
    let (values, accumulate) = (c.tensor(2)?, c.flag(3)?);
    let Some(Indexed { data, merged, axis, positions }) = indexed(c)? else {
        return Err(Fault::unsupported("index_put without an index is not supported"));
    };
    let positions = as_many(c, positions, values, merged.len() - axis)?;
    let mut shape = merged[..axis].to_vec();
    shape.extend(c.extents(positions));
    shape.extend(&merged[axis + 1..]);
    let element = c.element(data);
    let values = c.cast(values, element)?;
    let values = c.expand_to(values, &shape)?;
    let placed = place(c, [data, positions, values], axis, if accumulate { Combination::Sum } else { Combination::Set })?;
    let whole = c.tensor(0)?;
    let shape = c.extents(whole);
    let placed = c.reshape_to(placed, &shape)?;
    c.define(out, placed)
}

/// Positions that a mask gives, as many as there are values, which is checked when the program runs. `last` dimensions of the values begin with the
/// positions.
fn as_many(c: &mut Call<'_, '_, '_>, positions: Value, values: Value, last: usize) -> Result<Value, Fault> {
    let shape = c.extents(values);
    let own = shape.len().checked_sub(last).map(|d| shape[d]);
    match (&c.extents(positions)[..], own) {
        ([Extent::Value(_)], Some(count @ Extent::Static(n))) if n != 1 => Ok(c.graph().reshape(positions, &[count])?),
        _ => Ok(positions),
    }
}

/// Elements of a tensor that the index tensor names along one dimension, and by its own coordinates in the others; each takes the update
/// of the same coordinates.
fn placed_elements(c: &mut Call<'_, '_, '_>, updates: Value, combination: Combination) -> Outcome {
    let (data, index) = (c.tensor(0)?, c.tensor(2)?);
    let (shape, target) = (c.extents(data), c.extents(index));
    let axis = c.axis(c.int(1)?, shape.len())?;
    if shape.len() != target.len() {
        return Err(Fault::invalid("the index has another rank").expected(shape.len().to_string(), target.len().to_string()));
    }
    let index = c.cast(index, ElementType::I64)?;
    let mut coordinates = Vec::new();
    for d in 0..shape.len() {
        if d == axis {
            coordinates.push(index);
            continue;
        }
        let mut along = vec![Extent::Static(1); shape.len()];
        along[d] = target[d];
        coordinates.push(c.builder().iota(along, d, ElementType::I64)?);
    }
    let along = if shape.is_empty() { vec![Extent::Static(1)] } else { shape.clone() };
    let coordinates = if shape.is_empty() { vec![index] } else { coordinates };
    let positions = flattened(c, &coordinates, &along)?;
    let (count, total) = (c.graph().product(&target)?, c.graph().product(&shape)?);
    let (positions, updates) = (c.reshape_to(positions, &[count])?, c.reshape_to(updates, &[count])?);
    let data = c.reshape_to(data, &[total])?;
    let placed = place(c, [data, positions, updates], 0, combination)?;
    let placed = c.reshape_to(placed, &shape)?;
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
    let rank = target.len();
    let updates = c.graph().slice(source, &extents(&vec![0; rank]), &target, &vec![1; rank])?;
    placed_elements(c, updates, combination)
}

fn scatter_number(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (data, index, number) = (c.tensor(0)?, c.tensor(2)?, c.number(3)?);
    let element = c.element(data);
    let target = c.extents(index);
    let one = c.graph().numbers(element, &[], &[number.to_scalar(element)])?;
    let updates = c.expand_to(one, &target)?;
    placed_elements(c, updates, Combination::Set)
}
