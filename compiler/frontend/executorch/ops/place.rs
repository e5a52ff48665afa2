//! Elements written at places that index tensors name, and the largest elements of a dimension.

use super::super::fault::Fault;
use super::Translate;
use super::call::Call;
use super::index::{Indexed, flattened, indexed};
use crate::ir::op::COMBINATIONS;
use crate::ir::{Attribute, ElementType, Extent, Op, Value};
use crate::operators::extents;
use crate::operators::graph::movement::inverse;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::index_put.out", index_put),
    ("aten::scatter.src_out", |c| scatter_elements(c, "set")),
    ("aten::scatter.value_out", scatter_number),
    ("aten::scatter_add.out", |c| scatter_elements(c, "sum")),
    ("aten::topk.values", top_k),
];

/// Slices of `data` along `axis` combined with `updates` where `positions` say.
fn place(c: &mut Call<'_, '_, '_>, [data, positions, updates]: [Value; 3], axis: usize, combination: &str) -> Result<Value, Fault> {
    let word = COMBINATIONS.iter().position(|w| *w == combination).unwrap_or(0) as u8;
    let attributes = vec![Attribute::Int(axis as i64), Attribute::Int(0), Attribute::Word(word), Attribute::Bool(false)];
    Ok(c.builder().inst(Op::Scatter, &[data, positions, updates], attributes)?[0])
}

fn broadcast(c: &mut Call<'_, '_, '_>, value: Value, shape: &[u64]) -> Result<Value, Fault> {
    if c.shape(value)? == shape {
        return Ok(value);
    }
    let attributes = vec![Attribute::Extents(extents(shape))];
    Ok(c.builder().inst(Op::Broadcast, &[value], attributes)?[0])
}

/// index_put: elements named as `index` names them, set or added to.
fn index_put(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (values, accumulate) = (c.tensor(2)?, c.flag(3)?);
    let Some(Indexed { data, merged, axis, positions }) = indexed(c)? else {
        return Err(Fault::unsupported("index_put without an index is not supported"));
    };
    let mut shape = merged[..axis].to_vec();
    shape.extend(c.shape(positions)?);
    shape.extend(&merged[axis + 1..]);
    let element = c.element(data);
    let values = c.cast(values, element)?;
    let values = broadcast(c, values, &shape)?;
    let placed = place(c, [data, positions, values], axis, if accumulate { "sum" } else { "set" })?;
    let whole = c.tensor(0)?;
    let shape = c.shape(whole)?;
    let placed = c.reshape(placed, &shape)?;
    c.finish(placed)
}

/// Elements of a tensor that the index tensor names along one dimension, and by its own coordinates in the others; each takes the update
/// of the same coordinates.
fn placed_elements(c: &mut Call<'_, '_, '_>, updates: Value, combination: &str) -> Outcome {
    let (data, index) = (c.tensor(0)?, c.tensor(2)?);
    let (shape, target) = (c.shape(data)?, c.shape(index)?);
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
        let mut along = vec![1; shape.len()];
        along[d] = target[d];
        let attributes = vec![Attribute::Extents(extents(&along)), Attribute::Int(d as i64), Attribute::Element(ElementType::I64)];
        coordinates.push(c.builder().inst(Op::Iota, &[], attributes)?[0]);
    }
    let extents = if shape.is_empty() { vec![1] } else { shape.clone() };
    let coordinates = if shape.is_empty() { vec![index] } else { coordinates };
    let positions = flattened(c, &coordinates, &extents)?;
    let (count, total) = (target.iter().product(), shape.iter().product());
    let (positions, updates) = (c.reshape(positions, &[count])?, c.reshape(updates, &[count])?);
    let data = c.reshape(data, &[total])?;
    let placed = place(c, [data, positions, updates], 0, combination)?;
    let placed = c.reshape(placed, &shape)?;
    c.finish(placed)
}

fn scatter_elements(c: &mut Call<'_, '_, '_>, combination: &str) -> Outcome {
    let (data, index, source) = (c.tensor(0)?, c.tensor(2)?, c.tensor(3)?);
    let (target, available) = (c.shape(index)?, c.shape(source)?);
    if available.len() != target.len() || available.iter().zip(&target).any(|(have, want)| have < want) {
        return Err(Fault::invalid("the source is smaller than the index").expected(format!("{target:?}"), format!("{available:?}")));
    }
    let element = c.element(data);
    let source = c.cast(source, element)?;
    let rank = target.len();
    let updates = c.builder().slice(source, extents(&vec![0; rank]), extents(&target), vec![1; rank])?;
    placed_elements(c, updates, combination)
}

fn scatter_number(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (data, index, number) = (c.tensor(0)?, c.tensor(2)?, c.number(3)?);
    let element = c.element(data);
    let target = c.shape(index)?;
    let one = c.graph().numbers(element, &[], &[number.to_scalar(element)])?;
    let updates = broadcast(c, one, &target)?;
    placed_elements(c, updates, "set")
}

/// topk: the largest or smallest elements of a dimension and their positions, in order.
fn top_k(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, count, largest) = (c.tensor(0)?, c.int(1)?, c.flag(3)?);
    let shape = c.shape(x)?;
    let axis = c.axis(c.int(2)?, shape.len())?;
    // A scalar is a line of one element.
    let line = if shape.is_empty() { c.reshape(x, &[1])? } else { x };
    let rank = shape.len().max(1);
    let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != axis).collect();
    permutation.push(axis);
    let moved = c.transpose(line, &permutation)?;
    let count = u64::try_from(count).map_err(|_| Fault::invalid("a count is negative").expected("0 or more", count.to_string()))?;
    let results = c.builder().top_k(moved, if largest { "largest" } else { "smallest" }, Extent::Static(count))?;
    for (index, result) in [(5, results[0]), (6, results[1])] {
        let mut result = c.transpose(result, &inverse(&permutation))?;
        if shape.is_empty() {
            result = c.reshape(result, &[])?;
        }
        c.define(index, result)?;
    }
    Ok(())
}
