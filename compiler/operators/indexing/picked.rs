//! Elements and slices that index tensors name.

use super::positions;
use crate::ir::{Extent, Value};
use crate::operators::graph::movement::inverse;
use crate::operators::{Error, Graph, extents};

/// The slices of a tensor that vectors name by their first coordinates; the vectors lie along the last dimension of `indices`.
///
/// # Errors
/// [`Error::Coordinates`] of vectors longer than the tensor has dimensions.
pub fn slices(g: &mut Graph<'_>, data: Value, indices: Value) -> Result<Value, Error> {
    let (shape, listed) = (g.extents(data), g.extents(indices));
    let (named, rest) = shape.split_at(coordinates(&listed, shape.len())?);
    let positions = positions::of_vectors(g, indices, named)?;
    let rows = [g.product(named)?, g.product(rest)?];
    let rows = g.reshape(data, &rows)?;
    let picked = g.gather(rows, positions, 0)?;
    g.reshape(picked, &[&listed[..listed.len() - 1], rest].concat())
}

/// The number of dimensions of a tensor that the vectors along the last dimension of a shape index.
pub(super) fn coordinates(listed: &[Extent], rank: usize) -> Result<usize, Error> {
    let last = listed.last().ok_or(Error::Coordinates { rank, found: 0 })?;
    let found = last.as_static().ok_or(Error::DynamicExtent)?;
    usize::try_from(found).ok().filter(|&n| n <= rank).ok_or(Error::Coordinates { rank, found })
}

/// Picks one element for each index. Element `[i, j, …]` of the result is the element of `data` at `[i, j, …]`.
/// Only its coordinate along the axis is `indices[i, j, …]`.
///
/// # Errors
/// [`Error::RanksDiffer`], and when the indices reach beyond the tensor along another axis.
pub fn elements(g: &mut Graph<'_>, data: Value, indices: Value, axis: usize) -> Result<Value, Error> {
    let (shape, target) = (g.extents(data), g.extents(indices));
    let rank = shape.len();
    if rank == 0 || target.is_empty() {
        let (count, flat) = (g.product(&target)?, g.product(&shape)?);
        let (data, indices) = (g.reshape(data, &[flat])?, g.reshape(indices, &[count])?);
        let picked = g.gather(data, indices, 0)?;
        return g.reshape(picked, &target);
    }
    if target.len() != rank {
        return Err(Error::RanksDiffer { expected: rank, found: target.len() });
    }
    let mut kept = target.clone();
    kept[axis] = shape[axis];
    let data = g.slice(data, &extents(&vec![0; rank]), &kept, &vec![1; rank])?;
    let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != axis).collect();
    permutation.push(axis);
    let (data, indices) = (g.transpose(data, &permutation)?, g.transpose(indices, &permutation)?);
    let moved: Vec<Extent> = permutation.iter().map(|&d| target[d]).collect();
    let lead = g.product(&moved[..rank - 1])?;
    let (data, flat) = (g.reshape(data, &[lead, kept[axis]])?, g.reshape(indices, &[lead, target[axis]])?);
    let picked = g.builder.gather(data, flat, 1, 1)?;
    let picked = g.reshape(picked, &moved)?;
    g.transpose(picked, &inverse(&permutation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ElementType::I32;
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn vectors_pick_slices() {
        let x = Floats::varied(&[2, 3, 2]);
        let row = |at: usize| x.numbers[at * 2..at * 2 + 2].to_vec();
        let indices = Floats::new(&[2, 2], vec![1.0, 2.0, 0.0, 1.0]);
        for open in [&[][..], &[[0, 0]], &[[0, 1]], &[[0, 2]], &[[1, 0]]] {
            let found = run_with(&[&x, &indices], open, &|g, v| {
                let indices = g.convert(v[1], I32)?;
                slices(g, v[0], indices)
            });
            assert_eq!(found, Floats::new(&[2, 2], [row(5), row(1)].concat()), "{open:?}");
        }
        let nothing_named = run(&[&x, &Floats::new(&[3, 0], vec![])], &|g, v| {
            let indices = g.convert(v[1], I32)?;
            slices(g, v[0], indices)
        });
        assert_eq!(nothing_named, Floats::new(&[3, 2, 3, 2], x.numbers.repeat(3)));
    }

    #[test]
    fn vectors_longer_than_the_rank_are_refused() {
        let (x, indices) = (Floats::varied(&[2]), Floats::varied(&[1, 2]));
        run(&[&x, &indices], &|g, v| {
            let indices = g.convert(v[1], I32)?;
            assert_eq!(slices(g, v[0], indices), Err(Error::Coordinates { rank: 1, found: 2 }));
            Ok(v[0])
        });
    }

    #[test]
    fn each_index_picks_one_element() {
        let x = Floats::varied(&[3, 4]);
        let at = |i: usize, j: usize| x.numbers[i * 4 + j];
        for (axis, indices, expected) in [
            (1, vec![3.0, 0.0, 1.0, 2.0, 2.0, 0.0], vec![at(0, 3), at(0, 0), at(0, 1), at(1, 2), at(1, 2), at(1, 0)]),
            (0, vec![0.0, 0.0, 1.0, 2.0, 2.0, 0.0], vec![at(0, 0), at(0, 1), at(1, 2), at(2, 0), at(2, 1), at(0, 2)]),
        ] {
            let found = run(&[&x, &Floats::new(&[2, 3], indices)], &|g, v| {
                let indices = g.convert(v[1], I32)?;
                elements(g, v[0], indices, axis)
            });
            assert_eq!(found, Floats::new(&[2, 3], expected), "axis {axis}");
        }
    }
}
