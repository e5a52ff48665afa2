//! A list with an index tensor, a mask, or nothing for each dimension of a tensor, as PyTorch indexes.

use super::positions;
use crate::ir::{ElementType, Extent, Value};
use crate::operators::{Error, Graph, selection};

/// A tensor whose indexed dimensions are one, and the positions along it.
#[derive(Clone, Debug)]
pub struct Indexed {
    /// The tensor, its dimensions in [`Indexed::order`], under its merged shape.
    pub data: Value,
    /// The merged dimension.
    pub axis: usize,
    /// Positions, of the shape that the index tensors broadcast to.
    pub positions: Value,
    /// The order of the tensor's dimensions before they merge. Indexed dimensions that are neighbours stay in place. Otherwise they come first, as in
    /// PyTorch's result.
    pub order: Vec<usize>,
}

/// Returns the tensor and the positions for a list of indices; `None` if the list names no dimension. Negative indices count from the end. A mask
/// stands for as many dimensions as it has.
///
/// # Errors
/// [`Error::TooManyIndices`], [`Error::NoIndex`].
pub fn indexed(g: &mut Graph<'_>, data: Value, list: &[Option<Value>]) -> Result<Option<Indexed>, Error> {
    let shape = g.extents(data);
    let named = named(g, &shape, list)?;
    let (axes, indices): (Vec<usize>, Vec<Value>) = named.into_iter().unzip();
    let (Some(&first), Some(&last)) = (axes.first(), axes.last()) else { return Ok(None) };
    if last >= shape.len() {
        return Err(Error::TooManyIndices { rank: shape.len() });
    }
    let (axis, order): (usize, Vec<usize>) = if last - first + 1 == axes.len() {
        (first, (0..shape.len()).collect())
    } else {
        (0, axes.iter().copied().chain((0..shape.len()).filter(|d| !axes.contains(d))).collect())
    };
    let data = g.transpose(data, &order)?;
    let mut merged = g.extents(data);
    let extents: Vec<Extent> = merged.drain(axis..axis + axes.len()).collect();
    let positions = match indices[..] {
        [only] => only,
        _ => positions::of_coordinates(g, &indices, &extents)?,
    };
    merged.insert(axis, g.product(&extents)?);
    let data = g.reshape(data, &merged)?;
    Ok(Some(Indexed { data, axis, positions, order }))
}

/// The dimensions that a list names, in order, each with its index tensor.
fn named(g: &mut Graph<'_>, shape: &[Extent], list: &[Option<Value>]) -> Result<Vec<(usize, Value)>, Error> {
    let (mut named, mut next) = (Vec::new(), 0);
    for &tensor in list {
        let Some(tensor) = tensor else {
            next += 1;
            continue;
        };
        let of_tensor = if is_mask(g.element(tensor)) {
            coordinates(g, tensor)?
        } else {
            let extent = *shape.get(next).ok_or(Error::TooManyIndices { rank: shape.len() })?;
            vec![positions::from_the_end(g, tensor, extent)?]
        };
        for index in of_tensor {
            named.push((next, index));
            next += 1;
        }
    }
    Ok(named)
}

/// Tests whether a tensor selects elements by truth values, and not by positions.
fn is_mask(element: ElementType) -> bool {
    matches!(element, ElementType::Bool | ElementType::U8)
}

/// The coordinates of all elements where a mask holds, one row for each dimension of the mask.
fn coordinates(g: &mut Graph<'_>, mask: Value) -> Result<Vec<Value>, Error> {
    let table = selection::coordinates(g, mask)?;
    let count = g.extents(table)[0];
    let mut rows = Vec::new();
    for d in 0..g.rank(mask) {
        let column = g.slice_along(table, 1, Extent::Static(d as u64), Extent::Static(1))?;
        rows.push(g.reshape(column, &[count])?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run};

    fn picked(shape: &[u64], lists: &[(usize, ElementType, Floats)]) -> Result<Floats, Error> {
        let x = Floats::varied(shape);
        let inputs: Vec<&Floats> = std::iter::once(&x).chain(lists.iter().map(|(_, _, numbers)| numbers)).collect();
        let failed = std::cell::RefCell::new(None);
        let found = run(&inputs, &|g, v| {
            let mut list = vec![None; 4];
            for (i, (at, element, _)) in lists.iter().enumerate() {
                list[*at] = Some(g.convert(v[i + 1], *element)?);
            }
            match indexed(g, v[0], &list) {
                Ok(Some(Indexed { data, axis, positions, .. })) => g.gather(data, positions, axis),
                Ok(None) => Ok(v[0]),
                Err(error) => {
                    *failed.borrow_mut() = Some(error);
                    Ok(v[0])
                }
            }
        });
        failed.into_inner().map_or(Ok(found), Err)
    }

    #[test]
    fn indices_side_by_side_name_elements_together() {
        let x = Floats::varied(&[2, 3, 2]);
        let at = |i: usize, j: usize, k: usize| x.numbers[(i * 3 + j) * 2 + k];
        let (rows, columns) = (Floats::new(&[2], vec![0.0, -1.0]), Floats::new(&[2], vec![2.0, 1.0]));
        let found = picked(&[2, 3, 2], &[(0, ElementType::I64, rows), (1, ElementType::I32, columns)]);
        assert_eq!(found, Ok(Floats::new(&[2, 2], vec![at(0, 2, 0), at(0, 2, 1), at(1, 1, 0), at(1, 1, 1)])));
    }

    #[test]
    fn indices_of_dimensions_apart_come_first() {
        let x = Floats::varied(&[2, 3, 2, 2]);
        let at = |i: usize, j: usize, k: usize, l: usize| x.numbers[((i * 3 + j) * 2 + k) * 2 + l];
        let (rows, columns) = (Floats::new(&[3], vec![2.0, 0.0, -2.0]), Floats::new(&[1], vec![1.0]));
        let found = picked(&[2, 3, 2, 2], &[(1, ElementType::I64, rows), (3, ElementType::I64, columns)]);
        let of_row = |j| [at(0, j, 0, 1), at(0, j, 1, 1), at(1, j, 0, 1), at(1, j, 1, 1)];
        assert_eq!(found, Ok(Floats::new(&[3, 2, 2], [2, 0, 1].map(of_row).concat())));
    }

    #[test]
    fn a_mask_names_what_it_holds_for() {
        let x = Floats::varied(&[2, 3]);
        let mask = Floats::new(&[2, 3], vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        let expected = vec![x.numbers[1], x.numbers[3], x.numbers[5]];
        assert_eq!(picked(&[2, 3], &[(0, ElementType::Bool, mask)]), Ok(Floats::new(&[3], expected)));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let one = || Floats::new(&[1], vec![0.0]);
        let beyond = picked(&[2, 3], &[(2, ElementType::I64, one())]);
        assert_eq!(beyond, Err(Error::TooManyIndices { rank: 2 }));
        assert_eq!(picked(&[2], &[(0, ElementType::F32, one())]), Err(Error::NoIndex { element: ElementType::F32 }));
        assert_eq!(picked(&[2], &[]), Ok(Floats::varied(&[2])));
    }
}
