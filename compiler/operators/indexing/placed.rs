//! Elements and slices written at positions that index tensors name. They replace elements or combine with them.

use super::lists::Indexed;
use super::{picked, positions};
use crate::ir::{Combination, ElementType, Extent, Scalar, Scatter, Value};
use crate::operators::graph::movement::inverse;
use crate::operators::{Error, Graph, extents};

/// Slices of a tensor along an axis combined with updates at some positions. A position that does not exist is an error of the call.
///
/// # Errors
/// When the updates do not fit.
pub fn at_positions(
    g: &mut Graph<'_>,
    [data, positions, updates]: [Value; 3],
    axis: usize,
    combination: Combination,
) -> Result<Value, Error> {
    Ok(g.builder.scatter([data, positions, updates], Scatter { axis, batch: 0, combination, skips_negative: false })?)
}

/// Writes `updates` to consecutive positions along an axis, from `first` on. A position that does not exist is an error of the call.
///
/// # Errors
/// When the other tensor does not fit.
pub fn run(g: &mut Graph<'_>, [data, updates]: [Value; 2], axis: usize, first: Extent) -> Result<Value, Error> {
    let count = *g.extents(updates).get(axis).ok_or(Error::NoAxis)?;
    let mut positions = g.iota(count, ElementType::I64)?;
    if first != Extent::Static(0) {
        let first = g.extent_tensor(first, ElementType::I64)?;
        positions = g.compute(&[positions, first], |terms, x| Ok::<_, Error>(terms.add(x[0], x[1])?))?;
    }
    at_positions(g, [data, positions, updates], axis, Combination::Set)
}

/// Writes values to the elements that a list names, or combines them. `shape` is the shape of the tensor.
///
/// # Errors
/// Values that do not broadcast to the named elements.
pub fn listed(g: &mut Graph<'_>, shape: &[Extent], indexed: &Indexed, values: Value, combination: Combination) -> Result<Value, Error> {
    let &Indexed { data, axis, positions, ref order } = indexed;
    let merged = g.extents(data);
    let positions = as_many(g, positions, values, merged.len() - axis)?;
    let named = [&merged[..axis], &g.extents(positions), &merged[axis + 1..]].concat();
    let values = g.expand(values, &named)?;
    let placed = at_positions(g, [data, positions, values], axis, combination)?;
    let ordered: Vec<Extent> = order.iter().map(|&d| shape[d]).collect();
    let placed = g.reshape(placed, &ordered)?;
    g.transpose(placed, &inverse(order))
}

/// Requires that a mask gives as many positions as there are values, which is checked at run time. The positions are the first of the values' `last`
/// dimensions.
fn as_many(g: &mut Graph<'_>, positions: Value, values: Value, last: usize) -> Result<Value, Error> {
    let shape = g.extents(values);
    let own = shape.len().checked_sub(last).map(|d| shape[d]);
    match (&g.extents(positions)[..], own) {
        ([Extent::Value(_)], Some(count @ Extent::Static(n))) if n != 1 => g.reshape(positions, &[count]),
        _ => Ok(positions),
    }
}

/// Combines updates with elements of a tensor. The element for an update has the update's coordinates, except along the axis, where it has the index
/// at these coordinates. Updates are at least as large as the indices.
///
/// # Errors
/// [`Error::RanksDiffer`], and when the updates are smaller.
pub fn elements(g: &mut Graph<'_>, [data, indices, updates]: [Value; 3], axis: usize, combination: Combination) -> Result<Value, Error> {
    let (shape, target) = (g.extents(data), g.extents(indices));
    let rank = shape.len();
    if target.len() != rank {
        return Err(Error::RanksDiffer { expected: rank, found: target.len() });
    }
    let updates = g.slice(updates, &extents(&vec![0; rank]), &target, &vec![1; rank])?;
    let indices = g.convert(indices, ElementType::I64)?;
    let mut coordinates = Vec::new();
    for d in 0..rank {
        if d == axis {
            coordinates.push(indices);
            continue;
        }
        let mut along = vec![Extent::Static(1); rank];
        along[d] = target[d];
        coordinates.push(g.positions(&along, d, ElementType::I64)?);
    }
    let positions = match rank {
        0 => positions::of_coordinates(g, &[indices], &[Extent::Static(1)])?,
        _ => positions::of_coordinates(g, &coordinates, &shape)?,
    };
    let (count, total) = (g.product(&target)?, g.product(&shape)?);
    let (positions, updates) = (g.reshape(positions, &[count])?, g.reshape(updates, &[count])?);
    let data = g.reshape(data, &[total])?;
    let placed = at_positions(g, [data, positions, updates], 0, combination)?;
    g.reshape(placed, &shape)
}

/// A tensor of a shape that holds one number everywhere except in some slices. Vectors along the last dimension of `indices` name these slices by
/// their first coordinates. Each slice takes the slice of `updates` at the coordinates of its vector.
///
/// # Errors
/// [`Error::Coordinates`], and when the updates do not fit.
pub fn slices(
    g: &mut Graph<'_>,
    background: Value,
    shape: &[Extent],
    [indices, updates]: [Value; 2],
    combination: Combination,
) -> Result<Value, Error> {
    let listed = g.extents(indices);
    let (named, rest) = shape.split_at(picked::coordinates(&listed, shape.len())?);
    let positions = positions::of_vectors(g, indices, named)?;
    let (count, rows, row) = (g.product(&listed[..listed.len() - 1])?, g.product(named)?, g.product(rest)?);
    let target = g.broadcast(background, &[rows, row])?;
    let updates = g.reshape(updates, &[count, row])?;
    let placed = at_positions(g, [target, positions, updates], 0, combination)?;
    g.reshape(placed, shape)
}

/// Combines slices of a tensor, after the dimensions of `ids`, by segment number: `[count, …]`. With `skips_negative` a negative number leaves its
/// slice out; otherwise it is an error at run time. A segment without slices holds `neutral`, one number.
///
/// # Errors
/// When the tensor does not begin with the dimensions of the numbers.
pub fn segments(
    g: &mut Graph<'_>,
    [data, ids, neutral]: [Value; 3],
    count: Extent,
    combination: Combination,
    skips_negative: bool,
) -> Result<Value, Error> {
    let (shape, numbered) = (g.extents(data), g.extents(ids));
    let rest = shape.get(numbered.len()..).ok_or(Error::NoAxis)?;
    let (slices, row) = (g.product(&numbered)?, g.product(rest)?);
    let start = g.broadcast(neutral, &[count, row])?;
    let (ids, rows) = (g.reshape(ids, &[slices])?, g.reshape(data, &[slices, row])?);
    let placed = g.builder.scatter([start, ids, rows], Scatter { axis: 0, batch: 0, combination, skips_negative })?;
    g.reshape(placed, &[&[count], rest].concat())
}

/// Rows `[rows, area]` of zeros, but for the elements that each row of positions `[rows, count]` names: these are the updates, of the positions' shape.
///
/// # Errors
/// When the two do not fit each other.
pub fn in_rows(g: &mut Graph<'_>, [positions, updates]: [Value; 2], area: Extent, skips_negative: bool) -> Result<Value, Error> {
    let rows = *g.extents(updates).first().ok_or(Error::NoAxis)?;
    let target = g.filled(Scalar::from_bits(g.element(updates), 0), &[rows, area])?;
    let scatter = Scatter { axis: 1, batch: 1, combination: Combination::Set, skips_negative };
    Ok(g.builder.scatter([target, positions, updates], scatter)?)
}

#[cfg(test)]
mod tests {
    use super::super::lists::indexed;
    use super::*;
    use crate::ir::ElementType::{I32, I64};
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn a_list_names_what_is_set_or_added_to() {
        let x = Floats::new(&[3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let (rows, values) = (Floats::new(&[2], vec![2.0, 2.0]), Floats::new(&[2], vec![10.0, 20.0]));
        for (combination, expected) in [(Combination::Set, [10.0, 20.0]), (Combination::Sum, [25.0, 46.0])] {
            for open in [&[][..], &[[0, 0]]] {
                let found = run_with(&[&x, &rows, &values], open, &|g, v| {
                    let (shape, rows) = (g.extents(v[0]), g.convert(v[1], I64)?);
                    let indexed = indexed(g, v[0], &[Some(rows)])?.expect("a dimension is named");
                    listed(g, &shape, &indexed, v[2], combination)
                });
                assert_eq!(found.numbers, [&[1.0, 2.0, 3.0, 4.0], &expected[..]].concat());
            }
        }
    }

    #[test]
    fn a_list_of_dimensions_apart_names_what_is_set() {
        let x = Floats::new(&[2, 2, 2], vec![0.0; 8]);
        let (at, values) = (Floats::new(&[2], vec![1.0, 0.0]), Floats::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]));
        let found = run_with(&[&x, &at, &values], &[], &|g, v| {
            let (shape, at) = (g.extents(v[0]), g.convert(v[1], I64)?);
            let indexed = indexed(g, v[0], &[Some(at), None, Some(at)])?.expect("two dimensions are named");
            listed(g, &shape, &indexed, v[2], Combination::Set)
        });
        assert_eq!(found, Floats::new(&[2, 2, 2], vec![3.0, 0.0, 4.0, 0.0, 0.0, 1.0, 0.0, 2.0]));
    }

    #[test]
    fn each_index_places_one_element() {
        let x = Floats::new(&[2, 3], vec![0.0; 6]);
        let (indices, updates) = (Floats::new(&[2, 1], vec![2.0, 0.0]), Floats::new(&[2, 2], vec![7.0, 8.0, 9.0, 10.0]));
        for open in [&[][..], &[[0, 0]], &[[0, 1]]] {
            let found = run_with(&[&x, &indices, &updates], open, &|g, v| {
                let indices = g.convert(v[1], I32)?;
                elements(g, [v[0], indices, v[2]], 1, Combination::Set)
            });
            assert_eq!(found.numbers, [0.0, 0.0, 7.0, 9.0, 0.0, 0.0], "{open:?}");
        }
        let number = Floats::new(&[], vec![0.0]);
        let found = run(&[&number, &number, &Floats::new(&[], vec![4.0])], &|g, v| {
            let index = g.convert(v[1], I32)?;
            elements(g, [v[0], index, v[2]], 0, Combination::Sum)
        });
        assert_eq!(found.numbers, [4.0]);
    }

    #[test]
    fn slices_that_meet_are_added() {
        let (indices, updates) = (Floats::new(&[3, 1], vec![2.0, 0.0, 2.0]), Floats::varied(&[3, 2]));
        let u = &updates.numbers;
        for open in [&[][..], &[[0, 0], [1, 0]]] {
            let found = run_with(&[&indices, &updates], open, &|g, v| {
                let (indices, zero) = (g.convert(v[0], I32)?, g.scalar(Scalar::f32(0.0))?);
                slices(g, zero, &extents(&[4, 2]), [indices, v[1]], Combination::Sum)
            });
            assert_eq!(found, Floats::new(&[4, 2], vec![u[2], u[3], 0.0, 0.0, u[0] + u[4], u[1] + u[5], 0.0, 0.0]));
        }
    }

    #[test]
    fn a_segment_of_nothing_is_neutral() {
        let (x, ids) = (Floats::new(&[4, 1], vec![3.0, 5.0, 4.0, 6.0]), Floats::new(&[4], vec![2.0, 0.0, -1.0, 2.0]));
        let found = run(&[&x, &ids], &|g, v| {
            let (ids, least) = (g.convert(v[1], I32)?, g.scalar(Scalar::f32(-9.0))?);
            segments(g, [v[0], ids, least], Extent::Static(3), Combination::Max, true)
        });
        assert_eq!(found, Floats::new(&[3, 1], vec![5.0, -9.0, 6.0]));
    }
}
